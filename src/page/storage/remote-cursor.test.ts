import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { FakeHost } from '../../../packages/testing/page/fake-host.ts';
import { type FakeTab, FakeTabs } from '../../../packages/testing/page/fake-tabs.ts';
import { turns } from '../../../packages/testing/page/turns.ts';
import { runCandidate } from '../../../worker/start/boot/candidate.ts';
import type { RemoteSqlStorage, RemoteStorage } from '../../shared/contract/storage.ts';

let tabs: FakeTabs;
let storage: RemoteStorage;
let sql: RemoteSqlStorage;
let tab: FakeTab;
let host: FakeHost;

beforeEach(async () => {
  tabs = new FakeTabs(runCandidate);
  tab = tabs.tab();
  storage = await tab.open('object');
  sql = storage.sql;
  host = tab.leadingHost;
});

afterEach(() => tabs.close());

/** Records unhandled rejections, which would otherwise end the process. */
function watchUnhandled(): { readonly seen: unknown[]; stop(): void } {
  const seen: unknown[] = [];
  const others = process.listeners('unhandledRejection');
  process.removeAllListeners('unhandledRejection');
  process.on('unhandledRejection', (reason) => seen.push(reason));
  return {
    seen,
    stop() {
      process.removeAllListeners('unhandledRejection');
      for (const other of others) process.on('unhandledRejection', other);
    },
  };
}

const openCursors = () =>
  [...host.sessions.values()].reduce((n, { cursors }) => n + cursors.size, 0);

describe('rows', () => {
  test('[CUR1] come in batches: 100 with the statement, then 1,000, then 2,500', async () => {
    const rows = await sql.exec('rows 12500').toArray();
    expect(rows.length).toBe(12_500);
    expect(rows.at(-1)).toEqual({ n: 12_500, name: 'row 12500' });
    const counts = host.messages.flat().map((call) => ('rowCount' in call ? call.rowCount : 0));
    expect(counts).toEqual([100, 1000, 2500, 2500, 2500, 2500, 2500]);
  });

  test('[CUR1] the statement is sent without a pull', async () => {
    sql.exec('rows 0');
    await turns();
    expect(host.operations).toEqual(['exec']);
  });

  test('[CUR8] a reader of a second batch has the next one asked for, a reader that stops before has none', async () => {
    const rows = sql.exec('rows 5000');
    for (let i = 0; i < 100; i++) await rows.next();
    expect(host.operations).toEqual(['exec']);
    await rows.next();
    await vi.waitUntil(() => host.operations.length === 3);
    await rows.next();
    expect(host.operations).toEqual(['exec', 'rows', 'rows']);
    expect((await rows.toArray()).map(({ n }) => n).slice(0, 2)).toEqual([103, 104]);
  });

  test('[CUR8] the error of a batch that was asked for early comes in its place, once it is needed', async () => {
    const cursor = sql.exec('rows 5000');
    for (let i = 0; i < 101; i++) await cursor.next();
    await vi.waitUntil(() => host.operations.length === 3);
    for (const { cursors } of host.sessions.values()) cursors.clear();
    for (let i = 101; i < 3600; i++) await cursor.next();
    await expect(cursor.next()).rejects.toMatchObject({ code: 'CURSOR_CLOSED' });
  });

  test('[CUR8] close() frees a cursor whose next batch was asked for', async () => {
    const cursor = sql.exec('rows 50000');
    for (let i = 0; i < 101; i++) await cursor.next();
    await cursor.close();
    expect(openCursors()).toBe(0);
    expect(await cursor.next()).toEqual({ done: true, value: undefined });
  });

  test('[CUR1] for await gives every row once', async () => {
    const numbers: unknown[] = [];
    for await (const { n } of sql.exec('rows 250')) numbers.push(n);
    expect(numbers).toEqual(Array.from({ length: 250 }, (_, i) => i + 1));
  });

  test('[CUR1] pulls made together are answered in order', async () => {
    const cursor = sql.exec('rows 102');
    const pulls = Array.from({ length: 103 }, () => cursor.next());
    const results = await Promise.all(pulls);
    expect(results.slice(0, 102).map(({ value }) => value?.n)).toEqual(
      Array.from({ length: 102 }, (_, i) => i + 1),
    );
    expect(results[102]).toEqual({ done: true, value: undefined });
  });

  test('[CUR1] columnNames are known once the statement has run', async () => {
    const cursor = sql.exec('rows 1');
    await cursor.ready;
    expect(cursor.columnNames).toEqual(['n', 'name']);
    expect(cursor.columnNames).toBe(cursor.columnNames);
    expect(cursor.rowsRead).toBe(1);
  });

  test('[CUR2] all views share one position, and break leaves it', async () => {
    const cursor = sql.exec('rows 6');
    expect((await cursor.next()).value).toEqual({ n: 1, name: 'row 1' });
    expect((await cursor.raw().next()).value).toEqual([2, 'row 2']);
    for await (const row of cursor) {
      expect(row.n).toBe(3);
      break;
    }
    for await (const row of cursor.raw()) {
      expect(row).toEqual([4, 'row 4']);
      break;
    }
    expect(await cursor.raw().toArray()).toEqual([
      [5, 'row 5'],
      [6, 'row 6'],
    ]);
    expect(await cursor.next()).toEqual({ done: true, value: undefined });
  });

  test('[CUR3] one() gives the last row left', async () => {
    const cursor = sql.exec('rows 2');
    await cursor.next();
    expect(await cursor.one()).toEqual({ n: 2, name: 'row 2' });
    expect(await sql.exec('rows 1').raw().one()).toEqual([1, 'row 1']);
  });

  test('[CUR3] one() rejects when no row is left', async () => {
    await expect(sql.exec('rows 0').one()).rejects.toMatchObject({ code: 'CURSOR_ROWS' });
  });

  test.for([2, 101])('[CUR3] one() of %i rows rejects and ends the cursor', async (count) => {
    const cursor = sql.exec(`rows ${count}`);
    await expect(cursor.one()).rejects.toMatchObject({ code: 'CURSOR_ROWS' });
    expect(await cursor.toArray()).toEqual([]);
    expect(openCursors()).toBe(0);
  });

  test('[CUR2] the later of two columns of one name wins; __proto__ becomes no key', async () => {
    host.execute = async (_id, calls) =>
      calls.map(() => ({
        ok: {
          cursor: null,
          columnNames: ['x', '__proto__', 'x'],
          rows: [[1, null, 2]],
          rowsRead: 1,
          rowsWritten: 0,
        },
      }));
    const row = await sql.exec('rows 1').one();
    expect(Object.entries(row)).toEqual([['x', 2]]);
    expect(Object.getPrototypeOf(row)).toBe(Object.prototype);
  });
});

describe('end', () => {
  test('[CUR5] close() frees the rest in the worker, and there are no more rows', async () => {
    const cursor = sql.exec('rows 5000');
    await cursor.next();
    expect(openCursors()).toBe(1);
    await cursor.close();
    await cursor.close();
    expect(openCursors()).toBe(0);
    expect(await cursor.next()).toEqual({ done: true, value: undefined });
    expect(host.operations.filter((op) => op === 'closeCursor').length).toBe(1);
  });

  test('[CUR5] a cursor that was read to its end needs no closing', async () => {
    const cursor = sql.exec('rows 150');
    await cursor.toArray();
    await cursor.close();
    expect(host.operations).not.toContain('closeCursor');
  });

  test.for<[string, (sql: RemoteSqlStorage) => Promise<void>]>([
    ['that was never read', (sql) => sql.exec('rows 5000').ready],
    [
      'whose loop was left',
      async (sql) => {
        for await (const _ of sql.exec('rows 5000')) break;
      },
    ],
    [
      'whose loop over raw() was left',
      async (sql) => {
        for await (const _ of sql.exec('rows 5000').raw()) break;
      },
    ],
  ])('[CUR5] a forgotten cursor %s is freed in the worker', async ([, read]) => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    await read(sql);
    expect(openCursors()).toBe(1);
    await vi.waitUntil(() => {
      collect();
      return openCursors() === 0;
    });
    expect(host.operations).toEqual(['exec', 'closeCursor']);
  });

  test.for<[string, (sql: RemoteSqlStorage) => Promise<unknown>, unknown]>([
    ['toArray()', async (sql) => (await sql.exec('rows 2500').toArray()).length, 2500],
    ['raw().toArray()', async (sql) => (await sql.exec('rows 2500').raw().toArray()).length, 2500],
    ['raw().next()', (sql) => sql.exec('rows 2').raw().next(), { value: [1, 'row 1'] }],
    ['one()', (sql) => sql.exec('rows 1').one(), { n: 1 }],
    ['raw().one()', (sql) => sql.exec('rows 1').raw().one(), [1, 'row 1']],
  ])('[CUR7] a cursor forgotten during %s is read to its end first', async ([, pull, expected]) => {
    const release = host.holdAnswers();
    const pulled = pull(sql);
    await vi.waitUntil(() => host.operations.includes('exec'));
    tab.collectAll();
    release();
    const result = await pulled;
    if (typeof expected === 'object') expect(result).toMatchObject(expected as object);
    else expect(result).toBe(expected);
    await vi.waitUntil(() => openCursors() === 0);
  });

  test('[CUR7] a cursor forgotten while its second batch is on the way is read to its end first', async () => {
    const cursor = sql.exec('rows 2500');
    await cursor.ready;
    const release = host.holdAnswers();
    const rows = cursor.toArray();
    await vi.waitUntil(() => host.operations.includes('rows'));
    tab.collectAll();
    release();
    expect((await rows).length).toBe(2500);
    await vi.waitUntil(() => openCursors() === 0);
  });

  test('[CUR5] a cursor forgotten before its statement is answered is freed in the worker', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const release = host.holdAnswers();
    sql.exec('rows 5000');
    await vi.waitUntil(() => host.operations.includes('exec'));
    for (let i = 0; i < 10; i++) {
      await new Promise((resolve) => setTimeout(resolve));
      collect();
    }
    release();
    await vi.waitUntil(() => openCursors() === 1);
    await vi.waitUntil(() => {
      collect();
      return openCursors() === 0;
    });
  });

  test('[CUR7] the collector does not end a cursor that is being read', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const release = host.holdAnswers();
    const rows = sql.exec('rows 2500').raw().toArray();
    for (let i = 0; i < 10; i++) {
      await new Promise((resolve) => setTimeout(resolve));
      collect();
    }
    release();
    expect((await rows).length).toBe(2500);
  });

  test('[CUR6] a failed statement rejects ready and every pull with its error', async () => {
    const cursor = sql.exec('nonsense');
    const error = { code: 'SQL', message: 'near "nonsense": syntax error' };
    await expect(cursor.toArray()).rejects.toMatchObject(error);
    await expect(cursor.next()).rejects.toMatchObject(error);
    await expect(cursor.one()).rejects.toMatchObject(error);
    await expect(cursor.close()).rejects.toMatchObject(error);
    await expect(cursor.ready).rejects.toMatchObject(error);
  });

  test.for(['the handle', 'the connection'])(
    '[CUR9] %s that ends leaves no unhandled rejection of a cursor that nobody reads',
    async (what) => {
      const { seen, stop } = watchUnhandled();
      try {
        await sql.exec('rows 1').ready;
        const lost = (query: Promise<unknown>) =>
          expect(query).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
        if (what === 'the handle') {
          storage.close();
          sql.exec('rows 1');
          await lost(sql.exec('rows 1').toArray());
        } else {
          const read = lost(sql.exec('rows 1').toArray());
          sql.exec('rows 1');
          await null; // sent
          tab.terminateWorker();
          await read;
        }
        await turns();
        expect(seen).toEqual([]);
      } finally {
        stop();
      }
    },
  );

  test('[CUR6] the error of a pull leaves no unhandled rejection, an unread one does', async () => {
    const { seen, stop } = watchUnhandled();
    try {
      await expect(sql.exec('pulled').toArray()).rejects.toThrow('pulled');
      sql.exec('unread');
      await vi.waitUntil(() => seen.length > 0);
      expect(seen).toMatchObject([{ message: 'near "unread": syntax error' }]);
    } finally {
      stop();
    }
  });
});
