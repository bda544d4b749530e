// A program's view of an alarm while its handler runs, and the alarm after the run.

import { beforeEach, expect, test } from 'vitest';
import { Alarm } from './alarm.ts';
import type { Metadata } from './metadata.ts';

let stored: number | null;
let alarm: Alarm;

beforeEach(() => {
  stored = null;
  alarm = new Alarm({
    get alarm() {
      return stored;
    },
    setAlarm: (timeMs: number | null) => {
      stored = timeMs;
    },
  } as Metadata);
});

test('[AL1] without a run, the alarm is the stored time', () => {
  expect([alarm.timeMs, alarm.storedMs, alarm.isSetTo(null), alarm.isSetTo(5)]).toEqual([
    null,
    null,
    true,
    false,
  ]);
  alarm.set(5);
  expect([alarm.timeMs, alarm.storedMs, alarm.isSetTo(5)]).toEqual([5, 5, true]);
  expect(alarm.end('succeeded')).toBe(false);
  alarm.rolledBack();
  expect(alarm.timeMs).toBe(5);
});

test('[AL8] during a run no alarm is seen, and none counts as set, but it stays stored', () => {
  expect(alarm.begin()).toBe(false);
  alarm.set(5);
  expect(alarm.begin()).toBe(true);
  expect([alarm.timeMs, alarm.storedMs]).toEqual([null, 5]);
  // Setting the same time again replaces the run's, and deleting it is a change too.
  expect([alarm.isSetTo(5), alarm.isSetTo(null)]).toEqual([false, false]);
});

test.each([
  ['succeeded', true],
  ['failed', false],
] as const)('[AL4] a run that %s clears the stored time: %s', (outcome, clears) => {
  alarm.set(5);
  alarm.begin();
  expect(alarm.end(outcome)).toBe(clears);
  expect(alarm.timeMs).toBe(5);
  expect(alarm.end(outcome)).toBe(false);
});

test.each([
  ['succeeded', 7],
  ['failed', 7],
  ['succeeded', null],
  ['failed', null],
] as const)('[AL6] an alarm set by a run that %s stays: %s', (outcome, timeMs) => {
  alarm.set(5);
  alarm.begin();
  alarm.set(timeMs);
  expect([alarm.timeMs, alarm.isSetTo(timeMs)]).toEqual([timeMs, true]);
  expect(alarm.end(outcome)).toBe(false);
  expect(alarm.timeMs).toBe(timeMs);
});

test('[AL3] a change during a run that is rolled back does not count; a change that stays does', () => {
  alarm.set(5);
  alarm.begin();
  alarm.set(7);
  stored = 5;
  alarm.rolledBack();
  expect(alarm.timeMs).toBeNull();
  alarm.set(7);
  alarm.rolledBack();
  expect(alarm.timeMs).toBe(7);
  expect(alarm.end('succeeded')).toBe(false);
});
