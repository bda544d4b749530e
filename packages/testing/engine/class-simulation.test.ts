// Runs the simulation of classes with a few seeds.

import { expect, test, vi } from 'vitest';
import { Rounds } from './rounds.ts';

const SEEDS = [2, 21];
const FURTHER_SEEDS = [3, 4, 6];

async function expectPromises(seeds: readonly number[], least: { commits: number }): Promise<void> {
  // The objects' failures are intended here, so their reports on the console are silenced.
  vi.spyOn(console, 'error').mockImplementation(() => {});
  vi.spyOn(console, 'warn').mockImplementation(() => {});
  const rounds = await Rounds.of('classes');
  const { counts, failures } = await rounds.run(seeds, { shrinks: false });
  expect(failures.map(({ seed, fact }) => `seed ${seed}: ${fact}`)).toEqual([]);
  expect(counts.commits).toBeGreaterThan(least.commits);
}

test('[SIM8] a class whose every event writes in several places, and the tabs beside it, leave whole commits of their own', () =>
  expectPromises(SEEDS, { commits: 30 }));

test(
  '[SIM8] classes and tabs leave whole commits of their own with further seeds, too',
  { tags: 'long' },
  () => expectPromises(FURTHER_SEEDS, { commits: 60 }),
);
