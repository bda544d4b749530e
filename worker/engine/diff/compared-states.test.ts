// The differences of two states without a log: found by their pages, and found by comparing whole tables.

import { expect, test } from 'vitest';
import { programs } from '../../../packages/testing/worker/state-programs.ts';
import {
  compare,
  differencesOf,
  type StoredState,
  stateAfter,
} from '../../../packages/testing/worker/stored-states.ts';
import { valueOfCell } from '../sql/cells.ts';

const asText = (differences: unknown[][]) =>
  differences.map((one) => JSON.stringify(one, plain)).sort();
const plain = (_: string, value: unknown) =>
  value instanceof ArrayBuffer
    ? `x'${Buffer.from(value).toString('hex')}'`
    : Object.is(value, -0)
      ? '-0'
      : value;

/** The same, whether the pages that may differ are known or not, and the other way round. */
function both(before: StoredState, after: StoredState): unknown[][] {
  const found = differencesOf(before, after);
  const isShown = ([kind]: unknown[]) => kind !== 'unnamed';
  // A table without rows to compare may have changed, if nobody knows which pages have.
  const whole = (from: StoredState, to: StoredState) =>
    differencesOf(from, to, null).filter(isShown);
  expect(asText(whole(before, after))).toEqual(asText(found.filter(isShown)));
  // A key that its index takes for the same is that of the earlier state, so it is left out.
  const sides = (all: unknown[][], from: number, to: number) =>
    asText(all.filter(isShown).map((one) => [one[0], one.at(from), one.at(to)]));
  expect(sides(differencesOf(after, before), -1, -2)).toEqual(sides(found, -2, -1));
  expect(differencesOf(after, after)).toEqual([]);
  expect(whole(after, after.copy())).toEqual([]);
  return found;
}

/** The same, of two lists of statements. */
const between = (first: readonly string[], later: readonly string[]) => {
  const before = stateAfter(null, ...first);
  return both(before, stateAfter(before, ...later));
};

test.for(Object.keys(programs))(
  '[DIFF3] with %s, the pages tell the same differences as whole tables do, and the other direction the same ones turned round',
  (name) => {
    const [first, later] = programs[name]!;
    expect(between(first, later).length).toBeGreaterThan(0);
  },
);

test('[DIFF4] definitions come first, by kind and name, then hidden tables, then tables by name, and rows by key', () => {
  const found = between(
    [
      'CREATE TABLE b (k TEXT PRIMARY KEY) WITHOUT ROWID',
      'CREATE TABLE _cf_KV ( key TEXT PRIMARY KEY, value BLOB ) WITHOUT ROWID',
    ],
    [
      'CREATE TABLE a (id INTEGER PRIMARY KEY)',
      'CREATE TABLE B2 (id)',
      'CREATE VIEW aa AS SELECT 1',
      'CREATE INDEX i ON b (k)',
      'CREATE TRIGGER g AFTER INSERT ON b BEGIN SELECT 1; END',
      'INSERT INTO a VALUES (9), (-1), (2)',
      "INSERT INTO b VALUES ('z'), ('Z'), ('y')",
      'INSERT INTO B2 VALUES (1)',
      "INSERT INTO _cf_KV VALUES ('k', x'01'), ('j', x'02')",
    ],
  );
  expect(found.map(([table, key]) => `${table} ${key}`)).toEqual([
    'index i',
    'table B2',
    'table a',
    'trigger g',
    'view aa',
    '_cf_KV j',
    '_cf_KV k',
    'B2 1',
    'a -1',
    'a 2',
    'a 9',
    'b Z',
    'b y',
    'b z',
  ]);
  expect(found.slice(0, 3)).toEqual([
    ['index', 'i', null, 'CREATE INDEX i ON b (k)'],
    ['table', 'B2', null, 'CREATE TABLE B2 (id)'],
    ['table', 'a', null, 'CREATE TABLE a (id INTEGER PRIMARY KEY)'],
  ]);
});

test('[DIFF4] tables and indexes of SQLite itself are not shown: sequences, statistics, indexes of constraints', () => {
  const found = between(
    ['CREATE TABLE a (id INTEGER PRIMARY KEY)'],
    [
      'CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, v UNIQUE)',
      'INSERT INTO t VALUES (7, 1)',
      'DELETE FROM t',
      'ANALYZE',
    ],
  );
  expect(found.map(([kind, name]) => `${kind} ${name}`)).toEqual(['table t']);
});

test('[DIFF6] of an altered table, the rows that differ in common columns are shown, with all columns of each state', () => {
  const found = between(
    [
      'CREATE TABLE t (id INTEGER PRIMARY KEY, a, b, g AS (a) STORED)',
      "INSERT INTO t VALUES (1, 'a', 'x'), (2, 'b', 'y'), (3, 'c', 'z')",
    ],
    [
      'ALTER TABLE t DROP COLUMN b',
      'ALTER TABLE t ADD COLUMN n DEFAULT 5',
      "UPDATE t SET a = 'A' WHERE id = 2",
      'UPDATE t SET n = 6',
    ],
  );
  expect(found.slice(1)).toEqual([['t', [2], [2, 'b', 'y', 'b'], [2, 'A', 'A', 5 + 1]]]);
});

test('[DIFF6] a renamed table shows all its rows as removed and as added', () => {
  const found = between(
    ['CREATE TABLE t (id INTEGER PRIMARY KEY, v)', "INSERT INTO t VALUES (1, 'a'), (2, 'b')"],
    ['ALTER TABLE t RENAME TO u'],
  );
  expect(found).toEqual([
    ['table', 't', 'CREATE TABLE t (id INTEGER PRIMARY KEY, v)', null],
    ['table', 'u', null, 'CREATE TABLE "u" (id INTEGER PRIMARY KEY, v)'],
    ['t', [1], [1, 'a'], null],
    ['t', [2], [2, 'b'], null],
    ['u', [1], null, [1, 'a']],
    ['u', [2], null, [2, 'b']],
  ]);
});

test('[DIFF6] [DIFF10] a table whose key is another one shows all rows as removed and as added', () => {
  const rows = ["INSERT INTO t VALUES (1, 'a'), (2, 'b')"];
  const all = [
    ['t', [1], [1, 'a'], null],
    ['t', [2], [2, 'b'], null],
  ];
  const again = (columns: string) => ['DROP TABLE t', `CREATE TABLE t ${columns}`, ...rows];
  const from = ['CREATE TABLE t (a PRIMARY KEY, b)', ...rows];
  const rowsOf = (columns: string) =>
    between(from, again(columns)).filter(([kind]) => kind === 't');
  expect(rowsOf('(a, b PRIMARY KEY)')).toEqual([
    ...all,
    ['t', ['a'], null, [1, 'a']],
    ['t', ['b'], null, [2, 'b']],
  ]);
  expect(rowsOf('(a COLLATE NOCASE PRIMARY KEY, b)').length).toBe(4);
  expect(rowsOf('(a, b)')).toEqual([...all, ['t', 1, null, [1, 'a']], ['t', 2, null, [2, 'b']]]);
  // The same key, in another kind of table, or in another order.
  expect(rowsOf('(a PRIMARY KEY, b) WITHOUT ROWID')).toEqual([]);
  expect(rowsOf('(a, b, PRIMARY KEY (a DESC))')).toEqual([]);
  expect(rowsOf('(a INTEGER PRIMARY KEY, b)')).toEqual([]);
  // A row with NULL in its key is in no table without rowids.
  const nothing = [...from, "INSERT INTO t VALUES (NULL, 'n')"];
  const keyed = again('(a PRIMARY KEY, b) WITHOUT ROWID');
  expect(between(nothing, keyed).filter(([kind]) => kind === 't')).toEqual([
    ['t', 3, [null, 'n'], null],
  ]);
});

test('[DIFF10] a row of a key that was deleted and put in again is the same row, wherever it is', () => {
  const table = 'CREATE TABLE t (k TEXT COLLATE NOCASE PRIMARY KEY, v)';
  const first = [table, "INSERT INTO t VALUES ('a', 1), ('b', 2), ('c', 3)"];
  expect(between(first, ["DELETE FROM t WHERE k = 'a'", "INSERT INTO t VALUES ('a', 1)"])).toEqual(
    [],
  );
  expect(between(first, ["DELETE FROM t WHERE k = 'a'", "INSERT INTO t VALUES ('A', 9)"])).toEqual([
    ['t', ['a'], ['a', 1], ['A', 9]],
  ]);
  expect(between(first, ["UPDATE t SET k = 'd' WHERE k = 'a'"])).toEqual([
    ['t', ['a'], ['a', 1], null],
    ['t', ['d'], null, ['d', 1]],
  ]);
  // Two rows exchange their places.
  const places = [9, 1, 2].map(
    (rowid, i) => `UPDATE t SET rowid = ${rowid} WHERE rowid = ${[1, 2, 9][i]}`,
  );
  expect(between(first, [...places, "UPDATE t SET v = 0 WHERE k = 'b'"])).toEqual([
    ['t', ['b'], ['b', 2], ['b', 0]],
  ]);
});

test('[DIFF10] a row that gets NULL in its key or loses it, or whose key changes in one column, is removed and added', () => {
  const first = [
    'CREATE TABLE t (a, b, v, PRIMARY KEY (a, b))',
    "INSERT INTO t VALUES ('a', NULL, 1), ('b', 2, 2), ('c', 3, 3), ('d', NULL, 4), ('e', NULL, 5)",
  ];
  const updates = [
    "UPDATE t SET b = CASE a WHEN 'a' THEN 1 WHEN 'c' THEN 4 END WHERE a < 'd'",
    "UPDATE t SET v = 9 WHERE a = 'd'",
    "DELETE FROM t WHERE a = 'e'",
  ];
  const rows = [
    ['t', 1, ['a', null, 1], null],
    ['t', ['a', 1], null, ['a', 1, 1]],
    ['t', ['b', 2], ['b', 2, 2], null],
    ['t', 2, null, ['b', null, 2]],
    ['t', ['c', 3], ['c', 3, 3], null],
    ['t', ['c', 4], null, ['c', 4, 3]],
    ['t', 4, ['d', null, 4], ['d', null, 9]],
    ['t', 5, ['e', null, 5], null],
  ];
  expect(between(first, updates)).toEqual(rows);
});

test('[DIFF10] of equal rows without a key, the right one is missing, also in an altered table', () => {
  const first = ['CREATE TABLE t (a)', "INSERT INTO t VALUES ('x'), ('x'), ('x')"];
  for (const more of [[], ['ALTER TABLE t ADD COLUMN w']]) {
    const found = between(first, ['DELETE FROM t WHERE rowid = 2', ...more]);
    expect(found.filter(([kind]) => kind === 't')).toEqual([['t', 2, ['x'], null]]);
  }
});

test('[DIFF6] generated columns follow from the others: they make no row another one', () => {
  const table = (columns: string) => `CREATE TABLE t (k TEXT PRIMARY KEY, a, ${columns})`;
  const insert = "INSERT INTO t (k, a) VALUES ('x', 1), ('y', 2)";
  const first = [table('g AS (a + 1), s AS (a + 2) STORED'), insert];
  const rowsOf = (later: string[]) => between(first, later).filter(([kind]) => kind === 't');
  // The row has the same key at another rowid.
  expect(rowsOf(["DELETE FROM t WHERE k = 'x'", "INSERT INTO t (k, a) VALUES ('x', 1)"])).toEqual(
    [],
  );
  expect(rowsOf(['DROP TABLE t', table('g AS (a + 5), s AS (a + 6) STORED'), insert])).toEqual([]);
  expect(rowsOf(['DROP TABLE t', table('g, s'), insert])).toEqual([]);
});

test('[DIFF3] values that are equal as numbers and not as bytes differ, also in an altered table', () => {
  const first = [
    'CREATE TABLE t (id INTEGER PRIMARY KEY, v)',
    "INSERT INTO t VALUES (1, 1), (2, 0.0), (3, 'a'), (4, x''), (5, NULL)",
  ];
  const changes = [
    'UPDATE t SET v = 1.0 WHERE id = 1',
    'UPDATE t SET v = -0.0 WHERE id = 2',
    "UPDATE t SET v = x'61' WHERE id = 3",
    "UPDATE t SET v = '' WHERE id = 4",
    'UPDATE t SET v = 0 WHERE id = 5',
  ];
  for (const more of [[], ['ALTER TABLE t ADD COLUMN w']]) {
    const rows = between(first, [...changes, ...more]).filter(([kind]) => kind === 't');
    expect(rows.map(([, key]) => key)).toEqual([[1], [2], [3], [4], [5]]);
  }
});

const FULL_TEXT = [
  'CREATE TABLE page (id INTEGER PRIMARY KEY, text)',
  'CREATE VIRTUAL TABLE own USING fts5(a, b)',
  "CREATE VIRTUAL TABLE of_page USING fts5(text, content='page', content_rowid='id')",
  "CREATE VIRTUAL TABLE bare USING fts5(text, content='')",
  'CREATE VIRTUAL TABLE words USING fts5vocab(own, row)',
  'CREATE VIRTUAL TABLE place USING rtree(id, x0, x1)',
  "INSERT INTO own VALUES ('one', 'first'), ('two', 'second')",
  'INSERT INTO place VALUES (1, 0, 1), (2, 5, 6)',
];

test('[DIFF5] of virtual tables, the rows are shown that they keep themselves; others are named, or not shown', () => {
  expect(
    between(FULL_TEXT, [
      "UPDATE own SET b = 'other' WHERE a = 'two'",
      "DELETE FROM own WHERE a = 'one'",
    ]),
  ).toEqual([
    ['own', 1, ['one', 'first'], null],
    ['own', 2, ['two', 'second'], ['two', 'other']],
  ]);
  expect(
    between(FULL_TEXT, [
      'UPDATE place SET x0 = 0.5 WHERE id = 1',
      'INSERT INTO place VALUES (9, 1, 2)',
    ]),
  ).toEqual([
    ['place', 1, [1, 0, 1], [1, 0.5, 1]],
    ['place', 9, null, [9, 1, 2]],
  ]);
  expect(between(FULL_TEXT, ["INSERT INTO of_page (rowid, text) VALUES (1, 'x')"])).toEqual([]);
  const before = stateAfter(null, ...FULL_TEXT);
  const after = stateAfter(before, "INSERT INTO bare (rowid, text) VALUES (1, 'x')");
  expect(differencesOf(before, after)).toEqual([['unnamed', 'bare']]);
  expect(differencesOf(before, stateAfter(before, "INSERT INTO page VALUES (1, 'x')"))).toEqual([
    ['page', [1], null, [1, 'x']],
  ]);
});

test('[DIFF5] virtual tables that are made, removed or made again show all their rows, those without content their names', () => {
  const none = stateAfter(
    null,
    'CREATE TABLE page (id INTEGER PRIMARY KEY, text)',
    "INSERT INTO page VALUES (7, 'seven')",
  );
  const all = stateAfter(none, ...FULL_TEXT.slice(1));
  const rows = (found: unknown[][]) => found.filter(([kind]) => kind !== 'table');
  const shown = [
    ['unnamed', 'bare'],
    ['own', 1, null, ['one', 'first']],
    ['own', 2, null, ['two', 'second']],
    ['place', 1, null, [1, 0, 1]],
    ['place', 2, null, [2, 5, 6]],
  ];
  for (const pages of [undefined, null]) {
    const made = differencesOf(none, all, pages);
    expect(rows(made)).toEqual(shown);
    expect(made.length).toBe(shown.length + 5);
    const removed = shown.map(([table, key, , row]) =>
      row === undefined ? [table, key] : [table, key, row, null],
    );
    expect(rows(differencesOf(all, none, pages))).toEqual(removed);
  }
  const again = stateAfter(
    all,
    'DROP TABLE own',
    'CREATE VIRTUAL TABLE own USING fts5(a, b, c)',
    "INSERT INTO own VALUES ('one', 'first', '')",
    'DROP TABLE bare',
    "CREATE VIRTUAL TABLE bare USING fts5(text, more, content='')",
  );
  expect(rows(differencesOf(all, again))).toEqual([
    ['unnamed', 'bare'],
    ['own', 1, ['one', 'first'], null],
    ['own', 2, ['two', 'second'], null],
    ['own', 1, null, ['one', 'first', '']],
  ]);
});

test('[DIFF5] a virtual table whose name holds another module, or whose option is shortened, is compared by its own module and option', () => {
  const name = '"not using rtree"';
  const found = between(
    [`CREATE VIRTUAL TABLE ${name} USING fts5(a)`, `INSERT INTO ${name} VALUES ('x')`],
    [`UPDATE ${name} SET a = 'y'`],
  );
  expect(found).toEqual([['not using rtree', 1, ['x'], ['y']]]);
  const before = stateAfter(null, "CREATE VIRTUAL TABLE t USING fts5(a, conten='')");
  expect(differencesOf(before, stateAfter(before, "INSERT INTO t VALUES ('x')"))).toEqual([
    ['unnamed', 't'],
  ]);
});

test('[DIFF10] a table whose columns hide its rowids is named if it has changed, and has rows that nothing else tells apart', () => {
  const hidden = '(rowid, _rowid_, oid, PRIMARY KEY (oid))';
  const first = [
    `CREATE TABLE t ${hidden}`,
    'CREATE TABLE u (a)',
    'INSERT INTO t VALUES (1, 2, 3), (1, 2, NULL)',
  ];
  expect(between(first, ['UPDATE t SET rowid = 7 WHERE oid = 3'])).toEqual([['unnamed', 't']]);
  expect(
    between(first, ['ALTER TABLE t ADD COLUMN w']).map(([kind, name]) => `${kind} ${name}`),
  ).toEqual(['table t', 'unnamed t']);
  const before = stateAfter(null, ...first);
  const other = stateAfter(before, 'INSERT INTO u VALUES (1)');
  expect(differencesOf(before, other)).toEqual([['u', 1, null, [1]]]);
  const named = stateAfter(before, 'DELETE FROM t WHERE oid IS NULL');
  expect(differencesOf(before, named)).toEqual([['unnamed', 't']]);
  expect(differencesOf(named, before)).toEqual([['unnamed', 't']]);
  expect(both(named, stateAfter(named, 'UPDATE t SET rowid = 8 WHERE oid = 3'))).toEqual([
    ['t', [3], [1, 2, 3], [8, 2, 3]],
  ]);
});

test('[MERGE9] the sequences that the later state has raised are told, of tables that still have one', () => {
  const table = (name: string) => `CREATE TABLE ${name} (id INTEGER PRIMARY KEY AUTOINCREMENT)`;
  const before = stateAfter(
    null,
    ...['same', 'raised', 'lowered', 'dropped', 'first'].map(table),
    'INSERT INTO same VALUES (5)',
    'INSERT INTO raised VALUES (5)',
    'INSERT INTO lowered VALUES (5)',
    'INSERT INTO dropped VALUES (5)',
  );
  const after = stateAfter(
    before,
    'INSERT INTO raised VALUES (9007199254740993)',
    "UPDATE sqlite_sequence SET seq = 1 WHERE name = 'lowered'",
    'INSERT INTO first VALUES (1)',
    'DELETE FROM first',
    'DROP TABLE dropped',
    table('made'),
    'INSERT INTO made VALUES (3)',
    "INSERT INTO sqlite_sequence VALUES ('plain', 8), ('nothing', 'text'), ('missing', 9)",
    'CREATE TABLE plain (id INTEGER PRIMARY KEY)',
  );
  const raised = (one: StoredState, other: StoredState) =>
    compare(one, other, (differences) => Object.fromEntries(differences.raisedSequences()));
  expect(raised(before, after)).toEqual({ raised: 9007199254740993n, first: 1n, made: 3n });
  expect(raised(after, before)).toEqual({ lowered: 5n, dropped: 5n });
  expect(raised(before, before.copy())).toEqual({});
  const whole = compare(before, after, (all) => all.raisedSequences(), null);
  expect(Object.fromEntries(whole)).toEqual(raised(before, after));
  const none = stateAfter(null, 'CREATE TABLE t (a)');
  expect(raised(none, before)).toEqual({ same: 5n, raised: 5n, lowered: 5n, dropped: 5n });
  expect(raised(before, none)).toEqual({});
});

test('[REVERT4] the rows and definitions of a table are told of each state', () => {
  const before = stateAfter(
    null,
    'CREATE TABLE t (a)',
    'CREATE INDEX i ON t (a)',
    'CREATE TABLE u (a)',
    'INSERT INTO t VALUES (1), (2)',
  );
  const after = stateAfter(
    before,
    'DROP INDEX i',
    'CREATE VIEW t_seen AS SELECT 1',
    'DELETE FROM t WHERE a = 1',
  );
  compare(before, after, (differences) => {
    const rows = (side: number) =>
      [...differences.rowsOf(side, 't')].map(({ cells, rowid }) => [
        rowid,
        ...cells.map(valueOfCell),
      ]);
    expect([rows(0), rows(1)]).toEqual([
      [
        [1n, 1],
        [2n, 2],
      ],
      [[2n, 2]],
    ]);
    // A walk that its caller leaves early can be made again from the beginning.
    const walk = differences.rowsOf(0, 't');
    walk.next();
    walk.return(undefined);
    expect(rows(0).length).toBe(2);
    const names = (side: number) => differences.objectsOf(side, 't').map(({ name }) => name);
    expect([names(0), names(1)]).toEqual([['t', 'i'], ['t']]);
    expect([differences.shapeOf(0, 't')?.name, differences.shapeOf(0, 'i')]).toEqual([
      't',
      undefined,
    ]);
  });
});
