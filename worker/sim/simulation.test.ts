import sqlite3InitModule from '@sqlite.org/sqlite-wasm';
import { beforeAll, expect, test, vi } from 'vitest';
import { LogVfs } from '../vfs/log-vfs.ts';
import { Simulation, SimulationFailure } from './simulation.ts';

// A seed that once found a defect stays here.
const SEEDS = [
  1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 19, 28, 30, 32, 49, 1052, 1177, 1188, 1255, 1275, 2147,
];

let sqlite3: Awaited<ReturnType<typeof sqlite3InitModule>>;
let vfs: LogVfs;

beforeAll(async () => {
  // sqlite-wasm reports every failed step on the console; the failures here are meant.
  vi.spyOn(console, 'error').mockImplementation(() => {});
  vi.spyOn(console, 'warn').mockImplementation(() => {});
  sqlite3 = await sqlite3InitModule();
  vfs = new LogVfs(sqlite3);
});

test.each(SEEDS)(
  '[LOG1] what was flushed survives any loss of power, full disk and restore: seed %i',
  async (seed) => {
    const { commits } = await new Simulation(sqlite3, vfs, seed).run();
    expect(commits).toBeGreaterThan(0);
  },
  20_000,
);

test('[LOG1] a disk whose flush does nothing makes the simulation fail', async () => {
  const outcomes = await Promise.all(
    [1, 2, 3, 4].map((seed) =>
      outcomeOf(new Simulation(sqlite3, vfs, seed, { flushIsBroken: true })),
    ),
  );
  expect(outcomes).toContain('failed');
}, 20_000);

async function outcomeOf(simulation: Simulation): Promise<'passed' | 'failed'> {
  try {
    await simulation.run();
    return 'passed';
  } catch (error) {
    const code = (error as { code?: string }).code;
    if (error instanceof SimulationFailure || code === 'CORRUPT') return 'failed';
    throw error;
  }
}
