// XXH32 one byte at a time, with integers of any size: the reference for tests of the fast version.
//
// Written from the specification, independently of the log's code:
// https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md

const [P1, P2, P3, P4, P5] = [2654435761n, 2246822519n, 3266489917n, 668265263n, 374761393n];
const MASK = 0xffff_ffffn;

const multiply = (a: bigint, b: bigint) => (a * b) & MASK;
const rotate = (value: bigint, bits: bigint) => ((value << bits) | (value >> (32n - bits))) & MASK;

function word(bytes: Uint8Array, at: number): bigint {
  let value = 0n;
  for (let i = 3; i >= 0; i--) value = (value << 8n) | BigInt(bytes[at + i]!);
  return value;
}

/** The XXH32 of any number of bytes. */
export function referenceXxh32(bytes: Uint8Array, seed: number): number {
  const start = BigInt(seed >>> 0);
  const stripes = Math.floor(bytes.length / 16);
  let hash = (start + P5) & MASK;
  if (stripes > 0) {
    const lanes = [start + P1 + P2, start + P2, start, start - P1].map((lane) => lane & MASK);
    for (let at = 0; at < stripes * 16; at += 4) {
      const lane = (at / 4) % 4;
      lanes[lane] = (lanes[lane]! + multiply(word(bytes, at), P2)) & MASK;
      lanes[lane] = multiply(rotate(lanes[lane]!, 13n), P1);
    }
    const turns = [1n, 7n, 12n, 18n];
    hash = lanes.reduce((sum, lane, i) => sum + rotate(lane, turns[i]!), 0n) & MASK;
  }
  hash = (hash + BigInt(bytes.length)) & MASK;
  let at = stripes * 16;
  for (; at + 4 <= bytes.length; at += 4) {
    hash = multiply(rotate((hash + multiply(word(bytes, at), P3)) & MASK, 17n), P4);
  }
  for (; at < bytes.length; at++) {
    hash = multiply(rotate((hash + multiply(BigInt(bytes[at]!), P5)) & MASK, 11n), P1);
  }
  hash = multiply(hash ^ (hash >> 15n), P2);
  hash = multiply(hash ^ (hash >> 13n), P3);
  return Number(hash ^ (hash >> 16n));
}
