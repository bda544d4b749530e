// Tests that a deadline has one timer, and none for a time that is far away.

import { beforeEach, expect, test } from 'vitest';
import { Deadline } from './deadline.ts';

let nowMs: number;
let timers: Map<number, () => void>;
let runs: number;
let deadline: Deadline;
beforeEach(() => {
  nowMs = 1_000;
  timers = new Map();
  runs = 0;
  const after = (delayMs: number, task: () => void) => {
    timers.set(nowMs + delayMs, task);
    return () => timers.delete(nowMs + delayMs);
  };
  deadline = new Deadline({ now: () => nowMs, after }, () => runs++);
});

test('[FOLS19] the task runs at the time that was set last', () => {
  deadline.set(6_000);
  deadline.set(5_000);
  deadline.set(5_000);
  expect([...timers.keys()]).toEqual([5_000]);
  nowMs = 5_000;
  timers.get(5_000)!();
  expect(runs).toBe(1);
  timers.clear();
  deadline.set(5_000);
  expect([...timers.keys()]).toEqual([5_000]);
});

test('[FOLS19] a time that has passed is due at once; one further away than a minute has no timer', () => {
  deadline.set(61_001);
  expect(timers.size).toBe(0);
  deadline.set(61_000);
  expect([...timers.keys()]).toEqual([61_000]);
  deadline.set(Infinity);
  expect(timers.size).toBe(0);
  deadline.set(500);
  expect([...timers.keys()]).toEqual([1_000]);
});
