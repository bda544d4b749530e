// Runs the simulation of alarms with a few seeds.

import { expect, test, vi } from 'vitest';
import { Rounds } from './rounds.ts';

// Seed 33 once found a retry that waited for the time of its alarm after the wall clock was set back.
const SEEDS = [1, 33];
const FURTHER_SEEDS = [2, 3, 4, 5, 6, 22];

async function expectPromises(seeds: readonly number[], least: { rings: number }): Promise<void> {
  // The objects' failures are intended here, so their reports on the console are silenced.
  vi.spyOn(console, 'error').mockImplementation(() => {});
  vi.spyOn(console, 'warn').mockImplementation(() => {});
  const rounds = await Rounds.of('alarms');
  const { counts, failures } = await rounds.run(seeds, { shrinks: false });
  expect(failures.map(({ seed, fact }) => `seed ${seed}: ${fact}`)).toEqual([]);
  expect(counts.rings).toBeGreaterThan(least.rings);
}

test('[SIM6] alarms that are stored ring, and no others, whatever ends instances and hosts or sets the wall clock', () =>
  expectPromises(SEEDS, { rings: 4 }));

test('[SIM6] stored alarms ring, and no others, with further seeds, too', { tags: 'long' }, () =>
  expectPromises(FURTHER_SEEDS, { rings: 20 }),
);
