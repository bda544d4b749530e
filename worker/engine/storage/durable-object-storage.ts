// Implements `ctx.storage` in the worker. Most methods are generated from the table of operations; methods that take a
// closure are written here. This class only converts arguments and results.

import { checkCallback, convertOptions } from '../../../src/shared/contract/arguments.ts';
import type {
  DurableObjectStorage as DurableObjectStorageInterface,
  SqlStorage,
} from '../../../src/shared/contract/storage.ts';
import { liveKeys } from '../../../src/shared/live/live-result.ts';
import { refuseToClone } from '../../../src/shared/values/object-kind.ts';
import type { MethodName } from '../../../src/shared/wire/operations.ts';
import { Cursor, RawIterator, RowIterator } from '../sql/cursor.ts';
import { checkConstructor, INTERNAL, illegalInvocation } from '../sql/platform-class.ts';
import {
  createSqlStorage,
  type SqlSource,
  Statement,
  SqlStorage as UserSql,
} from '../sql/sql-storage.ts';
import { DurableObjectTransaction } from './durable-object-transaction.ts';
import type { ObjectStorage } from './object-storage.ts';
import { checkSqlBackend, defineStorageMethods, wrongBackend } from './storage-methods.ts';
import { ListIterator, SyncKvStorage } from './sync-kv-storage.ts';

/** The methods that the static block generates from the table of operations. */
export interface DurableObjectStorage
  extends Pick<DurableObjectStorageInterface, MethodName<'transaction' | 'storage'>> {}

export class DurableObjectStorage {
  /** SQL on the object's private database; on the key-value backend, its members throw. */
  declare readonly sql: SqlStorage;
  /** The synchronous methods for the same keys and values; on the key-value backend, they throw. */
  declare readonly kv: SyncKvStorage;
  readonly #storage: ObjectStorage;

  constructor(token: typeof INTERNAL, storage: ObjectStorage) {
    checkConstructor('DurableObjectStorage', token);
    this.#storage = storage;
    // Define own properties, as on workerd, so that programs can replace them.
    const isKv = storage.options.backend === 'kv';
    const sql = isKv ? createSqlStorage(NO_SQL) : storage.sql;
    const kv = new SyncKvStorage(INTERNAL, isKv ? undefined : storage);
    Object.assign(this, { sql, kv });
  }

  transaction(...args: unknown[]): Promise<unknown> {
    const storage = DurableObjectStorage.#of(this);
    try {
      const closure = args[0];
      checkCallback('transaction', closure);
      convertOptions('transaction', args[1]);
      return storage.transaction(async (frame) => {
        // As on workerd, `this` is the global object.
        return await closure.call(
          globalThis,
          new DurableObjectTransaction(INTERNAL, storage, frame),
        );
      });
    } catch (error) {
      return Promise.reject(error);
    }
  }

  transactionSync(...args: unknown[]): unknown {
    const storage = DurableObjectStorage.#of(this);
    checkSqlBackend(storage, 'transactionSync');
    const callback = args[0];
    checkCallback('transactionSync', callback);
    return storage.transactionSync(() => callback.call(globalThis));
  }

  live(...args: unknown[]): unknown {
    return DurableObjectStorage.#of(this).live(liveKeys(args));
  }

  get [Symbol.toStringTag](): string {
    return 'DurableObjectStorage';
  }

  static #of(self: DurableObjectStorage): ObjectStorage {
    if (self === null || typeof self !== 'object' || !(#storage in self)) {
      throw illegalInvocation('DurableObjectStorage');
    }
    return self.#storage;
  }

  static {
    defineStorageMethods(
      DurableObjectStorage.prototype,
      ['transaction', 'storage'],
      DurableObjectStorage.#of,
    );
  }
}

const NO_SQL: SqlSource = {
  exec: refuseSql,
  get live() {
    return refuseSql();
  },
  get databaseSize() {
    return refuseSql();
  },
};

function refuseSql(): never {
  throw wrongBackend('sql');
}

// Storing an object of one of these classes is a DataCloneError, as for any platform object.
refuseToClone(DurableObjectStorage, DurableObjectTransaction, SyncKvStorage, ListIterator);
refuseToClone(UserSql, Statement, Cursor, RowIterator, RawIterator);
