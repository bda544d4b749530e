// Checksums of one object's files: 53 bits over a record, 32 bits over a page.
//
// They find damage, not tampering. A change confined to one word is always seen; any other change
// is missed once in 2^53 (2^32 for a page). The salt of the object, and the place of a page, are
// seeds: the sum of a foreign object, another page or an earlier epoch differs.
//
// An object keeps the format version it was made with, because all its sums hang together: each
// record holds the sum of the one before.

import { pageSum1, recordSum1 } from './checksum-version-1.ts';
import { xxh32 } from './xxh32.ts';

export type FormatVersion = 1 | 2;

/** The version of objects made now. */
export const FORMAT_VERSION: FormatVersion = 2;

/** Seed of the upper half of a record's sum, beside that of the lower: an arbitrary number. */
const UPPER_SEED = 0x6a09e667;
const UPPER_MASK = 0x1fffff;

export class Checksum {
  readonly version: FormatVersion;
  /** Random number made with the object. */
  readonly salt: number;

  constructor(version: FormatVersion, salt: number) {
    this.version = version;
    this.salt = salt;
  }

  /** The 53-bit sum of `words[start, end)`: a whole number below 2^53. */
  ofRecord(words: Uint32Array, start: number, end: number): number {
    if (this.version === 1) return recordSum1(words, start, end, this.salt);
    const lower = xxh32(words, start, end, this.salt);
    const upper = xxh32(words, start, end, this.salt ^ UPPER_SEED) & UPPER_MASK;
    return upper * 0x1_0000_0000 + lower;
  }

  /** The 32-bit sum of a page at its place: the same bytes at another page number differ. */
  ofPage(page: Uint32Array, pageIndex: number): number {
    const seed = this.salt ^ Math.imul(pageIndex + 1, 0x27d4eb2f);
    return this.version === 1 ? pageSum1(page, seed) : xxh32(page, 0, page.length, seed);
  }
}

/** The version a file claims; null when this code cannot read it. */
export function formatVersion(claimed: number): FormatVersion | null {
  return claimed === 1 || claimed === 2 ? claimed : null;
}
