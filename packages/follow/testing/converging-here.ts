// For tests: runs a random world of converging.ts with a server in the same process.

import { readFileSync } from 'node:fs';
import { DurableObject } from '../../../worker/realm/library/base-classes.ts';
import { converge, type WorldSize } from './converging.ts';
import { followedServer } from './followed-server.ts';
import { MIXED_METHODS, mixedClass } from './mixed-class.ts';

const Base = DurableObject as never;
const wasm = new WebAssembly.Module(
  readFileSync(new URL('../../../worker/engine/vfs/sqlite3.wasm', import.meta.url)),
);

/** With few notes, a follower that was away needs a snapshot; with small parts, the snapshot has many parts. */
const TIGHT_BOUNDS = { notesMax: 40, partBytes: 100 };

/** Runs one world. Every second one has tight bounds. */
export async function convergeHere(seed: number, size: WorldSize): Promise<void> {
  const options = { methods: MIXED_METHODS };
  const bounds = seed % 2 === 0 ? TIGHT_BOUNDS : {};
  const server = await followedServer(mixedClass(Base) as never, options, bounds);
  try {
    await converge(seed, size, server, Base, wasm);
  } finally {
    await server.close();
  }
}
