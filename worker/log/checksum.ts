// Checksums of one object's files: 53 bits over a record, 32 bits over a page.
//
// They detect damage, not tampering. A change within one word is always detected; any other change
// is missed once in 2^53 (2^32 for a page). The object's salt and a page's index are seeds, so that
// the checksums of another object or another page differ; a record contains its epoch.
//
// An object keeps the format version with which it was created, because its checksums form a chain:
// each record contains the checksum of the one before.

import { pageSum1, recordSum1 } from './checksum-version-1.ts';
import { xxh32, xxh32Pair } from './xxh32.ts';

export type FormatVersion = 1 | 2;

/** The version of new objects. */
export const FORMAT_VERSION: FormatVersion = 2;

/** Combined with the salt to seed the upper part of a record's checksum; an arbitrary number. */
const UPPER_SEED = 0x6a09e667;
const UPPER_MASK = 0x1fffff;

export class Checksum {
  readonly version: FormatVersion;
  /** Random number created with the object. */
  readonly salt: number;

  constructor(version: FormatVersion, salt: number) {
    this.version = version;
    this.salt = salt;
  }

  /** The 53-bit checksum of `words[start, end)`: an integer below 2^53. */
  ofRecord(words: Uint32Array, start: number, end: number): number {
    if (this.version === 1) return recordSum1(words, start, end, this.salt);
    const seeds = [this.salt, this.salt ^ UPPER_SEED] as const;
    const [lower, upper] = xxh32Pair(words, start, end, seeds);
    return (upper & UPPER_MASK) * 0x1_0000_0000 + lower;
  }

  /** The 32-bit checksum of a page; the same bytes at another index give another one. */
  ofPage(page: Uint32Array, pageIndex: number): number {
    const seed = this.salt ^ Math.imul(pageIndex + 1, 0x27d4eb2f);
    return this.version === 1 ? pageSum1(page, seed) : xxh32(page, 0, page.length, seed);
  }
}

/** The version that a file claims; null if this code cannot read it. */
export function formatVersion(claimed: number): FormatVersion | null {
  return claimed === 1 || claimed === 2 ? claimed : null;
}
