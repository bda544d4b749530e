// The order of keys, compared with the order in which SQLite itself gives rows.

import { beforeEach, expect, test } from 'vitest';
import { openInMemory } from '../../../packages/testing/worker/test-database.ts';
import { bytesCell, CELL, type Cell, integerCell, NULL_CELL, realCell } from '../sql/cells.ts';
import type { Database } from '../sql/database.ts';
import { type Collation, type KeyColumns, KeyOrder } from './key-order.ts';

let database: Database;
let order: KeyOrder;
beforeEach(async () => {
  database = await openInMemory();
  order = new KeyOrder(database);
});

const text = (value: string) => bytesCell(CELL.text, new TextEncoder().encode(value));
const blob = (...bytes: number[]) => bytesCell(CELL.blob, Uint8Array.from(bytes));
const column = (collation: Collation, isDescending = false) => ({ collation, isDescending });
const [BINARY, NOCASE, RTRIM] = (['BINARY', 'NOCASE', 'RTRIM'] as const).map((one) =>
  column(one),
) as [ReturnType<typeof column>, ReturnType<typeof column>, ReturnType<typeof column>];
const sign = (a: Cell[], b: Cell[], columns: KeyColumns) => Math.sign(order.compare(a, b, columns));

test('[DIFF10] NULL comes before numbers, these before texts, and these before blobs, each by its value', () => {
  const ascending = [
    NULL_CELL,
    realCell(-1e300),
    integerCell(-2n),
    realCell(-1.5),
    integerCell(0n),
    integerCell(2n ** 53n + 1n),
    realCell(2 ** 53 + 4),
    integerCell(2n ** 63n - 1n),
    text(''),
    text('10'),
    text('9'),
    text('a'),
    text('é'),
    blob(),
    blob(0),
    blob(0, 1),
    blob(9),
  ];
  for (const [i, a] of ascending.entries()) {
    for (const [j, b] of ascending.entries()) {
      expect([i, j, sign([a], [b], [BINARY])]).toEqual([i, j, Math.sign(i - j)]);
      expect([i, j, sign([a], [b], [column('BINARY', true)])]).toEqual([
        i,
        j,
        Math.sign(j - i) + 0,
      ]);
    }
  }
});

test('[DIFF10] two keys are the same as their index compares them: by case, by spaces at the end, and 1 as 1.0', () => {
  const same = (a: string, b: string) =>
    [BINARY, NOCASE, RTRIM].map((one) => sign([text(a)], [text(b)], [one]) === 0);
  expect(same('a', 'a')).toEqual([true, true, true]);
  expect(same('a', 'A')).toEqual([false, true, false]);
  expect(same('a', 'a  ')).toEqual([false, false, true]);
  expect(same('é', 'É')).toEqual([false, false, false]);
  expect(sign([integerCell(1n)], [realCell(1)], [BINARY])).toBe(0);
  expect(sign([realCell(0)], [realCell(-0)], [BINARY])).toBe(0);
  expect(sign([NULL_CELL], [NULL_CELL], [BINARY])).toBe(0);
  expect(sign([text('B')], [text('a')], [BINARY])).toBe(-1);
  expect(sign([text('B')], [text('a')], [NOCASE])).toBe(1);
});

test('[DIFF10] the first column that differs decides, in its own direction', () => {
  const key = (a: string, b: bigint) => [text(a), integerCell(b)];
  const columns = [column('NOCASE', true), column('BINARY')];
  expect(sign(key('a', 2n), key('A', 1n), columns)).toBe(1);
  expect(sign(key('a', 1n), key('A', 2n), columns)).toBe(-1);
  expect(sign(key('a', 2n), key('b', 1n), columns)).toBe(1);
  expect(sign(key('a', 2n), key('A', 2n), columns)).toBe(0);
  const other = [column('BINARY'), column('BINARY', true)];
  expect(sign(key('a', 2n), key('a', 1n), other)).toBe(-1);
  expect(sign(key('b', 2n), key('a', 1n), other)).toBe(1);
});

test('[DIFF1] keys are put in order, each once as its index takes it, again and again', () => {
  const keys = [text('b'), text('A'), text('c'), text('a'), text('B '), text('b')].map((one) => [
    one,
  ]);
  const sorted = (columns: KeyColumns, of = keys) =>
    order.sorted(of, columns).map(([cell]) => new TextDecoder().decode(cell!.subarray(2)));
  for (let i = 0; i < 2; i++) {
    expect(sorted([BINARY])).toEqual(['A', 'B ', 'a', 'b', 'c']);
    expect(sorted([NOCASE])).toEqual(['A', 'b', 'B ', 'c']);
    expect(sorted([column('NOCASE', true)])).toEqual(['c', 'B ', 'b', 'A']);
    expect(sorted([RTRIM])).toEqual(['A', 'B ', 'a', 'b', 'c']);
    expect(sorted([BINARY], keys.slice(0, 2))).toEqual(['A', 'b']);
    expect(sorted([BINARY], keys.slice(0, 1))).toEqual(['b']);
    expect(sorted([BINARY], [])).toEqual([]);
    expect(database.inTransaction).toBe(false);
  }
});

test('[DIFF1] keys of several columns keep their cells, byte for byte; those with NULL are left out', () => {
  const columns = [column('BINARY', true), BINARY, NOCASE];
  const keys = [
    [integerCell(1n), realCell(-0), text('x')],
    [integerCell(2n), blob(0, 255), text('\0')],
    [NULL_CELL, integerCell(1n), text('x')],
    [integerCell(1n), NULL_CELL, text('x')],
    [integerCell(2n), blob(0), text('')],
  ];
  expect(order.sorted(keys, columns)).toEqual([keys[4], keys[1], keys[0]]);
});
