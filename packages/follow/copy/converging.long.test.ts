// Tests in many random worlds that copies of an object become equal to it. `SEED` is the number of the first world, `WORLDS`
// their count, and `ROUNDS` and `STEPS` the size of each.

import { test } from 'vitest';
import { convergeHere } from '../testing/converging-here.ts';

const FIRST = Number(process.env.SEED ?? 100);
const WORLDS = Number(process.env.WORLDS ?? 6);
const SIZE = {
  rounds: Number(process.env.ROUNDS ?? 1),
  steps: Number(process.env.STEPS ?? 60),
};

test.for(Array.from({ length: WORLDS }, (_, i) => FIRST + i))(
  '[FOLP10] copies converge with their object: world %i',
  { timeout: 180_000 },
  (seed) => convergeHere(seed, SIZE),
);
