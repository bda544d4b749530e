// A page's measures of one version of the package: the rows that are measured beside peers, and further ones, of calls and
// ways to use the package that no peer has. The further ones give the time of one round.

import { freshValue, key } from '../../../demo/bench/data.ts';
import { fillStores, type TimeRow, timerOf } from '../../../demo/bench/opened.ts';
import { classOf, storeOf } from '../../../demo/bench/ours-store.ts';
import { type Place, ROWS } from '../../../demo/bench/rows.ts';
import { STATEMENTS } from '../../../demo/bench/statements.ts';
import {
  connect,
  type DurableObjectStub,
  type RemoteObjects,
  type RemoteStorage,
} from '../../../src/index.ts';
import type { Measured } from './measured-class.ts';

declare global {
  interface Window {
    /** Microseconds of one round of a measure. */
    measure(name: string): Promise<number>;
    measures: readonly string[];
  }
}

interface Opened {
  readonly objects: RemoteObjects<{ Measured: typeof Measured }>;
  readonly stub: DurableObjectStub<Measured>;
  readonly storage: RemoteStorage;
  readonly timeRow: TimeRow;
}

async function open(): Promise<Opened> {
  const start = () => new Worker(new URL('./worker.js', location.href), { type: 'module' });
  const objects = await connect<{ Measured: typeof Measured }>(start);
  const stub = objects.env.Measured.getByName('measured');
  const storage = await objects.storage(stub);
  const stores = { page: storeOf(storage), ...classOf(stub) };
  await fillStores(stores);
  return { objects, stub, storage, timeRow: timerOf(stores) };
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
  /** Runs the measured work. Its duration is the result, unless it returns a number of milliseconds. */
  run(opened: Opened): Promise<unknown>;
}

const MEASURES: Readonly<Record<string, Measure>> = {
  'page: 1,000 calls in flight': { run: ({ stub }) => together(1000, (i) => stub.echo(i)) },
  'page: 1,000 calls to 100 objects in flight': {
    run: ({ objects }) => {
      const stubs = Array.from({ length: 100 }, (_, i) => objects.env.Measured.getByName(`${i}`));
      return together(1000, (i) => stubs[i % 100]!.echo(i));
    },
  },
  'page: 200 calls, one at a time': { run: ({ stub }) => times(200, (i) => stub.echo(i)) },
  'page: 20 transactions of 10 writes that are awaited': {
    writes: true,
    run: ({ storage }) =>
      times(20, () =>
        storage.transaction(async (txn) => {
          await together(10, (i) => txn.put(key(i), freshValue()));
        }),
      ),
  },
  'page: 20 transactions of a read and a write': {
    writes: true,
    run: ({ storage }) =>
      times(20, () =>
        storage.transaction(async (txn) => {
          await txn.get(key(1));
          await txn.put(key(1), freshValue());
        }),
      ),
  },
  'page: 1,000 selects by key in one turn': {
    run: ({ storage: { sql } }) => together(1000, (i) => sql.exec(STATEMENTS.select, i + 1).one()),
  },
  'page: loop over 10,000 rows': {
    run: async ({ storage: { sql } }) => {
      let sum = 0;
      for await (const { b } of sql.exec<{ b: number }>(STATEMENTS.scan)) sum += b;
      if (sum === 0) throw new Error('no rows');
    },
  },
  'worker: 500 unconfirmed commits': { run: ({ stub }) => stub.unconfirmed(500) },
  'worker: restore of 10,000 commits in 100 MB': {
    run: async ({ objects }) => {
      const stub = () => objects.env.Measured.getByName('restored');
      await stub().beforeRestore(95_000, 10_000);
      // The end of the instance is its answer, and breaks the stub.
      await stub()
        .end()
        .then(unexpected, () => {});
      const startMs = performance.now();
      await stub().get('entry 0');
      return performance.now() - startMs;
    },
  },
};

/** The rows by the names of their measures. */
const MEASURED_ROWS = new Map<string, { readonly name: string; readonly place: Place }>(
  ROWS.flatMap(({ name, places }) =>
    places.map((place) => [`${place}: ${name}`, { name, place }] as const),
  ),
);

let opened: Promise<Opened> | undefined;
window.measures = [...MEASURED_ROWS.keys(), ...Object.keys(MEASURES)];
window.measure = async (name) => {
  opened ??= open();
  const all = await opened;
  const row = MEASURED_ROWS.get(name);
  if (row !== undefined) return (await all.timeRow(row.name, row.place))!;
  const { writes = false, run } = MEASURES[name]!;
  const before = writes ? await all.storage.getCurrentBookmark() : '';
  const startMs = performance.now();
  const result = await run(all);
  const elapsedMs = performance.now() - startMs;
  if (writes && (await all.storage.getCurrentBookmark()) === before) {
    throw new Error(`${name}: the round committed nothing`);
  }
  return 1000 * (typeof result === 'number' ? result : elapsedMs);
};
