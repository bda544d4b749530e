// SHA-256, and HMAC with it, for ids: the platform's digests are asynchronous, and ids must not be.
//
// Follows FIPS 180-4 and FIPS 198-1. Not for secrets: it takes no care that its time tells nothing of its
// input, and ids are no secrets.

const BLOCK_BYTES = 64;
const LENGTH_BYTES = 8;

/** The first 32 bits of the fractional part of a root. */
function fraction(root: number): number {
  return ((root - Math.floor(root)) * 2 ** 32) | 0;
}

const PRIMES: readonly number[] = firstPrimes(64);
const START: readonly number[] = PRIMES.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)));
const ROUND = Int32Array.from(PRIMES, (prime) => fraction(Math.cbrt(prime)));

function firstPrimes(count: number): number[] {
  const primes: number[] = [];
  for (let number = 2; primes.length < count; number++) {
    if (primes.every((prime) => number % prime !== 0)) primes.push(number);
  }
  return primes;
}

/** The digest of all parts, one after the other: 32 bytes. */
export function sha256(...parts: readonly Uint8Array[]): Uint8Array {
  const sizeBytes = parts.reduce((sum, { length }) => sum + length, 0);
  const blockCount = Math.ceil((sizeBytes + 1 + LENGTH_BYTES) / BLOCK_BYTES);
  const padded = new Uint8Array(blockCount * BLOCK_BYTES);
  let at = 0;
  for (const part of parts) {
    padded.set(part, at);
    at += part.length;
  }
  padded[at] = 0x80;
  const view = new DataView(padded.buffer);
  view.setBigUint64(padded.length - LENGTH_BYTES, BigInt(sizeBytes) * 8n);
  const state = Int32Array.from(START);
  for (let block = 0; block < padded.length; block += BLOCK_BYTES) addBlock(state, view, block);
  const digest = new DataView(new ArrayBuffer(32));
  state.forEach((word, index) => {
    digest.setInt32(index * 4, word);
  });
  return new Uint8Array(digest.buffer);
}

/** The keyed code of a message: 32 bytes. The key has at most 64. */
export function hmacSha256(key: Uint8Array, message: Uint8Array): Uint8Array {
  const padded = (byte: number) => {
    const block = new Uint8Array(BLOCK_BYTES);
    block.set(key);
    return block.map((each) => each ^ byte);
  };
  return sha256(padded(0x5c), sha256(padded(0x36), message));
}

const words = new Int32Array(64);

function addBlock(state: Int32Array, view: DataView, start: number): void {
  for (let i = 0; i < 16; i++) words[i] = view.getInt32(start + i * 4);
  for (let i = 16; i < 64; i++) {
    const early = words[i - 15]!;
    const late = words[i - 2]!;
    const mixedEarly = rotate(early, 7) ^ rotate(early, 18) ^ (early >>> 3);
    const mixedLate = rotate(late, 17) ^ rotate(late, 19) ^ (late >>> 10);
    words[i] = words[i - 16]! + mixedEarly + words[i - 7]! + mixedLate;
  }
  let [a, b, c, d, e, f, g, h] = state as unknown as [
    ...[number, number, number, number],
    ...[number, number, number, number],
  ];
  for (let i = 0; i < 64; i++) {
    const mixedE = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    const added = (h + mixedE + ((e & f) ^ (~e & g)) + ROUND[i]! + words[i]!) | 0;
    const mixedA = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
    const majority = (a & b) ^ (a & c) ^ (b & c);
    [h, g, f, e] = [g, f, e, (d + added) | 0];
    [d, c, b, a] = [c, b, a, (added + mixedA + majority) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((word, index) => {
    state[index]! += word;
  });
}

function rotate(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}
