// A transaction of a page as its session sees it: open, or ended for a reason.

import { storageError } from '../../shared/contract/errors.ts';
import type { Call } from '../../shared/wire/operations.ts';

/**
 * One transaction while its closure runs. Calls that join it carry its number, including calls of the handle itself.
 * So if it ends unexpectedly (by a timeout, or because its worker is lost), its later calls fail instead of continuing
 * as single writes that cannot be undone.
 */
export class TransactionScope {
  /** Among the transactions of its session. */
  readonly number: number;
  /** Resolves when the worker has opened it; its calls, which may be sent before, wait for that there. */
  readonly begun: Promise<void>;
  /** Cancels the transaction, and with it the calls that join it. */
  readonly signal: AbortSignal | undefined;
  readonly #ending = new AbortController();

  constructor(number: number, begun: Promise<void>, signal?: AbortSignal) {
    this.number = number;
    this.begun = begun;
    begun.catch((error) => this.end(error));
    this.signal = signal;
  }

  /** Why its operations fail, or null while it is open. */
  get ended(): Error | null {
    return this.#ending.signal.reason ?? null;
  }

  /** Aborted when it ends, with the reason. */
  get ending(): AbortSignal {
    return this.#ending.signal;
  }

  /** Ends it; only the first reason counts. */
  end(reason: Error): void {
    this.#ending.abort(reason);
  }
}

/** The reason of a transaction that the program ended. */
export function transactionEnded(how: 'committed' | 'rolled back'): Error {
  return storageError(
    'TRANSACTION_ENDED',
    `The transaction was ${how}; use the storage itself, or start a new transaction.`,
  );
}

/** Whether the call is one of the transaction, or its beginning. */
export function belongsTo({ number }: TransactionScope, call: Call): boolean {
  return call.op === 'begin' ? call.number === number : call.txn === number;
}
