// A page's measures of one version of the package. Each measure gives the milliseconds of one round;
// every round that writes stores other values than the one before, and fails if it commits nothing.

import {
  connect,
  openStorage,
  type RemoteObjects,
  type RemoteStorage,
} from '../../../src/index.ts';
import type { Bench } from './bench-class.ts';
import { fresh } from './fresh.ts';

declare global {
  interface Window {
    /** Milliseconds of one round of a measure. */
    measure(name: string): Promise<number>;
    measures: readonly string[];
  }
}

const LARGE_BYTES = 131_072;
const CREATE = 'CREATE TABLE IF NOT EXISTS t(id INTEGER PRIMARY KEY, a TEXT, b REAL)';
const FILL =
  'INSERT OR REPLACE INTO t WITH RECURSIVE c(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM c LIMIT 10000) ' +
  "SELECT id, 'row' || id AS a, id * 1.5 AS b FROM c";

type Objects = RemoteObjects<{ Bench: typeof Bench }>;

interface Opened {
  readonly storage: RemoteStorage;
  readonly objects: Objects;
}

async function open(): Promise<Opened> {
  const start = () => new Worker(new URL('./worker.js', location.href), { type: 'module' });
  const objects = await connect<{ Bench: typeof Bench }>(start);
  const storage = await openStorage('bench', { workerUrl: './worker.js', directory: 'bench' });
  await storage.sql.exec(CREATE).ready;
  await storage.sql.exec(FILL).ready;
  return { storage, objects };
}

async function times(count: number, once: (i: number) => Promise<unknown>): Promise<void> {
  for (let i = 0; i < count; i++) await once(i);
}

function together(count: number, once: (i: number) => Promise<unknown>): Promise<unknown> {
  return Promise.all(Array.from({ length: count }, (_, i) => once(i)));
}

function unexpected(): never {
  throw new Error('the instance did not end');
}

interface Measure {
  /** The round must commit on the object of `storage`. */
  readonly writes?: boolean;
  run(opened: Opened): Promise<unknown>;
}

const bench = ({ objects }: Opened) => objects.env.Bench.getByName('bench');

const MEASURES: Readonly<Record<string, Measure>> = {
  '1,000 calls in flight': {
    run: (opened) => {
      const stub = bench(opened);
      return together(1000, (i) => stub.echo(i));
    },
  },
  '1,000 calls to 100 objects in flight': {
    run: ({ objects }) => {
      const stubs = Array.from({ length: 100 }, (_, i) => objects.env.Bench.getByName(`${i}`));
      return together(1000, (i) => stubs[i % 100]!.echo(i));
    },
  },
  '1,000 calls that read in flight': {
    run: (opened) => {
      const stub = bench(opened);
      return together(1000, (i) => stub.read(`k${i}`));
    },
  },
  '1,000 calls that write in flight': {
    run: (opened) => {
      const stub = bench(opened);
      const salt = Math.random();
      return together(1000, (i) => stub.write(`k${i}`, salt));
    },
  },
  '200 calls, one at a time': {
    run: (opened) => {
      const stub = bench(opened);
      return times(200, (i) => stub.echo(i));
    },
  },
  '200 gets, one at a time': { run: ({ storage }) => times(200, () => storage.get('k1')) },
  '100 puts, one at a time': {
    writes: true,
    run: ({ storage }) => times(100, (i) => storage.put(`k${i}`, fresh(100))),
  },
  '1,000 puts in flight': {
    writes: true,
    run: ({ storage }) => together(1000, (i) => storage.put(`k${i}`, fresh(100))),
  },
  '20 transactions of 10 writes': {
    writes: true,
    run: ({ storage }) =>
      times(20, () =>
        storage.transaction(async (txn) => {
          await together(10, (i) => txn.put(`k${i}`, fresh(100)));
        }),
      ),
  },
  '20 transactions of 10 writes that are not awaited': {
    writes: true,
    run: ({ storage }) =>
      times(20, () =>
        storage.transaction(async (txn) => {
          for (let i = 0; i < 10; i++) void txn.put(`k${i}`, fresh(100));
        }),
      ),
  },
  '20 transactions of a read and a write': {
    writes: true,
    run: ({ storage }) =>
      times(20, () =>
        storage.transaction(async (txn) => {
          await txn.get('k1');
          await txn.put('k1', fresh(100));
        }),
      ),
  },
  '10 lists of 1,000': {
    run: async ({ storage }) => {
      const entries = Array.from({ length: 1000 }, (_, i) => [`listed${i}`, fresh(100)] as const);
      await Promise.all(entries.map(([key, value]) => storage.put(key, value)));
      const startMs = performance.now();
      await times(10, () => storage.list({ prefix: 'listed' }));
      return performance.now() - startMs;
    },
  },
  'a transaction of 10,000 inserts': {
    writes: true,
    run: ({ storage }) =>
      storage.transaction(async () => {
        void storage.sql.exec('CREATE TABLE IF NOT EXISTS filled(a TEXT, b INTEGER, c REAL)');
        void storage.sql.exec('DELETE FROM filled');
        const salt = Math.random();
        for (let i = 0; i < 10_000; i++) {
          void storage.sql.exec('INSERT INTO filled VALUES (?, ?, ?)', `row ${i}`, i, salt * i);
        }
      }),
  },
  '200 selects by key, one at a time': {
    run: ({ storage }) =>
      times(200, (i) => storage.sql.exec('SELECT * FROM t WHERE id = ?', i + 1).one()),
  },
  '1,000 selects by key in one turn': {
    run: ({ storage }) =>
      together(1000, (i) => storage.sql.exec('SELECT * FROM t WHERE id = ?', i + 1).one()),
  },
  'select of 10,000 rows': {
    run: ({ storage }) => storage.sql.exec('SELECT * FROM t').toArray(),
  },
  'loop over 10,000 rows': {
    run: async ({ storage }) => {
      let sum = 0;
      for await (const { b } of storage.sql.exec<{ b: number }>('SELECT * FROM t')) sum += b;
      if (sum === 0) throw new Error('no rows');
    },
  },
  '20 puts of 128 KiB': {
    writes: true,
    run: ({ storage }) => times(20, () => storage.put('large', fresh(LARGE_BYTES))),
  },
  '20 gets of 128 KiB': {
    run: async ({ storage }) => {
      await storage.put('large', fresh(LARGE_BYTES));
      await times(20, () => storage.get('large'));
    },
  },
  'in the worker: 500 puts with sync': { run: (opened) => bench(opened).putSync(500, 100) },
  'in the worker: 500 unconfirmed commits': { run: (opened) => bench(opened).unconfirmed(500) },
  'in the worker: 20 puts of 128 KiB with sync': {
    run: (opened) => bench(opened).putSync(20, LARGE_BYTES),
  },
  'in the worker: 40 replaced values of 128 KiB with sync': {
    run: (opened) => bench(opened).replaceSync(40, LARGE_BYTES),
  },
  'restore of 10,000 commits in 100 MB': {
    run: async ({ objects }) => {
      const stub = () => objects.env.Bench.getByName('restored');
      await stub().beforeRestore(95_000, 10_000);
      // The end of the instance is its answer, and breaks the stub.
      await stub()
        .end()
        .then(unexpected, () => {});
      const startMs = performance.now();
      await stub().read('entry 0');
      return performance.now() - startMs;
    },
  },
};

let opened: Promise<Opened> | undefined;
window.measures = Object.keys(MEASURES);
window.measure = async (name) => {
  opened ??= open();
  const all = await opened;
  const { writes = false, run } = MEASURES[name]!;
  const before = writes ? await all.storage.getCurrentBookmark() : '';
  const startMs = performance.now();
  const result = await run(all);
  const elapsedMs = performance.now() - startMs;
  if (writes && (await all.storage.getCurrentBookmark()) === before) {
    throw new Error(`${name}: the round committed nothing`);
  }
  // The worker returns the times that it measures itself.
  return typeof result === 'number' ? result : elapsedMs;
};
