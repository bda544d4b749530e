// Tests every operation with each request for memory refused; out-of-memory.test.ts refuses one in forty.

import { beforeAll, describe, test } from 'vitest';
import { makeDisk, REFUSALS } from './out-of-memory.ts';

describe('an allocator that refuses a request', () => {
  beforeAll(makeDisk);
  test.each(REFUSALS)('[SIM5] %s', (_, refuse) => refuse({ first: 0, step: 1 }));
});
