// Drizzle on the storage of a page: its `sqlite-proxy` driver, with transactions of the storage.
//
// Invariant: a transaction of Drizzle is one of `storage.transaction`. Queries made with the database itself wait until
// it has ended, in the order of their calls; only those made with `tx` belong to it.

import { storageError } from '@ctx-storage/core/errors';
import type { StorageHandle } from '@ctx-storage/core/storage';
import type { DrizzleConfig } from 'drizzle-orm';
import { drizzle as drizzleBy, type SqliteRemoteDatabase } from 'drizzle-orm/sqlite-proxy';

/** A database of Drizzle, and its storage. */
export type StorageDatabase<
  Schema extends Record<string, unknown>,
  Storage extends StorageHandle,
> = SqliteRemoteDatabase<Schema> & { readonly $client: Storage };

type Rows = unknown[];
type Statement = Readonly<{ sql: string; params: unknown[]; method: string }>;

/**
 * A database of Drizzle on a handle. In a class, use `drizzle` of `drizzle-orm/durable-sqlite`.
 *
 * `db.transaction` and `db.batch` are whole or absent; a transaction takes 30 s at most, and one inside another is
 * `TRANSACTION_NESTING`. Use `tx` in it: a query of `db` waits for its end. Every other call of the same handle joins
 * the transaction. Errors are those of the storage, as `cause` of Drizzle's.
 */
export function drizzle<
  Storage extends StorageHandle,
  Schema extends Record<string, unknown> = Record<string, never>,
>(storage: Storage, config: DrizzleConfig<Schema> = {}): StorageDatabase<Schema, Storage> {
  const run = async ({ sql, params, method }: Statement): Promise<Rows> => {
    const rows = await storage.sql
      .exec(sql, ...params)
      .raw()
      .toArray();
    return method === 'get' ? (rows[0] as Rows) : rows;
  };

  let last: Promise<unknown> = Promise.resolve();
  /** Runs the work as a transaction, after earlier ones and before later queries. */
  const alone = <T>(work: () => Promise<T>): Promise<T> => {
    const result = last.then(() => storage.transaction(work));
    last = result.catch(() => {}); // the caller receives the error
    return result;
  };

  const db = drizzleBy(
    async (sql, params, method) => {
      await last;
      return { rows: await run({ sql, params, method }) };
    },
    // All leave in one message.
    (statements) =>
      alone(() => Promise.all(statements.map(async (each) => ({ rows: await run(each) })))),
    config,
  );
  db.transaction = (closure, options) =>
    alone(() => {
      const scope = transactionScope(run, config);
      return scope.db.transaction((tx) => scope.run(() => closure(tx)), options);
    });
  return Object.assign(db, { $client: storage });
}

/** A database for one transaction of the storage, which is open. */
function transactionScope<Schema extends Record<string, unknown>>(
  run: (statement: Statement) => Promise<Rows>,
  config: DrizzleConfig<Schema>,
) {
  let state: 'begins' | 'open' | 'ended' = 'begins';
  const db = drizzleBy(async (sql, params, method) => {
    if (state === 'open') {
      if (/^savepoint\b/i.test(sql)) throw nested();
      return { rows: await run({ sql, params, method }) };
    }
    // Drizzle's statements around the closure: the storage begins, commits and rolls back.
    if (/^(begin|commit|rollback)\b/.test(sql)) return { rows: [] };
    throw storageError(
      'TRANSACTION_ENDED',
      'The transaction has ended; await its queries in the closure, or use the database itself.',
    );
  }, config);
  return {
    db,
    async run<T>(closure: () => Promise<T>): Promise<T> {
      state = 'open';
      try {
        return await closure();
      } finally {
        state = 'ended';
      }
    },
  };
}

function nested(): Error {
  return storageError(
    'TRANSACTION_NESTING',
    'transaction: a handle has no transactions in transactions; do the work of the inner one in the outer closure.',
  );
}
