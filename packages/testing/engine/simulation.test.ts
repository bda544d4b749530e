// Runs the simulation of single objects with a few seeds.

import { beforeAll, expect, test, vi } from 'vitest';
import { Rounds } from './rounds.ts';

/** `npm run sim` runs more seeds, and `simulation.long.test.ts` the seeds of known defects. */
const SEEDS = [1, 700_001]; // 700,001 keeps only few bytes of history
/** In these seeds, events of several authors take turns. */
const AUTHORED_SEEDS = [900_001, 900_002, 900_003];

let rounds: Rounds;
beforeAll(async () => {
  // The objects' failures are intended here, so their reports on the console are silenced.
  vi.spyOn(console, 'error').mockImplementation(() => {});
  vi.spyOn(console, 'warn').mockImplementation(() => {});
  rounds = await Rounds.of('objects');
});

test('[SIM1] every acknowledged commit survives whole, and every object opens again', async () => {
  const { counts, failures } = await rounds.run(SEEDS, { shrinks: false });
  expect(failures.map(({ seed, fact }) => `seed ${seed}: ${fact}`)).toEqual([]);
  expect(counts.commits).toBeGreaterThan(20);
  expect(counts.crashes).toBeGreaterThan(100);
});

test('[SIM8] each commit of a turn has whole events of one author, whichever of them wrote first', {
  tags: 'long',
}, async () => {
  const { counts, failures } = await rounds.run(AUTHORED_SEEDS, { shrinks: false });
  expect(failures.map(({ seed, fact }) => `seed ${seed}: ${fact}`)).toEqual([]);
  expect(counts.looks).toBeGreaterThan(50);
});

test('[SIM8] each commit of a few turns has whole events of one author', async () => {
  const { counts, failures } = await rounds.run(AUTHORED_SEEDS.slice(0, 1), { shrinks: false });
  expect(failures.map(({ seed, fact }) => `seed ${seed}: ${fact}`)).toEqual([]);
  expect(counts.looks).toBeGreaterThan(10);
});
