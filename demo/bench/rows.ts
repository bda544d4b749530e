// Defines the rows of the table: the work of each, and where it runs. The table shows the time of one `once`.

import {
  freshRows,
  freshValue,
  key,
  LARGE_BYTES,
  ROW_COUNT,
  randomBelow,
  randomKey,
  word,
} from './data.ts';
import type { Answer, Entry, Store } from './store.ts';

/**
 * Where the calls come from: a page; a page that calls methods of a class (for contenders without classes the same
 * as `page`); or code in the worker that has the database.
 */
export type Place = 'page' | 'class' | 'worker';

export interface Row {
  readonly name: string;
  readonly places: readonly Place[];
  /** The method that a contender's store must have to take part in the row. */
  readonly needs: keyof Store;
  /** Whether the work can cost nothing in a worker, so that only the message of a page is its limit. */
  readonly isFreeInWorker?: boolean;
  /** The least number of commits that `once` makes. */
  readonly commits?: number;
  /** Stores the data that this row's `once` needs beyond the data that every store is filled with. */
  prepare?(store: Store): Answer<unknown>;
  once(store: Store): unknown;
  /** Checks that the last `once` has stored its write. @throws Error if it has not */
  check?(store: Store): Promise<void>;
}

let last: Entry = ['', new Uint8Array()];
let lastText = '';

function freshEntry(name = randomKey(), length?: number): Entry {
  last = [name, freshValue(length)];
  return last;
}

async function checkEntry(store: Store): Promise<void> {
  const stored = await store.get(last[0]);
  if (stored?.length === last[1].length && stored.every((byte, i) => byte === last[1][i])) return;
  throw new Error(`${last[0]} is not the last value written`);
}

async function checkText(store: Store): Promise<void> {
  if ((await store.lastInserted!()) !== lastText) throw new Error('the rows were not inserted');
}

function together(once: (i: number) => unknown): Promise<unknown> {
  return Promise.all(Array.from({ length: 1000 }, (_, i) => once(i)));
}

function expect(count: number, wanted: number): void {
  if (count !== wanted) throw new Error(`${count} instead of ${wanted}`);
}

export const ROWS: readonly Row[] = [
  {
    name: 'put',
    places: ['page', 'worker'],
    needs: 'put',
    commits: 1,
    once: (store) => store.put(...freshEntry()),
    check: checkEntry,
  },
  {
    name: '1,000 puts in flight',
    places: ['page', 'class'],
    needs: 'put',
    commits: 1,
    once: (store) => together((i) => store.put(...freshEntry(key(i)))),
    check: checkEntry,
  },
  {
    name: 'get',
    places: ['page', 'worker'],
    needs: 'get',
    isFreeInWorker: true,
    once: (store) => store.get(randomKey()),
  },
  {
    name: '1,000 gets in flight',
    places: ['page', 'class'],
    needs: 'get',
    once: (store) => together((i) => store.get(key(i))),
  },
  {
    name: 'select by key',
    places: ['page', 'worker'],
    needs: 'select',
    once: (store) => store.select!(1 + randomBelow(ROW_COUNT)),
  },
  {
    name: 'list of 1,000',
    places: ['page', 'worker'],
    needs: 'list',
    once: async (store) => expect(await store.list!(), 1000),
  },
  {
    name: '10 writes in a transaction',
    places: ['page', 'worker'],
    needs: 'transaction',
    commits: 1,
    once: (store) => store.transaction!(Array.from({ length: 10 }, () => freshEntry())),
    check: checkEntry,
  },
  {
    name: 'put of 128 KiB',
    places: ['page', 'worker'],
    needs: 'put',
    commits: 1,
    once: (store) => store.put(...freshEntry('large', LARGE_BYTES)),
    check: checkEntry,
  },
  {
    name: 'get of 128 KiB',
    places: ['page', 'worker'],
    needs: 'get',
    isFreeInWorker: true,
    prepare: (store) => store.put(...freshEntry('large', LARGE_BYTES)),
    once: async (store) => expect((await store.get('large'))!.length, LARGE_BYTES),
  },
  {
    name: '10,000 rows inserted',
    places: ['page', 'worker'],
    needs: 'insert',
    commits: 1,
    once: (store) => {
      const rows = freshRows();
      lastText = rows.at(-1)!.a;
      return store.insert!(rows);
    },
    check: checkText,
  },
  {
    name: '10,000 rows read',
    places: ['page', 'worker'],
    needs: 'scan',
    isFreeInWorker: true,
    once: async (store) => {
      const rows = await store.scan!();
      expect(rows.length, ROW_COUNT);
      if (rows[5]!.a === undefined) throw new Error('rows are not objects');
    },
  },
  {
    name: 'search (FTS5)',
    places: ['page', 'worker'],
    needs: 'search',
    once: async (store) => expect((await store.search!(word(randomBelow(1000)))).length, 20),
  },
];
