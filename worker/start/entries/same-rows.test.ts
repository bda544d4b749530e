// Tests which rows of two states count as the same row: with NULL in a key, texts with NUL characters, and rows and
// tables at SQLite's limits.

import { beforeEach, expect, test } from 'vitest';
import { boxOfEachTest, runSql as run } from '../../../packages/testing/worker/box.ts';
import type { StorageChange } from '../../../src/shared/contract/changes.ts';
import type { StorageHandle } from '../../../src/shared/contract/storage.ts';

const box = boxOfEachTest();
let storage: StorageHandle;
beforeEach(() => {
  ({ storage } = box);
});

const rowsOf = (sql: string) => storage.sql.exec(sql).raw().toArray();

async function changesOf(from: string, to?: string): Promise<StorageChange[]> {
  const changes: StorageChange[] = [];
  for await (const change of storage.diff(from, to)) changes.push(change);
  return changes;
}

const KEYED_BY_TWO = 'CREATE TABLE t (a TEXT, b, v, PRIMARY KEY (a, b))';

test('[DIFF10] an update of a row with NULL in its key is one change, by its rowid; its revert takes it back, and a merge makes it', async () => {
  await run(storage, KEYED_BY_TWO, "INSERT INTO t VALUES ('z', NULL, 1), ('b', NULL, 2)");
  const branch = await storage.fork();
  const from = await storage.getCurrentBookmark();
  await run(storage, "UPDATE t SET a = 'é' WHERE v = 2");
  const to = await storage.getCurrentBookmark();
  expect(await changesOf(from)).toEqual([
    {
      kind: 'row',
      table: 't',
      key: { rowid: 2 },
      before: { a: 'b', b: null, v: 2 },
      after: { a: 'é', b: null, v: 2 },
    },
  ]);
  const undone = await storage.revert(to);
  expect(await rowsOf('SELECT rowid, a FROM t ORDER BY rowid')).toEqual([
    [1, 'z'],
    [2, 'b'],
  ]);
  await run(branch, "UPDATE t SET a = 'é' WHERE v = 2");
  await storage.merge(branch);
  expect(await rowsOf('SELECT rowid, a FROM t ORDER BY rowid')).toEqual([
    [1, 'z'],
    [2, 'é'],
  ]);
  expect(await storage.revert(undone!)).toBeNull();
});

test('[DIFF10] a row that gets NULL in its key, or loses it, is removed and added', async () => {
  await run(storage, KEYED_BY_TWO, "INSERT INTO t VALUES ('a', NULL, 1), ('b', 2, 2)");
  const from = await storage.getCurrentBookmark();
  await run(storage, "UPDATE t SET b = CASE a WHEN 'a' THEN 1 END");
  const found = (await changesOf(from)).map((change) =>
    change.kind === 'row' ? [change.key, change.before?.b, change.after?.b] : change,
  );
  expect(found).toEqual([
    [{ rowid: 1 }, null, undefined],
    [{ a: 'a', b: 1 }, undefined, 1],
    [{ a: 'b', b: 2 }, 2, undefined],
    [{ rowid: 2 }, undefined, null],
  ]);
  const undone = await storage.revert(await storage.getCurrentBookmark());
  expect(await rowsOf('SELECT a, b FROM t ORDER BY a')).toEqual([
    ['a', null],
    ['b', 2],
  ]);
  await storage.revert(undone!);
  expect(await rowsOf('SELECT a, b FROM t ORDER BY a')).toEqual([
    ['a', 1],
    ['b', null],
  ]);
});

test('[DIFF10] of equal rows with NULL in their keys, the right one is missing after the table was altered', async () => {
  await run(storage, KEYED_BY_TWO, "INSERT INTO t VALUES ('a', NULL, 1), ('a', NULL, 1)");
  const from = await storage.getCurrentBookmark();
  await run(storage, 'ALTER TABLE t ADD COLUMN w', 'DELETE FROM t WHERE rowid = 1');
  const rows = (await changesOf(from)).filter(({ kind }) => kind === 'row');
  expect(rows).toEqual([expect.objectContaining({ key: { rowid: 1 }, after: null })]);
});

test('[DIFF10] rows with NULL in their keys, in a table whose columns hide the rowids, are named by their table only', async () => {
  await run(
    storage,
    'CREATE TABLE t (rowid, _rowid_, oid, PRIMARY KEY (oid))',
    'INSERT INTO t VALUES (1, 2, 3), (1, 2, 4)',
  );
  const from = await storage.getCurrentBookmark();
  await run(storage, 'UPDATE t SET rowid = 5 WHERE oid = 3');
  const named = await storage.getCurrentBookmark();
  expect(await changesOf(from)).toMatchObject([{ kind: 'row', key: { oid: 3 } }]);
  await run(storage, 'INSERT INTO t VALUES (9, 9, NULL)');
  expect(await changesOf(named)).toEqual([{ kind: 'table', table: 't' }]);
  await run(storage, 'ALTER TABLE t ADD COLUMN more');
  const altered = await storage.getCurrentBookmark();
  await storage.revert(altered);
  expect(await rowsOf('SELECT * FROM t ORDER BY oid')).toEqual([
    [9, 9, null],
    [5, 2, 3],
    [1, 2, 4],
  ]);
});

test('[MERGE10] a row with NULL in its key whose rowid a row with a key has taken is CONFLICT, also beside a view', async () => {
  await run(storage, KEYED_BY_TWO, 'CREATE VIEW seen AS SELECT a FROM t');
  const branch = await storage.fork();
  await run(branch, "INSERT INTO t VALUES ('x', NULL, 1)");
  await run(storage, "INSERT INTO t VALUES ('y', 1, 1)");
  await expect(storage.merge(branch)).rejects.toMatchObject({
    code: 'CONFLICT',
    conflicts: [{ reason: 'constraint', change: { kind: 'table', table: 't' } }],
  });
  expect(await rowsOf('SELECT a FROM t')).toEqual([['y']]);
});

test('[MERGE10] a row with a key takes another rowid than that of a row with NULL in its key, whichever comes first', async () => {
  const text = 'CREATE TABLE t (a TEXT COLLATE NOCASE, b, v, PRIMARY KEY (a COLLATE BINARY, b))';
  await run(storage, text);
  const branch = await storage.fork();
  await run(branch, "INSERT INTO t VALUES ('x', NULL, 1), ('b', 2, 2)");
  await run(branch, 'UPDATE t SET rowid = -1 WHERE b = 2');
  await run(storage, "INSERT INTO t (rowid, a, b) VALUES (0, 'y', 1)");
  await storage.merge(branch);
  expect(await rowsOf('SELECT a FROM t WHERE rowid = 1')).toEqual([['x']]);
  expect(await rowsOf('SELECT count(*) FROM t')).toEqual([[3]]);
});

test.for(['BINARY', 'NOCASE', 'RTRIM'])(
  '[DIFF3] each changed row of a large table with a %s key of texts with NUL is found, and merged',
  async (collation) => {
    await run(
      storage,
      `CREATE TABLE t (k TEXT COLLATE ${collation} PRIMARY KEY, v) WITHOUT ROWID`,
      'CREATE TABLE letter (c TEXT)',
      "INSERT INTO letter VALUES (char(0)), ('a'), ('Z'), (' ')",
      // The texts end in many lengths, and the tree of the table has inner pages.
      `INSERT OR IGNORE INTO t SELECT a.c || b.c || c.c || d.c || e.c || printf('%.*c', 20 +
        (7 * a.rowid + 13 * b.rowid + 29 * c.rowid + 31 * d.rowid + 37 * e.rowid) % 150, 'p'), 0
        FROM letter a, letter b, letter c, letter d, letter e`,
    );
    const branch = await storage.fork();
    const expected = await rowsOf('SELECT hex(k) FROM t ORDER BY k');
    const every = expected.map(([key]) => key).filter((_, i) => i % 9 === 0);
    expect(every.length).toBeGreaterThan(20);
    for (const key of every) await run(branch, `UPDATE t SET v = v + 1 WHERE hex(k) = '${key}'`);
    const { tables } = await branch.diff().count();
    expect(tables.t?.changed).toBe(every.length);
    await storage.merge(branch);
    const found = await rowsOf('SELECT hex(k) FROM t WHERE v = 1 ORDER BY k');
    expect(found.map(([key]) => key)).toEqual(every);
  },
);

test.for([60, 99, 100])(
  '[DIFF3] tables of %i columns are compared and taken back',
  async (count) => {
    const names = Array.from({ length: count }, (_, i) => `c${i}`);
    const tables = {
      keyless: `(${names})`,
      keyed: `(${names}, PRIMARY KEY (${names})) WITHOUT ROWID`,
      numbered: `(${String(names).replace('c0', 'c0 INTEGER PRIMARY KEY')})`,
    };
    const takeBackLast = async () => storage.revert(await storage.getCurrentBookmark());
    for (const [name, columns] of Object.entries(tables)) {
      await run(storage, `CREATE TABLE ${name} ${columns}`);
      await run(storage, `INSERT INTO ${name} VALUES (${names.map((_, i) => i)})`);
      const from = await storage.getCurrentBookmark();
      await run(storage, `UPDATE ${name} SET c1 = 'x'`);
      await run(storage, `ALTER TABLE ${name} RENAME COLUMN c9 TO d`);
      const counts = (await storage.diff(from).count()).tables[name];
      // A key is not changed: its row is another one.
      const isOther = name === 'keyed';
      expect(counts).toEqual(
        isOther ? { added: 1, changed: 0, removed: 1 } : { added: 0, changed: 1, removed: 0 },
      );
      await takeBackLast(); // the name d
      await run(storage, `UPDATE ${name} SET c1 = 'y'`);
      expect(await rowsOf(`SELECT c1, c9 FROM ${name}`)).toEqual([['y', 9]]);
      await takeBackLast();
      expect(await rowsOf(`SELECT * FROM ${name}`)).toEqual([
        names.map((_, i) => (i === 1 ? 'x' : i)),
      ]);
    }
  },
);

test('[DIFF3] 0.0 and -0.0 differ, also in an altered table', async () => {
  await run(storage, 'CREATE TABLE t (id INTEGER PRIMARY KEY, v)', 'INSERT INTO t VALUES (1, 0.0)');
  const from = await storage.getCurrentBookmark();
  await run(storage, 'UPDATE t SET v = -0.0', 'ALTER TABLE t ADD COLUMN w');
  const [row] = (await changesOf(from)).filter(({ kind }) => kind === 'row');
  expect(row).toMatchObject({ before: { v: 0 }, after: { v: -0 } });
});

test('[SQL22] after a diff of an object with a view, a statement that a constraint refuses is SQL', async () => {
  await run(storage, 'CREATE TABLE t (a PRIMARY KEY)', 'CREATE VIEW seen AS SELECT 1 x');
  const from = await storage.getCurrentBookmark();
  const insert = () => run(storage, 'INSERT INTO t VALUES (1)');
  await insert();
  await expect(insert()).rejects.toMatchObject({ code: 'SQL' });
  await changesOf(from);
  // The statement is compiled already, so only running it can fail.
  await expect(insert()).rejects.toMatchObject({ code: 'SQL' });
});
