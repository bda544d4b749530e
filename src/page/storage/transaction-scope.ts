// Tracks one transaction of a page: it is open, or it has ended with a reason.

import { storageError } from '../../shared/contract/errors.ts';
import type { Call } from '../../shared/wire/operations.ts';

/**
 * A transaction while its closure runs. Calls that join it carry its number, including calls of the handle itself. So
 * if it ends unexpectedly (by a timeout, or because its worker is lost), its later calls fail instead of continuing as
 * single writes that cannot be undone.
 */
export class TransactionScope {
  /** The number of the transaction, which is unique in its session. */
  readonly number: number;
  /** Resolves when the worker has opened the transaction. Calls that are sent earlier wait for this in the worker. */
  readonly begun: Promise<void>;
  /** The signal that cancels the transaction, and with it the calls that join it. */
  readonly signal: AbortSignal | undefined;
  readonly #ending = new AbortController();

  constructor(number: number, begun: Promise<void>, signal?: AbortSignal) {
    this.number = number;
    this.begun = begun;
    begun.catch((error) => this.end(error));
    this.signal = signal;
  }

  /** The reason why operations of the transaction fail; null while it is open. */
  get ended(): Error | null {
    return this.#ending.signal.reason ?? null;
  }

  /** Aborts with the reason when the transaction ends. */
  get ending(): AbortSignal {
    return this.#ending.signal;
  }

  /** Ends the transaction. Only the first reason counts. */
  end(reason: Error): void {
    this.#ending.abort(reason);
  }
}

/** Makes the error for calls of a transaction that the program has ended. */
export function transactionEnded(how: 'committed' | 'rolled back'): Error {
  return storageError(
    'TRANSACTION_ENDED',
    `The transaction was ${how}; use the storage itself, or start a new transaction.`,
  );
}

/** Returns true if the call begins the transaction or belongs to it. */
export function belongsTo({ number }: TransactionScope, call: Call): boolean {
  return call.op === 'begin' ? call.number === number : call.txn === number;
}
