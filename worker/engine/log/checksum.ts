// Checksums of one object's files: 53 bits over a record, 32 bits over a page.
//
// They detect damage, not tampering. A change within one word is always detected; any other change
// is missed once in 2^53 (2^32 for a page). The object's salt and a page's index are seeds, so that
// the checksums of another object or another page differ; a record contains its epoch.
//
// The hash is XXH32, over whole 32-bit words (https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md). It
// reads bytes as little-endian words, so the words of a typed array give the published results on every engine that
// runs WebAssembly.

/**
 * The format version of the files, stored in the slots of the checkpoint file. Files of the version before have no
 * differences of pages, and can still be read.
 */
export const FORMAT_VERSION = 4;

/** Combined with the salt to seed the upper part of a record's checksum; an arbitrary number. */
const UPPER_SEED = 0x6a09e667;
const UPPER_MASK = 0x1fffff;

const PRIME_1 = 0x9e3779b1 | 0;
const PRIME_2 = 0x85ebca77 | 0;
const PRIME_3 = 0xc2b2ae3d | 0;
const PRIME_4 = 0x27d4eb2f | 0;
const PRIME_5 = 0x165667b1 | 0;

export class Checksum {
  /** A random number that is created with the object. */
  readonly salt: number;

  constructor(salt: number) {
    this.salt = salt;
  }

  /** Computes the 53-bit checksum of `words[start, end)`: an integer below 2^53. */
  ofRecord(words: Uint32Array, start: number, end: number): number {
    const [lower, upper] = xxh32Pair(words, start, end, [this.salt, this.salt ^ UPPER_SEED]);
    return (upper & UPPER_MASK) * 0x1_0000_0000 + lower;
  }

  /** Computes the 32-bit checksum of a page; it depends on the page's bytes and index. */
  ofPage(page: Uint32Array, pageIndex: number): number {
    const seed = this.salt ^ Math.imul(pageIndex + 1, 0x27d4eb2f);
    return xxh32(page, 0, page.length, seed);
  }
}

/** Views bytes as 32-bit words; their offset must be a multiple of four. */
export function wordsOf(bytes: Uint8Array): Uint32Array {
  return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >>> 2);
}

/** Computes the XXH32 of `words[start, end)`: an integer below 2^32. */
export function xxh32(words: Uint32Array, start: number, end: number, seed: number): number {
  let at = start;
  let hash: number;
  if (end - start >= 4) {
    let a = (seed + PRIME_1 + PRIME_2) | 0;
    let b = (seed + PRIME_2) | 0;
    let c = seed | 0;
    let d = (seed - PRIME_1) | 0;
    for (const last = end - 4; at <= last; at += 4) {
      a = (a + Math.imul(words[at]!, PRIME_2)) | 0;
      a = Math.imul((a << 13) | (a >>> 19), PRIME_1);
      b = (b + Math.imul(words[at + 1]!, PRIME_2)) | 0;
      b = Math.imul((b << 13) | (b >>> 19), PRIME_1);
      c = (c + Math.imul(words[at + 2]!, PRIME_2)) | 0;
      c = Math.imul((c << 13) | (c >>> 19), PRIME_1);
      d = (d + Math.imul(words[at + 3]!, PRIME_2)) | 0;
      d = Math.imul((d << 13) | (d >>> 19), PRIME_1);
    }
    hash = rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18);
  } else {
    hash = seed + PRIME_5;
  }
  hash = (hash + (end - start) * 4) | 0;
  return finish(hash, words, at, end);
}

/**
 * Computes the XXH32 of `words[start, end)` for two seeds in one pass: a record is read from memory once, and half
 * of the multiplications are shared (0.6 of the time of two passes).
 */
export function xxh32Pair(
  words: Uint32Array,
  start: number,
  end: number,
  seeds: readonly [number, number],
): readonly [number, number] {
  const [seed, other] = seeds;
  if (end - start < 4) return [xxh32(words, start, end, seed), xxh32(words, start, end, other)];
  let at = start;
  let a = (seed + PRIME_1 + PRIME_2) | 0;
  let b = (seed + PRIME_2) | 0;
  let c = seed | 0;
  let d = (seed - PRIME_1) | 0;
  let e = (other + PRIME_1 + PRIME_2) | 0;
  let f = (other + PRIME_2) | 0;
  let g = other | 0;
  let h = (other - PRIME_1) | 0;
  for (const last = end - 4; at <= last; at += 4) {
    const first = Math.imul(words[at]!, PRIME_2);
    const second = Math.imul(words[at + 1]!, PRIME_2);
    const third = Math.imul(words[at + 2]!, PRIME_2);
    const fourth = Math.imul(words[at + 3]!, PRIME_2);
    a = (a + first) | 0;
    a = Math.imul((a << 13) | (a >>> 19), PRIME_1);
    b = (b + second) | 0;
    b = Math.imul((b << 13) | (b >>> 19), PRIME_1);
    c = (c + third) | 0;
    c = Math.imul((c << 13) | (c >>> 19), PRIME_1);
    d = (d + fourth) | 0;
    d = Math.imul((d << 13) | (d >>> 19), PRIME_1);
    e = (e + first) | 0;
    e = Math.imul((e << 13) | (e >>> 19), PRIME_1);
    f = (f + second) | 0;
    f = Math.imul((f << 13) | (f >>> 19), PRIME_1);
    g = (g + third) | 0;
    g = Math.imul((g << 13) | (g >>> 19), PRIME_1);
    h = (h + fourth) | 0;
    h = Math.imul((h << 13) | (h >>> 19), PRIME_1);
  }
  const lengthBytes = (end - start) * 4;
  const one = rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18) + lengthBytes;
  const two = rotate(e, 1) + rotate(f, 7) + rotate(g, 12) + rotate(h, 18) + lengthBytes;
  return [finish(one | 0, words, at, end), finish(two | 0, words, at, end)];
}

/** Adds the words after the last whole block to the hash, and mixes its bits. */
function finish(started: number, words: Uint32Array, start: number, end: number): number {
  let hash = started;
  for (let at = start; at < end; at++) {
    hash = (hash + Math.imul(words[at]!, PRIME_3)) | 0;
    hash = Math.imul(rotate(hash, 17), PRIME_4);
  }
  hash = Math.imul(hash ^ (hash >>> 15), PRIME_2);
  hash = Math.imul(hash ^ (hash >>> 13), PRIME_3);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function rotate(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits));
}
