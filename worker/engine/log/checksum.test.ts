import fc from 'fast-check';
import { expect, test } from 'vitest';
import { referenceXxh32 } from '../../../packages/testing/worker/reference-xxh32.ts';
import { Checksum, wordsOf, xxh32, xxh32Pair } from './checksum.ts';
import { PAGE_WORDS } from './pages.ts';

import { isIntact, parseHeader, RecordWriter } from './record.ts';

const PRIME_32 = 0x9e3779b1;

/** The input of the published test vectors: upper bytes of a 64-bit number that is multiplied. */
function publishedInput(sizeBytes: number): Uint8Array {
  let state = 0x9e3779b1n;
  return Uint8Array.from({ length: sizeBytes }, () => {
    const byte = Number(state >> 56n);
    state = (state * 11_400_714_785_074_694_797n) & 0xffff_ffff_ffff_ffffn;
    return byte;
  });
}

// From xxHash's own tests (sanity_test_vectors.h): length, seed, result.
const VECTORS: readonly (readonly [sizeBytes: number, seed: number, expected: number])[] = [
  [0, 0, 0x02cc5d05],
  [0, PRIME_32, 0x36b78ae7],
  [1, 0, 0xcf65b03e],
  [1, PRIME_32, 0xb4545aa4],
  [4, 0, 0xa9de7ce9],
  [4, PRIME_32, 0x2baafe83],
  [14, 0, 0x1208e7e2],
  [14, PRIME_32, 0x6af1d1fe],
  [32, 0, 0xd89829ec],
  [32, PRIME_32, 0xa5c44467],
  [64, 0, 0x02e95dbb],
  [222, 0, 0x5bd11dbd],
  [222, PRIME_32, 0x58803c5f],
  [256, 0, 0x520cb910],
  [4096, 0, 0x20fc444f],
];

test.each(VECTORS)(
  '[LOG7] XXH32 of %i bytes under seed %i is the published one',
  (size, seed, expected) => {
    const bytes = publishedInput(size);
    expect(referenceXxh32(bytes, seed)).toBe(expected);
    if (size % 4 === 0) expect(xxh32(wordsOf(bytes), 0, size / 4, seed)).toBe(expected);
  },
);

test('[LOG7] XXH32 of any words is that of their bytes', () => {
  fc.assert(
    fc.property(fc.uint32Array({ maxLength: 40 }), fc.integer(), fc.nat(8), (words, seed, skip) => {
      const start = Math.min(skip, words.length);
      const bytes = new Uint8Array(words.buffer, words.byteOffset + start * 4).slice(
        0,
        (words.length - start) * 4,
      );
      expect(xxh32(words, start, words.length, seed)).toBe(referenceXxh32(bytes, seed));
    }),
  );
});

const checksum = new Checksum(0x1234abcd);
const PAGE_BITS = PAGE_WORDS * 32;

function randomPage(seed: number): Uint32Array {
  let state = seed;
  return Uint32Array.from({ length: PAGE_WORDS }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) >>> 0;
  });
}

function flip(words: Uint32Array, bit: number): void {
  words[bit >>> 5]! ^= 1 << (bit & 31);
}

test('[LOG7] with two seeds in one pass it gives the result of two passes', () => {
  const seeds = fc.tuple(fc.integer(), fc.integer());
  fc.assert(
    fc.property(fc.uint32Array({ maxLength: 40 }), seeds, fc.nat(8), (words, both, skip) => {
      const start = Math.min(skip, words.length);
      const apart = both.map((seed) => xxh32(words, start, words.length, seed));
      expect(xxh32Pair(words, start, words.length, both)).toEqual(apart);
    }),
  );
});

test('[LOG7] bit 31 of a word and bit 12 of the next but one do not cancel', () => {
  for (const page of [new Uint32Array(PAGE_WORDS), randomPage(7)]) {
    const sum = checksum.ofPage(page, 3);
    for (let word = 0; word + 2 < PAGE_WORDS; word++) {
      flip(page, word * 32 + 31);
      flip(page, (word + 2) * 32 + 12);
      expect(checksum.ofPage(page, 3)).not.toBe(sum);
      flip(page, word * 32 + 31);
      flip(page, (word + 2) * 32 + 12);
    }
  }
});

test('[LOG7] no two flipped bits of 16 words cancel, whichever they are', () => {
  const words = randomPage(11).slice(0, 16);
  const bitCount = words.length * 32;
  const sum = xxh32(words, 0, words.length, 5);
  const cancelled: string[] = [];
  for (let a = 0; a < bitCount; a++) {
    flip(words, a);
    for (let b = 0; b < a; b++) {
      flip(words, b);
      if (xxh32(words, 0, words.length, 5) === sum) cancelled.push(`${a} and ${b}`);
      flip(words, b);
    }
    flip(words, a);
  }
  expect(cancelled).toEqual([]);
});

test('[LOG7] any two flipped bits of a page are detected', () => {
  const bit = fc.nat(PAGE_BITS - 1);
  fc.assert(
    fc.property(fc.integer(), bit, bit, (seed, a, b) => {
      fc.pre(a !== b);
      const page = randomPage(seed);
      const sum = checksum.ofPage(page, 5);
      flip(page, a);
      flip(page, b);
      expect(checksum.ofPage(page, 5)).not.toBe(sum);
    }),
    { numRuns: 2000 },
  );
});

test('[LOG3] any two flipped bits of a record are detected', () => {
  const writer = new RecordWriter();
  const after = new Uint8Array(randomPage(1).buffer);
  const bits = fc.tuple(fc.nat(), fc.nat());
  fc.assert(
    fc.property(bits, fc.nat(4095), ([first, second], from) => {
      const before = after.slice();
      for (let i = from; i < Math.min(4096, from + 40); i++) before[i]! ^= 0xa5;
      writer.begin();
      writer.addChange({ pageIndex: 1, before, after }, checksum);
      const header = { sequence: 9, timeMs: 8, durableSequence: 7, previousSum: 6, flags: 0 };
      const counts = { epoch: 5, pageCountBefore: 4, pageCount: 4 };
      const bytes = writer.finish({ ...header, ...counts }, checksum).bytes.slice();
      const record = parseHeader(bytes)!;
      const [a, b] = [first % (bytes.length * 8), second % (bytes.length * 8)];
      fc.pre(a !== b);
      const words = wordsOf(bytes);
      flip(words, a);
      flip(words, b);
      const found = parseHeader(bytes);
      // The reader reads as many bytes as the length field says, so a changed length differs too.
      const isRead = found !== null && found.length === record.length;
      expect(isRead && isIntact(bytes, found, checksum)).toBe(false);
    }),
    { numRuns: 2000 },
  );
});

test('[LOG7] the same page under another salt or at another place differs', () => {
  const page = randomPage(3);
  const sums = [
    checksum.ofPage(page, 0),
    checksum.ofPage(page, 1),
    new Checksum(1).ofPage(page, 0),
  ];
  expect(new Set(sums).size).toBe(sums.length);
});

test('[LOG17] the checksums of a record and of a page are those of the document', () => {
  const page = randomPage(5);
  const bytes = new Uint8Array(page.buffer);
  const salt = 0xfedc_ba98;
  const salted = new Checksum(salt);
  for (const end of [3, 4, 20, 1024]) {
    const part = bytes.subarray(12, 4 * end);
    const upper = referenceXxh32(part, (salt ^ 0x6a09e667) >>> 0) & 0x1fffff;
    expect(salted.ofRecord(page, 3, end)).toBe(upper * 2 ** 32 + referenceXxh32(part, salt));
  }
  for (const index of [0, 1, 70_000]) {
    const seed = (salt ^ Math.imul(index + 1, 0x27d4eb2f)) >>> 0;
    expect(salted.ofPage(page, index)).toBe(referenceXxh32(bytes, seed));
  }
});
