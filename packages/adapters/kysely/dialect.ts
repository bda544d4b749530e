// The entry `ctx-storage/kysely`: a dialect of Kysely for the storage of an object, on a page or as `ctx.storage`.
//
// Invariant: each transaction of Kysely is one `storage.transaction`, which stays open from begin to commit or
// rollback. Only one query or transaction has a connection at a time; the others wait in order.
//
// It uses only SQL, `transaction` and, if the storage has it, `batch`.

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
    createIntrospector: (db) => new SqliteIntrospector(withoutStorageTables(db)),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  };
}

/**
 * Returns a Kysely for introspection that finds only the program's tables. Introspection reads the columns of each
 * table, and the storage refuses that for its own tables, which hold the keys and the alarm.
 */
function withoutStorageTables(db: Kysely<Schemas>): Kysely<unknown> {
  const programTables = db.with('sqlite_master', (creator) =>
    creator.selectFrom('main.sqlite_schema').selectAll().where(sql<boolean>`name NOT GLOB '_cf_*'`),
  );
  // Introspection uses only the query builder, which this object has.
  return programTables as unknown as Kysely<unknown>;
}

interface Schemas {
  'main.sqlite_schema': { name: string };
}

/**
 * Turns off Kysely's own mutex, which waits until Kysely ends a transaction. The driver's waits also end if the storage
 * does.
 */
class StorageAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true;
  }
}

class StorageDriver implements Driver {
  readonly #storage: QueryableStorage;
  /** Settles when every connection that was acquired so far is free. */
  #allFree: Promise<void> = Promise.resolve();

  constructor(storage: QueryableStorage) {
    this.#storage = storage;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<StorageConnection> {
    const connection = new StorageConnection(this.#storage);
    const before = this.#allFree;
    this.#allFree = before.then(() => connection.whenFree);
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
    await connection.begin(name); // in SQL, a savepoint stays after a rollback to it
  }

  async releaseSavepoint(connection: StorageConnection, name: string): Promise<void> {
    await connection.end(connection.depthOf(name), 'commit');
  }

  async releaseConnection(connection: StorageConnection): Promise<void> {
    connection.release();
  }

  async destroy(): Promise<void> {}
}
