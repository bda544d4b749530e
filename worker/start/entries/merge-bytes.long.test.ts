// Tests the bound on the changes of a merge, which are all in memory at once.

import { beforeEach, expect, test } from 'vitest';
import { boxOfEachTest, runSql as run } from '../../../packages/testing/worker/box.ts';
import type { StorageHandle } from '../../../src/shared/contract/storage.ts';

const box = boxOfEachTest();
let storage: StorageHandle;
beforeEach(() => {
  ({ storage } = box);
});

const count = async () =>
  (await storage.sql.exec<{ n: number }>('SELECT count(*) AS n FROM t').one()).n;

test('[MERGE7] changes of more than 64 MiB are MEMORY_FULL, and nothing is changed; a little less is merged', async () => {
  await run(storage, 'CREATE TABLE t (id INTEGER PRIMARY KEY, v)');
  const branch = await storage.fork();
  const add = (megabytes: number) =>
    run(
      branch,
      `INSERT INTO t (v) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${megabytes}) SELECT zeroblob(1 << 20) FROM n`,
    );
  await add(63);
  await storage.merge(branch);
  expect(await count()).toBe(63);
  await run(storage, 'DELETE FROM t');
  await add(2);
  await storage.put('key', 'ours');
  const before = await storage.getCurrentBookmark();
  await expect(storage.merge(branch, { onConflict: 'theirs' })).rejects.toMatchObject({
    code: 'MEMORY_FULL',
    message: expect.stringContaining('64 MiB'),
  });
  expect(await storage.getCurrentBookmark()).toBe(before);
  expect(await count()).toBe(0);
});
