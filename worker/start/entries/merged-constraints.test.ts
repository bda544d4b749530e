// Tests merges and reverts of changes that a constraint of the object refuses.

import { beforeEach, expect, test } from 'vitest';
import { boxOfEachTest, runSql as run } from '../../../packages/testing/worker/box.ts';
import type { ConflictError, MergeOptions } from '../../../src/shared/contract/changes.ts';
import type { StorageHandle } from '../../../src/shared/contract/storage.ts';

const box = boxOfEachTest();
let storage: StorageHandle;
beforeEach(() => {
  ({ storage } = box);
});

const rowsOf = (sql: string) => storage.sql.exec(sql).raw().toArray();

const refusals = {
  'a unique index': {
    first: 'CREATE TABLE p (id INTEGER PRIMARY KEY, u UNIQUE)',
    branch: "INSERT INTO p VALUES (10, 'a')",
    object: "INSERT INTO p VALUES (1, 'a')",
    mended: 'DELETE FROM p WHERE id = 1',
    named: { kind: 'table', table: 'p' },
  },
  'a unique index of a table without a key': {
    first: 'CREATE TABLE p (u UNIQUE)',
    branch: "INSERT INTO p VALUES ('a')",
    object: "INSERT INTO p (rowid, u) VALUES (7, 'a')",
    mended: 'DELETE FROM p',
    named: { kind: 'table', table: 'p' },
  },
  'a foreign key': {
    first:
      'CREATE TABLE p (id INTEGER PRIMARY KEY); CREATE TABLE c (id INTEGER PRIMARY KEY, p REFERENCES p); INSERT INTO p VALUES (1)',
    branch: 'DELETE FROM p',
    object: 'INSERT INTO c VALUES (1, 1)',
    mended: 'DELETE FROM c',
    named: { kind: 'table', table: 'c' },
  },
  'a foreign key to a table that the branch drops': {
    first:
      'CREATE TABLE p (id INTEGER PRIMARY KEY); CREATE TABLE c (id INTEGER PRIMARY KEY, p REFERENCES p); INSERT INTO p VALUES (1)',
    branch: 'DROP TABLE p',
    object: 'INSERT INTO c VALUES (1, 1)',
    mended: 'UPDATE c SET p = NULL',
    named: { kind: 'table', table: 'c' },
  },
  'a unique index that the branch makes': {
    first: 'CREATE TABLE p (id INTEGER PRIMARY KEY, u)',
    branch: 'CREATE UNIQUE INDEX p_u ON p (u)',
    object: "INSERT INTO p VALUES (1, 'a'), (2, 'a')",
    mended: 'DELETE FROM p WHERE id = 1',
    named: { kind: 'schema', type: 'index', name: 'p_u' },
  },
  'an index of a column that the object has renamed': {
    first: 'CREATE TABLE p (id INTEGER PRIMARY KEY, u)',
    branch: 'CREATE INDEX p_u ON p (u)',
    object: 'ALTER TABLE p RENAME COLUMN u TO w',
    mended: 'ALTER TABLE p RENAME COLUMN w TO u',
    named: { kind: 'schema', type: 'index', name: 'p_u' },
  },
} as const;

test.each(Object.keys(refusals) as (keyof typeof refusals)[])(
  '[MERGE8] %s refuses a merge, whatever onConflict decides, and the merge is made once the data fits',
  async (name) => {
    const { first, branch: change, object, mended, named } = refusals[name];
    await run(storage, first);
    const branch = await storage.fork();
    await run(branch, change);
    await branch.put('other', 1);
    await run(storage, object);
    const before = await storage.getCurrentBookmark();
    let asked = 0;
    const ask = () => {
      asked++;
      return 'ours' as const;
    };
    const decisions: MergeOptions['onConflict'][] = [undefined, 'ours', 'theirs', ask];
    for (const onConflict of decisions) {
      const merge = storage.merge(branch, onConflict === undefined ? {} : { onConflict });
      const error: ConflictError = await merge.then(
        () => expect.unreachable(),
        (e) => e,
      );
      expect(error).toMatchObject({ code: 'CONFLICT' });
      expect(error.conflicts).toMatchObject([{ reason: 'constraint', change: named }]);
      expect(error.message).toContain(named.kind === 'table' ? named.table : named.name);
    }
    expect(asked).toBe(0);
    expect(await storage.getCurrentBookmark()).toBe(before);
    await run(storage, mended);
    await storage.merge(branch);
    expect(await storage.get('other')).toBe(1);
    expect(await rowsOf('PRAGMA quick_check')).toEqual([['ok']]);
  },
);

test('[MERGE8] a conflict of a key is decided, then a unique index refuses the rest without another question', async () => {
  await run(storage, 'CREATE TABLE p (id INTEGER PRIMARY KEY, u UNIQUE)');
  const branch = await storage.fork();
  for (const [i, handle] of [branch, storage].entries()) {
    await handle.put('key', i);
    await run(handle, `INSERT INTO p VALUES (${i}, 'a')`);
  }
  const asked: string[] = [];
  const onConflict: MergeOptions['onConflict'] = ({ reason }) => {
    asked.push(reason);
    return 'theirs';
  };
  await expect(storage.merge(branch, { onConflict })).rejects.toMatchObject({
    code: 'CONFLICT',
    conflicts: [{ reason: 'constraint', change: { kind: 'table', table: 'p' } }],
  });
  expect([asked, await storage.get('key')]).toEqual([['changed'], 1]);
});

test('[REVERT3] a foreign key that refuses a revert is named by its table', async () => {
  await run(storage, 'CREATE TABLE p (id INTEGER PRIMARY KEY)');
  await run(storage, 'CREATE TABLE c (id INTEGER PRIMARY KEY, p REFERENCES p)');
  await run(storage, 'INSERT INTO p VALUES (1)');
  const target = await storage.getCurrentBookmark();
  await run(storage, 'INSERT INTO c VALUES (1, 1)');
  await expect(storage.revert(target)).rejects.toMatchObject({
    code: 'CONFLICT',
    conflicts: [{ reason: 'constraint', change: { kind: 'table', table: 'c' } }],
  });
  expect(await rowsOf('SELECT * FROM p, c')).toEqual([[1, 1, 1]]);
});
