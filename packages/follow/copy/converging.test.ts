// Copies of an object converge with it, whatever is lost on the way: a few worlds. More: converging.long.test.ts.

import { test } from 'vitest';
import { convergeHere } from '../testing/converging-here.ts';

test.for([1, 2, 4])(
  '[FOLP10] copies converge with their object: world %i',
  { tags: 'long' },
  (seed) => convergeHere(seed, { rounds: 1, steps: 60 }),
);
