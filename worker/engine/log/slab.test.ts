import { expect, test } from 'vitest';
import { noise } from '../../../packages/testing/worker/test-log.ts';
import { PAGE_BYTES } from './pages.ts';
import { Slab } from './slab.ts';

test('arrays of a slab are their own, few share a buffer, and a large one is whole', () => {
  const slab = new Slab();
  const lengths = [8, PAGE_BYTES, 100 * PAGE_BYTES, 16, ...new Array(200).fill(PAGE_BYTES)];
  const copies = lengths.map((length, seed) => slab.copy(noise(seed, length)));
  for (const [seed, copy] of copies.entries())
    expect(Buffer.from(copy).equals(noise(seed, lengths[seed]!))).toBe(true);
  expect(new Set(copies.map(({ buffer }) => buffer)).size).toBeLessThan(8);
  expect(slab.take(PAGE_BYTES)).toEqual(new Uint8Array(PAGE_BYTES));
});
