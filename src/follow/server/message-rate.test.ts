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
