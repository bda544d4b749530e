// The rows that may differ, from the pages of two states: exactly the rows that differ, where the pages tell it.

import { expect, test } from 'vitest';
import {
  compare,
  pagesOf,
  type StoredState,
  stateAfter,
} from '../../../packages/testing/worker/stored-states.ts';
import { openInMemory } from '../../../packages/testing/worker/test-database.ts';
import { valueOfCell } from '../sql/cells.ts';
import { ChangedKeys } from './changed-keys.ts';
import { KeyOrder } from './key-order.ts';
import { Shapes } from './shapes.ts';
import type { Tree } from './state-pages.ts';
import { type ComparedTable, changedPages, touchedPages } from './touched-pages.ts';

const SERIES = 'WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999)';

interface Found {
  /** By table: rowids, or the values of keys. */
  readonly keys: Record<string, readonly unknown[]>;
  /** How many pages were read for it. */
  readonly reads: number;
  readonly askedForOthers: boolean;
}

async function changedKeys(before: StoredState, after: StoredState): Promise<Found> {
  const { tables, others } = compare(before, after, (_, database) => {
    const shapes = [new Shapes(database, 'earlier'), new Shapes(database, 'main')] as const;
    const tables = shapes[1].tables.map((name): ComparedTable => {
      const [old, now] = shapes.map((one) => one.of(name)!);
      const tree = (shape: typeof now): Tree => ({
        root: shape!.root,
        order: shape!.kind === 'keyed' ? shape!.order : null,
      });
      return { name, trees: [tree(old!), tree(now!)] };
    });
    return { tables, others: shapes[1].treesExcept(new Set(shapes[1].tables)) };
  });
  const states = [await pagesOf(before), await pagesOf(after)] as const;
  const count = Math.max(before.pageCount, after.pageCount);
  const changed = changedPages(states, Array(count).keys())!;
  const touched = touchedPages(states, changed, tables)!;
  before.reads = 0;
  after.reads = 0;
  let askedForOthers = false;
  const order = new KeyOrder(await openInMemory());
  const found = new ChangedKeys(states, order, touched, new Set(changed), tables, () => {
    askedForOthers = true;
    return others;
  });
  const reads = before.reads + after.reads;
  const keys = tables.map((table) => {
    const values = found
      .of(table)
      .map((key) => (typeof key === 'bigint' ? Number(key) : key.map(valueOfCell)));
    return [table.name, values];
  });
  return { keys: Object.fromEntries(keys), reads, askedForOthers };
}

const LARGE = [
  'CREATE TABLE t (id INTEGER PRIMARY KEY, a)',
  `INSERT INTO t ${SERIES} SELECT i * 2, printf('%.*c', 50, 'x') FROM n`,
];

test('[DIFF2] rows that were added, changed and removed are found, and no other row of their pages', async () => {
  const before = stateAfter(null, ...LARGE);
  const after = stateAfter(
    before,
    "UPDATE t SET a = 'short' WHERE id = 500",
    "UPDATE t SET a = printf('%.*c', 50, 'y') WHERE id = 1000",
    'DELETE FROM t WHERE id = 20',
    "INSERT INTO t VALUES (777, 'new'), (5000, 'last'), (-3, 'first')",
  );
  expect((await changedKeys(before, after)).keys).toEqual({ t: [-3, 20, 500, 777, 1000, 5000] });
  expect((await changedKeys(after, before)).keys).toEqual({ t: [-3, 20, 500, 777, 1000, 5000] });
  expect((await changedKeys(before, before.copy())).keys).toEqual({ t: [] });
});

test('[DIFF2] rows that a split moves to other pages are not among them', async () => {
  const before = stateAfter(null, ...LARGE);
  const wide =
    "INSERT INTO t VALUES (501, printf('%.*c', 3000, 'w')), (503, printf('%.*c', 3000, 'w'))";
  const after = stateAfter(before, wide);
  expect((await changedKeys(before, after)).keys).toEqual({ t: [501, 503] });
});

test('[DIFF2] entries at another place of one page are the same; entries that change at both its ends are found', async () => {
  const row = (i: number) => `(${i}, '${i}')`;
  const base = stateAfter(null, 'CREATE TABLE t (id INTEGER PRIMARY KEY, a)');
  const of = (...ids: number[]) => stateAfter(base, `INSERT INTO t VALUES ${ids.map(row)}`);
  const found = async (one: StoredState, other: StoredState) => [
    ...(await changedKeys(one, other)).keys.t!,
  ];
  const five = of(1, 2, 3, 4, 5);
  expect(await found(five, of(1, 2, 4, 5))).toEqual([3]);
  expect(await found(five, of(1, 2, 3, 4))).toEqual([5]);
  expect(await found(five, of(2, 3, 4, 5))).toEqual([1]);
  expect(await found(five, of(2, 4))).toEqual([1, 3, 5]);
  expect(await found(of(2, 4), five)).toEqual([1, 3, 5]);
  expect(await found(five, of(1, 2, 3, 4, 5, 6))).toEqual([6]);
  expect(await found(five, of(6, 7, 8, 9, 10))).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  expect(await found(five, stateAfter(five, "UPDATE t SET a = 'x' WHERE id IN (1, 5)"))).toEqual([
    1, 5,
  ]);
  expect(await found(five, base)).toEqual([1, 2, 3, 4, 5]);
  expect(await found(of(1), of(2))).toEqual([1, 2]);
});

test('[DIFF3] keys of a table without rowids are given in its order, each once', async () => {
  const before = stateAfter(
    null,
    'CREATE TABLE t (k TEXT COLLATE NOCASE, n, v, PRIMARY KEY (n DESC, k)) WITHOUT ROWID',
    `INSERT INTO t ${SERIES} SELECT 'key ' || i, i % 3, 'v' FROM n`,
  );
  const after = stateAfter(
    before,
    "UPDATE t SET v = 'w' WHERE k IN ('key 9', 'key 10', 'key 11')",
    "UPDATE t SET k = 'KEY 12' WHERE k = 'key 12'",
    "DELETE FROM t WHERE k = 'key 500'",
    "INSERT INTO t VALUES ('another', 1, 'v')",
  );
  const found = (await changedKeys(before, after)).keys.t as [number, string][];
  expect(found.map(([n, k]) => [n, k.toLowerCase()])).toEqual([
    [2, 'key 11'],
    [2, 'key 500'],
    [1, 'another'],
    [1, 'key 10'],
    [0, 'key 12'],
    [0, 'key 9'],
  ]);
});

const WITH_VALUES = [
  ...LARGE,
  'CREATE TABLE v (id INTEGER PRIMARY KEY, a)',
  `INSERT INTO v ${SERIES} SELECT i, printf('%.*c', 9000, 'v') FROM n WHERE i < 60`,
];

test('[DIFF3] a value that changes in its overflow pages alone is found', async () => {
  const before = stateAfter(null, ...WITH_VALUES);
  const ends = (id: number) =>
    `UPDATE v SET a = substr(a, 1, 8990) || 'changed!!!' WHERE id = ${id}`;
  const after = stateAfter(before, ends(17), ends(41));
  expect((await changedKeys(before, after)).keys).toEqual({ t: [], v: [17, 41] });
  const middle = "UPDATE v SET a = substr(a, 1, 6000) || 'w' || substr(a, 6002) WHERE id = 3";
  expect((await changedKeys(before, stateAfter(before, middle))).keys).toEqual({ t: [], v: [3] });
  const keyed = stateAfter(
    null,
    'CREATE TABLE k (a TEXT PRIMARY KEY, v) WITHOUT ROWID',
    `INSERT INTO k ${SERIES} SELECT i || printf('%.*c', 2000, 'k'), zeroblob(5000) FROM n WHERE i < 40`,
  );
  const last = "UPDATE k SET v = CAST(zeroblob(4999) || 'x' AS BLOB) WHERE a GLOB '23k*'";
  const [key] = (await changedKeys(keyed, stateAfter(keyed, last))).keys.k as [string][];
  expect(key![0]!.slice(0, 4)).toBe('23kk');
});

test('[DIFF3] a row whose entry is the same, at another place, with another overflow page, is found', async () => {
  const before = stateAfter(null, ...WITH_VALUES);
  const after = stateAfter(
    before,
    "UPDATE v SET a = substr(a, 1, 8990) || 'changed!!!' WHERE id = 17",
    'DELETE FROM v WHERE id = 16',
    "INSERT INTO v VALUES (1000, 'new')",
  );
  expect((await changedKeys(before, after)).keys).toEqual({ t: [], v: [16, 17, 1000] });
});

test('[DIFF2] overflow pages that have become free, or are of an index, need no look at every leaf', async () => {
  const before = stateAfter(null, ...WITH_VALUES, 'CREATE INDEX i ON v (substr(a, 1, 8000))');
  const same = stateAfter(before, "UPDATE t SET a = 'x' WHERE id = 4");
  const few = await changedKeys(before, same);
  expect(few.askedForOthers).toBe(false);
  const removed = stateAfter(before, 'DELETE FROM v WHERE id = 16');
  const found = await changedKeys(before, removed);
  expect(found.keys).toEqual({ t: [], v: [16] });
  expect(found.reads).toBeLessThan(60);
  const added = stateAfter(before, "INSERT INTO v VALUES (1000, printf('%.*c', 9000, 'w'))");
  const later = await changedKeys(before, added);
  expect(later.keys).toEqual({ t: [], v: [1000] });
  expect(later.reads).toBeLessThan(60);
});

test('[DIFF1] rowids are given in order, however the pages lie', async () => {
  const before = stateAfter(
    null,
    'CREATE TABLE t (id INTEGER PRIMARY KEY, a)',
    `INSERT INTO t ${SERIES} SELECT 500 - i, printf('%.*c', 50, 'x') FROM n`,
    `INSERT INTO t ${SERIES} SELECT 9007199254740992 + i, printf('%.*c', 50, 'x') FROM n`,
  );
  const found = await changedKeys(
    before,
    stateAfter(before, "UPDATE t SET a = 'y' WHERE id % 100 = 0"),
  );
  const ids = found.keys.t as number[];
  expect(ids.length).toBe(20);
  expect(ids).toEqual(ids.toSorted((a, b) => a - b));
});

/** A table of many pages that no statement changes, after another one in the order of tables. */
const BESIDE = ['CREATE TABLE zoo (a)', `INSERT INTO zoo ${SERIES} SELECT zeroblob(900) FROM n`];

test('[DIFF2] once the rows of all overflow pages are known, no other page is read', async () => {
  const before = stateAfter(null, ...WITH_VALUES, ...BESIDE);
  const added = await changedKeys(
    before,
    stateAfter(before, "UPDATE v SET a = substr(a, 1, 8990) || 'changed!!!' WHERE id = 2"),
  );
  expect(added.keys).toEqual({ t: [], v: [2], zoo: [] });
  expect(added.reads).toBeLessThan(200);
  // Of an index: its entries are looked at, not those of tables.
  const first = stateAfter(null, ...WITH_VALUES, ...BESIDE, 'CREATE INDEX i ON v (a)');
  const indexed = await changedKeys(
    first,
    stateAfter(first, "INSERT INTO v VALUES (1000, printf('%.*c', 9000, 'w'))"),
  );
  expect(indexed.keys).toEqual({ t: [], v: [1000], zoo: [] });
  expect(indexed.askedForOthers).toBe(true);
  expect(indexed.reads).toBeLessThan(130);
  const removed = await changedKeys(first, stateAfter(first, 'DELETE FROM v WHERE id = 7'));
  expect(removed.keys).toEqual({ t: [], v: [7], zoo: [] });
  expect(removed.reads).toBeLessThan(130);
});

test('[DIFF2] the overflow pages of a row are not read if none of them differs', async () => {
  const before = stateAfter(
    null,
    'CREATE TABLE t (id INTEGER PRIMARY KEY, n, a)',
    `INSERT INTO t ${SERIES} SELECT i, 5, zeroblob(200000) FROM n WHERE i < 3`,
  );
  const found = await changedKeys(before, stateAfter(before, 'UPDATE t SET n = 6 WHERE id = 1'));
  expect(found.keys).toEqual({ t: [1] });
  expect(found.reads).toBeLessThan(20);
});

test('[DIFF3] rows that move to pages that another table had, and back, are those of their table', async () => {
  const before = stateAfter(null, ...WITH_VALUES);
  const after = stateAfter(
    before,
    'DELETE FROM v WHERE id < 30',
    `INSERT INTO t ${SERIES} SELECT 10001 + i, printf('%.*c', 50, 'z') FROM n WHERE i < 500`,
  );
  const { keys } = await changedKeys(before, after);
  expect(keys.v).toEqual(Array.from({ length: 30 }, (_, i) => i));
  expect(keys.t).toEqual(Array.from({ length: 500 }, (_, i) => 10001 + i));
});
