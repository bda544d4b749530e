// Runs the simulation of objects on rows with a few seeds.

import { expect, test, vi } from 'vitest';
import { Rounds } from './rounds.ts';

// In seed 900,001, events of several authors take turns.
const SEEDS = [1, 900_001];
const FURTHER_SEEDS = [2, 3, 4, 5];

async function expectPromises(seeds: readonly number[], least: { crashes: number }): Promise<void> {
  // The objects' failures are intended here, so their reports on the console are silenced.
  vi.spyOn(console, 'error').mockImplementation(() => {});
  vi.spyOn(console, 'warn').mockImplementation(() => {});
  const rounds = await Rounds.of('rows');
  const { counts, failures } = await rounds.run(seeds, { shrinks: false });
  expect(failures.map(({ seed, fact }) => `seed ${seed}: ${fact}`)).toEqual([]);
  expect(counts.crashes).toBeGreaterThan(least.crashes);
}

test('[MEDIUM4] on rows, every acknowledged commit survives whole, and every object opens again', () =>
  expectPromises(SEEDS, { crashes: 10 }));

test(
  '[MEDIUM4] on rows, commits survive and objects open with further seeds, too',
  { tags: 'long' },
  () => expectPromises(FURTHER_SEEDS, { crashes: 40 }),
);
