// Each request is refused.

import { beforeAll, describe, test } from 'vitest';
import { fill, REFUSALS } from './out-of-memory.ts';

describe('an allocator that refuses a request', () => {
  beforeAll(fill);
  test.each(REFUSALS)('[SIM5] %s', (_, refuse) => refuse({ first: 0, step: 1 }));
});
