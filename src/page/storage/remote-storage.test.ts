import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { FakeHost } from '../../../packages/testing/page/fake-host.ts';
import { type FakeTab, FakeTabs } from '../../../packages/testing/page/fake-tabs.ts';
import { runCandidate } from '../../../worker/start/boot/candidate.ts';
import type { RemoteSqlCursor, RemoteStorage } from '../../shared/contract/storage.ts';

/** The storage for calls that its types forbid. */
type Loose = Record<
  'get' | 'put' | 'delete' | 'list' | 'setAlarm' | 'getBookmarkForTime' | 'transaction',
  (...args: unknown[]) => Promise<unknown>
> & {
  readonly kv: {
    put(...args: unknown[]): Promise<unknown>;
    list(...args: unknown[]): AsyncIterator<unknown>;
  };
  readonly sql: { exec(...args: unknown[]): RemoteSqlCursor };
};

let tabs: FakeTabs;
let tab: FakeTab;
let storage: RemoteStorage;
let host: FakeHost;

beforeEach(async () => {
  tabs = new FakeTabs(runCandidate);
  tab = tabs.tab();
  storage = await tab.open('object');
  host = tab.leadingHost;
});

afterEach(() => tabs.close());

describe('arguments', () => {
  test.for<[string, (loose: Loose) => Promise<unknown>, string]>([
    ['get without a key', (loose) => loose.get(), 'INVALID_ARGUMENT'],
    ['get of a symbol', (loose) => loose.get(Symbol('key')), 'INVALID_ARGUMENT'],
    ['get of a long key', (loose) => loose.get('k'.repeat(2049)), 'KEY_TOO_LARGE'],
    ['get of many keys', (loose) => loose.get(new Array(129).fill('k')), 'TOO_MANY_KEYS'],
    ['put without a value', (loose) => loose.put('key'), 'INVALID_ARGUMENT'],
    ['put of undefined', (loose) => loose.put('key', undefined), 'INVALID_ARGUMENT'],
    ['put of too much', (loose) => loose.put('key', new Uint8Array(131_073)), 'VALUE_TOO_LARGE'],
    ['delete without a key', (loose) => loose.delete(), 'INVALID_ARGUMENT'],
    [
      'delete with options that are not an object',
      (loose) => loose.delete('k', 1),
      'INVALID_ARGUMENT',
    ],
    ['list with limit 0', (loose) => loose.list({ limit: 0 }), 'INVALID_ARGUMENT'],
    ['setAlarm of a string', (loose) => loose.setAlarm('soon'), 'INVALID_ARGUMENT'],
    ['getBookmarkForTime of nothing', (loose) => loose.getBookmarkForTime(), 'INVALID_ARGUMENT'],
    ['transaction without a closure', (loose) => loose.transaction(), 'INVALID_ARGUMENT'],
    ['kv.put without a value', (loose) => loose.kv.put('key'), 'INVALID_ARGUMENT'],
    ['kv.list with limit 0', (loose) => loose.kv.list({ limit: 0 }).next(), 'INVALID_ARGUMENT'],
    ['exec without a query', (loose) => loose.sql.exec().ready, 'INVALID_ARGUMENT'],
    ['exec with a bigint', (loose) => loose.sql.exec('rows 1', 1n).toArray(), 'INVALID_ARGUMENT'],
  ])('[PAGE1] %s is a rejection, and nothing is sent', async ([, call, code]) => {
    await expect(call(storage as unknown as Loose)).rejects.toMatchObject({ code });
    expect(host.messages).toEqual([]);
  });

  test('[PAGE1] an error of the caller’s own getter is passed on as it is', async () => {
    const error = new Error('mine');
    const value = {
      get field() {
        throw error;
      },
    };
    await expect(storage.put('key', value)).rejects.toBe(error);
  });

  test('[PAGE1] a name that is not a string is refused', async () => {
    await expect(tab.open(7)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  test('[PAGE2] one value that cannot be cloned keeps the whole put from being sent', async () => {
    const entries = { good: 1, bad: () => {} };
    await expect(storage.put<unknown>(entries)).rejects.toMatchObject({ name: 'DataCloneError' });
    expect(host.messages).toEqual([]);
  });

  test('[PAGE2] one value that is too large keeps the whole put from being sent', async () => {
    const entries = { good: 'small', bad: 'x'.repeat(131_073) };
    await expect(storage.put(entries)).rejects.toMatchObject({ code: 'VALUE_TOO_LARGE' });
    expect(host.messages).toEqual([]);
  });

  test('[PAGE3] a value is taken as it is at the call', async () => {
    const value = { count: 1 };
    const done = storage.put('key', value);
    value.count = 2;
    await done;
    expect(await storage.get('key')).toEqual({ count: 1 });
  });

  test('[PAGE3] a bound buffer is taken as it is at the call, and only the part viewed', async () => {
    const bytes = new Uint8Array([1, 2, 3, 4]);
    const cursor = storage.sql.exec('rows 1', bytes.subarray(1, 3));
    bytes.fill(9);
    await expect(cursor.ready).rejects.toMatchObject({ code: 'SQL' }); // the fake binds nothing
    const call = host.messages[0]?.[0];
    const binding = call?.op === 'exec' ? (call.bindings[0] as Uint8Array) : undefined;
    expect(binding).toEqual(new Uint8Array([2, 3]));
    expect(binding?.buffer.byteLength).toBe(2);
  });
});

describe('calls', () => {
  test('[PAGE4] the calls of one turn are one message, in order', async () => {
    await Promise.all([storage.put('a', 1), storage.get('a'), storage.delete('a'), storage.sync()]);
    expect(host.messages.length).toBe(1);
    expect(host.operations).toEqual(['put', 'get', 'delete', 'sync']);
  });

  test('[PAGE4] a thousand puts of one turn are few messages', async () => {
    const puts = Array.from({ length: 1000 }, (_, i) => storage.put(`key ${i}`, i));
    await Promise.all(puts);
    expect(host.messages.map((calls) => calls.length)).toEqual([512, 488]);
  });

  test('[PAGE4] a full message leaves before the turn ends', async () => {
    await storage.get('a');
    const post = vi.spyOn(MessagePort.prototype, 'postMessage');
    const puts = Array.from({ length: 512 }, (_, i) => storage.put(`key ${i}`, i));
    const sentInTurn = post.mock.calls.length;
    puts.push(storage.put('last', 1));
    const sentLater = post.mock.calls.length;
    post.mockRestore();
    await Promise.all(puts);
    expect([sentInTurn, sentLater]).toEqual([1, 1]);
    expect(host.operations.filter((op) => op === 'put')).toHaveLength(513);
  });

  test('[PAGE4] the bytes of one message are bounded', async () => {
    const value = new Uint8Array(100_000);
    await Promise.all(Array.from({ length: 25 }, (_, i) => storage.put(`key ${i}`, value)));
    expect(host.messages.map((calls) => calls.length)).toEqual([10, 10, 5]);
  });

  test('[PAGE4] the beginning of a transaction travels alone', async () => {
    const before = storage.put('a', 1);
    const transaction = storage.transaction(() => {});
    await Promise.resolve();
    const after = storage.put('b', 2);
    await Promise.all([before, transaction, after]);
    const beginning = host.messages.find((calls) => calls.some(({ op }) => op === 'begin'));
    expect(beginning?.length).toBe(1);
  });

  test('[PAGE4] outcomes go to their own calls', async () => {
    await storage.put({ a: 1, b: 'two' });
    const failing = storage.sql.exec('nonsense').toArray();
    const [a, missing, existed] = await Promise.all([
      storage.get('a'),
      storage.get('c'),
      storage.delete(['a', 'b', 'c']),
      expect(failing).rejects.toMatchObject({ code: 'SQL' }),
    ]);
    expect([a, missing, existed]).toEqual([1, undefined, 2]);
  });

  test('[KV2] get of many keys is in UTF-8 order, without the missing ones', async () => {
    await storage.put({ '\u{10000}': 1, '\uffff': 2, a: 3 });
    const found = await storage.get(['\u{10000}', 'missing', '\uffff', 'a', 'a']);
    expect([...found]).toEqual([
      ['a', 3],
      ['\uffff', 2],
      ['\u{10000}', 1],
    ]);
  });

  test('[PAGE5] allowUnconfirmed goes along', async () => {
    await storage.put('a', 1, { allowUnconfirmed: true });
    await storage.delete('a');
    expect(host.messages.flat()).toMatchObject([{ unconfirmed: true }, { unconfirmed: false }]);
  });

  test('[PAGE6] transactionSync names its replacement', () => {
    expect(() => storage.transactionSync(() => 1)).toThrowError(
      expect.objectContaining({
        code: 'NOT_ON_PAGE',
        message: expect.stringContaining('transaction()'),
      }),
    );
  });

  test('[PAGE7] calls before close() are sent and answered, which its promise waits for; later ones reject', async () => {
    const release = host.holdAnswers();
    const sent = storage.put('a', 1);
    await turn();
    const unsent = [storage.put('b', 2), storage.get('a')];
    let isClosed = false;
    const closing = storage.close().then(() => {
      isClosed = true;
    });
    await expect(storage.put('c', 3)).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
    expect([storage.state, storage.pendingWrites]).toEqual(['lost', 2]);
    await turn();
    expect([isClosed, host.sessions.size]).toEqual([false, 1]);
    release();
    expect(await Promise.all([sent, ...unsent])).toEqual([undefined, undefined, 1]);
    await closing;
    expect(host.sessions.size).toBe(0);
    const other = await tab.open('object');
    expect(await other.get(['a', 'b', 'c'])).toEqual(
      new Map([
        ['a', 1],
        ['b', 2],
      ]),
    );
  });

  test('[PAGE7] close() again does nothing, and other handles stay open', async () => {
    const other = await tab.open('object');
    await storage.close();
    await storage.close();
    await other.put('a', 1);
    expect(await other.get('a')).toBe(1);
  });

  test('[PAGE10] a closed handle is collected while the connection stands', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const handles: WeakRef<RemoteStorage>[] = [];
    for (let i = 0; i < 50; i++) {
      const handle = await tab.open('object');
      await handle.close();
      handles.push(new WeakRef(handle));
    }
    const left = () => handles.filter((handle) => handle.deref() !== undefined).length;
    await vi.waitUntil(() => {
      collect();
      return left() <= 1; // the engine may keep the last of a loop
    });
    expect(await storage.get('a')).toBe(undefined);
  });

  test('[PAGE7] opening an object that cannot be opened rejects with its error', async () => {
    await expect(tab.open('corrupt')).rejects.toMatchObject({ code: 'CORRUPT' });
  });
});

describe('kv', () => {
  test('[PAGE8] put of undefined stores undefined', async () => {
    await storage.kv.put('key', undefined);
    expect(await storage.kv.get('key')).toBe(undefined);
    expect(await storage.kv.delete('key')).toBe(true);
    expect(await storage.kv.delete('key')).toBe(false);
  });

  test.for([false, true])('[PAGE9] list is read in pieces, reverse %s', async (reverse) => {
    const count = 256 * 2 + 10;
    const keys = Array.from({ length: count }, (_, i) => `key ${String(i).padStart(4, '0')}`);
    await Promise.all(keys.map((key) => storage.kv.put(key, key)));
    const before = host.messages.length;
    const listed: string[] = [];
    for await (const [key] of storage.kv.list({ reverse })) listed.push(key);
    expect(listed).toEqual(reverse ? keys.toReversed() : keys);
    expect(host.messages.length - before).toBe(3);
  });

  test('[PAGE9] list asks for no entries beyond the ones read, and ends at its limit', async () => {
    await Promise.all(Array.from({ length: 300 }, (_, i) => storage.kv.put(`key ${i}`, i)));
    const before = host.messages.length;
    const list = storage.kv.list({ limit: 257 });
    expect(host.messages.length).toBe(before);
    expect((await list.next()).done).toBe(false);
    expect(host.messages.length - before).toBe(1);
    let count = 1;
    for await (const _entry of list) count += 1;
    expect(count).toBe(257);
    const asked = host.messages
      .flat()
      .flatMap((call) => (call.op === 'list' ? call.range.limit : []));
    expect(asked).toEqual([256, 1]);
  });

  test.for([
    { reverse: false, byte: 0x80 }, // sorts before U+FFFD, as which it is listed
    { reverse: true, byte: 0xff }, // sorts after it
  ])(
    '[PAGE9] a list of keys that are not UTF-8 is still whole, reverse $reverse',
    async ({ reverse, byte }) => {
      const keys = Array.from({ length: 300 }, (_, i) => `\ufffd${String(i).padStart(4, '0')}`);
      await Promise.all(keys.map((key) => storage.kv.put(key, 1)));
      host.keyBytes = (key) => new Uint8Array([byte, ...new TextEncoder().encode(key.slice(1))]);
      const listed: string[] = [];
      for await (const [key] of storage.kv.list({ reverse })) listed.push(key);
      expect(listed).toEqual(reverse ? keys.toReversed() : keys);
    },
  );
});

/** Waits until posted messages have arrived. */
function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}
