// `ctx.storage` inside the worker: the written interface, over ObjectStorage.
//
// Every promise-returning method reports failures as rejections, except that `delete` throws its
// argument errors at once (workerd declares it with two result types, and programs may see it).
// No logic of its own beyond arguments and results.

import {
  checkArgumentCount,
  checkCallback,
  convertOptions,
  convertString,
  convertTimestamp,
} from '../../src/contract/arguments.ts';
import { storageError } from '../../src/contract/errors.ts';
import type { SqlStorage } from '../../src/contract/storage.ts';
import { refuseToClone } from '../../src/serializer/object-kind.ts';
import { Cursor, RawIterator, RowIterator } from '../sql/cursor.ts';
import { Statement, SqlStorage as UserSql } from '../sql/sql-storage.ts';
import { DurableObjectTransaction } from './durable-object-transaction.ts';
import * as methods from './key-value-methods.ts';
import { promised } from './key-value-methods.ts';
import type { ObjectStorage } from './object-storage.ts';
import { checkConstructor, INTERNAL, illegalInvocation } from './surface.ts';
import { ListIterator, SyncKvStorage } from './sync-kv-storage.ts';

export class DurableObjectStorage {
  /** SQL on the object's private database; on the key-value backend, reading it throws. */
  declare readonly sql: SqlStorage;
  /** The same keys and values, synchronously; on the key-value backend, reading it throws. */
  declare readonly kv: SyncKvStorage;
  readonly #storage: ObjectStorage;

  constructor(token: typeof INTERNAL, storage: ObjectStorage) {
    checkConstructor('DurableObjectStorage', token);
    this.#storage = storage;
    // Own properties, as on the real storage: programs may replace them.
    if (storage.options.backend === 'kv') {
      for (const name of ['sql', 'kv']) {
        const get = () => {
          throw wrongBackend(name);
        };
        Object.defineProperty(this, name, { get, enumerable: true, configurable: true });
      }
    } else {
      const members = { sql: storage.sql, kv: new SyncKvStorage(INTERNAL, storage) };
      Object.assign(this, members);
    }
  }

  get(...args: unknown[]): Promise<unknown> {
    const storage = DurableObjectStorage.#of(this);
    return promised(() => methods.get(storage, args));
  }

  put(...args: unknown[]): Promise<void> {
    const storage = DurableObjectStorage.#of(this);
    return promised(() => methods.put(storage, args));
  }

  delete(...args: unknown[]): Promise<boolean | number> {
    return Promise.resolve(methods.remove(DurableObjectStorage.#of(this), args));
  }

  list(...args: unknown[]): Promise<Map<string, unknown>> {
    const storage = DurableObjectStorage.#of(this);
    return promised(() => methods.list(storage, args));
  }

  deleteAll(options?: unknown): Promise<void> {
    const storage = DurableObjectStorage.#of(this);
    return promised(() => {
      methods.convertWrite('deleteAll', options);
      storage.deleteAll();
    });
  }

  getAlarm(...args: unknown[]): Promise<number | null> {
    const storage = DurableObjectStorage.#of(this);
    return promised(() => methods.getAlarm(storage, args));
  }

  setAlarm(...args: unknown[]): Promise<void> {
    const storage = DurableObjectStorage.#of(this);
    return promised(() => methods.setAlarm(storage, args));
  }

  deleteAlarm(...args: unknown[]): Promise<void> {
    const storage = DurableObjectStorage.#of(this);
    return promised(() => methods.deleteAlarm(storage, args));
  }

  sync(): Promise<void> {
    const storage = DurableObjectStorage.#of(this);
    return promised(() => synced(storage)).then((pending) => pending);
  }

  transaction(...args: unknown[]): Promise<unknown> {
    const storage = DurableObjectStorage.#of(this);
    return promised(() => {
      const closure = args[0];
      checkCallback('transaction', closure);
      convertOptions('transaction', args[1]);
      return storage.transaction(async (frame) => {
        const txn = new DurableObjectTransaction(INTERNAL, storage, frame);
        return await closure(txn);
      });
    }).then((result) => result);
  }

  transactionSync(...args: unknown[]): unknown {
    const storage = DurableObjectStorage.#of(this);
    checkSqlBackend(storage, 'transactionSync');
    const callback = args[0];
    checkCallback('transactionSync', callback);
    return storage.transactionSync(() => callback());
  }

  getCurrentBookmark(): Promise<string> {
    const storage = DurableObjectStorage.#of(this);
    return promised(() => {
      checkSqlBackend(storage, 'getCurrentBookmark');
      return storage.currentBookmark();
    });
  }

  getBookmarkForTime(...args: unknown[]): Promise<string> {
    const storage = DurableObjectStorage.#of(this);
    return promised(() => {
      checkSqlBackend(storage, 'getBookmarkForTime');
      checkArgumentCount('getBookmarkForTime', args.length, 1);
      return storage.bookmarkForTime(convertTimestamp('getBookmarkForTime', args[0]));
    });
  }

  onNextSessionRestoreBookmark(...args: unknown[]): Promise<string> {
    const storage = DurableObjectStorage.#of(this);
    return promised(() => {
      checkSqlBackend(storage, 'onNextSessionRestoreBookmark');
      checkArgumentCount('onNextSessionRestoreBookmark', args.length, 1);
      return storage.restoreAtNextStart(convertString('onNextSessionRestoreBookmark', args[0]));
    });
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
}

/** Refuses a member of the SQL backend. @throws WRONG_BACKEND */
function checkSqlBackend(storage: ObjectStorage, member: string): void {
  if (storage.options.backend === 'kv') throw wrongBackend(member);
}

function wrongBackend(member: string): Error {
  return storageError(
    'WRONG_BACKEND',
    `ctx.storage.${member}: only on the SQL backend; this class is on the key-value backend.`,
  );
}

// Its continuation is that of I/O: it belongs to the event that called, and waits for the gate. A
// failed flush resets the object, so that the promise never settles in the code that is then dead.
function synced(storage: ObjectStorage): Promise<void> | undefined {
  const durable = storage.durability();
  if (durable === undefined) return undefined;
  const resume = storage.environment.continuation();
  return new Promise((resolve) => {
    durable.then(
      () => resume(resolve),
      () => {},
    );
  });
}

// None of these is a value: storing one is a DataCloneError, as for any platform object.
refuseToClone(DurableObjectStorage, DurableObjectTransaction, SyncKvStorage, ListIterator);
refuseToClone(UserSql, Statement, Cursor, RowIterator, RawIterator);
