import { beforeEach, describe, expect, test } from 'vitest';
import type { Database } from '../sql/database.ts';
import { CheckTime } from './check-time.ts';

let nowMs: number;
let others: (() => void)[];
let ends: (number | undefined)[];
const database = { endBy: (endMs: number | undefined) => void ends.push(endMs) } as Database;

beforeEach(() => {
  nowMs = 1000;
  others = [];
  ends = [];
});

function start(importMs: number): CheckTime {
  return new CheckTime({
    limits: { importMs, now: () => nowMs },
    nextTurn: (task) => {
      for (const other of others.splice(0)) other();
      task();
    },
  });
}

describe('the time of the checks of an import', () => {
  test('[LIM4] others run between two steps, once 50 ms have passed, and their time does not count', async () => {
    const time = start(500);
    time.bounds(database);
    others.push(() => {
      nowMs += 10_000;
    });
    nowMs += 49;
    await time.betweenSteps('the table "t"');
    expect(others).toHaveLength(1);
    nowMs += 1;
    await time.betweenSteps('the table "t"');
    expect(others).toEqual([]);
    expect(ends).toEqual([1500, 11_500]);
    nowMs += 449;
    await time.betweenSteps('the table "t"');
    time.lift();
    expect(ends.at(-1)).toBeUndefined();
  });

  test('[LIM4] it is over after all steps together have taken so long', async () => {
    const time = start(500);
    for (let step = 0; step < 4; step++) {
      await time.betweenSteps('the table "t"');
      nowMs += 125;
    }
    await expect(time.betweenSteps('the table "t"')).rejects.toMatchObject({
      code: 'SQL_TIMEOUT',
    });
    expect(time.fault()).toEqual({
      fact: expect.stringMatching(/took more than 500 ms, and had come to the table "t"/),
      wayOut: expect.stringContaining('limits.importMs'),
    });
  });
});
