import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Draws } from '../../../packages/testing/page/draws.ts';
import { mutate } from './byte-mutations.ts';

const small = fc.nat(80);

test('[HOST2] bytes of any length are changed, also where the bounds lie beyond their end', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 60 }),
      small,
      small,
      fc.gen(),
      (bytes, from, limit, gen) => {
        const before = bytes.slice();
        expect(mutate(bytes, new Draws(gen), from, limit)).toBeInstanceOf(Uint8Array);
        expect(bytes).toEqual(before);
      },
    ),
    { numRuns: 500 },
  );
});
