// Timers that a test drives, beside the time that passes.

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { afterPassed } from './passed-time.ts';

let passedMs = 0;

beforeEach(() => {
  passedMs = 0;
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  class Mark {
    readonly startTime = passedMs;
  }
  vi.stubGlobal('PerformanceMark', Mark);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** Both go on. */
function pass(ms: number): void {
  passedMs += ms;
  vi.advanceTimersByTime(ms);
}

test('[PCLOCK2] a task runs once its time has passed, by the timers and in fact', () => {
  const task = vi.fn();
  afterPassed(5000, task);
  pass(4999);
  expect(task).not.toHaveBeenCalled();
  pass(1);
  pass(5000);
  expect(task).toHaveBeenCalledOnce();
});

test('[PCLOCK2] timers that jump do not run it; it runs when the rest has passed', () => {
  const task = vi.fn();
  afterPassed(5000, task);
  pass(1000);
  vi.advanceTimersByTime(3_600_000);
  expect(task).not.toHaveBeenCalled();
  passedMs += 4000;
  vi.advanceTimersByTime(4000);
  expect(task).toHaveBeenCalledOnce();
});

test('[PCLOCK2] a cancelled task does not run, also after a jump', () => {
  const task = vi.fn();
  const cancel = afterPassed(5000, task);
  vi.advanceTimersByTime(3_600_000);
  cancel();
  pass(10_000);
  expect(task).not.toHaveBeenCalled();
});
