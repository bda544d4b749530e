// The checksums of objects in format version 1, which can still be read and written.
//
// They miss some pairs of flipped bits: bit 31 of a word and bit 12 of the word after the next always
// cancel. Version 2 (checksum.ts) uses a published hash instead. Frozen: any change here makes the
// objects of version 1 unreadable.

const MULTIPLIER_A = 0x9e3779b1;
const MULTIPLIER_B = 0x85ebca77;

// The second half of the last result: returning a pair would allocate for every record.
let high = 0;

function lanes(words: Uint32Array, start: number, end: number, seed: number): number {
  let a = seed ^ MULTIPLIER_B;
  let b = (seed + MULTIPLIER_A) | 0;
  const even = end - ((end - start) & 1);
  for (let i = start; i < even; i += 2) {
    a = Math.imul(a ^ words[i]!, MULTIPLIER_A);
    a = (a << 13) | (a >>> 19);
    b = Math.imul(b ^ words[i + 1]!, MULTIPLIER_B);
    b = (b << 17) | (b >>> 15);
  }
  if (even < end) a = Math.imul(a ^ words[even]!, MULTIPLIER_A);
  a ^= b ^ (b >>> 15);
  a = Math.imul(a ^ (a >>> 16), 0x7feb352d);
  a ^= a >>> 15;
  high = Math.imul(b ^ (a >>> 7), 0x2c1b3c6d);
  high ^= high >>> 12;
  return a >>> 0;
}

/** The 53-bit checksum of `words[start, end)`: an integer below 2^53. */
export function recordSum1(words: Uint32Array, start: number, end: number, seed: number): number {
  const low = lanes(words, start, end, seed);
  return (high & 0x1fffff) * 0x1_0000_0000 + low;
}

/** The 32-bit checksum of a page, with a seed from its index. */
export function pageSum1(page: Uint32Array, seed: number): number {
  return lanes(page, 0, page.length, seed);
}
