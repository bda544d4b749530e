// Drizzle on the storage of a page. It uses Drizzle's driver `sqlite-proxy`, and the transactions of the storage.
//
// Invariant: each transaction of Drizzle is one `storage.transaction`. Only queries that are made with `tx` belong to
// it; queries that are made with the database wait until it has ended, in the order of their calls.

import { storageError } from '@ctx-storage/core/errors';
import type { StorageHandle } from '@ctx-storage/core/storage';
import type { DrizzleConfig } from 'drizzle-orm';
import { drizzle as drizzleBy, type SqliteRemoteDatabase } from 'drizzle-orm/sqlite-proxy';

/** A database of Drizzle with the storage on which it runs. */
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

  let lastTransaction: Promise<unknown> = Promise.resolve();
  /** Runs the work in a transaction, after earlier transactions and before later queries. */
  const inTransaction = <T>(work: () => Promise<T>): Promise<T> => {
    const result = lastTransaction.then(() => storage.transaction(work));
    lastTransaction = result.catch(() => {}); // the caller gets the error of the transaction
    return result;
  };

  const db = drizzleBy(
    async (sql, params, method) => {
      await lastTransaction;
      return { rows: await run({ sql, params, method }) };
    },
    // All statements leave in one message, because none waits for another.
    (statements) =>
      inTransaction(() => Promise.all(statements.map(async (each) => ({ rows: await run(each) })))),
    config,
  );
  db.transaction = (closure, options) =>
    inTransaction(() => {
      const scope = transactionScope(run, config);
      return scope.db.transaction((tx) => scope.run(() => closure(tx)), options);
    });
  return Object.assign(db, { $client: storage });
}

/** Makes the database `tx` of one open transaction of the storage. */
function transactionScope<Schema extends Record<string, unknown>>(
  run: (statement: Statement) => Promise<Rows>,
  config: DrizzleConfig<Schema>,
) {
  let state: 'begins' | 'open' | 'ended' = 'begins';
  const db = drizzleBy(async (sql, params, method) => {
    if (state === 'open') {
      if (/^savepoint\b/i.test(sql)) throw nestingError();
      return { rows: await run({ sql, params, method }) };
    }
    // Drizzle sends these statements around the closure. They have no effect, because the storage begins and ends the
    // transaction.
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

function nestingError(): Error {
  return storageError(
    'TRANSACTION_NESTING',
    'transaction: a handle has no transactions in transactions; do the work of the inner one in the outer closure.',
  );
}
