// Tests how the conflicts of a merge are decided one by one: the alarm, and changes that no decision can make.

import { afterEach, beforeEach, expect, test } from 'vitest';
import { runSql as run } from '../../../packages/testing/worker/box.ts';
import type { StorageHandle } from '../../../src/shared/contract/storage.ts';
import { createObjects, DurableObject } from './node-objects.ts';

class Box extends DurableObject {
  alarm() {}
}

const [BASE_MS, OURS_MS, THEIRS_MS] = [4e12, 4.1e12, 4.2e12];

let objects: Awaited<ReturnType<typeof createObjects<{ Box: typeof Box }>>>;
let storage: StorageHandle;
beforeEach(async () => {
  objects = await createObjects({ Box });
  storage = await objects.storage(objects.env.Box.getByName('one'));
});
afterEach(() => objects.close());

/** Makes a branch whose key and alarm are in conflict with the object's, and whose other key is not. */
async function inConflict(): Promise<Awaited<ReturnType<StorageHandle['fork']>>> {
  await storage.put({ key: 'base', other: 'base' });
  await storage.setAlarm(BASE_MS);
  const branch = await storage.fork();
  await branch.put({ key: 'theirs', other: 'theirs' });
  await branch.setAlarm(THEIRS_MS);
  await storage.put('key', 'ours');
  await storage.setAlarm(OURS_MS);
  return branch;
}

test.for([
  ['ours', 'ours'],
  ['ours', 'theirs'],
  ['theirs', 'ours'],
  ['theirs', 'theirs'],
] as const)(
  '[MERGE4] of conflicts in a key and in the alarm, %s and %s are each decided for itself, and the other key is merged',
  async ([key, alarm]) => {
    const branch = await inConflict();
    await storage.merge(branch, {
      onConflict: ({ change }) => (change.kind === 'alarm' ? alarm : key),
    });
    expect([...(await storage.list())]).toEqual([
      ['key', key],
      ['other', 'theirs'],
    ]);
    expect(await storage.getAlarm()).toBe(alarm === 'ours' ? OURS_MS : THEIRS_MS);
  },
);

test('[MERGE4] with a definition that stays that of the object, the rows of the branch in that table are left out, and other conflicts are decided', async () => {
  await run(storage, 'CREATE TABLE t (id INTEGER PRIMARY KEY, v)', "INSERT INTO t VALUES (1, 'v')");
  await storage.put('key', 'base');
  const branch = await storage.fork();
  await run(branch, 'ALTER TABLE t ADD COLUMN theirs', "UPDATE t SET v = 'theirs'");
  await branch.put('key', 'theirs');
  await run(storage, 'ALTER TABLE t ADD COLUMN ours');
  await storage.put('key', 'ours');
  await storage.merge(branch, {
    onConflict: ({ change }) => (change.kind === 'key' ? 'theirs' : 'ours'),
  });
  expect(await storage.get('key')).toBe('theirs');
  expect(await storage.sql.exec('SELECT * FROM t').toArray()).toEqual([
    { id: 1, v: 'v', ours: null },
  ]);
});

test.for(['ours', 'theirs'] as const)(
  '[MERGE4] onConflict: %s decides a conflict in the alarm alone',
  async (decision) => {
    await storage.setAlarm(BASE_MS);
    const branch = await storage.fork();
    await branch.deleteAlarm();
    await storage.setAlarm(OURS_MS);
    const before = await storage.getCurrentBookmark();
    await expect(storage.merge(branch)).rejects.toMatchObject({
      code: 'CONFLICT',
      conflicts: [
        {
          reason: 'changed',
          change: { kind: 'alarm', before: BASE_MS, after: null },
          now: OURS_MS,
        },
      ],
    });
    await storage.merge(branch, { onConflict: decision });
    expect(await storage.getAlarm()).toBe(decision === 'ours' ? OURS_MS : null);
    if (decision === 'ours') expect(await storage.getCurrentBookmark()).toBe(before);
  },
);

test('[MERGE7] an onConflict that throws, or answers anything else, ends the merge with its error, and nothing is merged', async () => {
  const branch = await inConflict();
  const before = await storage.getCurrentBookmark();
  const undecided = new RangeError('undecided');
  const onConflict = () => {
    throw undecided;
  };
  await expect(storage.merge(branch, { onConflict })).rejects.toBe(undecided);
  for (const answer of ['mine', undefined, true]) {
    const wrong = storage.merge(branch, { onConflict: async () => answer as 'ours' });
    await expect(wrong).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  }
  expect(await storage.getCurrentBookmark()).toBe(before);
});

test('[MERGE3] an alarm that both have set to one time is no conflict, and no commit is made for it', async () => {
  await storage.put('key', 1);
  const branch = await storage.fork();
  for (const handle of [branch, storage]) await handle.setAlarm(BASE_MS);
  const before = await storage.history();
  await storage.merge(branch);
  expect(await storage.history()).toEqual(before);
  expect(await storage.getAlarm()).toBe(BASE_MS);
});

test('[MERGE8] [REVERT5] rows that cannot be named are CONFLICT, and nothing is merged, unless onConflict leaves them out', async () => {
  await run(storage, "CREATE VIRTUAL TABLE t USING fts5(text, content='')");
  await storage.put('key', 'base');
  const branch = await storage.fork();
  await run(branch, "INSERT INTO t (rowid, text) VALUES (1, 'theirs')");
  await branch.put('key', 'theirs');
  await storage.put('key', 'ours');
  for (const onConflict of ['theirs', () => 'theirs' as const] as const) {
    await expect(storage.merge(branch, { onConflict })).rejects.toMatchObject({
      code: 'CONFLICT',
      conflicts: expect.arrayContaining([expect.objectContaining({ reason: 'unnamed' })]),
    });
  }
  expect(await storage.get('key')).toBe('ours');
  await branch.put('other', 'theirs');
  await storage.merge(branch, { onConflict: 'ours' });
  expect([...(await storage.list())]).toEqual([
    ['key', 'ours'],
    ['other', 'theirs'],
  ]);
  expect(await storage.sql.exec('SELECT count(*) FROM t').raw().one()).toEqual([0]);
});

test('[REVERT7] [HIST6] a revert of many commits, with others between them, leaves the open moments of the object open', async () => {
  await run(storage, 'CREATE TABLE t (id INTEGER PRIMARY KEY)');
  await run(
    storage,
    'INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) SELECT i FROM n',
  );
  const moment = await storage.at(await storage.getCurrentBookmark());
  const mine: string[] = [];
  for (let i = 0; i < 8; i++) {
    await storage.put(`mine ${i}`, i);
    mine.push(await storage.getCurrentBookmark());
    await storage.put(`other ${i}`, i);
  }
  const rows = moment.sql.exec<{ id: number }>('SELECT id FROM t')[Symbol.asyncIterator]();
  expect(await rows.next()).toMatchObject({ value: { id: 1 } });
  await storage.revert(mine);
  let count = 1;
  while (!(await rows.next()).done) count++;
  expect(count).toBe(500);
  expect((await storage.list({ prefix: 'mine' })).size).toBe(0);
});
