// Makes the data that every contender stores.

import type { NewRow } from './store.ts';

export const ENTRY_COUNT = 1000;
export const ROW_COUNT = 10_000;
export const DOCUMENT_COUNT = 5000;
export const LARGE_BYTES = 131_000;

const WORD_COUNT = 1000;
const WORDS_PER_DOCUMENT = 12;
const POOL_BYTES = 1 << 18;
const RANDOM_BYTES_MAX = 65_536;

const pool = new Uint8Array(POOL_BYTES);
for (let at = 0; at < POOL_BYTES; at += RANDOM_BYTES_MAX) {
  crypto.getRandomValues(pool.subarray(at, at + RANDOM_BYTES_MAX));
}

export function key(i: number): string {
  return `k${String(i).padStart(4, '0')}`;
}

export function randomKey(): string {
  return key(randomBelow(ENTRY_COUNT));
}

/**
 * Returns bytes that no round has stored before, because a write of data that is stored already may cost nothing.
 */
export function freshValue(length = 100): Uint8Array {
  const from = randomBelow(POOL_BYTES - length);
  const value = pool.slice(from, from + length);
  new DataView(value.buffer).setFloat64(0, Math.random());
  return value;
}

export function randomBelow(bound: number): number {
  return Math.floor(Math.random() * bound);
}

export function row(i: number): NewRow {
  return { a: `name of row ${i}`, b: i * 1.5, c: i };
}

/** Returns rows that no round has stored before. */
export function freshRows(): NewRow[] {
  const salt = Math.random();
  return Array.from({ length: ROW_COUNT }, (_, i) => ({
    ...row(i),
    a: `name of row ${i} ${salt}`,
  }));
}

export function word(i: number): string {
  return `w${i % WORD_COUNT}`;
}

/** Returns the documents to search, which are the same for all contenders. */
export function documents(): string[] {
  let state = 7;
  const next = () => (state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff) >> 8;
  const one = () => Array.from({ length: WORDS_PER_DOCUMENT }, () => word(next())).join(' ');
  return Array.from({ length: DOCUMENT_COUNT }, one);
}
