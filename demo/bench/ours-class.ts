// Measures this package inside an object: the store that a class has, and methods for a page's calls.

import { DurableObject } from '../../worker/start/entries/objects.ts';
import { documents, ENTRY_COUNT, freshValue, key, ROW_COUNT, row } from './data.ts';
import { STATEMENTS, TABLES } from './statements.ts';
import { Stopwatch } from './stopwatch.ts';
import type { Store } from './store.ts';

export class Bench extends DurableObject {
  readonly #store = this.#newStore();
  readonly #watch = new Stopwatch(this.#store);

  time(name: string): Promise<number | null> {
    return this.#watch.time(name);
  }

  async fill(): Promise<void> {
    await this.#store.fill();
  }

  async commits(): Promise<number> {
    return await this.#store.commits!();
  }

  // The method need not await the write, because its reply waits until the write is durable.
  put(key: string, value: Uint8Array): void {
    this.ctx.storage.put(key, value);
  }

  get(key: string): Promise<unknown> {
    return this.ctx.storage.get(key);
  }

  #newStore(): Store {
    const { storage } = this.ctx;
    const { sql } = storage;
    const durable = async (write: () => unknown) => {
      await write();
      await storage.sync();
    };
    return {
      put: (key, value) => {
        storage.put(key, value);
        return storage.sync();
      },
      get: (key) => storage.get(key),
      list: async () => (await storage.list({ prefix: 'k' })).size,
      transaction: (entries) =>
        durable(() =>
          storage.transaction(async (transaction) => {
            for (const [key, value] of entries) transaction.put(key, value);
          }),
        ),
      insert: (rows) =>
        durable(() =>
          storage.transactionSync(() => {
            sql.exec(STATEMENTS.clear);
            for (const { a, b, c } of rows) sql.exec(STATEMENTS.insert, a, b, c);
          }),
        ),
      lastInserted: () => sql.exec<{ a: string }>(STATEMENTS.lastInserted).one().a,
      scan: () => sql.exec<{ a: string }>(STATEMENTS.scan).toArray(),
      select: (id) => sql.exec<{ a: string }>(STATEMENTS.select, id).one().a,
      search: (word) => sql.exec(STATEMENTS.search, word).toArray(),
      // The second group of a bookmark counts commits.
      commits: async () => Number.parseInt((await storage.getCurrentBookmark()).split('-')[1]!, 16),
      fill: async () => {
        for (let i = 0; i < ENTRY_COUNT; i++) storage.put(key(i), freshValue());
        for (const table of TABLES.slice(1)) sql.exec(table);
        if (sql.exec<{ n: number }>('SELECT count(*) AS n FROM t').one().n > 0) return;
        storage.transactionSync(() => {
          for (let i = 0; i < ROW_COUNT; i++) {
            const { a, b, c } = row(i);
            sql.exec(STATEMENTS.fillRow, a, b, c);
          }
          for (const body of documents()) sql.exec(STATEMENTS.fillDocument, body);
        });
        await storage.sync();
      },
    };
  }
}
