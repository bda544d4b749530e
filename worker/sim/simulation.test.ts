import { beforeAll, expect, test, vi } from 'vitest';
import { Rounds } from './rounds.ts';

/** More seeds, and the seeds that found a defect, run in `simulation.long.test.ts` and `npm run sim`. */
const SEEDS = [1, 2, 3, 4, 5, 700_001]; // the last one keeps few bytes of history
/** Events of several authors take turns. */
const AUTHORED_SEEDS = [900_001, 900_002, 900_003];

let rounds: Rounds;
beforeAll(async () => {
  // Objects report failures on the console; the failures here are intended.
  vi.spyOn(console, 'error').mockImplementation(() => {});
  vi.spyOn(console, 'warn').mockImplementation(() => {});
  rounds = await Rounds.of('objects');
});

test('[SIM1] every acknowledged commit survives whole, and every object opens again', async () => {
  const { failures } = await rounds.run(SEEDS, { shrinks: false });
  expect(failures.map(({ seed, fact }) => `seed ${seed}: ${fact}`)).toEqual([]);
});

test('[SIM8] each commit of a turn has whole events of one author, whichever of them wrote first', async () => {
  const { counts, failures } = await rounds.run(AUTHORED_SEEDS, { shrinks: false });
  expect(failures.map(({ seed, fact }) => `seed ${seed}: ${fact}`)).toEqual([]);
  expect(counts.looks).toBeGreaterThan(50);
});
