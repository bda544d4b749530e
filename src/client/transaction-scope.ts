// One transaction of a page while its closure runs. Calls that join it carry its number, including
// calls of the handle itself. So if it ends unexpectedly (by a timeout, or because its worker is
// lost), its later calls fail instead of continuing as single writes that cannot be undone.

import { storageError } from '../contract/errors.ts';

export class TransactionScope {
  /** Among the transactions of its session. */
  readonly number: number;
  /** Resolves when the worker has opened it; its calls, which may be sent before, wait for that there. */
  readonly begun: Promise<void>;
  /** Cancels the transaction, and with it the calls that join it. */
  readonly signal: AbortSignal | undefined;
  #end: Error | null = null;

  constructor(number: number, begun: Promise<void>, signal?: AbortSignal) {
    this.number = number;
    this.begun = begun;
    begun.catch((error) => this.end(error));
    this.signal = signal;
  }

  /** Why its operations fail, or null while it is open. */
  get ended(): Error | null {
    return this.#end;
  }

  /** Ends it; only the first reason counts. */
  end(reason: Error): void {
    this.#end ??= reason;
  }
}

/** The reason of a transaction that the program ended. */
export function transactionEnded(how: 'committed' | 'rolled back'): Error {
  return storageError(
    'TRANSACTION_ENDED',
    `The transaction was ${how}; use the storage itself, or start a new transaction.`,
  );
}
