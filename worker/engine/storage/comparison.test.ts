// Two states compared, as programs see the differences: in batches, counted, and closed.

import { expect, test } from 'vitest';
import {
  type StoredState,
  stateAfter,
  watchedComparison,
} from '../../../packages/testing/worker/stored-states.ts';
import { codeOf } from '../../../packages/testing/worker/test-database.ts';
import type { WireChange } from '../../../src/shared/contract/changes.ts';

const KEYS = 'CREATE TABLE _cf_KV ( key TEXT PRIMARY KEY, value BLOB ) WITHOUT ROWID';
const METADATA = 'CREATE TABLE _cf_METADATA ( key INTEGER PRIMARY KEY, value BLOB )';
const NUMBERS = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i <';

/** All batches of a walk. */
function batchesOf(before: StoredState, after: StoredState, skipped = 0): WireChange[][] {
  const { comparison } = watchedComparison(before, after);
  if (skipped > 0) comparison.skip(skipped);
  const batches: WireChange[][] = [];
  for (let isLast = false; !isLast; ) {
    const batch = comparison.next();
    batches.push([...batch.changes]);
    isLast = batch.isLast;
  }
  comparison.close();
  return batches;
}

const empty = stateAfter(null, 'CREATE TABLE t (id INTEGER PRIMARY KEY, v)', KEYS);

test('[DIFF4] a walk gives each change once, in batches of at most 500, and goes on where others have been left out', () => {
  const after = stateAfter(empty, `INSERT INTO t ${NUMBERS} 1200) SELECT i, 'v' FROM n`);
  const batches = batchesOf(empty, after);
  expect(batches.map(({ length }) => length)).toEqual([500, 500, 200]);
  const ids = (all: WireChange[][]) =>
    all.flat().map((change) => change.kind === 'row' && change.key.id);
  expect(ids(batches)).toEqual(Array.from({ length: 1200 }, (_, i) => i + 1));
  expect(ids(batchesOf(empty, after, 700))).toEqual(Array.from({ length: 500 }, (_, i) => i + 701));
  expect(batchesOf(empty, after, 1200)).toEqual([[]]);
  expect(batchesOf(empty, after, 5000)).toEqual([[]]);
  const few = stateAfter(empty, `INSERT INTO t ${NUMBERS} 500) SELECT i, 'v' FROM n`);
  expect(batchesOf(empty, few).map(({ length }) => length)).toEqual([500, 0]);
});

test.for([
  ['rows that are added', `INSERT INTO t ${NUMBERS} 5) SELECT i, zeroblob(400000) FROM n`, [3, 2]],
  ['texts', `INSERT INTO t ${NUMBERS} 5) SELECT i, printf('%.*c', 400000, 'x') FROM n`, [3, 2]],
  [
    'keys',
    `INSERT INTO _cf_KV VALUES ${[1, 2, 3, 4, 5].map((i) => `(${i}, zeroblob(400000))`)}`,
    [3, 2],
  ],
] as const)(
  '[DIFF4] a batch of %s ends with the change that makes it one MiB',
  ([, write, sizes]) => {
    const after = stateAfter(empty, write);
    expect(batchesOf(empty, after).map(({ length }) => length)).toEqual(sizes);
    expect(batchesOf(after, empty).map(({ length }) => length)).toEqual(sizes);
    const one = stateAfter(
      empty,
      `INSERT INTO _cf_KV VALUES ('a', zeroblob(${1 << 20})), ('b', x'01')`,
    );
    expect(batchesOf(empty, one).map(({ length }) => length)).toEqual([1, 1]);
    const less = stateAfter(
      empty,
      `INSERT INTO _cf_KV VALUES ('a', zeroblob(${(1 << 20) - 1})), ('b', x'01'), ('c', x'02')`,
    );
    expect(batchesOf(empty, less).map(({ length }) => length)).toEqual([2, 1]);
    // The bytes of the old value and of the new one count.
    const table = write.includes('_cf_KV') ? '_cf_KV SET value' : 't SET v';
    const changed = stateAfter(after, `UPDATE ${table} = zeroblob(400001)`);
    expect(batchesOf(after, changed).map(({ length }) => length)).toEqual([2, 2, 1]);
  },
);

test('[DIFF4] changes of 600 tables are no more than 500 a batch, and those of hidden tables are not shown', () => {
  const tables = Array.from({ length: 600 }, (_, i) => `CREATE TABLE t${i} (a)`);
  expect(batchesOf(empty, stateAfter(empty, ...tables)).map(({ length }) => length)).toEqual([
    500, 100,
  ]);
  const hidden = Array.from({ length: 30 }, (_, i) => `CREATE TABLE _cf_own${i} (a)`);
  const rows = hidden.map((_, i) => `INSERT INTO _cf_own${i} VALUES (1)`);
  expect(batchesOf(empty, stateAfter(empty, ...hidden, ...rows))).toEqual([[]]);
});

test('[DIFF4] keys are shown with their bytes, rows by name, and nothing of the tables of the storage', () => {
  const before = stateAfter(
    null,
    KEYS,
    "INSERT INTO _cf_KV VALUES ('changed', x'0102'), ('gone', x'03')",
  );
  const after = stateAfter(
    before,
    "UPDATE _cf_KV SET value = x'05' WHERE key = 'changed'",
    "DELETE FROM _cf_KV WHERE key = 'gone'",
    "INSERT INTO _cf_KV VALUES ('added', x'0708')",
    'CREATE TABLE t (a, b)',
    'CREATE TABLE u (k TEXT, n, v, PRIMARY KEY (n, k))',
    "INSERT INTO t VALUES (1, 'x')",
    "INSERT INTO u VALUES ('key', 2, NULL), (NULL, 3, 1.5)",
  );
  const bytes = (...values: number[]) => Uint8Array.from(values);
  const changes = batchesOf(before, after).flat();
  expect(changes.slice(0, 2)).toMatchObject([
    { kind: 'schema', name: 't' },
    { kind: 'schema', name: 'u' },
  ]);
  expect(changes.slice(2)).toEqual(
    [
      { kind: 'key', key: 'added', before: null, after: bytes(7, 8) },
      { kind: 'key', key: 'changed', before: bytes(1, 2), after: bytes(5) },
      { kind: 'key', key: 'gone', before: bytes(3), after: null },
      { kind: 'row', table: 't', key: { rowid: 1 }, before: null, after: { a: 1, b: 'x' } },
      {
        kind: 'row',
        table: 'u',
        key: { rowid: 2 },
        before: null,
        after: { k: null, n: 3, v: 1.5 },
      },
      {
        kind: 'row',
        table: 'u',
        key: { n: 2, k: 'key' },
        before: null,
        after: { k: 'key', n: 2, v: null },
      },
    ].sort(
      (a, b) =>
        changes.findIndex((one) => isAlike(one, a)) - changes.findIndex((one) => isAlike(one, b)),
    ),
  );
  // The rows of u, in the order of rowids.
  expect(changes.slice(-2)).toMatchObject([{ key: { n: 2 } }, { key: { rowid: 2 } }]);
});

const isAlike = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

const alarms = (from: string | null, to: string | null, ...more: string[]) => {
  const of = (value: string | null) =>
    stateAfter(
      null,
      METADATA,
      ...(value === null ? [] : [`INSERT INTO _cf_METADATA VALUES (1, ${value})`]),
    );
  const after = stateAfter(of(to), ...more);
  return batchesOf(of(from), after).flat();
};

test('[DIFF4] the alarm is shown in milliseconds, and as null without one; other facts of the storage are not shown', () => {
  const alarm = (before: number | null, after: number | null) => [{ kind: 'alarm', before, after }];
  expect(alarms(null, '4000000000000000000')).toEqual(alarm(null, 4e12));
  expect(alarms('4000000000000000000', null)).toEqual(alarm(4e12, null));
  expect(alarms('4000000000000000000', '4000000000001000000')).toEqual(alarm(4e12, 4e12 + 1));
  expect(alarms('NULL', '4000000000000000000')).toEqual(alarm(null, 4e12));
  expect(alarms('4000000000000000000', 'NULL')).toEqual(alarm(4e12, null));
  // Nothing that programs see has changed.
  expect(alarms(null, 'NULL')).toEqual([]);
  expect(alarms('4000000000000000000', '4000000000000000001')).toEqual([]);
  expect(alarms(null, null, 'INSERT INTO _cf_METADATA VALUES (2, 4000000000000000000)')).toEqual(
    [],
  );
  const none = stateAfter(null, 'CREATE TABLE t (a)');
  expect(batchesOf(none, stateAfter(none, METADATA))).toEqual([[]]);
});

test('[DIFF4] all changes are counted, by kind and by table', () => {
  const before = stateAfter(
    empty,
    METADATA,
    "INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')",
    "INSERT INTO _cf_KV VALUES ('a', x'01'), ('b', x'02'), ('c', x'03')",
    "CREATE VIRTUAL TABLE hidden USING fts5(a, content='')",
    'CREATE TABLE u (a)',
  );
  const after = stateAfter(
    before,
    'DELETE FROM t WHERE id < 3',
    "UPDATE t SET v = 'changed' WHERE id = 3",
    `INSERT INTO t ${NUMBERS} 600) SELECT i + 10, 'new' FROM n`,
    "DELETE FROM _cf_KV WHERE key = 'a'",
    "UPDATE _cf_KV SET value = x'09' WHERE key <> 'a'",
    "INSERT INTO _cf_KV VALUES ('d', x'04'), ('e', x'05'), ('f', x'06')",
    'INSERT INTO _cf_METADATA VALUES (1, 4000000000000000000)',
    "INSERT INTO hidden VALUES ('x')",
    'CREATE INDEX i ON t (v)',
    'CREATE TABLE made (a)',
    'INSERT INTO made VALUES (1), (2)',
  );
  const { comparison } = watchedComparison(before, after);
  const counts = {
    schema: 2,
    alarm: 1,
    keys: { added: 3, changed: 2, removed: 1 },
    tables: {
      t: { added: 600, changed: 1, removed: 2 },
      made: { added: 2, changed: 0, removed: 0 },
    },
    unnamed: ['hidden'],
  };
  expect(comparison.count()).toEqual(counts);
  expect(comparison.count()).toEqual(counts);
  comparison.close();
});

test('[DIFF8] each call uses both states, and throws why one has ended', () => {
  const calls = ['next', 'skip', 'differences', 'count'] as const;
  for (const name of calls) {
    for (const side of [0, 1] as const) {
      const watched = watchedComparison(empty, stateAfter(empty, "INSERT INTO t VALUES (1, 'a')"));
      const { comparison, used } = watched;
      const call = () => {
        if (name === 'differences') return comparison.differences;
        return name === 'skip' ? comparison.skip(0) : comparison[name]();
      };
      call();
      expect(used).toEqual([1, 1]);
      expect(comparison.isClosed).toBe(false);
      watched.end(side, new Error('made room'));
      expect(comparison.isClosed).toBe(true);
      expect(call).toThrow('made room');
      comparison.close();
    }
  }
});

test('[DIFF8] closing it frees both states and the database, also with a walk that is not at its end', () => {
  const after = stateAfter(empty, `INSERT INTO t ${NUMBERS} 700) SELECT i, 'v' FROM n`);
  const { comparison, closed, openDatabases } = watchedComparison(empty, after);
  comparison.next();
  expect([closed, openDatabases.size]).toEqual([[0, 0], 1]);
  comparison.close();
  expect([closed, openDatabases.size]).toEqual([[1, 1], 0]);
  comparison.close();
  expect(openDatabases.size).toBe(0);
});

test('[DIFF8] a critical error of SQLite closes it, and it does not write', () => {
  const { comparison, closed, events, openDatabases } = watchedComparison(empty, empty);
  expect(() => events.beforeWrite()).toThrow('does not write');
  expect(openDatabases.size).toBe(1);
  events.onCritical(new Error('the disk has gone') as never);
  expect([closed, openDatabases.size]).toEqual([[1, 1], 0]);
  comparison.close();
});

test('[DIFF8] of states whose pages are damaged, opening is an error with a code, and no database stays open', () => {
  const damaged = empty.copy();
  damaged.page(1).fill(7, 100);
  for (const [before, after] of [
    [empty, damaged],
    [damaged, empty],
  ] as const) {
    expect(codeOf(() => watchedComparison(before, after))).toBe('CORRUPT');
  }
});
