import { expect, test } from 'vitest';
import { MessageRate } from './message-rate.ts';

test('[FOLS10] a connection may send its messages of a second at once, and again as time passes', () => {
  let nowMs = 0;
  const rate = new MessageRate(10, () => nowMs);
  const taken = () => Array.from({ length: 12 }, () => rate.takes(1)).filter(Boolean).length;
  expect(taken()).toBe(10);
  nowMs = 1000;
  expect(taken()).toBe(8);
  expect(rate.takes(2)).toBe(true);
  nowMs = 0;
  expect(rate.takes(1)).toBe(false);
});

test('[FOLS10] time fills each connection on its own, up to the messages of a second', () => {
  let nowMs = 5000;
  const rate = new MessageRate(10, () => nowMs);
  const taken = (connection: number) => {
    let count = 0;
    while (rate.takes(connection)) count++;
    return count;
  };
  expect([taken(1), taken(2)]).toEqual([10, 10]);
  // The refused message counts as a message, too.
  nowMs += 500;
  expect(taken(1)).toBe(4);
  nowMs += 60_000;
  expect([taken(1), taken(2)]).toEqual([10, 10]);
  rate.forget(1);
  expect([taken(1), taken(2)]).toEqual([10, 0]);
});
