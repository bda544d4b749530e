import { beforeEach, describe, expect, test } from 'vitest';
import { Clock } from '../clock/clock.ts';
import type { SystemTime } from '../clock/system-timers.ts';
import { type AlarmOutcome, AlarmScheduler } from './alarm-scheduler.ts';

const START_MS = Date.UTC(2030, 0, 1);
const HOUR_MS = 3_600_000;

let clock: Clock;
let scheduler: AlarmScheduler;
let runs: [name: string, retryCount: number, atMs: number][];
let givenUp: string[];
let outcomes: AlarmOutcome[];
let systemTimers: number;

beforeEach(() => {
  systemTimers = 0;
  const system: SystemTime = {
    now: () => START_MS,
    after: () => {
      systemTimers += 1;
      return () => (systemTimers -= 1);
    },
  };
  clock = new Clock(system);
  runs = [];
  givenUp = [];
  outcomes = [];
  scheduler = new AlarmScheduler(
    {
      now: () => clock.now(),
      after: (delayMs, task) => clock.after(delayMs, task),
      random: () => 0,
    },
    {
      run: async (name, { retryCount }) => {
        runs.push([name, retryCount, clock.now() - START_MS]);
        return outcomes.shift() ?? 'succeeded';
      },
      giveUp: async (name) => void givenUp.push(name),
    },
  );
});

const settled = async () => {
  await new Promise((resolve) => setImmediate(resolve));
};
const advance = (durationMs: number) => clock.advance(durationMs, settled);

describe('alarms on a clock that jumps', () => {
  test('[AL13] moved over many, they run in order, each at its own time', async () => {
    for (const inMs of [300, 100, 200]) scheduler.set(`in ${inMs}`, START_MS + inMs);
    await advance(HOUR_MS);
    expect(runs).toEqual([
      ['in 100', 0, 100],
      ['in 200', 0, 200],
      ['in 300', 0, 300],
    ]);
  });

  test('[AL13] set beyond many, they run in order, late', async () => {
    for (const inMs of [300, 100, 200]) scheduler.set(`in ${inMs}`, START_MS + inMs);
    await clock.set(START_MS + HOUR_MS, settled);
    expect(runs).toEqual([
      ['in 100', 0, HOUR_MS],
      ['in 200', 0, HOUR_MS],
      ['in 300', 0, HOUR_MS],
    ]);
  });

  test('[AL13] retries count from the time of the failure', async () => {
    outcomes = ['failed', 'failed'];
    scheduler.set('a', START_MS + 100);
    await clock.set(START_MS + HOUR_MS, settled);
    expect(runs).toEqual([['a', 0, HOUR_MS]]);
    await advance(10_000);
    expect(runs.slice(1)).toEqual([
      ['a', 1, HOUR_MS + 2000],
      ['a', 2, HOUR_MS + 6000],
    ]);
  });

  test('[AL13] back in time nothing runs early, retries included', async () => {
    outcomes = ['failed'];
    scheduler.set('retried', START_MS);
    scheduler.set('later', START_MS + 5000);
    await advance(0);
    await clock.set(START_MS - HOUR_MS, settled);
    await advance(HOUR_MS + 1999);
    expect(runs).toEqual([['retried', 0, 0]]);
    await advance(5000);
    expect(runs.slice(1)).toEqual([
      ['retried', 1, 2000],
      ['later', 0, 5000],
    ]);
  });

  test('[AL13] thousands that wait need one timer of the system', async () => {
    const count = 5000;
    for (let i = 0; i < count; i++) scheduler.set(`${i}`, START_MS + 1 + ((i * 7919) % count));
    expect(systemTimers).toBe(1);
    await advance(count);
    expect(runs).toHaveLength(count);
    expect(runs.every(([, , atMs], i) => atMs === i + 1)).toBe(true);
    expect(scheduler.next()).toBeNull();
  });
});

describe('runs that do not reach the handler', () => {
  test('[AL14] are tried again after 2 s, then twice as long each time up to 1024 s, without end', async () => {
    outcomes = new Array(15).fill('unreached');
    scheduler.set('a', START_MS);
    await advance(100 * HOUR_MS);
    const times = runs.map(([, , atMs]) => atMs / 1000);
    expect(times.slice(1).map((at, i) => at - times[i]!)).toEqual([
      2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1024, 1024, 1024, 1024, 1024,
    ]);
    expect(runs.every(([, retryCount]) => retryCount === 0)).toBe(true);
    expect(givenUp).toEqual([]);
  });

  test('[AL14] leave a failing handler all of its retries', async () => {
    outcomes = ['failed', 'failed', 'unreached', 'unreached', ...new Array(5).fill('failed')];
    scheduler.set('a', START_MS);
    await advance(HOUR_MS);
    expect(runs.map(([, retryCount]) => retryCount)).toEqual([0, 1, 2, 2, 2, 3, 4, 5, 6]);
    expect(givenUp).toEqual(['a']);
  });
});
