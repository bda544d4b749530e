// Copies of an object on workerd converge with it.

import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, test } from 'vitest';
import { converge } from '../../../packages/follow/testing/converging.ts';
import { DurableObject } from '../../../worker/realm/library/base-classes.ts';
import { type ServerInWorkerd, serveInWorkerd } from './converging-rooms.ts';

const wasm = new WebAssembly.Module(
  readFileSync(new URL('../../../worker/engine/vfs/sqlite3.wasm', import.meta.url)),
);
const FIRST = Number(process.env.SEED ?? 1);
const WORLDS = Number(process.env.WORLDS ?? 2);
const SIZE = { rounds: 1, steps: 60 };

let workerd: ServerInWorkerd;
beforeAll(async () => {
  workerd = await serveInWorkerd();
});
afterAll(() => workerd.close());

test.for(Array.from({ length: WORLDS }, (_, i) => FIRST + i))(
  '[FOLP10] copies converge with their object on workerd: world %i',
  { timeout: 180_000 },
  async (seed) => {
    await converge(seed, SIZE, workerd.server(`world${seed}`), DurableObject as never, wasm);
  },
);
