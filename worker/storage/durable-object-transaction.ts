// The `txn` a closure of transaction() receives: the key-value and alarm methods, for as long as
// the transaction is open, and rollback().

import { storageError } from '../../src/contract/errors.ts';
import * as methods from './key-value-methods.ts';
import { promised } from './key-value-methods.ts';
import type { ObjectStorage } from './object-storage.ts';
import { checkConstructor, type INTERNAL, illegalInvocation } from './surface.ts';
import type { Frame } from './transactions.ts';

export class DurableObjectTransaction {
  readonly #storage: ObjectStorage;
  readonly #frame: Frame;

  constructor(token: typeof INTERNAL, storage: ObjectStorage, frame: Frame) {
    checkConstructor('DurableObjectTransaction', token);
    this.#storage = storage;
    this.#frame = frame;
  }

  get(...args: unknown[]): Promise<unknown> {
    const open = DurableObjectTransaction.#of(this);
    return promised(() => methods.get(open('get'), args));
  }

  put(...args: unknown[]): Promise<void> {
    const open = DurableObjectTransaction.#of(this);
    return promised(() => methods.put(open('put'), args));
  }

  delete(...args: unknown[]): Promise<boolean | number> {
    const open = DurableObjectTransaction.#of(this);
    return Promise.resolve(methods.remove(open('delete'), args));
  }

  list(...args: unknown[]): Promise<Map<string, unknown>> {
    const open = DurableObjectTransaction.#of(this);
    return promised(() => methods.list(open('list'), args));
  }

  getAlarm(...args: unknown[]): Promise<number | null> {
    const open = DurableObjectTransaction.#of(this);
    return promised(() => methods.getAlarm(open('getAlarm'), args));
  }

  setAlarm(...args: unknown[]): Promise<void> {
    const open = DurableObjectTransaction.#of(this);
    return promised(() => methods.setAlarm(open('setAlarm'), args));
  }

  deleteAlarm(...args: unknown[]): Promise<void> {
    const open = DurableObjectTransaction.#of(this);
    return promised(() => methods.deleteAlarm(open('deleteAlarm'), args));
  }

  deleteAll(): never {
    DurableObjectTransaction.#of(this);
    throw storageError(
      'TRANSACTION_NESTING',
      'txn.deleteAll(): not possible inside a transaction; call ctx.storage.deleteAll() outside.',
    );
  }

  /** Undoes the transaction. Nothing when it was rolled back already. */
  rollback(): void {
    DurableObjectTransaction.#of(this);
    if (this.#frame.status === 'committed') throw ended('rollback');
    this.#storage.rollback(this.#frame);
  }

  get [Symbol.toStringTag](): string {
    return 'DurableObjectTransaction';
  }

  static #of(self: DurableObjectTransaction): (operation: string) => ObjectStorage {
    if (self === null || typeof self !== 'object' || !(#frame in self)) {
      throw illegalInvocation('DurableObjectTransaction');
    }
    return (operation) => {
      if (self.#frame.status !== 'open') throw ended(operation);
      return self.#storage;
    };
  }
}

function ended(operation: string): Error {
  return storageError(
    'TRANSACTION_ENDED',
    `txn.${operation}(): the transaction was committed or rolled back; start a new one.`,
  );
}
