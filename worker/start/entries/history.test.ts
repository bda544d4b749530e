// Tests the past of an object as its users reach it, through handles of objects in this process.

import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, expectTypeOf, test } from 'vitest';
import { withSignal } from '../../../src/index.ts';
import type {
  DurableObjectStorage,
  RemoteStorage,
  StorageCommit,
  StorageHandle,
  StorageMoment,
} from '../../../src/shared/contract/storage.ts';
import { DurableObject } from '../../realm/library/base-classes.ts';
import { createObjects, evictDurableObject } from './node-objects.ts';

class Box extends DurableObject {
  alarm() {}

  fails() {
    this.ctx.storage.transactionSync(() => {
      this.ctx.storage.sql.exec('DELETE FROM t');
      throw new Error('undone');
    });
  }
}

let objects: Awaited<ReturnType<typeof createObjects<{ Box: typeof Box }>>>;
let storage: StorageHandle;
const stub = () => objects.env.Box.getByName('one');

beforeEach(async () => {
  objects = await createObjects({ Box });
  storage = await objects.storage(stub());
});
afterEach(() => objects.close());

/** Reads all keys, the alarm and all rows of a storage or of one of its moments. */
async function contents(source: Pick<StorageMoment, 'list' | 'getAlarm' | 'sql'>) {
  const tables = await source.sql
    .exec<{ name: string }>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 't%'",
    )
    .toArray();
  const rows: unknown[] = [];
  for (const { name } of tables) {
    rows.push([name, await source.sql.exec(`SELECT * FROM ${name} ORDER BY 1`).raw().toArray()]);
  }
  return { entries: [...(await source.list())], rows, alarm: await source.getAlarm() };
}

const change = fc.oneof(
  fc.record({ kind: fc.constant('put' as const), n: fc.nat(9), bytes: fc.nat(9000) }),
  fc.record({ kind: fc.constant('insert' as const), n: fc.nat(40), bytes: fc.nat(9000) }),
  fc.record({ kind: fc.constant('drop' as const), n: fc.nat(2), bytes: fc.constant(0) }),
  fc.record({ kind: fc.constant('deleteAll' as const), n: fc.constant(0), bytes: fc.constant(0) }),
  fc.record({ kind: fc.constant('alarm' as const), n: fc.nat(9), bytes: fc.constant(0) }),
  fc.record({ kind: fc.constant('restore' as const), n: fc.nat(99), bytes: fc.constant(0) }),
);

test('[TX17] calls that are undone make no commit', async () => {
  await storage.sql.exec('CREATE TABLE t(id INTEGER PRIMARY KEY); INSERT INTO t VALUES (1)').ready;
  const before = await storage.history();
  const insert = 'INSERT INTO t VALUES (?)';
  const calls: (() => Promise<unknown>)[] = [
    () => storage.sql.exec('INSERT INTO t VALUES (2), (1)').ready,
    () => storage.sql.exec(insert, 1).ready,
    () => storage.batch([['DELETE FROM t'], [insert, 'text']]),
    () => storage.sql.execMany(insert, [[2], [3], [2]]),
    () =>
      storage.transaction(async (txn) => {
        await txn.put('a', 1);
        throw new Error('undone');
      }),
    () => stub().fails(),
  ];
  for (const call of calls) await expect(call()).rejects.toThrow();
  expect(await storage.history()).toEqual(before);
  await storage.sql.exec(insert, 2).ready;
  expect(await storage.history()).toHaveLength(before.length + 1);
});

test('[HIST3] any moment read through at() equals the state after a restore to it', {
  tags: 'long',
}, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(change, { minLength: 3, maxLength: 12 }),
      fc.nat(99),
      fc.uuid(),
      async (changes, chosen, name) => {
        const handle = await objects.storage(objects.env.Box.getByName(name));
        const bookmarks: string[] = [];
        const seen: unknown[] = [];
        for (const { kind, n, bytes } of changes) {
          if (kind === 'put') await handle.put(`key${n}`, 'x'.repeat(bytes));
          if (kind === 'drop') await handle.sql.exec(`DROP TABLE IF EXISTS t${n}`).ready;
          if (kind === 'deleteAll') await handle.deleteAll();
          if (kind === 'alarm') await handle.setAlarm(4_000_000_000_000 + n);
          if (kind === 'restore' && bookmarks.length > 0)
            await handle.restore(bookmarks[n % bookmarks.length]!);
          if (kind === 'insert') {
            const table = `t${n % 3}`;
            await handle.sql.exec(`CREATE TABLE IF NOT EXISTS ${table}(id INTEGER PRIMARY KEY, v)`)
              .ready;
            await handle.sql.exec(
              `INSERT OR REPLACE INTO ${table} VALUES (?, zeroblob(?))`,
              n,
              bytes,
            ).ready;
          }
          bookmarks.push(await handle.getCurrentBookmark());
          seen.push(await contents(handle));
        }
        const index = chosen % bookmarks.length;
        const moment = await handle.at(bookmarks[index]!);
        const past = await contents(moment);
        expect(past).toEqual(seen[index]);
        await handle.restore(bookmarks[index]!);
        expect(await contents(handle)).toEqual(past);
        // The moment is opened again, although the restore has ended the instance that held it.
        expect(await contents(moment)).toEqual(past);
        await moment.close();
        await handle.close();
      },
    ),
    { numRuns: 25 },
  );
});

describe('an earlier moment', () => {
  let before: string;

  beforeEach(async () => {
    await storage.put('a', 1);
    await storage.sql.exec('CREATE TABLE t(x); INSERT INTO t VALUES (1), (2)').ready;
    before = await storage.getCurrentBookmark();
    await storage.put('a', 2);
    await storage.sql.exec('DELETE FROM t').ready;
  });

  test('[HIST3] is read beside the object, by all reads, also within a transaction', async () => {
    const moment = await storage.at(before);
    expect(moment.bookmark).toBe(before);
    expect(await moment.get('a')).toBe(1);
    expect(await moment.get(['a', 'b'])).toEqual(new Map([['a', 1]]));
    expect(await moment.kv.get('a')).toBe(1);
    const listed: unknown[] = [];
    for await (const entry of moment.kv.list({ prefix: 'a' })) listed.push(entry);
    expect(listed).toEqual([['a', 1]]);
    expect(await moment.sql.exec('SELECT x FROM t').raw().toArray()).toEqual([[1], [2]]);
    const sizeThen = await storage.sql.databaseSize;
    await storage.sql.exec('INSERT INTO t VALUES (zeroblob(9000))').ready;
    expect([await moment.sql.databaseSize, await storage.sql.databaseSize]).toEqual([
      sizeThen,
      expect.closeTo(sizeThen + 8192, -4),
    ]);
    await storage.transaction(async (txn) => {
      await txn.put('a', 3);
      expect(await moment.get('a')).toBe(1);
      const inside = await storage.at(await storage.getBookmarkForTime(new Date()));
      expect(await inside.get('a')).toBe(2);
      await inside.close();
    });
    expect(await storage.get('a')).toBe(3);
    expect(await moment.get('a')).toBe(1);
    const file = await moment.exportDatabase();
    await storage.importDatabase(file);
    expect(await storage.get('a')).toBe(1);
  });

  test('[HIST3] of a date is the moment that getBookmarkForTime names', async () => {
    const { clock } = objects;
    await clock.advance(60_000);
    const between = new Date(await clock.now());
    await clock.advance(60_000);
    await storage.put('a', 3);
    const moment = await storage.at(between);
    expect(await moment.get('a')).toBe(2);
    expect(moment.bookmark).toBe(await storage.getBookmarkForTime(between));
    const empty = await storage.at(new Date(Date.now() - 86_400_000));
    expect(await contents(empty)).toEqual({ entries: [], rows: [], alarm: null });
    await expect(storage.at(new Date((await clock.now()) + 60_000))).rejects.toMatchObject({
      code: 'BOOKMARK_UNAVAILABLE',
    });
    await expect(storage.at('yesterday')).rejects.toMatchObject({ code: 'BOOKMARK_INVALID' });
    await expect(storage.at(7 as unknown as Date)).rejects.toMatchObject({
      code: 'BOOKMARK_INVALID',
    });
    await expect((storage.at as () => Promise<unknown>)()).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });

  test('[HIST5] refuses every write, and hides the tables that live reads hide', async () => {
    const moment = await storage.at(before);
    const loose = moment as unknown as Pick<
      StorageHandle,
      'put' | 'delete' | 'setAlarm' | 'deleteAlarm'
    >;
    const writes = [
      () => loose.put('a', 9),
      () => loose.delete('a'),
      () => loose.setAlarm(1),
      () => loose.deleteAlarm(),
      () => moment.sql.exec('INSERT INTO t VALUES (3)').ready,
      () => moment.sql.exec('DROP TABLE t').ready,
      () => moment.sql.exec('SELECT 1; DELETE FROM t').ready,
      () => moment.sql.exec('UPDATE t SET x = 1 RETURNING x').toArray(),
    ];
    for (const write of writes) await expect(write()).rejects.toMatchObject({ code: 'READ_ONLY' });
    for (const query of [
      'SELECT * FROM _cf_KV',
      'BEGIN',
      "ATTACH 'x' AS y",
      'CREATE TEMP TABLE u(x)',
    ]) {
      const live = await storage.sql.exec(query).ready.catch((error) => error.code);
      expect(live).toBe('SQL_FORBIDDEN');
      await expect(moment.sql.exec(query).ready).rejects.toMatchObject({ code: 'SQL_FORBIDDEN' });
    }
    await expect(moment.sql.exec('SELECT * FROM missing').ready).rejects.toMatchObject({
      code: 'SQL',
    });
    expect(await moment.sql.exec('SELECT x FROM t').raw().toArray()).toEqual([[1], [2]]);
    expect(await storage.sql.exec('SELECT x FROM t').raw().toArray()).toEqual([]);
  });

  test('[HIST7] survives the reset and the eviction of its object, until it or its handle is closed', async () => {
    const moment = await storage.at(before);
    await storage.abort();
    expect(await moment.get('a')).toBe(1);
    await evictDurableObject(stub());
    expect(await moment.sql.exec('SELECT count(*) FROM t').raw().one()).toEqual([2]);
    const other = await storage.at(before);
    await moment.close();
    await moment.close();
    await expect(moment.get('a')).rejects.toMatchObject({ code: 'MOMENT_CLOSED' });
    expect(await other.get('a')).toBe(1);
    await storage.close();
    await expect(other.get('a')).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
    await expect(storage.at(before)).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
  });

  /** Opens a cursor with more rows than one answer has, so that it fails once its moment is closed. */
  const cursorOf = (moment: StorageMoment) =>
    moment.sql.exec(
      'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 5000) SELECT x FROM c',
    );

  test('[HIST6] that was closed leaves its place to others', async () => {
    const cursor = cursorOf(await storage.at(before));
    await cursor.next();
    for (let i = 0; i < 8; i++) await (await storage.at(before)).close();
    expect(await cursor.toArray()).toHaveLength(4999);
  });

  test('[HIST6] four are open; another closes the least recently used one, which is opened again by its next use, without its cursors', async () => {
    const moments: StorageMoment[] = [];
    for (let i = 0; i < 4; i++) moments.push(await storage.at(before));
    const cursors = moments.map(cursorOf);
    for (const cursor of cursors) expect((await cursor.next()).value).toEqual({ x: 1 });
    await moments[0]!.get('a');
    const fifth = await storage.at(before);
    await expect(cursors[1]!.toArray()).rejects.toMatchObject({ code: 'CURSOR_CLOSED' });
    for (const i of [0, 2, 3]) expect(await cursors[i]!.toArray()).toHaveLength(4999);
    for (const moment of [...moments, fifth]) expect(await moment.get('a')).toBe(1);
    for (const moment of [...moments, fifth]) await moment.close();
  });

  test('[HIST5] ends its calls with a signal', async () => {
    const moment = await storage.at(before);
    const aborted = withSignal(moment, AbortSignal.abort(new Error('stopped')));
    await expect(aborted.sql.exec('SELECT 1').toArray()).rejects.toThrow('stopped');
    await expect(aborted.get('a')).rejects.toThrow('stopped');
    const controller = new AbortController();
    const cancellable = withSignal(moment, controller.signal);
    expect(await cancellable.get('a')).toBe(1);
    const underWay = cancellable.get('a');
    controller.abort(new Error('stopped later'));
    await expect(underWay).rejects.toThrow('stopped later');
  });
});

test('[HIST5] the types of a moment have reads only', () => {
  expectTypeOf<keyof StorageMoment>().toEqualTypeOf<
    'bookmark' | 'get' | 'list' | 'getAlarm' | 'sql' | 'kv' | 'exportDatabase' | 'close'
  >();
  expectTypeOf<keyof StorageMoment['sql']>().toEqualTypeOf<'exec' | 'databaseSize'>();
  expectTypeOf<keyof StorageMoment['kv']>().toEqualTypeOf<'get' | 'list'>();
  expectTypeOf<RemoteStorage['at']>().parameters.toEqualTypeOf<[string | Date]>();
  expectTypeOf(storage.history).returns.resolves.toEqualTypeOf<StorageCommit[]>();
});

test('[PITR9] cancelRestore() of a handle cancels the request of onNextSessionRestoreBookmark', async () => {
  await storage.put('n', 1);
  const bookmark = await storage.getCurrentBookmark();
  await storage.put('n', 2);
  expect(await storage.cancelRestore()).toBe(false);
  await storage.onNextSessionRestoreBookmark(bookmark);
  expect(await storage.cancelRestore()).toBe(true);
  await storage.abort();
  expect(await storage.get('n')).toBe(2);
  await storage.onNextSessionRestoreBookmark(bookmark);
  await storage.abort();
  expect(await storage.cancelRestore()).toBe(false);
  expect(await storage.get('n')).toBe(1);
  expectTypeOf<DurableObjectStorage>().not.toHaveProperty('cancelRestore');
});

describe('history', () => {
  test('[HIST1] lists each commit with the bookmark that at() and restore() take', async () => {
    expect(await storage.history()).toEqual([]);
    for (let i = 0; i < 5; i++) await storage.put({ n: i, [`page ${i}`]: `${i}`.repeat(9000) });
    const commits = await storage.history();
    expect(commits).toHaveLength(5);
    expect(commits[0]!.bookmark).toBe(await storage.getCurrentBookmark());
    for (const [i, commit] of commits.entries()) {
      expect(commit).toEqual({
        bookmark: expect.any(String),
        time: expect.any(Date),
        bytes: expect.any(Number),
        pages: expect.any(Number),
        isRestore: false,
        isPromote: false,
        by: { kind: 'storage', connection: storage.connection },
      });
      const moment = await storage.at(commit.bookmark);
      expect(await moment.get('n')).toBe(4 - i);
      expect(commit.pages * 4096).toBe(await moment.sql.databaseSize);
      await moment.close();
    }
    await storage.restore(commits[3]!.bookmark);
    expect(await storage.get('n')).toBe(1);
    const [restore] = await storage.history({ limit: 1 });
    expect(restore).toMatchObject({ isRestore: true });
  });

  test('[HIST2] lists the last 100 commits without a limit', async () => {
    for (let i = 0; i < 101; i++) await storage.put('n', i, { allowUnconfirmed: true });
    const all = await storage.history({ limit: 1000 });
    expect(all).toHaveLength(101);
    expect(await storage.history()).toEqual(all.slice(0, 100));
  });

  test('[HIST2] takes a range, a limit and a bookmark, and refuses anything else', async () => {
    for (let i = 0; i < 5; i++) {
      await storage.put('n', i);
      await objects.clock.advance(1000);
    }
    const commits = await storage.history();
    expect(await storage.history({ limit: 2 })).toEqual(commits.slice(0, 2));
    expect(await storage.history({ before: commits[1]!.bookmark, limit: 2 })).toEqual(
      commits.slice(2, 4),
    );
    expect(await storage.history({ from: commits[0]!.time.getTime() + 1 })).toEqual([]);
    expect(await storage.history({ to: new Date(commits[4]!.time.getTime() - 1) })).toEqual([]);
    expect(await storage.history({ from: commits[3]!.time, to: commits[1]!.time })).toEqual(
      commits.slice(1, 4),
    );
    const isRefused = (options: unknown, code: string) =>
      expect(storage.history(options as object)).rejects.toMatchObject({ code });
    await isRefused({ limit: 0 }, 'INVALID_ARGUMENT');
    await isRefused({ limit: 1001 }, 'INVALID_ARGUMENT');
    await isRefused({ from: 'yesterday' }, 'INVALID_ARGUMENT');
    await isRefused({ before: 'nonsense' }, 'BOOKMARK_INVALID');
  });
});

describe('handles of objects in this process', () => {
  test('[NODE22] read, write, follow and import like those of a page, and end with their objects', async () => {
    await storage.put({ a: 1, b: 2 });
    const values: unknown[] = [];
    const live = storage.live<number>({ key: 'a' });
    const stop = live.subscribe(() => values.push(live.getSnapshot()));
    await expect.poll(() => values.at(-1)).toBe(1);
    await storage.put('a', 5);
    await expect.poll(() => values.at(-1)).toBe(5);
    stop();
    await expect(
      storage.transaction(async (txn) => {
        await txn.delete('a');
        throw new Error('mine');
      }),
    ).rejects.toThrow('mine');
    expect(await storage.list()).toEqual(
      new Map([
        ['a', 5],
        ['b', 2],
      ]),
    );
    const rows =
      'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 5000) SELECT x FROM c';
    expect(await storage.sql.exec(rows).toArray()).toHaveLength(5000);
    await expect(objects.storage({} as never)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await objects.close();
    await expect(storage.get('a')).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
  });
});
