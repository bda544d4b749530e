// Checksums of the commit log: 53 bits over a record, 32 bits over a page.
//
// They find damage, not tampering. Each word passes through a bijective step of one of two lanes,
// so a change confined to one 32-bit word is always seen; any other change is missed once in 2^53
// (2^32 for a page). Seeds make the sum of a foreign object, another page or an older life differ.

const MULTIPLIER_A = 0x9e3779b1;
const MULTIPLIER_B = 0x85ebca77;

// The second half of the last sum: a pair would be an allocation for every record.
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

/** The 53-bit sum of `words[start, end)`: a whole number below 2^53. */
export function recordSum(words: Uint32Array, start: number, end: number, seed: number): number {
  const low = lanes(words, start, end, seed);
  return (high & 0x1fffff) * 0x1_0000_0000 + low;
}

/** The 32-bit sum of a page at its place: the same bytes at another page number differ. */
export function pageSum(page: Uint32Array, pageIndex: number, salt: number): number {
  return lanes(page, 0, page.length, salt ^ Math.imul(pageIndex + 1, 0x27d4eb2f));
}
