// Tests merges of changes to rows and keys that the object has deleted meanwhile, and reverts of commits whose changes
// are all undone already.

import { beforeEach, expect, test } from 'vitest';
import { boxOfEachTest, runSql as run } from '../../../packages/testing/worker/box.ts';
import type { StorageHandle } from '../../../src/shared/contract/storage.ts';

const box = boxOfEachTest();
let storage: StorageHandle;
beforeEach(() => {
  ({ storage } = box);
});

const rowsOf = (sql: string) => storage.sql.exec(sql).raw().toArray();

/** Tables with two rows, of which one side changes the first and the other deletes it. */
const tables = {
  'with an id': 't (id INTEGER PRIMARY KEY, v)',
  'with a text as its key': 't (id TEXT PRIMARY KEY, v)',
  'without a rowid': 't (id TEXT, v, PRIMARY KEY (id)) WITHOUT ROWID',
  'without a key': 't (id, v)',
  'with a unique column': 't (id INTEGER PRIMARY KEY, v UNIQUE)',
  'whose constraint replaces': 't (id TEXT PRIMARY KEY ON CONFLICT REPLACE, v)',
  'whose key has another collation': 't (id TEXT COLLATE NOCASE PRIMARY KEY, v)',
};

const CHANGE = "UPDATE t SET v = 'theirs' WHERE id = 1";
const DELETE = 'DELETE FROM t WHERE id = 1';

async function makeTable(columns: string): Promise<void> {
  await run(storage, `CREATE TABLE ${columns}`, "INSERT INTO t VALUES (1, 'one'), (2, 'two')");
}

test.for(Object.entries(tables))(
  '[MERGE4] in a table %s, a row that the branch has changed and the object has deleted is a conflict, and does not come back',
  async ([, columns]) => {
    await makeTable(columns);
    const branch = await storage.fork();
    await run(branch, CHANGE, "INSERT INTO t VALUES (3, 'new')");
    await run(storage, DELETE);
    const before = await storage.getCurrentBookmark();
    await expect(storage.merge(branch)).rejects.toMatchObject({
      code: 'CONFLICT',
      conflicts: [
        {
          reason: 'changed',
          change: { kind: 'row', table: 't', after: { v: 'theirs' } },
          now: undefined,
        },
      ],
    });
    expect(await storage.getCurrentBookmark()).toBe(before);
    expect(await rowsOf('SELECT v FROM t')).toEqual([['two']]);
    await storage.merge(branch, { onConflict: 'ours' });
    expect(await rowsOf('SELECT v FROM t ORDER BY id')).toEqual([['two'], ['new']]);
    await storage.restore(before);
    await storage.merge(branch, { onConflict: 'theirs' });
    expect(await rowsOf('SELECT v FROM t ORDER BY id')).toEqual([['theirs'], ['two'], ['new']]);
  },
);

test.for(Object.entries(tables))(
  '[MERGE4] in a table %s, a row that the branch has deleted and the object has changed is a conflict, and stays',
  async ([, columns]) => {
    await makeTable(columns);
    const branch = await storage.fork();
    await run(branch, DELETE);
    await run(storage, CHANGE);
    await expect(storage.merge(branch)).rejects.toMatchObject({
      code: 'CONFLICT',
      conflicts: [{ reason: 'changed', change: { after: null }, now: { v: 'theirs' } }],
    });
    expect(await rowsOf('SELECT v FROM t ORDER BY id')).toEqual([['theirs'], ['two']]);
  },
);

test('[MERGE4] a key that the branch has changed and the object has deleted is a conflict, and does not come back', async () => {
  await storage.put({ a: 1, b: 1 });
  const branch = await storage.fork();
  await branch.put({ a: 2, b: 2 });
  await storage.delete('a');
  await expect(storage.merge(branch)).rejects.toMatchObject({
    code: 'CONFLICT',
    conflicts: [{ reason: 'changed', change: { kind: 'key', key: 'a', before: 1, after: 2 } }],
  });
  expect([...(await storage.list())]).toEqual([['b', 1]]);
});

test('[MERGE4] rows that the branch has changed, of a table that the object has dropped, are conflicts', async () => {
  await makeTable('t (id INTEGER PRIMARY KEY, v)');
  const branch = await storage.fork();
  await run(branch, CHANGE);
  await run(storage, 'DROP TABLE t');
  await expect(storage.merge(branch)).rejects.toMatchObject({
    code: 'CONFLICT',
    conflicts: [{ reason: 'changed', change: { kind: 'row', table: 't', key: { id: 1 } } }],
  });
  await storage.merge(branch, { onConflict: 'ours' });
  expect(await rowsOf("SELECT name FROM sqlite_schema WHERE name = 't'")).toEqual([]);
});

test('[MERGE3] rows that the branch has deleted, of a table that the object has dropped, are no conflict', async () => {
  await makeTable('t (id INTEGER PRIMARY KEY, v)');
  const branch = await storage.fork();
  await run(branch, DELETE);
  await branch.put('key', 'theirs');
  await run(storage, 'DROP TABLE t');
  await storage.merge(branch);
  expect(await storage.get('key')).toBe('theirs');
  expect(await rowsOf("SELECT name FROM sqlite_schema WHERE name = 't'")).toEqual([]);
});

test('[MERGE3] what both have deleted is no conflict', async () => {
  await makeTable('t (id INTEGER PRIMARY KEY, v)');
  await storage.put({ a: 1, b: 1 });
  const branch = await storage.fork();
  for (const handle of [branch, storage]) {
    await run(handle, DELETE);
    await handle.delete('a');
  }
  await branch.delete('b');
  await storage.merge(branch);
  expect(await rowsOf('SELECT v FROM t')).toEqual([['two']]);
  expect([...(await storage.list())]).toEqual([]);
});

test.for([0, 1, 2])(
  '[REVERT7] of three commits, number %i has nothing left that could be taken back: the others are, as one commit',
  async (gone) => {
    await run(storage, 'CREATE TABLE t (id INTEGER PRIMARY KEY)');
    const mine: string[] = [];
    for (let i = 0; i < 3; i++) {
      await storage.put(`mine ${i}`, i);
      mine.push(await storage.getCurrentBookmark());
      await run(storage, `INSERT INTO t VALUES (${i})`);
    }
    await storage.delete(`mine ${gone}`);
    const before = await storage.history();
    const undone = await storage.revert(mine);
    expect([...(await storage.list())]).toEqual([]);
    const after = await storage.history();
    expect(after.slice(1)).toEqual(before);
    expect(after[0]).toMatchObject({ bookmark: undone, by: { kind: 'revert' } });
    await storage.revert(undone!);
    const left = [0, 1, 2].filter((i) => i !== gone).map((i) => [`mine ${i}`, i]);
    expect([...(await storage.list())]).toEqual(left);
    expect(await rowsOf('SELECT id FROM t')).toEqual([[0], [1], [2]]);
  },
);
