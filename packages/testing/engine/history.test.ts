// Tests which states the model of a history expects after a power failure and a restore.

import { expect, test } from 'vitest';
import { EMPTY } from './contents.ts';
import { History } from './history.ts';
import { WallClock } from './wall-clock.ts';

/** Makes a history of commits at the times 0 (acknowledged), 10 and 20. */
function commits(): History {
  const clock = new WallClock(0);
  clock.elapsedMs = 100;
  const history = new History({ contents: EMPTY, timeMs: 0 }, clock);
  for (const timeMs of [10, 20]) {
    history.beginCommit({ ...EMPTY, alarm: timeMs }, timeMs);
    history.committed();
  }
  return history;
}

/** Returns the times of the states that may be the last one at a time, newest first. */
function timesAt(history: History, timeMs: number): number[] {
  return history.at(timeMs).map((state) => state.timeMs);
}

test('[SIM1] commits that a power failure may have taken before a restore may be missing at their time', () => {
  const history = commits();
  history.beginCommit(EMPTY, 30); // power fails during this commit
  history.restored(EMPTY, 40);
  expect(timesAt(history, 9)).toEqual([0]);
  expect(timesAt(history, 19)).toEqual([10, 0]);
  expect(timesAt(history, 39)).toEqual([30, 20, 10, 0]);
  expect(timesAt(history, 40)).toEqual([40]);
});

test('[SIM1] commits that were acknowledged before a restore, or found without one, are certain', () => {
  const restored = commits();
  restored.acknowledge();
  restored.restored(EMPTY, 40);
  const found = commits();
  found.found(found.states[1]!);
  expect(timesAt(restored, 39)).toEqual([20]);
  expect(timesAt(found, 39)).toEqual([10]);
});
