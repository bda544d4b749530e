// Changes between two states, applied to a third one: without a log, and without an object.

import { expect, test } from 'vitest';
import { programs, THREE } from '../../../packages/testing/worker/state-programs.ts';
import {
  apply,
  contentOfState,
  inState,
  type StoredState,
  stateAfter,
} from '../../../packages/testing/worker/stored-states.ts';
import { codeOf, rows } from '../../../packages/testing/worker/test-database.ts';
import { RefusedChanges } from './application.ts';

const SERIES = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)';

/** The reason and the thing that a constraint refuses. */
function refusalOf(call: () => unknown): unknown {
  try {
    call();
  } catch (error) {
    if (error instanceof RefusedChanges) return error.change;
    throw error;
  }
  return undefined;
}

const valuesOf = (state: StoredState, sql: string) =>
  inState(state, (database) => rows(database, sql));

function isSound(state: StoredState): void {
  expect(valuesOf(state, 'PRAGMA quick_check')).toEqual([['ok']]);
  expect(valuesOf(state, 'PRAGMA foreign_key_check')).toEqual([]);
}

const named = Object.keys(programs).filter((name) => name !== 'keys');

test.for(named)(
  '[MERGE6] with %s: applied to the first state, the changes give the second one, and nothing is left to do',
  (name) => {
    const [first, later] = programs[name]!;
    const base = stateAfter(null, ...first);
    const theirs = stateAfter(base, ...later);
    const { state, conflicts, isEmpty } = apply(base, base, theirs);
    expect([conflicts, isEmpty]).toEqual([[], false]);
    expect(contentOfState(state)).toEqual(contentOfState(theirs));
    isSound(state);
    const again = apply(theirs, base, theirs);
    expect([again.conflicts, again.isEmpty, again.tables]).toEqual([[], true, []]);
    expect(contentOfState(again.state)).toEqual(contentOfState(theirs));
  },
);

test.for(named)(
  '[REVERT1] with %s: the changes of the other direction give the first state, and other tables of the object stay',
  (name) => {
    const [first, later] = programs[name]!;
    const base = stateAfter(null, ...first);
    const theirs = stateAfter(base, ...later);
    const own = ['CREATE TABLE own (a, b UNIQUE)', "INSERT INTO own VALUES (1, 2), ('x', 3)"];
    const { state, conflicts } = apply(stateAfter(theirs, ...own), theirs, base);
    expect(conflicts).toEqual([]);
    expect(contentOfState(state)).toEqual(contentOfState(stateAfter(base, ...own)));
    isSound(state);
  },
);

test('[MERGE6] keys come from a branch into an object that had none, and go again; the empty table of them stays', () => {
  const [first, later] = programs.keys!;
  const base = stateAfter(null, ...first);
  const theirs = stateAfter(base, ...later);
  const made = apply(base, base, theirs);
  expect([made.conflicts, made.isEmpty, made.tables]).toEqual([[], false, ['_cf_KV']]);
  expect(contentOfState(made.state)).toEqual(contentOfState(theirs));
  const back = apply(theirs, theirs, base);
  expect([back.conflicts, back.isEmpty]).toEqual([[], false]);
  expect(contentOfState(back.state)).toEqual(
    contentOfState(stateAfter(theirs, 'DELETE FROM _cf_KV')),
  );
  const empty = stateAfter(base, later[0]!);
  expect(apply(base, base, empty).isEmpty).toBe(true);
});

test('[MERGE3] rows that a branch has changed, and the object in another way in other columns, are in conflict with the present rows', () => {
  const base = stateAfter(null, 'CREATE TABLE t (a INTEGER PRIMARY KEY, b, c)', THREE);
  const theirs = stateAfter(
    base,
    "UPDATE t SET b = 'theirs' WHERE a < 3",
    'DELETE FROM t WHERE a = 3',
  );
  const ours = stateAfter(base, "UPDATE t SET c = 'ours' WHERE a <> 2");
  const found = apply(ours, base, theirs);
  expect(found.conflicts).toEqual([
    ['changed', ['t', [1], [1, 'a', 'x'], [1, 'theirs', 'x']], [1, 'a', 'ours']],
    ['changed', ['t', [3], [3, 'c', 'z'], null], [3, 'c', 'ours']],
  ]);
  expect(valuesOf(found.state, 'SELECT b, c FROM t')).toEqual([
    ['a', 'ours'],
    ['theirs', 'y'],
    ['c', 'ours'],
  ]);
  const taken = apply(ours, base, theirs, true);
  expect(taken.conflicts).toEqual([]);
  expect(contentOfState(taken.state)).toEqual(contentOfState(theirs));
});

test('[MERGE4] if it is to be made in any case, a definition replaces that of the object, with all rows of the branch', () => {
  const base = stateAfter(
    null,
    'CREATE TABLE t (a INTEGER PRIMARY KEY, b, c)',
    THREE,
    'CREATE INDEX kept ON t (a)',
  );
  const theirs = stateAfter(base, 'ALTER TABLE t ADD COLUMN theirs', 'CREATE INDEX i ON t (b)');
  const ours = stateAfter(
    base,
    'ALTER TABLE t ADD COLUMN ours',
    'CREATE INDEX i ON t (c)',
    'DELETE FROM t',
  );
  const { conflicts } = apply(ours, base, theirs);
  expect(conflicts.map(([reason, change]) => [reason, ...change.slice(0, 2)])).toEqual([
    ['changed', 'index', 'i'],
    ['changed', 'table', 't'],
  ]);
  const { state } = apply(ours, base, theirs, true);
  expect(contentOfState(state)).toEqual(contentOfState(theirs));
  const gone = stateAfter(base, 'DROP TABLE t');
  expect(contentOfState(apply(ours, base, gone, true).state)).toEqual(contentOfState(gone));
  const dropped = apply(gone, base, theirs, true);
  expect(contentOfState(dropped.state)).toEqual(contentOfState(theirs));
});

test('[MERGE8] a definition that does not fit the object is named, and so is the table whose constraint refuses rows', () => {
  const base = stateAfter(
    null,
    'CREATE TABLE t (a INTEGER PRIMARY KEY, b, c)',
    'CREATE TABLE u (a, b UNIQUE)',
  );
  const rows = [THREE, "INSERT INTO u VALUES (1, 'one')"];
  const refused = (ours: string[], theirs: string[]) =>
    refusalOf(() => apply(stateAfter(base, ...ours), base, stateAfter(base, ...theirs)));
  expect(
    refused(['INSERT INTO u (rowid, b) VALUES (5, 1)'], ['INSERT INTO u VALUES (1, 1)']),
  ).toEqual({
    kind: 'table',
    table: 'u',
  });
  expect(refused(["INSERT INTO u (rowid, b) VALUES (5, 'one')"], rows)).toEqual({
    kind: 'table',
    table: 'u',
  });
  expect(refused(['DROP TABLE t'], ['CREATE INDEX i ON t (b)'])).toMatchObject({
    type: 'index',
    name: 'i',
  });
  expect(
    refused(['DROP TABLE t'], ['CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT 1; END']),
  ).toMatchObject({ type: 'trigger', name: 'g' });
});

const ID_TABLE = 'CREATE TABLE t (a INTEGER PRIMARY KEY, b, c)';

test.for([
  ['t (a TEXT PRIMARY KEY, b, c)', 'keeps its rowid', 'SELECT rowid, * FROM t ORDER BY a'],
  [
    't (a TEXT PRIMARY KEY, b, c, UNIQUE (c, a))',
    'is changed alone, at any rowid',
    'SELECT * FROM t ORDER BY a',
  ],
] as const)('[MERGE6] in %s, a row whose other columns change %s', ([columns, , rows]) => {
  const base = stateAfter(
    null,
    `CREATE TABLE ${columns}`,
    THREE,
    'UPDATE t SET rowid = 70 WHERE a = 2',
  );
  const theirs = stateAfter(base, "UPDATE t SET b = 'theirs' WHERE a = 2");
  const { state } = apply(base, base, theirs);
  expect(valuesOf(state, rows)).toEqual(valuesOf(theirs, rows));
});

test('[MERGE6] of keys that only a column takes for the same, the right rows are changed and removed', () => {
  const table = 'CREATE TABLE t (a TEXT COLLATE NOCASE, b, PRIMARY KEY (a COLLATE BINARY))';
  const base = stateAfter(
    null,
    table,
    "INSERT INTO t VALUES ('x', 1), ('X', 1), ('y', 1), ('Y', 1)",
  );
  const is = (key: string) => `a = '${key}' COLLATE BINARY`;
  const theirs = stateAfter(
    base,
    `UPDATE t SET b = 2 WHERE ${is('X')}`,
    `DELETE FROM t WHERE ${is('Y')}`,
  );
  const made = apply(base, base, theirs);
  expect(contentOfState(made.state)).toEqual(contentOfState(theirs));
  expect(contentOfState(apply(theirs, theirs, base).state)).toEqual(contentOfState(base));
});

test.for(['REPLACE', 'IGNORE'])(
  '[MERGE8] a constraint that would %s rows refuses them instead, and an update does neither',
  (decision) => {
    const table = `CREATE TABLE t (a TEXT PRIMARY KEY, b UNIQUE ON CONFLICT ${decision}, c)`;
    const base = stateAfter(null, table, "INSERT INTO t VALUES ('1', 1, 'one')");
    const named = { kind: 'table', table: 't' };
    const refused = (ours: string, theirs: string) =>
      refusalOf(() => apply(stateAfter(base, ours), base, stateAfter(base, theirs)));
    expect(
      refused("INSERT INTO t VALUES ('2', 5, 'ours')", "INSERT INTO t VALUES ('3', 5, 'theirs')"),
    ).toEqual(named);
    expect(refused("INSERT INTO t VALUES ('2', 5, 'ours')", 'UPDATE t SET b = 5')).toEqual(named);
    const bare = stateAfter(
      null,
      `CREATE TABLE u (b NOT NULL ON CONFLICT ${decision} UNIQUE ON CONFLICT ${decision})`,
      'INSERT INTO u VALUES (1)',
    );
    const taken = stateAfter(bare, 'INSERT INTO u (rowid, b) VALUES (8, 5)');
    expect(refusalOf(() => apply(taken, bare, stateAfter(bare, 'UPDATE u SET b = 5')))).toEqual({
      kind: 'table',
      table: 'u',
    });
  },
);

const KEYS = 'CREATE TABLE _cf_KV ( key TEXT PRIMARY KEY, value BLOB ) WITHOUT ROWID';

test('[MERGE3] keys that a branch has added come into an object that has no table of keys, which both had once', () => {
  const base = stateAfter(null, KEYS, 'CREATE TABLE t (a)');
  const theirs = stateAfter(
    base,
    "INSERT INTO _cf_KV VALUES ('j', x'01'), ('k', x'02')",
    'CREATE TABLE made (a)',
  );
  const ours = stateAfter(null, 'CREATE TABLE t (a)');
  const { state, conflicts, isEmpty } = apply(ours, base, theirs);
  expect([conflicts, isEmpty]).toEqual([[], false]);
  expect(contentOfState(state)).toEqual(contentOfState(stateAfter(theirs)));
  // Keys that it has removed, the object has not either.
  expect(apply(ours, theirs, stateAfter(theirs, 'DELETE FROM _cf_KV')).isEmpty).toBe(true);
  const changed = stateAfter(theirs, "UPDATE _cf_KV SET value = x'03'");
  expect(apply(ours, theirs, changed).conflicts.length).toBe(2);
});

test('[MERGE4] rows of a table that the object has dropped or altered are in conflict, unless they are removed', () => {
  const base = stateAfter(null, ID_TABLE, 'CREATE TABLE u (a)', THREE);
  const add = stateAfter(
    base,
    "INSERT INTO t VALUES (9, 'new', 'new')",
    'CREATE TABLE made (a)',
    'INSERT INTO u VALUES (1)',
  );
  const dropped = stateAfter(base, 'DROP TABLE t');
  const row = ['t', [9], null, [9, 'new', 'new']];
  for (const always of [false, true]) {
    const found = apply(dropped, base, add, always);
    expect(found.conflicts).toEqual([['changed', row, null]]);
    expect(found.tables).toEqual(['made', 'u']);
  }
  const altered = stateAfter(base, 'ALTER TABLE t ADD COLUMN ours');
  expect(apply(altered, base, add).conflicts).toEqual([['changed', row, null]]);
  const removed = stateAfter(base, 'DELETE FROM t WHERE a > 1');
  expect(apply(dropped, base, removed)).toMatchObject({ conflicts: [], isEmpty: true });
  expect(apply(altered, base, removed).conflicts.map(([reason]) => reason)).toEqual([
    'changed',
    'changed',
  ]);
});

test.for([
  ["INSERT INTO t VALUES (4, 'd', 'w')", true],
  ['DELETE FROM t WHERE a = 1', true],
  ['DELETE FROM t WHERE a = 3', true],
  ["UPDATE t SET c = 'w' WHERE a = 2", true],
  ['UPDATE t SET a = 4 WHERE a = 3', true],
  ['DELETE FROM t', true],
  ['INSERT INTO u VALUES (1)', false],
] as const)(
  '[REVERT4] after %s in the object, a table that is dropped or altered is in conflict for its rows: %s',
  ([own, isConflict]) => {
    const base = stateAfter(null, ID_TABLE, 'CREATE TABLE u (a)', THREE);
    const ours = stateAfter(base, own);
    for (const change of ['DROP TABLE t', 'ALTER TABLE t ADD COLUMN w']) {
      const theirs = stateAfter(base, change);
      const found = apply(ours, base, theirs);
      const reasons = found.conflicts.map(([reason, change]) => [reason, ...change.slice(0, 2)]);
      expect(reasons).toEqual(isConflict ? [['rows', 'table', 't']] : []);
      if (isConflict) expect(contentOfState(found.state)).toEqual(contentOfState(ours));
      expect(apply(ours, base, theirs, true).conflicts).toEqual([]);
    }
  },
);

test('[MERGE4] a trigger with the name of a table, changed by both, is no conflict of that table or of its rows', () => {
  const trigger = (n: number) => `CREATE TRIGGER u AFTER INSERT ON t BEGIN SELECT ${n}; END`;
  const base = stateAfter(
    null,
    ID_TABLE,
    'CREATE TABLE u (a)',
    'INSERT INTO u VALUES (1)',
    trigger(1),
  );
  const theirs = stateAfter(base, 'DROP TRIGGER u', trigger(2), 'UPDATE u SET a = 2');
  const ours = stateAfter(base, 'INSERT INTO u VALUES (7)');
  const made = apply(ours, base, theirs);
  expect(made.conflicts).toEqual([]);
  expect(valuesOf(made.state, 'SELECT a FROM u')).toEqual([[2], [7]]);
  const other = stateAfter(base, 'DROP TRIGGER u', trigger(3));
  const found = apply(other, base, theirs);
  expect(found.conflicts.map(([reason, change]) => [reason, ...change.slice(0, 2)])).toEqual([
    ['changed', 'trigger', 'u'],
  ]);
  expect(valuesOf(found.state, 'SELECT a FROM u')).toEqual([[2]]);
});

test('[MERGE6] an altered table whose columns hide its rowids has all rows of the branch', () => {
  const table = 'CREATE TABLE t (rowid, _rowid_, oid, PRIMARY KEY (oid))';
  const base = stateAfter(null, table, 'INSERT INTO t VALUES (1, 2, 3), (1, 2, NULL)');
  const theirs = stateAfter(
    base,
    'ALTER TABLE t ADD COLUMN w',
    'INSERT INTO t VALUES (5, 6, NULL, 7)',
  );
  const { state, conflicts } = apply(base, base, theirs);
  expect(conflicts).toEqual([]);
  expect(contentOfState(state)).toEqual(contentOfState(theirs));
  expect(contentOfState(apply(theirs, theirs, base).state)).toEqual(contentOfState(base));
});

test('[MERGE3] indexes and triggers that the object has made on a table or view stay, if a branch alters that', () => {
  const trigger = (name: string, on: string) => `CREATE TRIGGER ${name} ${on} BEGIN SELECT 1; END`;
  const base = stateAfter(
    null,
    ID_TABLE,
    'CREATE VIEW v AS SELECT a FROM t',
    'CREATE INDEX old ON t (c)',
    'CREATE INDEX kept ON t (c, b)',
    THREE,
  );
  const theirs = stateAfter(
    base,
    'ALTER TABLE t ADD COLUMN w',
    'DROP VIEW v',
    'CREATE VIEW v AS SELECT b FROM t',
    'CREATE INDEX theirs ON t (w)',
  );
  const own = [
    'DROP INDEX old',
    'CREATE INDEX own ON t (b)',
    trigger('on_t', 'AFTER INSERT ON t'),
    trigger('on_v', 'INSTEAD OF INSERT ON v'),
  ];
  const { state, conflicts } = apply(stateAfter(base, ...own), base, theirs);
  expect(conflicts).toEqual([]);
  const expected = stateAfter(theirs, ...own);
  expect(contentOfState(state)).toEqual(contentOfState(expected));
});

test('[MERGE8] an index that the object has made of a column that a branch removes is CONFLICT of that table', () => {
  const base = stateAfter(null, ID_TABLE);
  const ours = stateAfter(base, 'CREATE INDEX own ON t (c)');
  const theirs = stateAfter(base, 'ALTER TABLE t DROP COLUMN c');
  expect(refusalOf(() => apply(ours, base, theirs))).toMatchObject({ type: 'table', name: 't' });
});

test('[MERGE6] children are changed before the table of their parents is dropped', () => {
  const base = stateAfter(null, ...FAMILY);
  const theirs = stateAfter(
    base,
    'UPDATE c SET p = NULL',
    'INSERT INTO c VALUES (2, NULL)',
    'DROP TABLE p',
  );
  const { state, conflicts } = apply(base, base, theirs);
  expect(conflicts).toEqual([]);
  expect(contentOfState(state)).toEqual(contentOfState(theirs));
});

test('[REVERT5] a table that does not show its rows is in conflict if its rows have changed, or if it is made or dropped', () => {
  const bare = "CREATE VIRTUAL TABLE bare USING fts5(text, content='')";
  const none = stateAfter(null, 'CREATE TABLE t (a)');
  const empty = stateAfter(none, bare);
  const full = stateAfter(empty, "INSERT INTO bare VALUES ('x')", 'INSERT INTO t VALUES (1)');
  const unnamed = [['unnamed', ['unnamed', 'bare'], undefined]];
  for (const [from, to] of [
    [empty, full],
    [none, empty],
    [empty, none],
  ] as const) {
    const found = apply(from, from, to);
    expect(found.conflicts).toEqual(unnamed);
  }
  expect(apply(empty, empty, full).tables).toEqual(['t']);
});

const FOUND = [
  'CREATE TABLE page (id INTEGER PRIMARY KEY, text)',
  'CREATE TABLE other (a)',
  'CREATE VIEW shown AS SELECT id AS rowid, text FROM page',
  "CREATE VIRTUAL TABLE found USING fts5(text, content='page', content_rowid='id')",
  "CREATE VIRTUAL TABLE of_view USING fts5(text, content='shown')",
  "CREATE VIRTUAL TABLE of_other USING fts5(a, content='other')",
  "INSERT INTO page VALUES (1, 'one')",
  "INSERT INTO other VALUES ('word')",
];

test('[REVERT5] an index of the content of another table, or of a view, finds the rows after the changes; others stay', () => {
  const base = stateAfter(null, ...FOUND);
  const theirs = stateAfter(
    base,
    "INSERT INTO page VALUES (2, 'two')",
    "UPDATE page SET text = 'first' WHERE id = 1",
  );
  const { state } = apply(base, base, theirs);
  const ids = (of: StoredState, table: string, word: string) =>
    valuesOf(of, `SELECT rowid FROM ${table} WHERE ${table} MATCH '${word}'`).flat();
  for (const table of ['found', 'of_view']) {
    expect([
      ids(state, table, 'two'),
      ids(state, table, 'first'),
      ids(state, table, 'one'),
    ]).toEqual([[2], [1], []]);
  }
  // Nobody has put its rows into it, and the changes have nothing to do with it.
  expect(ids(state, 'of_other', 'word')).toEqual([]);
  const more = apply(base, base, stateAfter(base, "INSERT INTO other VALUES ('two')")).state;
  expect([
    ids(more, 'of_other', 'word'),
    ids(more, 'of_other', 'two'),
    ids(more, 'found', 'one'),
  ]).toEqual([[1], [2], []]);
});

const FAMILY = [
  'CREATE TABLE p (id INTEGER PRIMARY KEY)',
  'CREATE TABLE c (id INTEGER PRIMARY KEY, p REFERENCES p)',
  'CREATE TABLE loose (v, p REFERENCES p)',
  'CREATE INDEX by_p ON c (p)',
  'CREATE TABLE t (a UNIQUE)',
  'INSERT INTO p VALUES (1), (2)',
  'INSERT INTO c VALUES (1, 1)',
];

test.for([
  [
    'a parent that is removed',
    ['INSERT INTO c VALUES (2, 2)'],
    ['DELETE FROM p WHERE id = 2'],
    'c',
  ],
  [
    'a child without a key',
    ['DELETE FROM p WHERE id = 2'],
    ["INSERT INTO loose VALUES ('x', 2)"],
    'loose',
  ],
  [
    'a parent that children without a key have',
    ["INSERT INTO loose VALUES ('x', 2)"],
    ['DELETE FROM p WHERE id = 2'],
    'loose',
  ],
  [
    'a table of parents that is dropped',
    ['INSERT INTO c VALUES (2, 2)'],
    ['DROP INDEX by_p', 'UPDATE c SET p = NULL', 'DROP TABLE p'],
    'c',
  ],
] as const)(
  '[MERGE8] a foreign key refuses %s, and its table is named',
  ([, own, others, table]) => {
    const base = stateAfter(null, ...FAMILY);
    const refusal = () => apply(stateAfter(base, ...own), base, stateAfter(base, ...others));
    expect(refusalOf(refusal)).toEqual({ kind: 'table', table });
  },
);

test('[MERGE8] a row that refers to nothing, as an import may bring it, does not refuse changes of other rows', () => {
  const base = stateAfter(null, ...FAMILY);
  inState(base, (database) => {
    database.withoutForeignKeys(true, () => database.runOnce('INSERT INTO c VALUES (9, 99)'));
  });
  const theirs = stateAfter(base, 'INSERT INTO p VALUES (3)', 'DROP INDEX by_p');
  const { conflicts, state } = apply(base, base, theirs);
  expect(conflicts).toEqual([]);
  expect(contentOfState(state)).toEqual(contentOfState(theirs));
});

test('[MERGE9] an id is not given again after the changes, though no row has it', () => {
  const base = stateAfter(
    null,
    'CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT)',
    'CREATE TABLE u (id INTEGER PRIMARY KEY AUTOINCREMENT)',
    'INSERT INTO t VALUES (3)',
    'INSERT INTO u VALUES (5)',
  );
  const theirs = stateAfter(base, 'INSERT INTO t VALUES (8)', 'DELETE FROM t WHERE id = 8');
  const sequences = (of: StoredState) =>
    valuesOf(of, 'SELECT name, seq FROM sqlite_sequence ORDER BY name');
  const made = apply(base, base, theirs);
  expect([made.isEmpty, made.tables]).toEqual([false, []]);
  expect(sequences(made.state)).toEqual([
    ['t', 8],
    ['u', 5],
  ]);
  const ours = stateAfter(
    base,
    'INSERT INTO t VALUES (20)',
    'INSERT INTO u VALUES (30)',
    'DELETE FROM u WHERE id = 30',
  );
  const kept = apply(ours, base, theirs);
  expect(kept.isEmpty).toBe(true);
  expect(sequences(kept.state)).toEqual([
    ['t', 20],
    ['u', 30],
  ]);
  const altered = stateAfter(
    theirs,
    'INSERT INTO u VALUES (6)',
    'DELETE FROM u WHERE id = 6',
    'ALTER TABLE u ADD COLUMN w',
    'CREATE TABLE made (id INTEGER PRIMARY KEY AUTOINCREMENT)',
    'INSERT INTO made VALUES (4)',
    'DELETE FROM made',
  );
  const again = apply(ours, base, altered);
  expect(sequences(again.state)).toEqual([
    ['made', 4],
    ['t', 20],
    ['u', 30],
  ]);
  const same = apply(theirs, base, theirs);
  expect(same.isEmpty).toBe(true);
});

test('[MERGE10] a row without a key takes its rowid before a row with a key takes a free one', () => {
  const table = 'CREATE TABLE t (a TEXT COLLATE NOCASE, b, PRIMARY KEY (a COLLATE BINARY, b))';
  const base = stateAfter(null, table);
  const theirs = stateAfter(
    base,
    "INSERT INTO t VALUES ('x', NULL), ('b', 2)",
    'UPDATE t SET rowid = -1 WHERE b = 2',
  );
  const ours = stateAfter(base, "INSERT INTO t (rowid, a, b) VALUES (-1, 'y', 1)");
  const { state } = apply(ours, base, theirs);
  const found = valuesOf(state, 'SELECT rowid, a FROM t ORDER BY a');
  expect(found.map(([, a]) => a)).toEqual(['b', 'x', 'y']);
  expect(found.slice(1)).toEqual([
    [1, 'x'],
    [-1, 'y'],
  ]);
  const taken = stateAfter(base, "INSERT INTO t (rowid, a, b) VALUES (1, 'y', 1)");
  expect(refusalOf(() => apply(taken, base, theirs))).toEqual({ kind: 'table', table: 't' });
});

test('[MERGE7] a failure of the disk is an error, and not a conflict', () => {
  const base = stateAfter(
    null,
    'CREATE TABLE t (a, b)',
    'CREATE VIRTUAL TABLE v USING fts5(a)',
    `INSERT INTO t ${SERIES} SELECT i, zeroblob(3000) FROM n`,
    `INSERT INTO v ${SERIES} SELECT i || ' ' || hex(zeroblob(1000)) FROM n`,
  );
  for (const change of ['CREATE INDEX i ON t (a)', 'DELETE FROM v WHERE rowid > 150']) {
    const theirs = stateAfter(base, change);
    const ours = base.copy();
    expect(codeOf(() => apply(ours, base, theirs, false, (state) => state.fail()))).toBe('IO');
  }
});
