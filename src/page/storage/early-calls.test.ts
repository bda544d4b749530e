// Tests the calls of an early handle: none reaches the object before `prepare` has succeeded.

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type FakeTab, FakeTabs } from '../../../packages/testing/page/fake-tabs.ts';
import { turns } from '../../../packages/testing/page/turns.ts';
import { loadSqliteInNode } from '../../../packages/testing/worker/sqlite.ts';
import { MemoryMedium } from '../../../worker/engine/file/medium.ts';
import { LiveCalls } from '../../../worker/objects/calls/live-calls.ts';
import { MemoryCatalog } from '../../../worker/objects/catalog/catalog.ts';
import { ClassRegistry } from '../../../worker/objects/instance/object-class.ts';
import { PageSessions } from '../../../worker/objects/sessions/page-sessions.ts';
import { objectRealm } from '../../../worker/realm/globals/object-realm.ts';
import { runCandidate } from '../../../worker/start/boot/candidate.ts';
import { startHost } from '../../../worker/start/boot/start-host.ts';
import type { RemoteStorage } from '../../shared/contract/storage.ts';
import type { StorageService } from '../../shared/wire/protocol.ts';
import { RemoteBulkKv } from './remote-kv.ts';
import { RemoteSql } from './remote-sql.ts';
import * as handles from './remote-storage.ts';

/** Makes a preparation that the test ends. */
function heldPreparation(work: (opened: RemoteStorage) => Promise<unknown> = async () => {}) {
  let end: (error?: Error) => void = () => {};
  const ended = new Promise<void>((resolve, reject) => {
    end = (error) => (error === undefined ? resolve() : reject(error));
  });
  const prepare = vi.fn(async (opened: RemoteStorage) => {
    await work(opened);
    await ended;
  });
  return { prepare, end: (error?: Error) => end(error) };
}

describe('on real objects', () => {
  /** The operations that have arrived in the worker, with the numbers of their sessions. */
  const arrived: (readonly [session: number, op: string])[] = [];
  let service: StorageService;
  let stop: () => Promise<void>;
  let tabs: FakeTabs;

  beforeEach(async () => {
    const platform = {
      sqlite: await loadSqliteInNode(),
      medium: new MemoryMedium(),
      catalog: new MemoryCatalog(),
      realm: objectRealm,
      isDedicated: false,
    };
    const { host, namespaces, close } = await startHost(platform, new ClassRegistry({}), {});
    const sessions = new PageSessions(host, () => () => {});
    arrived.length = 0;
    service = {
      open: (target, client) => sessions.open(target, client),
      execute: (id, calls) => {
        for (const { op } of calls) arrived.push([id, op]);
        return sessions.execute(id, calls);
      },
      cancel: (flags) => sessions.cancel(flags),
      close: (id) => sessions.close(id),
    };
    tabs = new FakeTabs(runCandidate, () => namespaces.calls, service);
    tabs.live = new LiveCalls(host);
    stop = async () => {
      await tabs.close();
      await close();
    };
  });
  afterEach(() => stop());

  /** Prepares the object. Without it, the calls below fail or return other results. */
  const shape = async (opened: RemoteStorage) => {
    await opened.sql.exec('CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT)').ready;
    await opened.sql.exec("INSERT INTO note VALUES (1, 'welcome')").ready;
    await opened.put('shape', 1);
    await opened.setAlarm(4e12);
    await opened.fork({ name: 'kept', keep: true });
  };
  const INSERT = 'INSERT INTO note(body) VALUES (?)';

  /** A call of each member, which checks its result on a prepared object. */
  const WAYS: Readonly<Record<string, (storage: RemoteStorage) => Promise<unknown>>> = {
    get: async (storage) => expect(await storage.get('shape')).toBe(1),
    put: (storage) => storage.put('a', 1),
    delete: async (storage) => expect(await storage.delete('shape')).toBe(true),
    list: async (storage) => expect([...(await storage.list())]).toEqual([['shape', 1]]),
    getAlarm: async (storage) => expect(await storage.getAlarm()).toBe(4e12),
    setAlarm: (storage) => storage.setAlarm(4.1e12),
    deleteAlarm: (storage) => storage.deleteAlarm(),
    deleteAll: (storage) => storage.deleteAll(),
    sync: (storage) => storage.sync(),
    batch: (storage) => storage.batch([[INSERT, 'milk']]),
    transaction: (storage) =>
      storage.transaction(async (txn) => {
        await storage.sql.exec(INSERT, 'milk').ready;
        expect(await txn.get('shape')).toBe(1);
      }),
    labelled: (storage) => storage.labelled('shop', (view) => view.sql.exec(INSERT, 'milk').ready),
    getCurrentBookmark: (storage) => storage.getCurrentBookmark(),
    getBookmarkForTime: (storage) => storage.getBookmarkForTime(Date.now()),
    onNextSessionRestoreBookmark: async (storage) => {
      // Text that is not a bookmark is refused by the object, not by the page.
      const refused = storage.onNextSessionRestoreBookmark('0'.repeat(32));
      await expect(refused).rejects.toMatchObject({ code: 'BOOKMARK_INVALID' });
    },
    cancelRestore: async (storage) => expect(await storage.cancelRestore()).toBe(false),
    restore: (storage) => storage.restore(new Date()),
    at: async (storage) => (await storage.at(new Date())).close(),
    diff: async (storage) => {
      await expect(storage.diff(new Date(), new Date()).count()).resolves.toBeDefined();
    },
    history: async (storage) => expect((await storage.history()).length).toBeGreaterThan(3),
    revert: async (storage) => {
      await expect(storage.revert('0'.repeat(32))).rejects.toMatchObject({
        code: 'BOOKMARK_INVALID',
      });
    },
    merge: async (storage) => {
      const now = new Date();
      await storage.merge({ from: now, to: now });
    },
    fork: async (storage) => {
      const branch = await storage.fork();
      expect(await branch.sql.exec('SELECT body FROM note').one()).toEqual({ body: 'welcome' });
      await branch.close();
    },
    openBranch: async (storage) => (await storage.openBranch('kept')).close(),
    branches: async (storage) => expect(await storage.branches()).toMatchObject([{ name: 'kept' }]),
    deleteBranch: async (storage) => expect(await storage.deleteBranch('kept')).toBe(true),
    exportDatabase: async (storage) =>
      expect((await storage.exportDatabase()).length).toBeGreaterThan(4096),
    importDatabase: async (storage) => {
      const refused = storage.importDatabase(new Uint8Array(4096));
      await expect(refused).rejects.toMatchObject({ code: 'IMPORT_INVALID' });
    },
    abort: (storage) => storage.abort(),
    'sql.exec': (storage) => storage.sql.exec(INSERT, 'milk').ready,
    'sql.execMany': (storage) => storage.sql.execMany(INSERT, [['milk'], ['bread']]),
    'sql.databaseSize': async (storage) =>
      expect(await storage.sql.databaseSize).toBeGreaterThan(0),
    'kv.get': async (storage) => expect(await storage.kv.get('shape')).toBe(1),
    'kv.put': (storage) => storage.kv.put('a', new Blob(['x'])),
    'kv.delete': async (storage) => expect(await storage.kv.delete('shape')).toBe(true),
    'kv.list': async (storage) => {
      expect((await storage.kv.list().next()).value).toEqual(['shape', 1]);
    },
    'kv.putMany': (storage) => storage.kv.putMany([['a', 1]]),
  };

  /** Members that send nothing to the object, or need the result of another member in the table. */
  const OTHERS = new Set(
    'constructor,connection,transactionSync,close,promote,live,sql.live,sql.constructor,kv.constructor,state,stateReason,medium,pendingWrites,savedAt,isOutdated,persisted,estimate,addEventListener,removeEventListener,Symbol(Symbol.toStringTag)'.split(
      ',',
    ),
  );

  test('[LIVE28] the table has every member that asks the object', () => {
    const membersOf = (prefix: string, of: object): string[] => {
      const own = Reflect.ownKeys(of).map((name) => prefix + String(name));
      const above = Object.getPrototypeOf(of);
      return above === Object.prototype ? own : [...own, ...membersOf(prefix, above)];
    };
    const members = [
      ...membersOf('', handles.RemoteStorage.prototype),
      ...membersOf('sql.', RemoteSql.prototype),
      ...membersOf('kv.', RemoteBulkKv.prototype),
    ];
    const asked = new Set(members.filter((name) => !OTHERS.has(name)));
    expect([...asked].sort()).toEqual(Object.keys(WAYS).sort());
  });

  test.for(Object.entries(WAYS))(
    '[LIVE28] %s waits for prepare, and finds the object in shape',
    async ([, call]) => {
      const { prepare, end } = heldPreparation(shape);
      const storage = tabs.tab().openEarly(prepare);
      let isSettled = false;
      const called = call(storage).finally(() => {
        isSettled = true;
      });
      await vi.waitUntil(() => arrived.some(([, op]) => op === 'fork'));
      await turns(20);
      const before = new Set(arrived.map(([session]) => session));
      expect([before.size, isSettled]).toEqual([1, false]);
      end();
      await called;
      expect(arrived.some(([session]) => !before.has(session))).toBe(true);
    },
  );

  test('[LIVE28] a live read of keys or rows waits for prepare, and begins with its rows', async () => {
    const { prepare, end } = heldPreparation(shape);
    const storage = tabs.tab().openEarly(prepare);
    const seen: unknown[] = [];
    const see = (value: unknown) => value !== undefined && seen.push(value);
    storage.sql.live('SELECT body FROM note').subscribe(see);
    storage.live({ key: 'shape' }).subscribe(see);
    await vi.waitUntil(() => arrived.some(([, op]) => op === 'fork'));
    await turns(20);
    expect(seen).toEqual([]);
    end();
    await vi.waitUntil(() => seen.length === 2);
    expect(seen).toEqual(expect.arrayContaining([[{ body: 'welcome' }], 1]));
  });

  test('[LIVE28] prepare’s transaction is not joined by a call of the handle that is made during it', async () => {
    let undo = () => {};
    const undone = new Promise<void>((resolve) => {
      undo = resolve;
    });
    const { prepare, end } = heldPreparation((opened) =>
      opened.transaction(async (txn) => {
        await txn.put('prepared', 1);
        await undone;
        txn.rollback();
      }),
    );
    const storage = tabs.tab().openEarly(prepare);
    await vi.waitUntil(() => arrived.some(([, op]) => op === 'put'));
    const written = storage.put('note', 1);
    undo();
    end();
    await written;
    expect([...(await storage.list())]).toEqual([['note', 1]]);
  });
});

describe('on recorded objects', () => {
  let tabs: FakeTabs;
  let tab: FakeTab;
  beforeEach(() => {
    tabs = new FakeTabs(runCandidate);
    tab = tabs.tab();
  });
  afterEach(() => tabs.close());

  test('[LIVE28] calls of the turns before keep their order, and later ones follow them', async () => {
    const { prepare, end } = heldPreparation((opened) => opened.put('shape', 1));
    const storage = tab.openEarly(prepare);
    const answers = [storage.put('a', 1)];
    await turns();
    answers.push(
      storage.transaction(async (txn) => {
        expect(await txn.get('a')).toBe(1);
        await txn.put('a', 2);
      }),
    );
    await turns();
    answers.push(storage.put('a', 3));
    await vi.waitUntil(() => tab.host?.operations.length === 1);
    end();
    await vi.waitUntil(() => tab.leadingHost.operations.includes('commit')); // a call before joins the transaction
    answers.push(storage.put('a', 4));
    await Promise.all(answers);
    expect(tab.leadingHost.operations.slice(0, 4)).toEqual(['put', 'put', 'begin', 'get']);
    expect(await storage.get('a')).toBe(4);
    expect(prepare).toHaveBeenCalledTimes(1);
  });

  test('[LIVE28] the error of prepare rejects every call that waits, and the next call starts over', async () => {
    const failure = new Error('migration 2');
    const attempts: RemoteStorage[] = [];
    const { prepare, end } = heldPreparation(async (opened) => {
      attempts.push(opened);
      if (attempts.length === 2) await opened.put('shape', 2);
    });
    const storage = tab.openEarly(prepare);
    const waiting = Promise.allSettled([
      storage.put('a', 1),
      storage.get('a'),
      storage.sql.exec('rows 1').toArray(),
      storage.transaction((txn) => txn.put('a', 2)),
      storage.kv.list().next(),
      storage.at(new Date()),
    ]);
    await vi.waitUntil(() => attempts.length === 1);
    await turns(20);
    end(failure);
    expect(
      (await waiting).map((settled) => settled.status === 'rejected' && settled.reason),
    ).toEqual(Array(6).fill(failure));
    expect(tab.leadingHost.operations).toEqual([]);
    expect(tab.leadingHost.sessions.size).toBe(0);
    prepare.mockImplementation(async (opened) => {
      attempts.push(opened);
      await opened.put('shape', 2);
    });
    expect(await storage.get('shape')).toBe(2);
    // As after the first failure, so after the second.
    expect(attempts.length).toBe(2);
    expect(attempts[1]).not.toBe(attempts[0]);
    await expect(attempts[0]!.get('shape')).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
  });

  test('[LIVE28] a second failure in a row rejects as the first, and a third attempt succeeds', async () => {
    let attempt = 0;
    const storage = tab.openEarly(async () => {
      attempt += 1;
      if (attempt < 3) throw new Error(`attempt ${attempt}`);
    });
    await expect(storage.put('a', 1)).rejects.toThrow('attempt 1');
    await expect(storage.put('a', 1)).rejects.toThrow('attempt 2');
    await storage.put('a', 1);
    await storage.put('a', 2);
    expect([attempt, tab.leadingHost.operations]).toEqual([3, ['put', 'put']]);
  });

  test('[LIVE28] prepare that uses the handle which waits for it is refused, and nothing hangs', async () => {
    const storage: RemoteStorage = tab.openEarly(() => storage.put('shape', 1));
    const refused = { code: 'INVALID_ARGUMENT', message: expect.stringContaining('(opened) =>') };
    await expect(storage.get('a')).rejects.toMatchObject(refused);
  });

  test('[LIVE28] in a second tab, calls wait for that tab’s own prepare', async () => {
    const first = tab.openEarly(async (opened) => opened.put('shape', 1));
    expect(await first.get('shape')).toBe(1);
    const { prepare, end } = heldPreparation((opened) => opened.put('shape', 2));
    const second = tabs.tab().openEarly(prepare);
    const read = second.get('shape');
    await vi.waitUntil(() => tab.leadingHost.operations.length === 3);
    await turns(20);
    await first.put('a', 1);
    expect(tab.leadingHost.operations).toEqual(['put', 'get', 'put', 'put']);
    end();
    expect(await read).toBe(2);
  });

  test('[LIVE28] a worker that ends during prepare ends that attempt; once done, prepare is done for good', async () => {
    const attempts: RemoteStorage[] = [];
    const storage = tab.openEarly(async (opened) => {
      attempts.push(opened);
      if (attempts.length > 1) return;
      const held = tab.leadingHost.holdAnswers();
      const written = opened.put('shape', 1);
      await vi.waitUntil(() => tab.leadingHost.operations.length === 1);
      tab.terminateWorker();
      held();
      await written;
    });
    await expect(storage.put('a', 1)).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
    await storage.put('a', 2);
    expect(attempts.length).toBe(2);
    tab.terminateWorker();
    expect(await storage.get('a')).toBe(2);
    expect(attempts.length).toBe(2);
  });

  test('[LIVE28] calls that wait while a newer build takes over reach its worker, after prepare', async () => {
    const old = tabs.tab({ build: 1 });
    const { prepare, end } = heldPreparation((opened) => opened.put('shape', 1));
    const storage = old.openEarly(prepare);
    const written = storage.put('a', 1);
    await vi.waitUntil(() => old.host?.operations.length === 1);
    const young = tabs.tab({ build: 2 });
    const theirs = await young.open();
    expect(theirs.state).toBe('leading');
    await turns(20);
    expect(young.leadingHost.operations).toEqual([]);
    end();
    await written;
    expect(old.host!.operations).toEqual(['put']);
    expect(young.leadingHost.operations).toEqual(['put']);
    expect(prepare).toHaveBeenCalledTimes(1);
  });

  test.for([true, false])(
    '[LIVE28] a closed handle leaves no session, closed during prepare: %s',
    async (isDuring) => {
      const { prepare, end } = heldPreparation((opened) => opened.put('shape', 1));
      const storage = tab.openEarly(prepare);
      await vi.waitUntil(() => tab.host?.operations.length === 1);
      if (!isDuring) {
        end();
        await storage.get('a');
      }
      await storage.close();
      end();
      await vi.waitUntil(() => tab.leadingHost.sessions.size === 0);
      await expect(storage.get('a')).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
    },
  );

  test('[LIVE28] a write before close() is made after prepare, although the handle is closed by then', async () => {
    const { prepare, end } = heldPreparation((opened) => opened.put('shape', 1));
    const storage = tab.openEarly(prepare);
    const written = storage.put('a', 1);
    const closed = storage.close();
    await vi.waitUntil(() => tab.host?.operations.length === 1);
    await turns(20);
    expect(tab.leadingHost.operations).toEqual(['put']);
    end();
    await written;
    await closed;
    expect(tabs.disk.get('object')!.has('a')).toBe(true);
    await vi.waitUntil(() => tab.leadingHost.sessions.size === 0);
  });

  test.for([true, false])(
    '[LIVE28] an error of prepare is an unhandled rejection unless a call reports it: %s',
    async (isCalled) => {
      const failure = new Error('migration 1');
      const unhandled: unknown[] = [];
      const listener = (error: unknown) => unhandled.push(error);
      process.on('unhandledRejection', listener);
      try {
        const { prepare, end } = heldPreparation();
        const storage = tab.openEarly(prepare);
        const called = isCalled ? storage.get('a') : null;
        await vi.waitUntil(() => prepare.mock.calls.length === 1);
        end(failure);
        if (called !== null) await expect(called).rejects.toBe(failure);
        await turns(20);
        expect(unhandled).toEqual(isCalled ? [] : [failure]);
      } finally {
        process.off('unhandledRejection', listener);
      }
    },
  );
});
