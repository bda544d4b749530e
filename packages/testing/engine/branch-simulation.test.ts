// Runs the simulation of branches with a few seeds.

import { expect, test, vi } from 'vitest';
import { Rounds } from './rounds.ts';

// Other seeds have found defects: 3 a branch that began a segment before the slot of its checkpoint was durable, 6 the
// branches of an object that was never written, 40 a page that an interrupted checkpoint had not changed, 48 the name
// of an interrupted deletion, 1073 a fork that had failed.
const SEEDS = [1, 700_001]; // 700,001 keeps only few bytes of history
const FURTHER_SEEDS = [2, 3, 6, 40, 48, 1073];

async function expectPromises(seeds: readonly number[], least: { forks: number }): Promise<void> {
  // The objects' failures are intended here, so their reports on the console are silenced.
  vi.spyOn(console, 'error').mockImplementation(() => {});
  vi.spyOn(console, 'warn').mockImplementation(() => {});
  const rounds = await Rounds.of('branches');
  const { counts, failures } = await rounds.run(seeds, { shrinks: false });
  expect(failures.map(({ seed, fact }) => `seed ${seed}: ${fact}`)).toEqual([]);
  expect(counts.forks).toBeGreaterThan(least.forks);
}

test('[SIM7] an object and its kept branches survive power failures, faults and full disks', () =>
  expectPromises(SEEDS, { forks: 1 }));

test(
  '[SIM7] an object and its kept branches survive them with further seeds, too',
  { tags: 'long' },
  () => expectPromises(FURTHER_SEEDS, { forks: 4 }),
);
