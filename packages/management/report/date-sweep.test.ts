// Tests that a sweep runs once for each interval of the schedule, and how its matrix is written.

import { describe, expect, test } from 'vitest';
import { datesOf, lookup } from '../schedule/lookup.ts';
import { forEachDate, formatMatrix, intervalsOf } from './date-sweep.ts';

describe('forEachDate()', () => {
  test('[REP6] 22 dates make 23 intervals without gap, each represented by one day', () => {
    const intervals = intervalsOf();
    expect(intervals).toHaveLength(23);
    expect(intervals[0]).toEqual({ until: '2020-04-02', at: '2020-04-01' });
    expect(intervals[22]).toEqual({ from: '2025-06-15', at: '2025-06-15' });
    for (const [index, date] of datesOf().entries()) {
      expect(intervals[index]?.until).toBe(date);
      expect(intervals[index + 1]?.from).toBe(date);
    }
    expect(() => intervalsOf([])).toThrow('The schedule is empty');
  });

  test('[REP6] each check has its outcome for each interval', async () => {
    const days: string[] = [];
    const matrix = await forEachDate(async ({ at, from, check }) => {
      days.push(at);
      await check('minify', () => {
        if (lookup('GET', '/zones/z/settings/minify', at).state === 'gone') throw new Error('410');
      });
      if (from === '2024-08-05') await check('only then', async () => {});
      if (from === undefined) throw new Error('not so early');
    });
    expect(days).toEqual(intervalsOf().map(({ at }) => at));
    expect(matrix.checks.map(({ name }) => name)).toEqual(['minify', 'run', 'only then']);
    const [minify, run, onlyThen] = matrix.checks;
    const firstFailure = minify!.outcomes.findIndex(({ kind }) => kind === 'failed');
    expect(matrix.intervals[firstFailure]?.from).toBe('2024-08-05');
    expect(minify!.outcomes.slice(firstFailure)).toEqual(
      Array(23 - firstFailure).fill({ kind: 'failed', reason: '410' }),
    );
    expect(run!.outcomes.slice(0, 2)).toEqual([
      { kind: 'failed', reason: 'not so early' },
      { kind: 'absent' },
    ]);
    expect(onlyThen!.outcomes.filter(({ kind }) => kind === 'passed')).toHaveLength(1);
  });

  test('[REP6] the matrix is a table with a row for each interval', async () => {
    const schedule = [
      { id: 'a', title: 'A', date: '2025-01-01', kind: 'removed', operations: [] },
    ] as const;
    const matrix = await forEachDate(
      async ({ from, check }) => {
        await check('a|b', () => expect(from).toBeUndefined());
        if (from) await check('late', () => {});
      },
      { schedule },
    );
    expect(formatMatrix(matrix)).toBe(
      '| Date | a\\|b | late |\n|---|---|---|\n' +
        '| before 2025-01-01 | yes |  |\n| from 2025-01-01 | no | yes |\n',
    );
  });
});
