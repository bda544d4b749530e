// Implements `txn`, which a closure of transaction() receives: `rollback()`, and methods generated from the table of
// operations, which fail once the transaction has ended.

import { storageError } from '../../../src/shared/contract/errors.ts';
import type { KeyValueOperations } from '../../../src/shared/contract/storage.ts';
import type { MethodName } from '../../../src/shared/wire/operations.ts';
import { checkConstructor, type INTERNAL, illegalInvocation } from '../sql/platform-class.ts';
import type { ObjectStorage } from './object-storage.ts';
import { defineStorageMethods } from './storage-methods.ts';

import type { Frame } from './transactions.ts';

/** The methods that the static block generates from the table of operations. */
export interface DurableObjectTransaction
  extends Pick<KeyValueOperations, MethodName<'transaction'>> {}

export class DurableObjectTransaction {
  readonly #storage: ObjectStorage;
  readonly #frame: Frame;

  constructor(token: typeof INTERNAL, storage: ObjectStorage, frame: Frame) {
    checkConstructor('DurableObjectTransaction', token);
    this.#storage = storage;
    this.#frame = frame;
  }

  deleteAll(): never {
    DurableObjectTransaction.#of(this);
    throw storageError(
      'TRANSACTION_NESTING',
      'txn.deleteAll(): not possible inside a transaction; call ctx.storage.deleteAll() outside.',
    );
  }

  /** Undoes the transaction; does nothing if it has been rolled back. */
  rollback(): void {
    DurableObjectTransaction.#of(this);
    if (this.#frame.status === 'committed') throw transactionEndedError('rollback');
    this.#storage.rollback(this.#frame);
  }

  get [Symbol.toStringTag](): string {
    return 'DurableObjectTransaction';
  }

  static #of(self: DurableObjectTransaction): ObjectStorage {
    if (self === null || typeof self !== 'object' || !(#frame in self)) {
      throw illegalInvocation('DurableObjectTransaction');
    }
    return self.#storage;
  }

  static #checkOpen(self: DurableObjectTransaction, operation: string): void {
    if (self.#frame.status !== 'open') throw transactionEndedError(operation);
  }

  static {
    defineStorageMethods(
      DurableObjectTransaction.prototype,
      ['transaction'],
      DurableObjectTransaction.#of,
      DurableObjectTransaction.#checkOpen,
    );
  }
}

function transactionEndedError(operation: string): Error {
  return storageError(
    'TRANSACTION_ENDED',
    `txn.${operation}(): the transaction was committed or rolled back; start a new one.`,
  );
}
