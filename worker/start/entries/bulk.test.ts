// Tests bulk calls through handles of objects in this process.

import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { withSignal } from '../../../src/index.ts';
import type { StorageHandle } from '../../../src/shared/contract/storage.ts';
import { DurableObject } from '../../realm/library/base-classes.ts';
import { createObjects } from './node-objects.ts';

class Box extends DurableObject {}

let objects: Awaited<ReturnType<typeof createObjects<{ Box: typeof Box }>>>;
let storage: StorageHandle;
const handle = (name = 'one') => objects.storage(objects.env.Box.getByName(name));

beforeEach(async () => {
  objects = await createObjects({ Box });
  storage = await handle();
  await storage.sql.exec('CREATE TABLE t(id INTEGER PRIMARY KEY, v UNIQUE)').ready;
});
afterEach(() => objects.close());

const INSERT = 'INSERT INTO t VALUES (?, ?)';
const table = (from = storage) => from.sql.exec('SELECT * FROM t ORDER BY id').raw().toArray();
const rowsOf = (count: number) => Array.from({ length: count }, (_, i) => [i, `v${i}`]);

/** A bulk call that waits for its source, with the handle that it was made on. */
interface Pending {
  readonly own: StorageHandle;
  call(on: StorageHandle): Promise<unknown>;
}

/** Makes an iterable of the rows that records whether its reader has stopped it. */
function told<T>(rows: readonly T[]) {
  let isReturned = false;
  function* generate() {
    try {
      yield* rows;
      isReturned = true;
    } finally {
      isReturned = true;
    }
  }
  return { rows: generate(), isReturned: () => isReturned };
}

describe('execMany', () => {
  test('[BULK1] runs the statement once a row, from any source, and counts', async () => {
    expect(await storage.sql.execMany(INSERT, rowsOf(3))).toEqual({
      count: 3,
      rowsRead: 3, // of the index, by the constraint
      rowsWritten: 6,
    });
    async function* later() {
      for (const row of rowsOf(20_000).slice(3)) yield row;
    }
    expect(await storage.sql.execMany(INSERT, later())).toMatchObject({ count: 19_997 });
    const update = 'UPDATE t SET v = v || ? WHERE id = ? RETURNING v';
    expect(await storage.sql.execMany(update, new Set([['!', 1]]))).toMatchObject({ count: 1 });
    expect(await storage.sql.execMany(INSERT, [])).toMatchObject({ count: 0 });
    expect(await storage.sql.execMany('DELETE FROM t WHERE id > 2', [[], []])).toMatchObject({
      count: 2,
    });
    expect(await table()).toEqual([
      [0, 'v0'],
      [1, 'v1!'],
      [2, 'v2'],
    ]);
  });

  const value = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('\ud800', 'a\udc00b', '\0', -0, Infinity, -Infinity, NaN, 2 ** 53, 1e-320),
    fc.double(),
    fc.uint8Array(),
    fc.constantFrom(null, undefined, true, new Date(0), ['list']),
  );

  test('[BULK3] whatever the values, chunks and sources, the table is that of single statements', {
    tags: 'long',
  }, async () => {
    await storage.sql.exec('CREATE TABLE one(a, b); CREATE TABLE many(a, b)').ready;
    const shapes = [
      (rows: unknown[][]) => rows,
      (rows: unknown[][]) => rows.values(),
      async function* (rows: unknown[][]) {
        yield* rows;
      },
    ];
    const all = (name: string) =>
      storage.sql.exec(`SELECT quote(a), typeof(a), quote(b), hex(b) FROM ${name}`).raw().toArray();
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(value, value), { maxLength: 30 }),
        fc.nat(2),
        fc.constantFrom(1, 700, 9000),
        async (rows, shape, repeat) => {
          await storage.sql.exec('DELETE FROM one; DELETE FROM many').ready;
          const bulk = rows.flatMap((row) =>
            new Array<unknown[]>(Math.ceil(repeat / (rows.length || 1))).fill(row),
          );
          await Promise.all(
            bulk.map((row) => storage.sql.exec('INSERT INTO one VALUES (?, ?)', ...row).ready),
          );
          await storage.sql.execMany(
            'INSERT INTO many VALUES (?, ?)',
            shapes[shape]!(bulk) as unknown[][],
          );
          expect(await all('many')).toEqual(await all('one'));
        },
      ),
      { numRuns: 12 },
    );
  });

  test.for<[string, unknown, string, RegExp]>([
    [
      'a row of another width',
      [[1, 'a'], [2]],
      'INVALID_ARGUMENT',
      /row 1 has 1 bindings, and row 0 has 2/,
    ],
    ['a row that is no array', [[1, 'a'], 'no'], 'INVALID_ARGUMENT', /row 1 is not an array/],
    [
      'a bigint',
      [
        [1, 'a'],
        [2n, 'b'],
      ],
      'INVALID_ARGUMENT',
      /row 1 has a bigint/,
    ],
    ['a symbol', [[1, Symbol('no')]], 'INVALID_ARGUMENT', /row 0 has a symbol/],
    [
      'a constraint',
      [
        [1, 'a'],
        [2, 'b'],
        [3, 'a'],
      ],
      'SQL',
      /row 2: .*UNIQUE constraint failed: t\.v/,
    ],
    [
      'a width that is not the statement’s',
      [[1], [2]],
      'SQL',
      /row 0: .*1 given, the statement has 2/,
    ],
    ['no rows at all', 7, 'INVALID_ARGUMENT', /takes an array/],
  ])(
    '[BULK2] %s is an error with the row’s number, and nothing is stored',
    async ([, rows, code, message]) => {
      const call = storage.sql.execMany(INSERT, rows as unknown[][]);
      await expect(call).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
      expect(await table()).toEqual([]);
    },
  );

  test('[BULK2] the row is named that fails in a later slice; a source that throws, or whose value cannot be text, passes its error on', async () => {
    const late = [...rowsOf(30_000), [30_000, 'v7']];
    await expect(storage.sql.execMany(INSERT, late)).rejects.toThrow(/row 30000: UNIQUE/);
    const error = new Error('mine');
    function* throwing() {
      yield* rowsOf(20_000);
      throw error;
    }
    await expect(storage.sql.execMany(INSERT, throwing())).rejects.toBe(error);
    async function* throwingLater() {
      yield* throwing();
    }
    await expect(storage.sql.execMany(INSERT, throwingLater())).rejects.toBe(error);
    const bad = {
      toString() {
        throw error;
      },
    };
    const source = told([
      [1, bad],
      [2, 'b'],
    ]);
    await expect(storage.sql.execMany(INSERT, source.rows)).rejects.toBe(error);
    expect(source.isReturned()).toBe(true);
    expect(await table()).toEqual([]);
  });

  async function* later(rows: readonly unknown[][]) {
    yield* rows;
  }
  const long = Array.from({ length: 10 }, (_, i) => [i, `${i}`.padEnd(65_536, '-')]);

  test.for([
    ['8,192 values', rowsOf(20_000), [4096, 8192, 12_288, 16_384, 20_000]],
    ['8,192 values of an async iterable', later(rowsOf(9000)), [4096, 8192, 9000]],
    ['256 Ki characters', long, [4, 8, 10]],
  ] as const)(
    '[BULK4] rows are taken in slices of %s, with a task of the page before each further one',
    async ([, rows, expected]) => {
      let turns = 0;
      const turn = () => {
        turns += 1;
        timer = setTimeout(turn, 0);
      };
      // Timers of one delay run in their order, as those of a page do.
      let timer = setTimeout(turn, 0);
      const taken: number[] = [];
      const turnsAt: number[] = [];
      await storage.sql.execMany(INSERT, rows, {
        onProgress: (count) => {
          taken.push(count);
          turnsAt.push(turns);
        },
      });
      clearTimeout(timer);
      expect(taken).toEqual(expected);
      expect(new Set(turnsAt).size).toBe(expected.length);
    },
  );

  test('[BULK4] rows of one slice leave in the turn of their call', async () => {
    const order = [
      storage.sql.execMany('INSERT INTO t VALUES (?, ?)', [[50_000, 'x']]).then(() => 'many'),
      storage.sql
        .exec('SELECT v FROM t WHERE id = 50000')
        .one()
        .then(({ v }) => v),
    ];
    expect(await Promise.all(order)).toEqual(['many', 'x']);
  });

  test('[NODE29] a process waits for a call whose rows are not all taken', async () => {
    const timers = () =>
      process.getActiveResourcesInfo().filter((type) => type === 'Timeout').length;
    const kept = <T>(begin: () => Promise<T>) => {
      const before = timers();
      const call = begin();
      expect(timers()).toBe(before + 1);
      return call;
    };
    const many = await kept(() => storage.sql.execMany(INSERT, rowsOf(20_000)));
    expect(many).toMatchObject({ count: 20_000 });
    const entries = rowsOf(20_000).map(([i]) => [`k${i}`, i] as const);
    expect(await kept(() => storage.kv.putMany(entries))).toBe(20_000);
  });

  test('[BULK5] an abort, or the end of the handle, while rows are taken ends the call and tells the source', async () => {
    const ends: [string, (abort: AbortController, own: StorageHandle) => unknown, object][] = [
      ['abort', (abort) => abort.abort(new Error('enough')), { message: 'enough' }],
      ['close', (_, own) => own.close(), { code: 'CONNECTION_CLOSED' }],
    ];
    for (const [, end, error] of ends) {
      const own = await handle();
      const abort = new AbortController();
      const source = told(rowsOf(20_000));
      const call = withSignal(own, abort.signal).sql.execMany(INSERT, source.rows, {
        onProgress: (n) => n > 8000 && end(abort, own),
      });
      await expect(call).rejects.toMatchObject(error);
      expect(source.isReturned()).toBe(true);
      expect(await table()).toEqual([]);
    }
  });

  const never = () => new Promise<never>(() => {});

  /** Makes sources that never end and call `left` when their reader stops them. */
  const pendingSources: Record<string, (left: () => void) => unknown> = {
    'a pending next()': (left) => ({
      [Symbol.asyncIterator]: () => ({ next: never, return: left }),
    }),
    'a pending next() and no return()': (left) => {
      left();
      return { [Symbol.asyncIterator]: () => ({ next: never }) };
    },
    'a return() that never settles': (left) => ({
      [Symbol.asyncIterator]: () => ({
        next: async () => {
          await new Promise((resolve) => setTimeout(resolve));
          return { value: [1, 'a'] };
        },
        return: () => {
          left();
          return never();
        },
      }),
    }),
    'a return() that throws': (left) => ({
      [Symbol.asyncIterator]: () => ({
        next: never,
        return() {
          left();
          throw new Error('return');
        },
      }),
    }),
    'a stream with a pending read': (left) => new ReadableStream({ cancel: left }),
  };
  const ways: Record<string, (run: Pending) => Promise<unknown>> = {
    'an abort': ({ call, own }) => {
      const abort = new AbortController();
      setTimeout(() => abort.abort(new Error('enough')), 5);
      return expect(call(withSignal(own, abort.signal))).rejects.toThrow('enough');
    },
    'the end of the handle': ({ call, own }) => {
      setTimeout(() => own.close(), 5);
      return expect(call(own)).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
    },
    'the end of the transaction': async ({ call, own }) => {
      let joined: Promise<unknown> = Promise.resolve();
      await own.transaction(async () => {
        joined = call(own);
        joined.catch(() => {});
      });
      await expect(joined).rejects.toMatchObject({ code: 'TRANSACTION_ENDED' });
    },
  };

  test.for(
    Object.keys(pendingSources).flatMap((source) => Object.keys(ways).map((way) => [source, way])),
  )('[BULK5] a source with %s does not keep the call from ending by %s', async ([source, way]) => {
    const left = vi.fn();
    const calls = [
      (on: StorageHandle) => on.sql.execMany(INSERT, pendingSources[source!]!(left) as unknown[][]),
      (on: StorageHandle) => on.kv.putMany(pendingSources[source!]!(left) as [string, unknown][]),
    ];
    for (const call of calls) await ways[way!]!({ call, own: await handle() });
    expect(left).toHaveBeenCalledTimes(calls.length);
    expect(await table()).toEqual([]);
  });

  test('[BULK5] a wrong row rejects the call, although the return() of its source never settles', async () => {
    const left = vi.fn(never);
    const source = {
      [Symbol.asyncIterator]: () => ({ next: async () => ({ value: 'no row' }), return: left }),
    };
    await expect(storage.sql.execMany(INSERT, source as never)).rejects.toThrow(/row 0/);
    expect(left).toHaveBeenCalledOnce();
  });

  test('[BULK1] the rows of a stream are taken to its end', async () => {
    const stream = new ReadableStream<unknown[]>({
      start(controller) {
        for (const row of rowsOf(3)) controller.enqueue(row);
        controller.close();
      },
    });
    expect(await storage.sql.execMany(INSERT, stream as never)).toMatchObject({ count: 3 });
  });

  test('[BULK8] in a transaction it joins; a failure undoes the call alone; one that outlives the transaction is refused', async () => {
    let late: Promise<unknown> = Promise.resolve();
    await storage.transaction(async () => {
      await storage.sql.execMany(INSERT, rowsOf(10_000));
      await expect(
        storage.sql.execMany(INSERT, [
          [-1, 'new'],
          [-2, 'v1'],
        ]),
      ).rejects.toThrow(/row 1/);
      await expect(
        storage.batch([
          [INSERT, -1, 'new'],
          [INSERT, -2, 'v1'],
        ]),
      ).rejects.toThrow(/statement 1/);
      late = storage.sql.execMany(
        INSERT,
        rowsOf(30_000).map(([id]) => [-10 - Number(id), id]),
      );
      late.catch(() => {});
    });
    await expect(late).rejects.toMatchObject({ code: 'TRANSACTION_ENDED' });
    expect((await table()).length).toBe(10_000);
    const undone = storage.transaction(async () => {
      await storage.sql.execMany(INSERT, [[-1, 'x']]);
      await storage.kv.putMany({ key: 1 });
      throw new Error('undo');
    });
    await expect(undone).rejects.toThrow('undo');
    expect((await table()).length).toBe(10_000);
    expect(await storage.get('key')).toBe(undefined);
  });

  test('[SQL25] an error of too many variables names the limit and both ways out', async () => {
    const query = `SELECT ${new Array(101).fill('?').join()}`;
    await expect(storage.sql.exec(query).ready).rejects.toThrow(
      /^too many SQL variables at offset \d+: SQLITE_ERROR \(.*100 parameters.*execMany.*json_each/,
    );
  });
});

describe('batch', () => {
  test('[BULK6] runs statements in order as one transaction and gives their results', async () => {
    const results = await storage.batch([
      ['INSERT INTO t VALUES (1, ?), (2, ?)', 'a', 'b'],
      ['SELECT id, v FROM t WHERE v > ?', 'a'],
      ['DELETE FROM t WHERE id = 1'],
    ]);
    expect(results).toEqual([
      { rows: [], columnNames: [], rowsRead: 2, rowsWritten: 4 },
      { rows: [{ id: 2, v: 'b' }], columnNames: ['id', 'v'], rowsRead: 1, rowsWritten: 0 },
      { rows: [], columnNames: [], rowsRead: 1, rowsWritten: 1 },
    ]);
    expect(await storage.batch([])).toEqual([]);
    const [big] = await storage.batch([
      ['SELECT value FROM json_each(?)', JSON.stringify(rowsOf(5000))],
    ]);
    expect(big!.rows.length).toBe(5000);
  });

  test('[BULK6] a statement that fails is named, and nothing stays', async () => {
    await expect(
      storage.batch([
        [INSERT, 1, 'a'],
        [INSERT, 2, 'a'],
      ]),
    ).rejects.toMatchObject({
      code: 'SQL',
      message: expect.stringMatching(/^batch: statement 1: UNIQUE/),
    });
    await expect(
      storage.batch([
        [INSERT, 1, 'a'],
        ['SELECT zeroblob(8000000) FROM json_each(?)', '[1,2,3,4,5]'],
      ]),
    ).rejects.toMatchObject({
      code: 'MESSAGE_TOO_LARGE',
    });
    for (const wrong of [7, [7], [['SELECT ?', 1n]], [[7]], new Array(10_001).fill(['SELECT 1'])]) {
      await expect(storage.batch(wrong as never)).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
    }
    expect(await table()).toEqual([]);
  });
});

describe('putMany', () => {
  test('[BULK7] stores any number of entries of a Map, an object or pairs; the last of a key counts', async () => {
    expect(await storage.kv.putMany(new Map([['map', new Set([1])]]))).toBe(1);
    expect(await storage.kv.putMany({ a: 1, b: { deep: [2] } })).toBe(2);
    async function* pairs() {
      for (let i = 0; i < 3000; i++) yield [`key${i % 2000}`, `value ${i}`.repeat(40)] as const;
    }
    expect(await storage.kv.putMany(pairs())).toBe(3000);
    const stored = await storage.list();
    expect(stored.size).toBe(2003);
    expect(stored.get('key999')).toBe('value 2999'.repeat(40));
    expect(stored.get('map')).toEqual(new Set([1]));
    expect(stored.get('b')).toEqual({ deep: [2] });
  });

  test.for<[string, unknown, object]>([
    [
      'an entry that is no pair',
      [['a', 1], ['b']],
      { code: 'INVALID_ARGUMENT', message: /entry 1/ },
    ],
    [
      'a key that is too long',
      [
        ['a', 1],
        ['k'.repeat(2049), 1],
      ],
      { code: 'KEY_TOO_LARGE' },
    ],
    [
      'a value that is too large',
      { a: 1, b: new Uint8Array(131_073) },
      { code: 'VALUE_TOO_LARGE', message: /"b"/ },
    ],
    ['a value that cannot be cloned', { a: 1, b: () => {} }, { name: 'DataCloneError' }],
    ['nothing', undefined, { code: 'INVALID_ARGUMENT' }],
  ])('[BULK7] %s stores nothing', async ([, entries, error]) => {
    const call = storage.kv.putMany(entries as never);
    const { message, ...rest } = error as { message?: RegExp };
    await expect(call).rejects.toMatchObject({
      ...rest,
      ...(message && { message: expect.stringMatching(message) }),
    });
    expect((await storage.list()).size).toBe(0);
  });
});
