// Measures this package from a page: through a handle of a storage, and through calls of a class.

import type { DurableObjectStub, RemoteStorage } from '../../src/index.ts';
import { documents, ENTRY_COUNT, freshValue, key, ROW_COUNT, row } from './data.ts';
import type { Opened } from './opened.ts';
import type { Bench } from './ours-class.ts';
import { STATEMENTS, TABLES } from './statements.ts';
import type { Store } from './store.ts';

/** Returns the parts of a contender with a class that are called through the class. */
export function classOf(stub: DurableObjectStub<Bench>): Omit<Opened, 'page'> {
  return {
    class: {
      put: (key, value) => stub.put(key, value),
      get: (key) => stub.get(key) as Promise<Uint8Array | undefined>,
      commits: () => stub.commits(),
      fill: () => stub.fill(),
    },
    timeInWorker: (row) => stub.time(row),
    fillInWorker: () => stub.fill(),
  };
}

export function storeOf(storage: RemoteStorage): Store {
  const { sql } = storage;
  const run = (query: string, ...values: readonly unknown[]) => sql.exec(query, ...(values as []));
  return {
    put: (key, value) => storage.put(key, value),
    get: (key) => storage.get(key),
    list: async () => (await storage.list({ prefix: 'k' })).size,
    transaction: (entries) =>
      storage.transaction(async (transaction) => {
        for (const [key, value] of entries) transaction.put(key, value);
      }),
    insert: (rows) =>
      storage.transaction(async () => {
        run(STATEMENTS.clear);
        for (const { a, b, c } of rows) run(STATEMENTS.insert, a, b, c);
      }),
    lastInserted: async () => (await sql.exec<{ a: string }>(STATEMENTS.lastInserted).one()).a,
    scan: () => sql.exec<{ a: string }>(STATEMENTS.scan).toArray(),
    select: async (id) => (await sql.exec<{ a: string }>(STATEMENTS.select, id).one()).a,
    search: (word) => sql.exec(STATEMENTS.search, word).toArray(),
    // The second group of a bookmark counts commits.
    commits: async () => Number.parseInt((await storage.getCurrentBookmark()).split('-')[1]!, 16),
    fill: async () => {
      const keys = Array.from({ length: ENTRY_COUNT }, (_, i) => key(i));
      await Promise.all(keys.map((key) => storage.put(key, freshValue())));
      for (const table of TABLES.slice(1)) await run(table).ready;
      const { n } = await sql.exec<{ n: number }>('SELECT count(*) AS n FROM t').one();
      if (n > 0) return;
      await storage.transaction(async () => {
        for (let i = 0; i < ROW_COUNT; i++) {
          const { a, b, c } = row(i);
          run(STATEMENTS.fillRow, a, b, c);
        }
        for (const body of documents()) run(STATEMENTS.fillDocument, body);
      });
    },
  };
}
