// Tests in a few random worlds that copies of an object become equal to it, whatever is lost on the way.
// converging.long.test.ts has more worlds.

import { test } from 'vitest';
import { convergeHere } from '../testing/converging-here.ts';

test.for([1, 2, 4])(
  '[FOLP10] copies converge with their object: world %i',
  { tags: 'long' },
  (seed) => convergeHere(seed, { rounds: 1, steps: 60 }),
);
