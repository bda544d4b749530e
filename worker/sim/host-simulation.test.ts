import { beforeAll, expect, test, vi } from 'vitest';
import { Rounds } from './rounds.ts';

beforeAll(() => {
  vi.spyOn(console, 'error').mockImplementation(() => {});
  vi.spyOn(console, 'warn').mockImplementation(() => {});
});

// 22 found an alarm read from a database that a failed flush had closed.
const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8, 22, 27, 100_000, 100_001];

test('[SIM2] every promise that a caller holds settles, and no code runs in an ended instance', async () => {
  const rounds = await Rounds.of('hosts');
  const { failures } = await rounds.run(SEEDS, { shrinks: false });
  expect(failures.map(({ seed, fact }) => `seed ${seed}: ${fact}`)).toEqual([]);
});
