import { expect, test } from 'vitest';
import { ValueCopies } from './perform.ts';

/** Bytes that differ by value and by place. */
function bytes(length: number, seed: number): Uint8Array {
  const made = new Uint8Array(length);
  for (let i = 0; i < length; i++) made[i] = Math.imul(seed * 65_537 + i, 0x9e3779b1) >>> 24;
  return made;
}

test('[SES16] copies keep their order and their bytes, whatever their sizes', {
  tags: 'long',
}, () => {
  const memory = new Uint8Array(100_000);
  const copies = new ValueCopies();
  const lengths = [0, 1, 4096, 4097, 1023, 1024, 50_000, 3, 0, 4096];
  for (const [i, length] of lengths.entries()) {
    memory.set(bytes(length, i), 7);
    copies.add(memory.subarray(7, 7 + length));
  }
  memory.fill(255);
  expect(copies.take()).toEqual(lengths.map((length, i) => bytes(length, i)));
});

test('[SES16] a message of small values holds no bytes but theirs', () => {
  const copies = new ValueCopies();
  for (let i = 0; i < 100; i++) copies.add(bytes(33, i));
  const taken = copies.take();
  expect(new Set(taken.map(({ buffer }) => buffer)).size).toBe(1);
  expect(taken[0]!.buffer.byteLength).toBe(3300);
});

test('[SES16] without values there are none', () => {
  expect(new ValueCopies().take()).toEqual([]);
});
