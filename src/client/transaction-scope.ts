// One transaction of a page while its closure runs: the calls that join it carry its number.
//
// Carrying it, also on calls of the handle itself, is what keeps a transaction that ended behind the
// page's back (timed out, its worker gone) from continuing as single writes that nobody undoes.

import { storageError } from '../contract/errors.ts';

export class TransactionScope {
  /** As the worker counts; means nothing to another worker. */
  readonly number: number;
  #end: Error | null = null;

  constructor(number: number) {
    this.number = number;
  }

  /** Why its operations fail, or null while it is open. */
  get ended(): Error | null {
    return this.#end;
  }

  /** Ends it; the first reason stays. */
  end(reason: Error): void {
    this.#end ??= reason;
  }
}

/** The reason of a transaction that ended as the program wanted. */
export function transactionEnded(how: 'committed' | 'rolled back'): Error {
  return storageError(
    'TRANSACTION_ENDED',
    `The transaction was ${how}; use the storage itself, or start a new transaction.`,
  );
}
