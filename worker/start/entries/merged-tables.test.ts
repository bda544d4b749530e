// Tests merges of tables that are created, altered or dropped on one side, while their rows change on the other.

import { beforeEach, expect, test } from 'vitest';
import { boxOfEachTest, runSql as run } from '../../../packages/testing/worker/box.ts';
import type { StorageHandle } from '../../../src/shared/contract/storage.ts';

const box = boxOfEachTest();
let storage: StorageHandle;
beforeEach(() => {
  ({ storage } = box);
});

const rowsOf = (sql: string) => storage.sql.exec(sql).raw().toArray();

async function commit(...statements: string[]): Promise<string> {
  await storage.transaction(() => run(storage, ...statements));
  return storage.getCurrentBookmark();
}

/** The later commits to the rows of the table, each with the rows that it leaves. */
const later = {
  'has one more': ["INSERT INTO t VALUES (3, 'c')", ['a', 'b', 'c']],
  'has one less': ['DELETE FROM t WHERE id = 1', ['b']],
  'has another value': ["UPDATE t SET v = 'x' WHERE id = 2", ['a', 'x']],
  'has another key': ['UPDATE t SET id = 4 WHERE id = 2', ['a', 'b']],
  'has none': ['DELETE FROM t', []],
} as const;

test.for(Object.entries(later))(
  '[REVERT4] a table that a commit has made, and that %s by now, is CONFLICT and stays',
  async ([, [change, values]]) => {
    const made = await commit(
      'CREATE TABLE t (id INTEGER PRIMARY KEY, v)',
      "INSERT INTO t VALUES (1, 'a'), (2, 'b')",
    );
    const changed = await commit(change);
    await expect(storage.revert(made)).rejects.toMatchObject({
      code: 'CONFLICT',
      conflicts: [{ reason: 'rows', change: { kind: 'schema', type: 'table', name: 't' } }],
    });
    expect((await rowsOf('SELECT v FROM t ORDER BY id')).flat()).toEqual(values);
    await storage.revert(changed);
    await storage.revert(made);
    expect(await rowsOf("SELECT name FROM sqlite_schema WHERE name = 't'")).toEqual([]);
  },
);

test('[REVERT4] a column that a commit has added to a table with one more row by now is CONFLICT, and the row stays', async () => {
  await commit('CREATE TABLE t (id INTEGER PRIMARY KEY, v)', "INSERT INTO t VALUES (1, 'a')");
  const altered = await commit('ALTER TABLE t ADD COLUMN w DEFAULT 7');
  await commit("INSERT INTO t VALUES (2, 'b', 8)");
  await expect(storage.revert(altered)).rejects.toMatchObject({
    code: 'CONFLICT',
    conflicts: [{ reason: 'rows', change: { kind: 'schema', name: 't' } }],
  });
  expect(await rowsOf('SELECT w FROM t ORDER BY id')).toEqual([[7], [8]]);
});

test.for(['DROP TABLE t', 'ALTER TABLE t ADD COLUMN w DEFAULT 7'])(
  '[MERGE4] after %s in the branch, and a new row in the object, a merge is CONFLICT, and the row stays',
  async (change) => {
    await commit('CREATE TABLE t (id INTEGER PRIMARY KEY, v)', "INSERT INTO t VALUES (1, 'a')");
    const branch = await storage.fork();
    await run(branch, change);
    await run(storage, "INSERT INTO t VALUES (2, 'b')");
    await expect(storage.merge(branch)).rejects.toMatchObject({
      code: 'CONFLICT',
      conflicts: [{ reason: 'rows', change: { kind: 'schema', name: 't' } }],
    });
    await storage.merge(branch, { onConflict: 'ours' });
    expect(await rowsOf('SELECT * FROM t ORDER BY id')).toEqual([
      [1, 'a'],
      [2, 'b'],
    ]);
  },
);

test.for([
  ['ALTER TABLE t ADD COLUMN w DEFAULT 7', [1, 'a', 7]],
  ['ALTER TABLE t RENAME COLUMN v TO w', [1, 'a']],
  [
    "DROP TABLE t; CREATE TABLE t (v, id INTEGER PRIMARY KEY); INSERT INTO t VALUES ('a', 1)",
    ['a', 1],
  ],
  ['DROP TABLE t; CREATE VIEW t AS SELECT 1', [1]],
] as const)(
  '[MERGE4] after %s in the object, rows that the branch has changed are CONFLICT, and are not written to other columns',
  async ([change, row]) => {
    await commit('CREATE TABLE t (id INTEGER PRIMARY KEY, v)', "INSERT INTO t VALUES (1, 'a')");
    const branch = await storage.fork();
    await run(branch, "UPDATE t SET v = 'theirs'");
    await run(storage, change);
    await expect(storage.merge(branch)).rejects.toMatchObject({
      code: 'CONFLICT',
      conflicts: [{ reason: 'changed', change: { kind: 'row', table: 't' } }],
    });
    expect(await rowsOf('SELECT * FROM t')).toEqual([row]);
  },
);

test('[MERGE4] a row that the branch has deleted, of a table that the object has altered, is CONFLICT and stays', async () => {
  await commit('CREATE TABLE t (id INTEGER PRIMARY KEY, v)', "INSERT INTO t VALUES (1, 'a')");
  const branch = await storage.fork();
  await run(branch, 'DELETE FROM t');
  await run(storage, 'ALTER TABLE t ADD COLUMN w DEFAULT 7');
  await expect(storage.merge(branch)).rejects.toMatchObject({
    code: 'CONFLICT',
    conflicts: [{ reason: 'changed', change: { kind: 'row', table: 't', after: null } }],
  });
  expect(await rowsOf('SELECT * FROM t')).toEqual([[1, 'a', 7]]);
});

test('[MERGE6] a parent with a key and its child without one come from a branch together', async () => {
  await commit(
    'CREATE TABLE p (id INTEGER PRIMARY KEY)',
    'CREATE TABLE c (v, p REFERENCES p)',
    'INSERT INTO p VALUES (1)',
    "INSERT INTO c VALUES ('first', 1)",
  );
  const branch = await storage.fork();
  await run(branch, 'INSERT INTO p VALUES (2)', "UPDATE c SET p = 2, v = 'moved'");
  await run(branch, "INSERT INTO c VALUES ('second', 2)", 'DELETE FROM p WHERE id = 1');
  await storage.merge(branch);
  expect(await rowsOf('SELECT v, c.p, id FROM c LEFT JOIN p ON id = c.p ORDER BY v')).toEqual([
    ['moved', 2, 2],
    ['second', 2, 2],
  ]);
  expect(await rowsOf('PRAGMA foreign_key_check')).toEqual([]);
});

test('[MERGE8] a child without a key, whose parent the object has deleted, is CONFLICT, and does not come', async () => {
  await commit(
    'CREATE TABLE p (id INTEGER PRIMARY KEY)',
    'CREATE TABLE c (v, p REFERENCES p)',
    'INSERT INTO p VALUES (1)',
  );
  const branch = await storage.fork();
  await run(branch, "INSERT INTO c VALUES ('theirs', 1)");
  await run(storage, 'DELETE FROM p');
  await expect(storage.merge(branch, { onConflict: 'theirs' })).rejects.toMatchObject({
    code: 'CONFLICT',
    conflicts: [{ reason: 'constraint', change: { table: 'c' } }],
  });
  expect(await rowsOf('SELECT * FROM c')).toEqual([]);
  await run(storage, 'INSERT INTO p VALUES (1)');
  await storage.merge(branch);
  expect(await rowsOf('SELECT * FROM c')).toEqual([['theirs', 1]]);
});
