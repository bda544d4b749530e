import { beforeEach, describe, expect, test } from 'vitest';
import { Clock, type SystemTime } from '../clock/clock.ts';
import { type AlarmOutcome, AlarmScheduler } from './alarm-scheduler.ts';

const START_MS = Date.UTC(2030, 0, 1);
const HOUR_MS = 3_600_000;

let clock: Clock;
let scheduler: AlarmScheduler;
let runs: [name: string, retryCount: number, atMs: number][];
let givenUp: string[];
let outcomes: AlarmOutcome[];
let systemTimers: number;
/** The next random numbers; 0 without one. */
let randoms: number[];
/** How far the wall clock was set forward. */
let aheadMs: number;

beforeEach(() => {
  systemTimers = 0;
  randoms = [];
  aheadMs = 0;
  const system: SystemTime = {
    now: () => START_MS,
    elapsed: () => START_MS,
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
      at: (timeMs, task) => clock.at(timeMs, task),
      after: (delayMs, task) => clock.after(delayMs, task),
      random: () => randoms.shift() ?? 0,
    },
    {
      run: async (name, retryCount) => {
        runs.push([name, retryCount(), clock.now() - START_MS]);
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

  test('[AL5] a random part of a quarter is added to the delay of each retry', async () => {
    outcomes = ['failed', 'failed', 'failed'];
    randoms = [0.5, 1 - 2 ** -32, 0];
    scheduler.set('a', START_MS);
    await advance(60_000);
    expect(runs.map(([, , atMs]) => Math.round(atMs))).toEqual([0, 2250, 7250, 15_250]);
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
    expect(scheduler.isWaiting).toBe(false);
  });
});

describe('alarms and a wall clock that is set', () => {
  let elapsedMs: number;
  let due: { readonly atMs: number; readonly task: () => void }[];
  let byWallClock: AlarmScheduler;

  beforeEach(() => {
    elapsedMs = 0;
    due = [];
    const system: SystemTime = {
      now: () => START_MS + elapsedMs + aheadMs,
      elapsed: () => elapsedMs,
      after: (delayMs, task) => {
        const timer = { atMs: elapsedMs + delayMs, task };
        due.push(timer);
        return () => (due = due.filter((other) => other !== timer));
      },
    };
    const systemClock = new Clock(system);
    byWallClock = new AlarmScheduler(
      {
        now: () => systemClock.now(),
        at: (timeMs, task) => systemClock.at(timeMs, task),
        after: (delayMs, task) => systemClock.after(delayMs, task),
        random: () => 0,
      },
      {
        run: async (name, retryCount) => {
          runs.push([name, retryCount(), elapsedMs]);
          return outcomes.shift() ?? 'succeeded';
        },
        giveUp: async () => {},
      },
    );
  });

  async function pass(untilMs: number): Promise<void> {
    for (;;) {
      const next = due.toSorted((a, b) => a.atMs - b.atMs)[0];
      if (next === undefined || next.atMs > untilMs) break;
      due = due.filter((other) => other !== next);
      elapsedMs = Math.max(elapsedMs, next.atMs);
      next.task();
      await settled();
    }
    elapsedMs = untilMs;
  }

  for (const hours of [-24, -1, 1, 24 * 365]) {
    test(`[CLOCK17] retries keep their delays when it is set by ${hours} hours`, async () => {
      outcomes = ['failed', 'failed', 'unreached'];
      byWallClock.set('a', START_MS + 1000);
      await pass(1500);
      aheadMs = hours * HOUR_MS;
      await pass(60_000);
      expect(runs).toEqual([
        ['a', 0, 1000],
        ['a', 1, 3000],
        ['a', 2, 7000],
        ['a', 2, 15_000],
      ]);
    });
  }

  test('[CLOCK16] set back, an alarm waits for its time; set forward, it comes within a minute', async () => {
    byWallClock.set('back', START_MS + 60_000);
    await pass(30_000);
    aheadMs = -HOUR_MS;
    await pass(HOUR_MS + 59_999);
    expect(runs).toEqual([]);
    await pass(HOUR_MS + 60_000);
    expect(runs).toEqual([['back', 0, HOUR_MS + 60_000]]);
    byWallClock.set('forward', START_MS + aheadMs + elapsedMs + HOUR_MS);
    aheadMs += 2 * HOUR_MS;
    await pass(HOUR_MS + 120_000);
    expect(runs.at(-1)).toEqual(['forward', 0, HOUR_MS + 120_000]);
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
    const times = runs.map(([, , atMs]) => atMs / 1000);
    const delays = times.slice(1).map((at, i) => at - times[i]!);
    // Its third failure is followed by the third delay: runs that did not reach it do not count.
    expect(delays).toEqual([2, 4, 8, 16, 8, 16, 32, 64]);
    expect(givenUp).toEqual(['a']);
  });

  test('[AL14] keep their delay when the object is in doubt meanwhile; a first run is looked at now', async () => {
    outcomes = ['unreached'];
    scheduler.set('a', START_MS);
    scheduler.set('waiting', START_MS + HOUR_MS);
    await advance(1000);
    for (const name of ['a', 'waiting']) scheduler.doubt(name);
    await advance(999);
    expect(runs).toEqual([
      ['a', 0, 0],
      ['waiting', 0, 1000],
    ]);
    await advance(1);
    expect(runs.at(-1)).toEqual(['a', 0, 2000]);
  });
});

describe('what a catalog says', () => {
  test('[CAT4] is when to look at an object, unless its alarm is known', async () => {
    scheduler.set('known', START_MS + 5000);
    for (const name of ['known', 'new']) scheduler.found(name, START_MS + 1000);
    await advance(10_000);
    expect(runs).toEqual([
      ['new', 0, 1000],
      ['known', 0, 5000],
    ]);
  });
});
