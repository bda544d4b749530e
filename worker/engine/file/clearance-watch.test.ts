import { beforeEach, describe, expect, test, vi } from 'vitest';
import { turns } from '../../../packages/testing/page/turns.ts';
import { ClearanceWatch } from './clearance-watch.ts';

const CLEARED = { code: 'SITE_DATA_CLEARED' };
/** From this age on, a look at the directory is too old to vouch for a result. */
const CHECK_MS = 250;

let nowMs: number;
let isThere: boolean;
let looks: number;
let timers: { readonly dueMs: number; readonly task: () => void }[];
let watch: ClearanceWatch;

beforeEach(() => {
  nowMs = 50;
  isThere = true;
  looks = 0;
  timers = [];
  const exists = async () => {
    looks += 1;
    return isThere;
  };
  watch = new ClearanceWatch(exists, {
    now: () => nowMs,
    after(delayMs, task) {
      const timer = { dueMs: nowMs + delayMs, task };
      timers.push(timer);
      return () => {
        timers = timers.filter((other) => other !== timer);
      };
    },
  });
});

function advance(durationMs: number): void {
  nowMs += durationMs;
  const due = timers.filter(({ dueMs }) => dueMs <= nowMs);
  timers = timers.filter(({ dueMs }) => dueMs > nowMs);
  for (const { task } of due) task();
}

/** The error by which the watch tells that the directory was cleared, if it does so within a few turns. */
const noticed = () => Promise.race([watch.cleared, turns()]);

const answer = () => watch.during(async () => 'answered');

describe('a directory that is cleared', () => {
  test('[DUR4] no call returns a result if the last look is too old', async () => {
    expect(await answer()).toBe('answered');
    isThere = false;
    nowMs += CHECK_MS - 1;
    expect(await answer()).toBe('answered');
    nowMs += 1;
    await expect(answer()).rejects.toMatchObject(CLEARED);
    expect(await noticed()).toMatchObject(CLEARED);
  });

  test('[DUR4] it replaces any other failure', async () => {
    isThere = false;
    const failing = watch.during(async () => {
      throw new Error('the handle is closed');
    });
    await expect(failing).rejects.toMatchObject(CLEARED);
  });

  test('[DUR4] it is noticed while a call hangs', async () => {
    Promise.resolve(watch.during(() => new Promise(() => {}))).catch(() => {});
    await vi.waitFor(() => expect(looks).toBe(1));
    await new Promise((resolve) => setTimeout(resolve));
    isThere = false;
    advance(CHECK_MS);
    expect(await noticed()).toMatchObject(CLEARED);
  });

  test('[DUR4] after a failed file call, the next result waits for a look', async () => {
    await answer();
    isThere = false;
    expect(await answer()).toBe('answered');
    watch.expire();
    await expect(answer()).rejects.toMatchObject(CLEARED);
  });

  test('[DUR4] a look that began before the failure does not count', async () => {
    const failing = watch.during(async () => {
      expect(looks).toBe(1);
      isThere = false;
      watch.expire();
      throw new Error('the handle is closed');
    });
    await expect(failing).rejects.toMatchObject(CLEARED);
  });
});

test('[DUR4] many calls share one look, and none is made while nothing runs', async () => {
  await Promise.all([answer(), answer(), answer()]);
  await answer();
  expect(looks).toBe(1);
  advance(CHECK_MS);
  expect(looks).toBe(1);
  expect(timers).toEqual([]);
});

test('[DUR4] a call that ends at once is answered at once while the last look is valid, and waits for another look after that', async () => {
  const answerNow = () => watch.during(() => 'answered');
  expect(answerNow()).toBeInstanceOf(Promise);
  await answerNow();
  for (let i = 0; i < 3; i++) expect(answerNow()).toBe('answered');
  expect(looks).toBe(1);
  advance(CHECK_MS);
  isThere = false;
  await expect(answerNow()).rejects.toMatchObject(CLEARED);
  await expect(answerNow()).rejects.toMatchObject(CLEARED);
});
