// Tests the limit of messages per second, with a clock that the tests move.

import { expect, test } from 'vitest';
import { MessageRate } from './message-rate.ts';

test('[FOLS10] a connection may send its messages of a second at once, and again as time passes', () => {
  let nowMs = 0;
  const rate = new MessageRate({ ofOne: 10, ofAll: 1000 }, () => nowMs);
  const countAllowed = () =>
    Array.from({ length: 12 }, () => rate.allows(1)).filter(Boolean).length;
  expect(countAllowed()).toBe(10);
  nowMs = 1000;
  expect(countAllowed()).toBe(8);
  expect(rate.allows(2)).toBe(true);
  nowMs = 0;
  expect(rate.allows(1)).toBe(false);
});

test('[FOLS10] time fills each connection on its own, up to the messages of a second', () => {
  let nowMs = 5000;
  const rate = new MessageRate({ ofOne: 10, ofAll: 1000 }, () => nowMs);
  const countAllowed = (connection: number) => {
    let count = 0;
    while (rate.allows(connection)) count++;
    return count;
  };
  expect([countAllowed(1), countAllowed(2)]).toEqual([10, 10]);
  // A refused message counts as a message, so half a second allows 4 instead of 5.
  nowMs += 500;
  expect(countAllowed(1)).toBe(4);
  nowMs += 60_000;
  expect([countAllowed(1), countAllowed(2)]).toEqual([10, 10]);
  rate.forget(1);
  expect([countAllowed(1), countAllowed(2)]).toEqual([10, 0]);
});

test('[FOLS10] when all together send too many, those are refused that send more than their share', () => {
  let nowMs = 0;
  const rate = new MessageRate({ ofOne: 100, ofAll: 200 }, () => nowMs);
  const count = (connection: number, messages: number) =>
    Array.from({ length: messages }, () => rate.allows(connection)).filter(Boolean).length;
  expect([1, 2, 3].map((connection) => count(connection, 60))).toEqual([60, 60, 60]);
  expect(count(4, 20)).toBe(20);
  // The rate of all is used up; the share of each of the five is 40.
  expect(count(5, 50)).toBe(40);
  expect(count(4, 50)).toBe(20);
  expect(count(1, 10)).toBe(0);
  nowMs = 1000;
  expect(count(1, 60)).toBe(60);
  // Connections that have sent nothing for a second have no share.
  expect(count(2, 100)).toBe(100);
});
