// `ctx-storage/kysely`: Kysely's SQLite dialect on an object's storage, of a page or `ctx.storage`.
//
// Invariant: a transaction of Kysely is one of `storage.transaction`, which is open from the begin to the commit or
// rollback. One query or transaction has a connection at a time; the others wait, in order.
//
// Uses nothing but SQL, `transaction` and, where there is one, `batch`.

import { storageError } from '@ctx-storage/core/errors';
import {
  type Dialect,
  type Driver,
  type Kysely,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
} from 'kysely';
import { type QueryableStorage, StorageConnection } from './connection.ts';

export type { QueryableStorage };

/**
 * A dialect for `new Kysely({ dialect: storageDialect(storage) })`.
 *
 * A transaction takes 30 s at most. On a page, every other call of the same handle joins it: give the dialect a handle
 * of its own. Savepoints exist with `ctx.storage`; on a page they are `TRANSACTION_NESTING`. Errors are those of the
 * storage.
 */
export function storageDialect(storage: QueryableStorage): Dialect {
  return {
    createAdapter: () => new StorageAdapter(),
    createDriver: () => new StorageDriver(storage),
    createIntrospector: (db) => new SqliteIntrospector(withoutOwnTables(db)),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  };
}

/**
 * Introspection reads the columns of each table that it finds, which is refused for those of the storage: keys and the
 * alarm are in such tables. So it finds the program's alone, here and on workerd.
 */
function withoutOwnTables(db: Kysely<Schemas>): Kysely<unknown> {
  const programs = db.with('sqlite_master', (creator) =>
    creator.selectFrom('main.sqlite_schema').selectAll().where(sql<boolean>`name NOT GLOB '_cf_*'`),
  );
  // Of a Kysely, introspection builds queries only.
  return programs as unknown as Kysely<unknown>;
}

interface Schemas {
  'main.sqlite_schema': { name: string };
}

/** Kysely's own mutex waits for Kysely to end a transaction; the storage may end it first, so the driver has one. */
class StorageAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true;
  }
}

class StorageDriver implements Driver {
  readonly #storage: QueryableStorage;
  /** Settles when every connection so far is free. */
  #last: Promise<void> = Promise.resolve();

  constructor(storage: QueryableStorage) {
    this.#storage = storage;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<StorageConnection> {
    const connection = new StorageConnection(this.#storage);
    const before = this.#last;
    this.#last = before.then(() => connection.whenFree);
    await before;
    return connection;
  }

  beginTransaction(connection: StorageConnection): Promise<void> {
    return connection.begin(null);
  }

  commitTransaction(connection: StorageConnection): Promise<void> {
    return connection.end(0, 'commit');
  }

  rollbackTransaction(connection: StorageConnection): Promise<void> {
    return connection.end(0, 'rollback');
  }

  async savepoint(connection: StorageConnection, name: string): Promise<void> {
    if (this.#storage.batch !== undefined) {
      throw storageError(
        'TRANSACTION_NESTING',
        `savepoint: "${name}" cannot be set, because a handle has no transactions in transactions. Use the dialect ` +
          'with `ctx.storage`, in a class.',
      );
    }
    await connection.begin(name);
  }

  async rollbackToSavepoint(connection: StorageConnection, name: string): Promise<void> {
    await connection.end(connection.depthOf(name), 'rollback');
    await connection.begin(name); // it can be rolled back to again
  }

  async releaseSavepoint(connection: StorageConnection, name: string): Promise<void> {
    await connection.end(connection.depthOf(name), 'commit');
  }

  async releaseConnection(connection: StorageConnection): Promise<void> {
    connection.release();
  }

  async destroy(): Promise<void> {}
}
