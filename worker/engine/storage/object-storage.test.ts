import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createTestHost, type TestHost } from '../../../packages/testing/worker/test-host.ts';
import type { DurableObjectState as PublicState } from '../../../src/shared/contract/object.ts';
import type { Transaction } from '../../../src/shared/contract/storage.ts';

let host: TestHost;
beforeEach(async () => {
  host = await createTestHost();
});
afterEach(() => host.close());

const sizeOf = (value: unknown) =>
  typeof value === 'string' ? value.length : (value as ArrayBuffer).byteLength;

describe('key-value operations', () => {
  test('[KV1] get returns a fresh copy of the value as written, undefined for a missing key', async () => {
    const written = { when: new Date(5), tags: new Set(['x']) };
    const [found, again, missing] = await host.run(async ({ storage }) => {
      await storage.put('a', written);
      return [await storage.get('a'), await storage.get('a'), await storage.get('missing')];
    });
    expect([found, again, missing]).toEqual([written, written, undefined]);
    expect(new Set([written, found, again]).size).toBe(3);
  });

  test('[KV2] get of many keys is a Map in UTF-8 order without the missing ones', async () => {
    const entries = await host.run(async ({ storage }) => {
      await storage.put({ '\u{1F600}': 1, '\uFF5E': 2, b: 3 });
      return [...(await storage.get(['\u{1F600}', 'none', 'b', '\uFF5E', 'b']))];
    });
    expect(entries).toEqual([
      ['b', 3],
      ['\uFF5E', 2],
      ['\u{1F600}', 1],
    ]);
  });

  test('[KV3] a key of more than 2,048 bytes of UTF-8 is a RangeError, and nothing is written', async () => {
    await host.run(async ({ storage }) => {
      await expect(storage.put('é'.repeat(1025), 1)).rejects.toMatchObject({
        name: 'RangeError',
        code: 'KEY_TOO_LARGE',
        message: expect.stringMatching(/2050 bytes.*at most 2048/),
      });
      await storage.put('é'.repeat(1024), 1);
      expect((await storage.list()).size).toBe(1);
    });
  });

  test('[KV4] a value of more than 131,072 bytes is a RangeError, and the old value stays', async () => {
    await host.run(async ({ storage }) => {
      const kinds = [
        (size: number) => 'x'.repeat(size),
        (size: number) => new Uint8Array(size),
        (size: number) => new ArrayBuffer(size),
      ];
      for (const value of kinds) {
        await storage.put('a', value(131_072));
        await expect(storage.put('a', value(131_073))).rejects.toMatchObject({
          name: 'RangeError',
          code: 'VALUE_TOO_LARGE',
        });
        expect(sizeOf(await storage.get('a'))).toBe(131_072);
      }
    });
  });

  test('[KV3] more than 128 keys in one call is a RangeError', async () => {
    await host.run(async ({ storage }) => {
      const keys = Array.from({ length: 129 }, (_, i) => `k${i}`);
      const expected = { name: 'RangeError', code: 'TOO_MANY_KEYS' };
      await expect(storage.get(keys)).rejects.toMatchObject(expected);
      expect(() => storage.delete(keys)).toThrow(expect.objectContaining(expected));
      const entries = Object.fromEntries(keys.map((key) => [key, 1]));
      await expect(storage.put(entries)).rejects.toMatchObject(expected);
      expect((await storage.list()).size).toBe(0);
      await storage.put('k1', 1);
      expect((await storage.get(keys.slice(1))).size).toBe(1);
      expect(await storage.delete(keys.slice(1))).toBe(1);
    });
  });

  test('[KV6] put of many entries is all or nothing', async () => {
    await host.run(async ({ storage }) => {
      await storage.put('a', 'old');
      const entries = { a: 'new', b: () => 1 };
      await expect(storage.put(entries)).rejects.toMatchObject({ name: 'DataCloneError' });
      expect(await storage.list()).toEqual(new Map([['a', 'old']]));
    });
  });

  test('[KV6] entries of every size and number arrive, also over old ones', async () => {
    await host.run(async ({ storage }) => {
      for (const [count, large] of [
        [15, []],
        [16, [3]],
        [17, []],
        [128, [0, 40, 41, 127]],
        [100, [1]],
      ] as const) {
        const entries = Array.from({ length: count }, (_, i) => {
          const size = (large as readonly number[]).includes(i) ? 100_000 : i;
          return [`key ${i}`, `${count} ${'x'.repeat(size)}`] as const;
        });
        await storage.put(Object.fromEntries(entries));
        expect(await storage.get(entries.map(([key]) => key))).toEqual(
          new Map([...entries].sort(([a], [b]) => (a < b ? -1 : 1))),
        );
      }
      expect((await storage.list()).size).toBe(128);
    });
  });

  test('[KV7] delete tells whether a key existed, and how many of several did', async () => {
    await host.run(async ({ storage }) => {
      await storage.put({ a: 1, b: 2, c: 3, d: 4 });
      expect(await storage.delete('a')).toBe(true);
      expect(await storage.delete('a')).toBe(false);
      expect([...(await storage.list()).keys()]).toEqual(['b', 'c', 'd']);
      expect(await storage.delete(['b', 'b', 'none', 'c'])).toBe(2);
      expect(await storage.list()).toEqual(new Map([['d', 4]]));
    });
  });

  test('[KV8] list bounds keep their meaning in descending order', async () => {
    await host.run(async ({ storage }) => {
      await storage.put({ a: 1, b: 2, c: 3, d: 4 });
      const keys = async (options: object) => [...(await storage.list(options)).keys()];
      expect(await keys({ start: 'b', end: 'd' })).toEqual(['b', 'c']);
      expect(await keys({ start: 'b', end: 'd', reverse: true })).toEqual(['c', 'b']);
      expect(await keys({ startAfter: 'b', limit: 1 })).toEqual(['c']);
      expect(await keys({ startAfter: 'b', reverse: true })).toEqual(['d', 'c']);
      expect(await keys({ startAfter: 'a', limit: 2, reverse: true })).toEqual(['d', 'c']);
      expect(await keys({ prefix: 'c' })).toEqual(['c']);
      expect(await keys({ start: 'd', end: 'b' })).toEqual([]);
    });
  });

  test('[KV14] kv.list fetches its first entry at the call, later ones when asked', async () => {
    await host.run(async ({ storage: { kv } }) => {
      kv.put('b', 'old');
      kv.put('c', 'old');
      const entries = kv.list();
      kv.put('a', 'new');
      kv.delete('b');
      kv.put('c', 'new');
      expect([...entries]).toEqual([
        ['b', 'old'],
        ['c', 'new'],
      ]);
      const empty = kv.list({ prefix: 'zz' });
      kv.list();
      expect(() => empty.next()).toThrow(expect.objectContaining({ code: 'CURSOR_CLOSED' }));
    });
  });

  test('[VAL1] kv.put stores undefined, too: its key exists', async () => {
    await host.run(({ storage: { kv } }) => {
      kv.put('a', undefined);
      expect([...kv.list()]).toEqual([['a', undefined]]);
      expect([kv.delete('a'), kv.delete('a')]).toEqual([true, false]);
    });
  });

  test('[KV13] keys with lone surrogates are keys of their own, in ranges as well', async () => {
    await host.run(async ({ storage }) => {
      await storage.put({ '\ud800x': 1, '\udfff': 2 });
      expect(await storage.get('\ud800x')).toBe(1);
      expect(await storage.get('\ud801x')).toBeUndefined();
      expect((await storage.list({ prefix: '\ud800' })).size).toBe(1);
      expect((await storage.list({ end: '\udfff' })).size).toBe(1);
    });
  });

  test('[KV9] deleteAll removes keys and tables at once, and keeps the alarm', async () => {
    await host.run(async ({ storage }) => {
      const time = host.now() + 60_000;
      await storage.put('a', 1);
      storage.sql.exec('CREATE TABLE t(x)');
      await storage.setAlarm(time);
      await storage.deleteAll();
      expect((await storage.list()).size).toBe(0);
      expect(() => storage.sql.exec('SELECT * FROM t')).toThrow(/no such table/);
      expect(await storage.getAlarm()).toBe(time);
    });
  });

  test('[KV9] deleteAll is one commit, the alarm it keeps included', async () => {
    await host.run(async ({ storage }) => {
      await storage.put('a', 1);
      await storage.setAlarm(host.now() + 1000);
    });
    const before = host.committed();
    await host.run(({ storage }) => storage.deleteAll());
    expect(host.committed() - before).toBe(1);
    expect(await host.run(({ storage }) => storage.getAlarm())).toBe(host.now() + 1000);
  });

  test('[KV10] a method detached from its storage throws at once', async () => {
    await host.run(async ({ storage }) => {
      const names = Object.getOwnPropertyNames(Object.getPrototypeOf(storage));
      expect(names).toEqual(expect.arrayContaining(['get', 'put', 'list', 'setAlarm', 'sync']));
      for (const name of names.filter((name) => name !== 'constructor')) {
        const detached = (storage as unknown as Record<string, unknown>)[name];
        if (typeof detached === 'function') expect(() => detached('a'), name).toThrow(TypeError);
      }
    });
  });

  test('[KV11] sync is already resolved when nothing is pending', async () => {
    await host.run(async ({ storage }) => {
      await storage.put('a', 1);
      await storage.sync();
      let resolved = false;
      void storage.sync().then(() => {
        resolved = true;
      });
      for (let i = 0; i < 5; i++) await null;
      expect(resolved).toBe(true);
    });
  });
});

describe('transactions', () => {
  test('[TX1] writes without I/O between them commit together at the end of the turn', async () => {
    const before = host.committed();
    await host.run(({ storage }) => {
      void storage.put('a', 1);
      storage.sql.exec('CREATE TABLE t(x)');
      void storage.put('b', 2);
    });
    expect(host.committed() - before).toBe(1);
  });

  test('[TX2] a closure that throws undoes its writes and rejects with the same error', async () => {
    await host.run(async ({ storage }) => {
      const error = new RangeError('mine');
      await storage.put('a', 0);
      const result = storage.transaction(async (txn) => {
        await txn.put('a', 1);
        storage.sql.exec('CREATE TABLE t(x)');
        throw error;
      });
      await expect(result).rejects.toBe(error);
      expect(await storage.get('a')).toBe(0);
      expect(storage.sql.exec('SELECT name FROM sqlite_master').toArray()).not.toContainEqual({
        name: 't',
      });
    });
  });

  test('[TX3] after rollback() every operation of the transaction fails', async () => {
    await host.run(({ storage }) =>
      storage.transaction(async (txn) => {
        await txn.put('a', 1);
        txn.rollback();
        await expect(txn.get('a')).rejects.toMatchObject({ code: 'TRANSACTION_ENDED' });
        expect(() => txn.delete('a')).toThrow(
          expect.objectContaining({ code: 'TRANSACTION_ENDED' }),
        );
        expect(await storage.get('a')).toBeUndefined();
      }),
    );
  });

  test('[TX3] after the commit every operation of the transaction fails, rollback() too, and nothing changes', async () => {
    const entries = await host.run(async ({ storage }) => {
      const kept: Transaction[] = [];
      await storage.transaction(async (txn) => {
        kept.push(txn);
        await txn.put('a', 1);
      });
      const [txn] = kept;
      const ended = { code: 'TRANSACTION_ENDED' };
      const late = [txn!.get('a'), txn!.list(), txn!.put('b', 2), txn!.getAlarm()];
      for (const call of [...late, txn!.setAlarm(host.now() + 1000)]) {
        await expect(call).rejects.toMatchObject(ended);
      }
      expect(() => txn!.delete('a')).toThrow(expect.objectContaining(ended));
      expect(() => txn!.rollback()).toThrow(expect.objectContaining(ended));
      return [...(await storage.list()), await storage.getAlarm()];
    });
    expect(entries).toEqual([['a', 1], null]);
  });

  test('[TX3] a rollback by a getter of the arguments refuses the operation that reads them', async () => {
    await host.run(async ({ storage }) => {
      await storage.put('a', 0);
      const refused: unknown[] = [];
      for (const operation of ['put', 'putAll', 'putOption', 'list'] as const) {
        await storage.transaction(async (txn) => {
          const last = (value: unknown) => ({
            get value() {
              txn.rollback();
              return value;
            },
          });
          const option = {
            get allowUnconfirmed() {
              txn.rollback();
              return true;
            },
          };
          const range = {
            get limit() {
              txn.rollback();
              return 1;
            },
          };
          const calls = {
            put: () => txn.put('a', last(1)),
            putAll: () => txn.put({ b: 1, a: last(1) }),
            putOption: () => txn.put('a', 1, option),
            list: () => txn.list(range),
          };
          await calls[operation]().catch((error: { code: string }) => refused.push(error.code));
        });
      }
      expect(refused).toEqual(Array.from({ length: 4 }, () => 'TRANSACTION_ENDED'));
      expect([...(await storage.list())]).toEqual([['a', 0]]);
    });
  });

  test('[TX4] transactionSync returns the value, or undoes and rethrows', async () => {
    await host.run(async ({ storage }) => {
      const returned = storage.transactionSync(() => {
        storage.kv.put('a', 1);
        return 'the value';
      });
      expect(returned).toBe('the value');
      const error = new Error('mine');
      expect(() =>
        storage.transactionSync(() => {
          storage.kv.put('a', 2);
          throw error;
        }),
      ).toThrow(error);
      expect(storage.kv.get('a')).toBe(1);
    });
  });

  test('[TX5] transactionSync refuses a promise, and undoes its writes', async () => {
    await host.run(async ({ storage }) => {
      expect(() => storage.transactionSync(async () => storage.kv.put('a', 1))).toThrow(
        expect.objectContaining({ name: 'TypeError', code: 'TRANSACTION_ASYNC' }),
      );
      expect(storage.kv.get('a')).toBeUndefined();
    });
  });

  test('[TX6] transactions started side by side run one after the other', async () => {
    const total = await host.run(async ({ storage }) => {
      const increment = () =>
        storage.transaction(async (txn) => {
          const n = (await txn.get<number>('n')) ?? 0;
          await storage.sync();
          await txn.put('n', n + 1);
        });
      await Promise.all([increment(), increment(), increment()]);
      return storage.get('n');
    });
    expect(total).toBe(3);
  });

  test('[TX7] an inner transaction undoes only itself, an outer one both', async () => {
    await host.run(async ({ storage }) => {
      await storage.transaction(async () => {
        await storage.put('outer', 1);
        await storage
          .transaction(async () => {
            await storage.put('inner', 1);
            throw new Error('inner');
          })
          .catch(() => {});
      });
      expect([...(await storage.list()).keys()]).toEqual(['outer']);
      await storage.transaction(async (txn) => {
        await storage.transaction(() => storage.put('inner', 1));
        txn.rollback();
      });
      expect([...(await storage.list()).keys()]).toEqual(['outer']);
    });
  });

  test('[TX8] deleteAll inside a transaction is refused', async () => {
    const entries = await host.run(async ({ storage }) => {
      await storage.put('before', 1);
      await storage.transaction(async (txn) => {
        await storage.put('inside', 2);
        const refused = { code: 'TRANSACTION_NESTING' };
        await expect(storage.deleteAll()).rejects.toMatchObject(refused);
        const ofTransaction = txn as unknown as { deleteAll(): void };
        expect(() => ofTransaction.deleteAll()).toThrow(expect.objectContaining(refused));
      });
      return storage.list();
    });
    expect([...entries.keys()]).toEqual(['before', 'inside']);
  });

  /** An inner transaction that stays open until `finish` is called. */
  const leftOpen = (storage: PublicState['storage']) => {
    let finish = () => {};
    let begun = () => {};
    const hasBegun = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const inner = storage.transaction(async (txn) => {
      await txn.put('inner', 1);
      begun();
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      await txn.put('inner', 2);
    });
    return { inner, hasBegun, finish: () => finish() };
  };

  test('[TX9] a closure that throws while an inner transaction is open is undone with it', async () => {
    const seen = await host.run(async ({ storage }) => {
      await storage.put('before', 1);
      const log: unknown[] = [];
      const outer = storage.transaction(async (txn) => {
        await txn.put('outer', 1);
        const { inner, hasBegun, finish } = leftOpen(storage);
        void inner.then(() => log.push('inner has ended'));
        await hasBegun;
        setImmediate(async () => {
          log.push(await txn.get('outer').catch((error) => error.code));
          finish();
        });
        throw new RangeError('mine');
      });
      await outer.catch((error) => log.push(error.message));
      await storage.put('later', 1);
      return log;
    });
    expect(seen).toEqual(['TRANSACTION_ENDED', 'inner has ended', 'mine']);
    await host.run((ctx) => ctx.abort()).catch(() => {});
    expect(await host.run(async ({ storage }) => [...(await storage.list()).keys()])).toEqual([
      'before',
      'later',
    ]);
  });

  test('[TX10] a closure that returns while an inner transaction is open resets the object', async () => {
    await host.run(({ storage }) => storage.put('before', 1));
    const outer = host.run(({ storage }) =>
      storage.transaction(async (txn) => {
        await txn.put('outer', 1);
        await leftOpen(storage).hasBegun;
      }),
    );
    await expect(outer).rejects.toMatchObject({
      code: 'TRANSACTION_NESTING',
      durableObjectReset: true,
      message: expect.stringMatching(/await the inner one/),
    });
    await host.run(({ storage }) => storage.put('later', 1));
    await host.run((ctx) => ctx.abort()).catch(() => {});
    expect(await host.run(async ({ storage }) => [...(await storage.list()).keys()])).toEqual([
      'before',
      'later',
    ]);
  });

  test('[TX12] a bookmark taken in a transactionSync that throws keeps none of its writes', async () => {
    const { bookmarks, undo } = await host.run(async ({ storage }) => {
      await storage.put('before', 1);
      const bookmarks = [storage.getCurrentBookmark()];
      let undo: Promise<string> | undefined;
      const run = () =>
        storage.transactionSync(() => {
          storage.kv.put('sync', 1);
          bookmarks.push(storage.getCurrentBookmark());
          undo = storage.onNextSessionRestoreBookmark('0'.repeat(8)).catch((error) => error.code);
          throw new RangeError('mine');
        });
      expect(run).toThrow('mine');
      return { bookmarks: await Promise.all(bookmarks), undo: await undo };
    });
    expect(bookmarks[1]).toBe(bookmarks[0]);
    expect(undo).toBe('BOOKMARK_INVALID');
    expect(await host.run(async ({ storage }) => [...(await storage.list()).keys()])).toEqual([
      'before',
    ]);
  });

  test('[TX12] a restore requested in a transactionSync is made, and the writes of the turn with it', async () => {
    const bookmark = await host.run(async ({ storage }) => {
      await storage.put('a', 1);
      return storage.getCurrentBookmark();
    });
    const undo = await host.run(async ({ storage }) => {
      const asked = storage.transactionSync(() => {
        storage.kv.put('a', 2);
        return { asked: storage.onNextSessionRestoreBookmark(bookmark) };
      });
      return asked.asked;
    });
    expect(host.durable()).toBe(host.committed());
    expect(await host.run(({ storage }) => storage.get('a'))).toBe(2);
    await host.run((ctx) => ctx.abort()).catch(() => {});
    const back = await host.run(async ({ storage }) => {
      const restored = await storage.get('a');
      await storage.onNextSessionRestoreBookmark(undo);
      return restored;
    });
    expect(back).toBe(1);
    await host.run((ctx) => ctx.abort()).catch(() => {});
    expect(await host.run(({ storage }) => storage.get('a'))).toBe(2);
  });
});

describe('confirmation', () => {
  test('[GATE10] a reply waits for the flush that covers the writes before it', async () => {
    await host.run(({ storage }) => storage.get('a'));
    host.holdFlushes();
    const reply = host.run(({ storage }) => void storage.put('a', 1));
    let answered = false;
    void reply.then(() => {
      answered = true;
    });
    await host.turns(5);
    expect(answered).toBe(false);
    host.releaseFlushes();
    await reply;
    expect(host.durable()).toBe(host.committed());
  });

  test('[GATE10] a reply does not wait for a write with allowUnconfirmed', async () => {
    await host.run(({ storage }) => storage.get('a'));
    host.holdFlushes();
    await host.run(({ storage }) => void storage.put('a', 1, { allowUnconfirmed: true }));
    await host.run(({ storage }) => void storage.deleteAll({ allowUnconfirmed: true }));
    host.releaseFlushes();
    expect(await host.run(({ storage }) => storage.get('a'))).toBe(undefined);
  });

  test('[GATE12] a failed flush resets the object, rejects the reply and drops the write', async () => {
    await host.run(({ storage }) => storage.put('a', 'kept'));
    host.failNextFlush();
    await expect(host.run(({ storage }) => storage.put('a', 'lost'))).rejects.toMatchObject({
      code: 'IO',
    });
    expect(await host.run(({ storage }) => storage.get('a'))).toBe('kept');
  });

  test('[GATE13] abort drops unconfirmed writes, and the next event gets a new instance', async () => {
    await host.run(({ storage }) => storage.put('a', 'kept'));
    const aborted = host.run(async (ctx) => {
      await ctx.storage.put('a', 'lost');
      ctx.abort('why');
    });
    const ended = await host.host.instance(host.address());
    await expect(aborted).rejects.toMatchObject({ durableObjectReset: true, message: 'why' });
    expect(await host.run(({ storage }) => storage.get('a'))).toBe('kept');
    expect(await host.host.instance(host.address())).not.toBe(ended);
  });
});

describe('alarm time', () => {
  test('[AL1] setAlarm stores whole milliseconds, a past time becomes now', async () => {
    await host.run(async ({ storage }) => {
      expect(await storage.getAlarm()).toBeNull();
      await storage.setAlarm(host.now() + 1000.7);
      expect(await storage.getAlarm()).toBe(host.now() + 1000);
      await storage.setAlarm(new Date(1));
      expect(await storage.getAlarm()).toBe(host.now());
      await storage.deleteAlarm();
      expect(await storage.getAlarm()).toBeNull();
    });
  });

  test('[AL2] a value that is not a time is a TypeError', async () => {
    await host.run(async ({ storage }) => {
      for (const time of [0, -1, Number.NaN, Infinity, '5', null, new Date(Number.NaN)]) {
        await expect(storage.setAlarm(time as number)).rejects.toMatchObject({
          name: 'TypeError',
        });
      }
    });
  });

  test('[AL3] an alarm set or deleted in a transaction that is undone is as it was before', async () => {
    await host.run(async ({ storage }) => {
      const undone = (atMs: number | null) =>
        storage.transaction(async (txn) => {
          await (atMs === null ? txn.deleteAlarm() : txn.setAlarm(atMs));
          expect(await txn.getAlarm()).toBe(atMs);
          txn.rollback();
        });
      await undone(host.now() + 5000);
      expect(await storage.getAlarm()).toBeNull();
      await storage.setAlarm(host.now() + 1000);
      for (const atMs of [host.now() + 5000, null]) await undone(atMs);
      expect(await storage.getAlarm()).toBe(host.now() + 1000);
    });
  });
});

describe('an object that is reset under its open cursors', () => {
  test('[SQL21] an iterator of keys is closed with the object', async () => {
    let next: () => unknown = () => undefined;
    const ended = host.run(async (state) => {
      state.storage.kv.put('a', 1);
      state.storage.kv.put('b', 2);
      const entries = state.storage.kv.list();
      next = () => entries.next();
      next();
      state.abort('over');
    });
    await expect(ended).rejects.toThrow('over');
    expect(next).toThrow(expect.objectContaining({ code: 'CURSOR_CLOSED' }));
  });
});

test('[TX13] where flushes end later, transaction() resolves when its commit is durable, and an inner one at once', async () => {
  await host.run(({ storage }) => storage.put('opened', 1));
  host.holdFlushes();
  const resolved: string[] = [];
  const done = host.run(async ({ storage }) => {
    await storage.transaction(async (txn) => {
      await txn.put('outer', 1);
      await storage.transaction((inner) => inner.put('inner', 1));
      resolved.push('inner');
    });
    resolved.push('outer');
  });
  await host.turns(20);
  expect(resolved).toEqual(['inner']);
  host.releaseFlushes();
  await done;
  expect(resolved).toEqual(['inner', 'outer']);
});
