// Tests every operation with one request for memory in forty refused; out-of-memory.long.test.ts refuses each, which
// takes most of a minute.

import { beforeAll, describe, test } from 'vitest';
import { makeDisk, REFUSALS } from './out-of-memory.ts';

describe('an allocator that refuses a request', () => {
  beforeAll(makeDisk);
  test.each(REFUSALS)('[SIM5] %s', (_, refuse) => refuse({ first: 3, step: 40 }));
});
