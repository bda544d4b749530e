// The columns and points that a chart draws, and the ticks of its scale.

import { expect, test } from 'vitest';
import { chartColumns, chartPoints, ticksOf } from './chart-scale.ts';

test('[INSP4] a chart is of columns with numbers; the first column labels the others', () => {
  const rows = [
    [1, 'a', 2.5, null],
    [2, 'b', null, null],
  ];
  expect(chartColumns(['id', 'name', 'n', 'none'], rows)).toEqual([2]);
  expect(chartColumns(['n'], [[1], [2]])).toEqual([0]);
  expect(chartColumns(['name'], [['a'], [3]])).toEqual([]);
  expect(chartPoints(rows, 2, 10)).toEqual([{ label: '1', value: 2.5 }]);
  const many = Array.from({ length: 1000 }, (_, i) => [`row ${i}`, i]);
  expect(chartPoints(many, 1, 100)).toHaveLength(100);
  expect(chartPoints(many, 1, 100)[1]).toEqual({ label: 'row 10', value: 10 });
});

test.for<[number[], number[]]>([
  [
    [3, 7],
    [0, 2, 4, 6, 8],
  ],
  [
    [-1, 1],
    [-1, -0.5, 0, 0.5, 1],
  ],
  [
    [1000, 37_000],
    [0, 10_000, 20_000, 30_000, 40_000],
  ],
  [
    [0.1, 0.3],
    [0, 0.1, 0.2, 0.3],
  ],
  [
    [0, 0],
    [0, 1],
  ],
  [[], [0, 1]],
])('[INSP4] the scale of %j has round ticks around it, and 0', ([values, ticks]) => {
  expect(ticksOf(values)).toEqual(ticks);
});
