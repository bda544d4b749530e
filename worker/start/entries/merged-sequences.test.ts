// Tests merges and reverts of tables with AUTOINCREMENT, which never give an id twice.

import { beforeEach, expect, test } from 'vitest';
import { boxOfEachTest, runSql as run } from '../../../packages/testing/worker/box.ts';
import type { StorageHandle } from '../../../src/shared/contract/storage.ts';

const box = boxOfEachTest();
let storage: StorageHandle;
beforeEach(() => {
  ({ storage } = box);
});

const TABLE = 'CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, v)';

/** Inserts a row and returns the id that it got. */
async function nextId(handle: StorageHandle, table = 't'): Promise<unknown> {
  const sql = `INSERT INTO ${table} (v) VALUES ('new') RETURNING id`;
  return (await handle.sql.exec(sql).one()).id;
}

test('[MERGE9] an id that a branch gave and deleted is not given again after a merge, even if nothing else has changed', async () => {
  await run(storage, TABLE);
  const branch = await storage.fork();
  await run(branch, 'INSERT INTO t (v) VALUES (1), (2)', 'DELETE FROM t WHERE id = 2');
  await storage.merge(branch);
  expect([await nextId(storage), await nextId(branch)]).toEqual([3, 3]);
  await run(branch, 'INSERT INTO t (id) VALUES (90)', 'DELETE FROM t WHERE id = 90');
  const made = await storage.merge(branch, { onConflict: 'ours' });
  expect(await storage.merge(branch, { onConflict: 'ours' })).toBeNull();
  expect(await storage.getCurrentBookmark()).toBe(made);
  expect(await nextId(storage)).toBe(91);
});

test('[MERGE9] the sequence of the object stays if it is larger, also when the branch has made the table again', async () => {
  await run(storage, TABLE, 'CREATE TABLE u (id INTEGER PRIMARY KEY AUTOINCREMENT, v)');
  const branch = await storage.fork();
  await run(branch, 'INSERT INTO t (v) VALUES (1)', 'ALTER TABLE u ADD COLUMN w');
  await run(branch, 'CREATE TABLE made (id INTEGER PRIMARY KEY AUTOINCREMENT, v)');
  await run(branch, 'INSERT INTO made (id) VALUES (6)', 'DELETE FROM made');
  await run(storage, 'INSERT INTO t (id) VALUES (7)', 'DELETE FROM t');
  await run(storage, 'INSERT INTO u (id) VALUES (8)', 'DELETE FROM u');
  await storage.merge(branch);
  const ids = [await nextId(storage), await nextId(storage, 'u'), await nextId(storage, 'made')];
  expect(ids).toEqual([8, 9, 7]);
});

test('[MERGE9] a revert gives no id again: of a row, of a dropped table, and of an altered table', async () => {
  await run(storage, TABLE, 'INSERT INTO t (v) VALUES (1), (2)');
  await storage.revert(await storage.getCurrentBookmark());
  expect(await nextId(storage)).toBe(3);
  await run(storage, 'DELETE FROM t WHERE id = 3', 'DROP TABLE t');
  await storage.revert(await storage.getCurrentBookmark());
  expect(await nextId(storage)).toBe(4);
  await run(storage, 'DELETE FROM t WHERE id = 4', 'ALTER TABLE t ADD COLUMN w');
  await storage.revert(await storage.getCurrentBookmark());
  expect(await nextId(storage)).toBe(5);
});
