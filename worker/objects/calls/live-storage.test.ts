// Live reads of storage, as pages open them, on an object whose flushes can be held.

import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createTestHost, type TestHost } from '../../../packages/testing/worker/test-host.ts';
import type { Live } from '../../../src/shared/contract/live.ts';
import type { DurableObjectStorage } from '../../../src/shared/contract/storage.ts';
import { type LiveReading, liveKeys, liveQuery } from '../../../src/shared/live/live-result.ts';
import { LiveValue } from '../../../src/shared/live/live-value.ts';
import { type LivePeers, polledSource } from '../../../src/shared/live/polled-source.ts';
import type { LiveConnection } from '../../../src/shared/wire/protocol.ts';
import { LiveCalls } from './live-calls.ts';

let host: TestHost;
let connection: LiveConnection;
let peers: LivePeers;
/** Of everything that a test follows. */
const stops: (() => void)[] = [];

beforeEach(async () => {
  host = await createTestHost();
  connection = new LiveCalls(host.host).connect();
  peers = {
    peer: async () => connection,
    end: undefined,
    whenEnded: () => () => {},
    after: (_delayMs, task) => {
      const timer = setTimeout(task, 1);
      return () => clearTimeout(timer);
    },
  };
});
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
  return host.close();
});

const open = ({ read, value }: LiveReading): Live<unknown> =>
  new LiveValue(polledSource(peers, { target: 'object', read }), value);
const query = (...args: unknown[]) => open(liveQuery(args));
const keys = (options: object) => open(liveKeys([options]));

/** Stands among the values for an error. */
const FAILED = Symbol('failed');

/** Every value and every error that a listener gets. */
function follow(followed: Live<unknown>) {
  const values: unknown[] = [];
  const errors: unknown[] = [];
  const stop = followed.subscribe(
    (value) => {
      if (followed.getState().status === 'ready') values.push(value);
    },
    {
      onError(error) {
        errors.push(error);
        values.push(FAILED);
      },
    },
  );
  stops.push(stop);
  return {
    values,
    errors,
    stop,
    get good() {
      return values.filter((value) => value !== FAILED);
    },
  };
}

const storage = <T>(task: (storage: DurableObjectStorage) => T | PromiseLike<T>) =>
  host.run((state) => task(state.storage));
const settled = () => host.turns(10);

/** How many live reads the object's instance has. */
const openReads = async () => (await host.host.instance(host.address())).live.size;

describe('when a result comes', () => {
  test('[LIVE8] after the flush that covers it, and not before', async () => {
    const { values } = follow(keys({ key: 'a' }));
    await settled();
    host.holdFlushes();
    const written = storage((s) => s.put('a', 1));
    await settled();
    expect(host.committed()).toBeGreaterThan(host.durable());
    expect(values).toEqual([undefined]);
    host.releaseFlushes();
    await written;
    await settled();
    expect(values).toEqual([undefined, 1]);
  });

  test('[BORDER2] a page that asks twice gets an error and the next result', async () => {
    const opened = await connection.openLive({
      target: 'object',
      read: { op: 'get', keys: ['a'] },
    });
    const number = (opened as { ok: number }).ok;
    expect(await connection.nextLive(number)).toHaveProperty('ok');
    const answers = [connection.nextLive(number), connection.nextLive(number)];
    await storage((s) => s.put('a', 1));
    const unknown = { error: { properties: { code: 'CONNECTION_CLOSED' } } };
    expect(await Promise.all(answers)).toMatchObject([unknown, { ok: expect.any(Uint8Array) }]);
  });

  test('[LIVE8] writes of another event meanwhile are durable too before they are shown', async () => {
    const { values } = follow(keys({ prefix: '' }));
    await settled();
    host.holdFlushes();
    void storage((s) => s.put('a', 1));
    await settled();
    const opened = follow(keys({ key: 'a' }));
    await settled();
    expect(opened.values).toEqual([]);
    host.releaseFlushes();
    await settled();
    expect(opened.values).toEqual([1]);
    expect(values.at(-1)).toEqual(new Map([['a', 1]]));
  });

  test('[LIVE8] unconfirmed writes too are shown when they are durable', async () => {
    const { values } = follow(keys({ key: 'a' }));
    await settled();
    host.holdFlushes();
    await storage((s) => s.put('a', 1, { allowUnconfirmed: true }));
    await settled();
    expect(values).toEqual([undefined]);
    host.releaseFlushes();
    await settled();
    expect(values).toEqual([undefined, 1]);
  });

  test('[LIVE8] an unconfirmed write that is not durable is not shown to a new live read either', async () => {
    await storage((s) => s.put('opened', 1));
    host.holdFlushes();
    await storage((s) => s.put('a', 1, { allowUnconfirmed: true }));
    await settled();
    expect(host.committed()).toBeGreaterThan(host.durable());
    const { values } = follow(keys({ key: 'a' }));
    await settled();
    expect(values).toEqual([]);
    host.releaseFlushes();
    await settled();
    expect(values).toEqual([1]);
  });

  test('[LIVE8] once for a commit, however many rows it wrote', async () => {
    await storage((s) => s.sql.exec('CREATE TABLE t(a)'));
    const { values } = follow(query('SELECT count(*) AS n FROM t'));
    await settled();
    await storage((s) => {
      for (let i = 0; i < 100; i++) s.sql.exec('INSERT INTO t VALUES (?)', i);
    });
    await settled();
    expect(values).toEqual([[{ n: 0 }], [{ n: 100 }]]);
  });

  test('[LIVE8] once for a flush, however many commits it covers', async () => {
    const { values } = follow(keys({ prefix: '' }));
    const each = Array.from({ length: 5 }, (_, i) => follow(keys({ key: `key ${i}` })));
    await settled();
    host.holdFlushes();
    for (let i = 0; i < 5; i++) {
      void storage((s) => s.put(`key ${i}`, i));
      await settled();
    }
    host.releaseFlushes();
    await settled();
    // The first flush covers the first commit, the next one all others.
    expect(values.length).toBeLessThanOrEqual(3);
    expect((values.at(-1) as Map<string, number>).size).toBe(5);
    expect(each.map(({ values }) => values)).toEqual([0, 1, 2, 3, 4].map((i) => [undefined, i]));
  });

  test('[LIVE8] not for a transaction that is rolled back, and not while one is open', async () => {
    const { values } = follow(keys({ prefix: '' }));
    await settled();
    await storage((s) =>
      s.transaction(async (txn) => {
        await txn.put('a', 1);
        await settled();
        txn.rollback();
      }),
    );
    await storage((s) =>
      s
        .transaction(async (txn) => {
          await txn.put('a', 2);
          throw new Error('undone');
        })
        .catch(() => {}),
    );
    await settled();
    expect(values).toEqual([new Map()]);
    await storage((s) => s.transaction(async (txn) => txn.put('b', 2)));
    await settled();
    expect(values).toEqual([new Map(), new Map([['b', 2]])]);
  });

  test('[LIVE18] a commit is answered first; the read runs after it, once for the commits until then', async () => {
    const instance = await host.host.instance(host.address());
    const order: string[] = [];
    const run = () => {
      order.push('read');
      instance.storage.get('a', () => true);
      return new Uint8Array(0);
    };
    stops.push(instance.live.add({ kind: 'storage', run }, () => {}));
    await settled();
    expect(order.splice(0)).toEqual(['read']);
    for (let i = 1; i <= 3; i++) {
      await instance.deliverNow((s) => s.put([['a', new Uint8Array([i])]]));
      order.push('answered');
    }
    await settled();
    expect(order).toEqual(['answered', 'answered', 'answered', 'read']);
  });

  test('[LIVE17] a read by key runs for its row only, also of rows that a page stores in bulk', async () => {
    await storage((s) => void s.sql.exec('CREATE TABLE t(id INTEGER PRIMARY KEY, v)'));
    const instance = await host.host.instance(host.address());
    const runs: number[] = [];
    for (const id of [1, 2]) {
      const run = () => {
        runs.push(id);
        instance.storage.exec('SELECT * FROM t WHERE id = ?', [id]).toArray();
        return new Uint8Array(0);
      };
      stops.push(instance.live.add({ kind: 'storage', run }, () => {}));
    }
    const runsOf = async (write: () => unknown) => {
      await settled();
      runs.length = 0;
      await instance.deliverNow(write as never);
      await settled();
      return [...runs];
    };
    const { storage: s } = instance;
    const each = (query: string, rows: unknown[][]) => () =>
      s.together(() => s.execEach(query, rows as never));
    expect(
      await runsOf(
        each('INSERT INTO t VALUES (?, ?)', [
          [2, 1],
          [3, 1],
        ]),
      ),
    ).toEqual([2]);
    expect(await runsOf(() => s.exec('UPDATE t SET v = 5 WHERE id = 1', []))).toEqual([]);
    expect(await runsOf(() => s.exec('UPDATE t SET id = 1 WHERE id = 3', []))).toEqual([1]);
    expect(await runsOf(() => s.exec('DELETE FROM t', []))).toEqual([1, 2]);
  });

  test('[LIVE8] not if the result is the same, nor if the commit does not concern it', async () => {
    await storage((s) => {
      s.sql.exec('CREATE TABLE t(a); CREATE TABLE u(a)');
      return s.put('a', 1);
    });
    const one = keys({ key: 'a' });
    const followed = [follow(one), follow(query('SELECT * FROM t')), follow(keys({ prefix: 'x' }))];
    await settled();
    const snapshot = one.getSnapshot();
    await storage((s) => s.put('a', 1));
    await storage((s) => s.sql.exec('INSERT INTO u VALUES (1)'));
    await storage((s) => s.put('y', 1));
    await settled();
    expect(followed.map(({ values }) => values.length)).toEqual([1, 1, 1]);
    expect(one.getSnapshot()).toBe(snapshot);
  });
});

describe('reads that can be followed', () => {
  test('[LIVE1] one key, several keys, a range, rows, as the same reads give them', async () => {
    await storage(async (s) => {
      await s.put({ a: new Date(0), b: { c: [1, undefined] }, bb: 3 });
      s.sql.exec("CREATE TABLE t(a, b); INSERT INTO t VALUES (1, x'00'), (NULL, 'text')");
    });
    const followed = [
      keys({ key: 'a' }),
      keys({ key: 'none' }),
      keys({ keys: ['bb', 'none', 'a', 'a'] }),
      keys({ prefix: 'b', reverse: true, limit: 1 }),
      keys({}),
      query('SELECT * FROM t WHERE a IS ?', null),
    ];
    const values = followed.map(follow);
    await settled();
    const fresh = await storage(async (s) => [
      await s.get('a'),
      await s.get('none'),
      await s.get(['bb', 'none', 'a', 'a']),
      await s.list({ prefix: 'b', reverse: true, limit: 1 }),
      await s.list(),
      s.sql.exec('SELECT * FROM t WHERE a IS ?', null).toArray(),
    ]);
    expect(values.map(({ values }) => values)).toEqual(fresh.map((value) => [value]));
    const found = followed[2]!.getSnapshot() as Map<string, unknown>;
    expect([...found.keys()]).toEqual(['a', 'bb']);
  });

  test('[LIVE1] wrong arguments throw at once', () => {
    expect(() => keys({ keys: 'a' })).toThrow('live: takes');
    expect(() => open(liveKeys([]))).toThrow(TypeError);
    expect(() => open(liveKeys(['a']))).toThrow('live: takes');
    expect(() => query('SELECT ?', 1n)).toThrow('bigint');
    expect(() => keys({ limit: 0 })).toThrow('limit');
  });

  test('[LIVE1] full text search, triggers and cascades concern the tables they write', async () => {
    await storage((s) => {
      s.sql.exec(`
        CREATE TABLE note(id INTEGER PRIMARY KEY, text);
        CREATE VIRTUAL TABLE words USING fts5(text, content='note', content_rowid='id');
        CREATE TRIGGER added AFTER INSERT ON note BEGIN
          INSERT INTO words(rowid, text) VALUES (new.id, new.text);
        END;
        CREATE TABLE tag(note REFERENCES note(id) ON DELETE CASCADE, name)`);
    });
    const found = follow(query("SELECT text FROM words WHERE words MATCH 'one'"));
    const tags = follow(query('SELECT name FROM tag'));
    await settled();
    await storage((s) =>
      s.sql.exec("INSERT INTO note VALUES (1, 'one two'); INSERT INTO tag VALUES (1, 'x')"),
    );
    await settled();
    await storage((s) => s.sql.exec('DELETE FROM note'));
    await settled();
    expect(found.values[1]).toEqual([{ text: 'one two' }]);
    expect(tags.values).toEqual([[], [{ name: 'x' }], []]);
  });

  test('[LIVE3] a query that writes is refused, also when a transaction is open', async () => {
    await storage((s) => s.sql.exec('CREATE TABLE t(a)'));
    host.holdFlushes();
    void storage((s) => s.put('a', 1));
    const { errors, stop } = follow(query('INSERT INTO t VALUES (1) RETURNING a'));
    await settled();
    host.releaseFlushes();
    await settled();
    expect(errors).toMatchObject([{ code: 'LIVE_READ_ONLY' }]);
    stop();
    expect(await storage((s) => s.sql.exec('SELECT * FROM t').toArray())).toEqual([]);
  });

  test('[LIVE4] a query on a table that comes later fails, then has rows', async () => {
    const followed = follow(query('SELECT * FROM later'));
    const { errors } = followed;
    await settled();
    expect(errors).toMatchObject([{ code: 'SQL', message: expect.stringContaining('later') }]);
    await storage((s) => s.put('a', 1));
    await settled();
    expect(errors).toHaveLength(1);
    await storage((s) => s.sql.exec('CREATE TABLE later(a); INSERT INTO later VALUES (1)'));
    await settled();
    expect(followed.good).toEqual([[{ a: 1 }]]);
  });

  test('[LIVE6] deleteAll, a reset and a restore are followed', async () => {
    const { values, errors } = follow(keys({ key: 'a' }));
    await storage((s) => s.put('a', 1));
    await settled();
    const bookmark = await storage((s) => s.getCurrentBookmark());
    await storage((s) => s.put('a', 2));
    await settled();
    await storage((s) => s.deleteAll());
    await settled();
    await storage((s) => s.onNextSessionRestoreBookmark(bookmark));
    const reset = () => host.host.reset(host.address(), new Error('reset by the test'));
    await reset();
    await settled();
    await reset();
    await settled();
    expect(values.filter((value, i) => i === 0 || value !== values[i - 1])).toEqual(values);
    expect(values.slice(-4)).toEqual([1, 2, undefined, 1]);
    expect(errors).toEqual([]);
  });
});

describe('retained state', () => {
  test('[LIVE11] the object stays in memory while a page has a live read, and not after', async () => {
    const { stop } = follow(keys({ key: 'a' }));
    await settled();
    const instance = await host.host.instance(host.address());
    await host.advance(60_000);
    expect(await host.host.instance(host.address())).toBe(instance);
    stop();
    await host.advance(60_000);
    expect(await host.host.instance(host.address())).not.toBe(instance);
  });

  test('[LIVE11] nothing is left of a page that is gone, or of live reads that ended', async () => {
    const followed = Array.from({ length: 20 }, (_, i) => follow(keys({ key: `${i}` })));
    await settled();
    expect(await openReads()).toBe(20);
    for (const { stop } of followed.slice(0, 5)) stop();
    await settled();
    expect(await openReads()).toBe(15);
    const opening = follow(keys({ key: 'late' }));
    connection.end();
    await settled();
    expect(await openReads()).toBe(0);
    for (const { stop } of [...followed, opening]) stop();
  });

  test('[LIVE11] writes are watched until the last live read ends', async () => {
    const { accesses } = (await host.host.instance(host.address())).storage;
    expect(accesses.notes).toBeUndefined();
    const [first, last] = [follow(keys({ key: 'a' })), follow(keys({ key: 'a' }))];
    await settled();
    first.stop();
    await settled();
    expect(accesses.notes).toBeDefined();
    await storage((s) => s.put('a', 1));
    await settled();
    expect(last.values).toEqual([undefined, 1]);
    last.stop();
    await settled();
    expect(accesses.notes).toBeUndefined();
  });
});

describe('the object’s own code', () => {
  test('[LIVE12] follows keys and queries; results arrive as events after the flush', async () => {
    const seen: unknown[] = [];
    const own = await storage(async (s) => {
      s.sql.exec('CREATE TABLE t(a)');
      return [
        s.live({ key: 'a' }).subscribe((value) => seen.push(value)),
        s.sql.live('SELECT a FROM t').subscribe((rows) => seen.push(rows)),
      ];
    });
    await settled();
    host.holdFlushes();
    const written = storage((s) => {
      s.sql.exec('INSERT INTO t VALUES (1)');
      return s.put('a', 2);
    });
    await settled();
    const before = seen.length;
    host.releaseFlushes();
    await written;
    await settled();
    expect(seen.slice(before)).toEqual(expect.arrayContaining([[{ a: 1 }], 2]));
    for (const stop of own) stop();
    expect(await openReads()).toBe(0);
  });

  test('[LIVE12] does not keep the object in memory, and ends with it', async () => {
    let calls = 0;
    await storage((s) => void s.live({ key: 'a' }).subscribe(() => (calls += 1)));
    await settled();
    const instance = await host.host.instance(host.address());
    await host.advance(60_000);
    expect(await host.host.instance(host.address())).not.toBe(instance);
    const before = calls;
    await storage((s) => s.put('a', 1));
    await settled();
    expect(calls).toBe(before);
  });

  test('[LIVE12] an iterator in the object’s code gets each change', async () => {
    const values = storage(async (s) => {
      const seen: unknown[] = [];
      for await (const value of s.live({ key: 'a' })) {
        seen.push(value);
        if (value === 3) break;
        s.kv.put('a', ((value as number | undefined) ?? 0) + 1);
      }
      return seen;
    });
    expect(await values).toEqual([undefined, 1, 2, 3]);
  });
});

type Step =
  | readonly ['put' | 'delete', key: number, value: number]
  | readonly ['insert' | 'remove' | 'fill', table: number, value: number]
  | readonly ['all' | 'restore' | 'reset' | 'wait', number, number];

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.tuple(fc.constantFrom('put', 'delete'), fc.nat(4), fc.nat(3)),
  fc.tuple(fc.constantFrom('insert', 'remove', 'fill'), fc.nat(1), fc.nat(3)),
  fc.tuple(fc.constantFrom('all', 'restore', 'reset', 'wait'), fc.nat(0), fc.nat(0)),
) as fc.Arbitrary<Step>;

/** Steps that are one event, one transaction, or one transaction that is undone. */
const group = fc.record({
  how: fc.constantFrom('event', 'transaction', 'rollback', 'sync', 'syncThrown'),
  steps: fc.array(step, { maxLength: 4 }),
});

function perform(s: DurableObjectStorage, [what, at, value]: Step): void {
  const table = `t${at}`;
  switch (what) {
    case 'put':
      s.kv.put(`k${at}`, value);
      return;
    case 'delete':
      s.kv.delete(`k${at}`);
      return;
    case 'insert':
      s.sql.exec(`INSERT INTO ${table} VALUES (?)`, value);
      return;
    case 'remove':
      s.sql.exec(`DELETE FROM ${table} WHERE a = ?`, value);
      return;
    case 'fill':
      s.sql.exec(`INSERT INTO ${table} SELECT a FROM t${1 - at} LIMIT 2`);
  }
}

const SCHEMA = 'CREATE TABLE IF NOT EXISTS t0(a); CREATE TABLE IF NOT EXISTS t1(a)';
const RANGES = [
  { prefix: 'k' },
  { start: 'k1', end: 'k3' },
  { prefix: 'k', reverse: true, limit: 2 },
];
const QUERIES = [
  'SELECT a FROM t0 ORDER BY rowid',
  'SELECT count(*) AS n FROM T1',
  'SELECT t0.a FROM t0 JOIN t1 USING (a) ORDER BY t0.rowid, t1.rowid',
  'SELECT a FROM t0 WHERE rowid = 1',
  'SELECT a FROM t0 WHERE rowid IN (2, 3)',
  'SELECT a FROM t1 WHERE rowid = 2',
];

test('[LIVE9] whatever is written, undone or restored, each live value ends equal to a fresh read', {
  tags: 'long',
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(group, { maxLength: 12 }), async (groups) => {
      for (const stop of stops.splice(0)) stop();
      await host.close();
      host = await createTestHost();
      connection = new LiveCalls(host.host).connect();
      await storage((s) => void s.sql.exec(SCHEMA));
      const followed = [
        ...RANGES.map((range) => keys(range)),
        keys({ key: 'k2' }),
        keys({ keys: ['k0', 'k4'] }),
        ...QUERIES.map((sql) => query(sql)),
      ].map((live) => ({ live, ...follow(live) }));
      let bookmark = await storage((s) => s.getCurrentBookmark());
      for (const { how, steps } of groups) {
        const writes = (s: DurableObjectStorage) => {
          for (const each of steps) perform(s, each);
        };
        const whole = steps.find(([what]) => ['all', 'restore', 'reset', 'wait'].includes(what));
        if (whole?.[0] === 'wait') await settled();
        if (whole?.[0] === 'all') {
          await storage(async (s) => {
            await s.deleteAll();
            s.sql.exec(SCHEMA);
          });
        }
        if (whole?.[0] === 'restore')
          await storage((s) => s.onNextSessionRestoreBookmark(bookmark));
        if (whole?.[0] === 'restore' || whole?.[0] === 'reset') {
          await host.host.reset(host.address(), new Error('reset by the test'));
          bookmark = await storage((s) => s.getCurrentBookmark());
        }
        if (how === 'event') await storage(writes);
        else if (how === 'transaction') {
          await storage((s) => s.transaction(async () => writes(s)));
        } else if (how === 'rollback') {
          await storage((s) =>
            s.transaction(async (txn) => {
              writes(s);
              txn.rollback();
            }),
          );
        } else {
          await storage((s) => {
            try {
              s.transactionSync(() => {
                writes(s);
                if (how === 'syncThrown') throw new Error('undone');
              });
            } catch (error) {
              if (String(error) !== 'Error: undone') throw error;
            }
          });
        }
      }
      await host.turns(30);
      const fresh = await storage(async (s) => [
        ...(await Promise.all(RANGES.map((range) => s.list(range)))),
        await s.get('k2'),
        await s.get(['k0', 'k4']),
        ...QUERIES.map((sql) => s.sql.exec(sql).toArray()),
      ]);
      expect(followed.map(({ live }) => live.getSnapshot())).toEqual(fresh);
      for (const { values, errors, stop } of followed) {
        // No value is given twice in a row.
        for (const [i, value] of values.entries()) {
          if (i > 0) expect(value).not.toEqual(values[i - 1]);
        }
        // Between deleteAll and the next statement there is no table.
        for (const error of errors) expect(String(error)).toContain('no such table');
        stop();
      }
    }),
    { numRuns: 12 },
  );
});

test('[LIVE9] values keep the order of the commits, under steady writing', async () => {
  const { values } = follow(keys({ key: 'n' }));
  for (let n = 1; n <= 200; n++) {
    const written = storage((s) => s.put('n', n));
    if (n % 7 === 0) await written;
    if (n % 31 === 0) await settled();
  }
  await settled();
  const numbers = values.filter((value) => value !== undefined) as number[];
  expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
  expect(numbers.at(-1)).toBe(200);
  expect(new Set(numbers).size).toBe(numbers.length);
});
