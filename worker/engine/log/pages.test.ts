import { expect, test } from 'vitest';
import { PAGE_WORDS } from './pages.ts';
import { nextDifference } from './record.ts';

// Around the borders of the blocks of eight, and at both ends of a page.
const INDEXES = [0, 1, 6, 7, 8, 9, 15, 16, 17, 511, 1015, 1016, 1017, 1022, 1023];

test('nextDifference finds the first differing word from any index on', () => {
  for (const first of INDEXES) {
    for (const second of INDEXES) {
      const a = new Uint32Array(PAGE_WORDS).fill(0xffff_ffff);
      const b = a.slice();
      b[first] = 0x7fff_ffff;
      b[second] = 0xffff_fffe;
      for (const from of [...INDEXES, PAGE_WORDS]) {
        const expected = [first, second].filter((index) => index >= from);
        expect(nextDifference(a, b, from)).toBe(Math.min(PAGE_WORDS, ...expected));
      }
    }
  }
});
