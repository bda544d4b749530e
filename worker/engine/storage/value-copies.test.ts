import { expect, test } from 'vitest';
import { ValueCopies } from './perform.ts';

const bytes = (length: number, fill: number) => new Uint8Array(length).fill(fill);

test('[SES16] copies keep their order and their bytes, whatever their sizes', {
  tags: 'long',
}, () => {
  const memory = new Uint8Array(100_000);
  const copies = new ValueCopies();
  const lengths = [0, 1, 4096, 4097, 1023, 1024, 50_000, 3, 0, 4096];
  for (const [i, length] of lengths.entries()) {
    memory.fill(i + 1);
    copies.add(memory.subarray(7, 7 + length));
  }
  memory.fill(255);
  expect(copies.take()).toEqual(lengths.map((length, i) => bytes(length, i + 1)));
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
