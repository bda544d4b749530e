import { expect, test, vi } from 'vitest';
import { Rounds } from './rounds.ts';

/** More seeds, and the seeds that found a defect, run in `simulation.long.test.ts` and `npm run sim`. */
const SEEDS = [1, 2, 3, 4, 5, 700_001]; // the last one keeps few bytes of history

test('[SIM1] every acknowledged commit survives whole, and every object opens again', async () => {
  // Objects report failures on the console; the failures here are intended.
  vi.spyOn(console, 'error').mockImplementation(() => {});
  vi.spyOn(console, 'warn').mockImplementation(() => {});
  const rounds = await Rounds.of('objects');
  const { failures } = await rounds.run(SEEDS, { shrinks: false });
  expect(failures.map(({ seed, fact }) => `seed ${seed}: ${fact}`)).toEqual([]);
});
