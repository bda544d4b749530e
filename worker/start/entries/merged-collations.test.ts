// Tests merges and reverts of rows whose key has a collation.

import { beforeEach, expect, test } from 'vitest';
import { boxOfEachTest, runSql as run } from '../../../packages/testing/worker/box.ts';
import type { StorageHandle } from '../../../src/shared/contract/storage.ts';

const box = boxOfEachTest();
let storage: StorageHandle;
beforeEach(() => {
  ({ storage } = box);
});

const SORTED = 'SELECT a, b, c FROM t ORDER BY c';
const ROWS = "('ann', 0, 1), ('bob', 0, 2)";

// Each update changes the text of a key, which its collation takes for the same key or for another.
const tables = {
  'of the index only': ['(a TEXT, b, c, PRIMARY KEY (a COLLATE NOCASE))', "a = 'Ann'"],
  'of the index only, without rowids': [
    '(a TEXT, b, c, PRIMARY KEY (a COLLATE NOCASE)) WITHOUT ROWID',
    "a = 'Ann'",
  ],
  'of one column of two, descending': [
    '(a TEXT, b, c, PRIMARY KEY (b DESC, a COLLATE NOCASE)) WITHOUT ROWID',
    "a = 'Ann'",
  ],
  'that ignores spaces at the end': [
    '(a TEXT, b, c, PRIMARY KEY (a COLLATE RTRIM, b)) WITHOUT ROWID',
    "a = 'ann  '",
  ],
  'of a column that occurs twice': [
    '(a TEXT, b, c, PRIMARY KEY (a, b, a COLLATE NOCASE)) WITHOUT ROWID',
    "a = 'Ann'",
  ],
  'of the column only, which the index ignores': [
    '(a TEXT COLLATE NOCASE, b, c, PRIMARY KEY (a COLLATE BINARY))',
    "a = 'BOB'",
  ],
  'of the column only, which the index ignores, without rowids': [
    '(a TEXT COLLATE NOCASE, b, c, PRIMARY KEY (a COLLATE BINARY)) WITHOUT ROWID',
    "a = 'BOB'",
  ],
} as const;

test.each(Object.keys(tables) as (keyof typeof tables)[])(
  '[MERGE6] a key with a collation %s is changed by a merge as by the write of the branch',
  async (name) => {
    const [columns, update] = tables[name];
    await run(storage, `CREATE TABLE t ${columns}`, `INSERT INTO t VALUES ${ROWS}`);
    const branch = await storage.fork();
    await run(branch, `UPDATE t SET ${update} WHERE c = 1`);
    await run(storage, "INSERT INTO t VALUES ('cid', 0, 3)");
    await storage.merge(branch);
    await run(branch, "INSERT INTO t VALUES ('cid', 0, 3)");
    const expected = await branch.sql.exec(SORTED).toArray();
    expect(expected.length).toBe(3);
    expect(await storage.sql.exec(SORTED).toArray()).toEqual(expected);
    expect(await storage.sql.exec('PRAGMA quick_check').raw().toArray()).toEqual([['ok']]);
  },
);

test.each(Object.keys(tables) as (keyof typeof tables)[])(
  '[REVERT1] a key with a collation %s is taken back, and made again by the revert of that',
  async (name) => {
    const [columns, update] = tables[name];
    await run(storage, `CREATE TABLE t ${columns}`, `INSERT INTO t VALUES ${ROWS}`);
    const before = await storage.sql.exec(SORTED).toArray();
    await run(storage, `UPDATE t SET ${update} WHERE c = 1`);
    const after = await storage.sql.exec(SORTED).toArray();
    const undone = await storage.revert(await storage.getCurrentBookmark());
    expect(await storage.sql.exec(SORTED).toArray()).toEqual(before);
    await storage.revert(undone!);
    expect(await storage.sql.exec(SORTED).toArray()).toEqual(after);
  },
);

test('[DIFF3] a key that changes its case is one changed row if its index takes both for the same, else two', async () => {
  await run(
    storage,
    'CREATE TABLE one (a TEXT, PRIMARY KEY (a COLLATE NOCASE)) WITHOUT ROWID',
    'CREATE TABLE two (a TEXT COLLATE NOCASE, PRIMARY KEY (a COLLATE BINARY)) WITHOUT ROWID',
    "INSERT INTO one VALUES ('ann')",
    "INSERT INTO two VALUES ('ann'), ('ANN')",
  );
  const from = await storage.getCurrentBookmark();
  await run(storage, "UPDATE one SET a = 'Ann'");
  await run(storage, "DELETE FROM two WHERE a = 'ann' COLLATE BINARY");
  await run(storage, "INSERT INTO two VALUES ('Ann')");
  const found: unknown[] = [];
  for await (const change of storage.diff(from))
    if (change.kind === 'row') found.push([change.table, change.before, change.after]);
  expect(found).toEqual([
    ['one', { a: 'ann' }, { a: 'Ann' }],
    ['two', null, { a: 'Ann' }],
    ['two', { a: 'ann' }, null],
  ]);
});

test('[MERGE6] of rows that only a column takes for the same, a merge changes and removes the right ones', async () => {
  await run(
    storage,
    'CREATE TABLE t (a TEXT COLLATE NOCASE, b, c, PRIMARY KEY (a COLLATE BINARY)) WITHOUT ROWID',
    "INSERT INTO t VALUES ('ann', 0, 1), ('Ann', 0, 1), ('ANN', 0, 1)",
  );
  const branch = await storage.fork();
  await run(
    branch,
    "DELETE FROM t WHERE a = 'ann' COLLATE BINARY",
    "UPDATE t SET c = 9 WHERE a = 'ANN' COLLATE BINARY",
  );
  await storage.merge(branch);
  const sql = 'SELECT * FROM t ORDER BY a COLLATE BINARY';
  expect(await storage.sql.exec(sql).raw().toArray()).toEqual([
    ['ANN', 0, 9],
    ['Ann', 0, 1],
  ]);
});
