// For tests: a world of converging.ts whose server is in the same process.

import { readFileSync } from 'node:fs';
import { DurableObject } from '../../../worker/realm/library/base-classes.ts';
import { converge, type WorldSize } from './converging.ts';
import { followedServer } from './followed-server.ts';
import { MIXED_METHODS, mixedClass } from './mixed-class.ts';

const Base = DurableObject as never;
const wasm = new WebAssembly.Module(
  readFileSync(new URL('../../../worker/engine/vfs/sqlite3.wasm', import.meta.url)),
);

/** Few notes are kept, so that a follower that was away needs a copy; it comes in many parts. */
const TIGHT = { notesMax: 40, partBytes: 100 };

/** Every second world is tight. */
export async function convergeHere(seed: number, size: WorldSize): Promise<void> {
  const options = { methods: MIXED_METHODS };
  const bounds = seed % 2 === 0 ? TIGHT : {};
  const server = await followedServer(mixedClass(Base) as never, options, bounds);
  try {
    await converge(seed, size, server, Base, wasm);
  } finally {
    await server.close();
  }
}
