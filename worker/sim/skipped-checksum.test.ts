import sqlite3InitModule from '@sqlite.org/sqlite-wasm';
import { expect, test, vi } from 'vitest';
import { LogVfs } from '../vfs/log-vfs.ts';
import { Simulation } from './simulation.ts';

vi.mock('../log/record.ts', async (original) => ({
  ...(await original<typeof import('../log/record.ts')>()),
  isIntact: () => true,
}));

test('[LOG3] a log that believes torn records makes the simulation fail', async () => {
  vi.spyOn(console, 'error').mockImplementation(() => {});
  vi.spyOn(console, 'warn').mockImplementation(() => {});
  const sqlite3 = await sqlite3InitModule();
  const vfs = new LogVfs(sqlite3);
  let failed = 0;
  for (let seed = 1; seed <= 12; seed++) {
    await new Simulation(sqlite3, vfs, seed).run().catch(() => failed++);
  }
  expect(failed).toBeGreaterThan(0);
}, 30_000);
