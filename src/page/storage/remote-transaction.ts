// Implements `transaction` of a page: begins a transaction in the worker, runs the closure here, then commits or rolls back.
//
// Invariant: a handle has one transaction at a time. The worker has committed or rolled back before the promise settles. A
// closure may not run longer than a transaction may hold an object. A page that is hidden for good rolls back: in the
// browser's back/forward cache its closure does not run, and all other tabs would wait for it.
//
// The closure starts at once: its first calls are sent together with the beginning, and wait in the worker until the
// transaction is open. So does the commit, if the closure has ended by then.

import { bothSignals, untilAborted } from '../../shared/calls/stubs/with-signal.ts';
import { checkCallback } from '../../shared/contract/arguments.ts';
import { storageError } from '../../shared/contract/errors.ts';
import { CRITICAL_SECTION_MS_MAX } from '../../shared/contract/limits.ts';
import type { Transaction } from '../../shared/contract/storage.ts';
import type { PageEnvironment } from '../leader/environment.ts';
import { RemoteKeyValue } from './remote-kv.ts';
import type { Session } from './session.ts';
import { type TransactionScope, transactionEnded } from './transaction-scope.ts';

type TransactionEnvironment = Pick<PageEnvironment, 'after' | 'onPageHide'>;

type Closure<T> = (txn: Transaction) => T | PromiseLike<T>;

/** Runs the transactions of one handle, one after the other. */
export class RemoteTransactions {
  readonly #session: Session;
  readonly #environment: TransactionEnvironment;
  #last: Promise<unknown> = Promise.resolve();
  /** True while a closure runs up to its first await. */
  #isInClosure = false;

  constructor(session: Session, environment: TransactionEnvironment) {
    this.#session = session;
    this.#environment = environment;
  }

  /** Runs a transaction. `signal` rolls it back, unless its commit was already sent. */
  async run<T>(closure: unknown, signal?: AbortSignal, label?: string): Promise<T> {
    checkCallback('transaction', closure);
    signal?.throwIfAborted();
    if (this.#isInClosure) {
      throw storageError(
        'TRANSACTION_NESTING',
        'transaction: called in the closure of a transaction of the same handle, which it would ' +
          'wait for; do its work in the outer closure.',
      );
    }
    const run = closure as unknown as Closure<T>;
    const started = this.#last.then(() => {
      signal?.throwIfAborted(); // the signal may have aborted while this call waited for its turn
      return this.#session.begin(signal, label);
    });
    const result = started.then((scope) => this.#runOne(scope, run, signal));
    this.#last = result.catch(() => {}); // the caller receives the error
    if (signal === undefined) return result;
    // Opening may wait for transactions of other sessions. It rejects if the worker refuses, or if it is undone first.
    const begun = started.then((scope) => scope.begun);
    await untilAborted(begun, signal);
    return result;
  }

  async #runOne<T>(
    scope: TransactionScope,
    closure: Closure<T>,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const transaction = new RemoteTransaction(this.#session, scope);
    const running = this.#start(() => closure(transaction));
    // The handle leaves the transaction only when the closure ends, even after a timeout: until then, its writes must not be
    // performed outside of the transaction.
    const leave = () => this.#session.leave(scope);
    running.then(leave, leave);
    let result: T;
    try {
      result = await this.#inTime(running, transaction, scope, signal);
      if (signal !== undefined) {
        // The commit waits until the transaction is open, so that one which is cancelled while it waits is not committed.
        await scope.begun;
        signal.throwIfAborted();
      }
    } catch (error) {
      await transaction.undo(transactionEnded('rolled back'));
      throw error;
    }
    const committed = transaction.commit();
    committed.catch(() => {}); // the error is thrown below, unless the transaction never began, whose error is thrown instead
    await scope.begun;
    await committed;
    return result;
  }

  async #start<T>(closure: () => T | PromiseLike<T>): Promise<T> {
    this.#isInClosure = true;
    try {
      return closure() as T; // the async function awaits a returned promise
    } finally {
      this.#isInClosure = false;
    }
  }

  #inTime<T>(
    running: Promise<T>,
    transaction: RemoteTransaction,
    scope: TransactionScope,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const { after, onPageHide } = this.#environment;
    const inTime = new Promise<T>((resolve, reject) => {
      let hasEnded = false;
      let cancel = () => {};
      const undo = (error: Error) => {
        void transaction.undo(error);
        reject(error);
      };
      const stay = onPageHide(() => {
        if (scope.ended !== null) return;
        const fact = 'its page went away before the closure ended, and it was rolled back.';
        void transaction.undo(storageError('TRANSACTION_ENDED', `transaction: ${fact}`));
        // This waits for a task of the restored page, so that the handle's next transaction begins only then.
        after(0, () => undo(scope.ended!));
      });
      // The timeout starts only now: waiting for other transactions does not count.
      scope.begun.then(() => {
        if (hasEnded) return;
        cancel = after(CRITICAL_SECTION_MS_MAX, () => {
          const fact =
            `transaction: the closure did not end within ${CRITICAL_SECTION_MS_MAX / 1000} s; its ` +
            'transaction was rolled back. Do slow work outside of it.';
          undo(storageError('TRANSACTION_TIMEOUT', fact));
        });
      }, reject);
      running.then(resolve, reject).finally(() => {
        hasEnded = true;
        cancel();
        stay();
      });
    });
    const { ending } = this.#session;
    return untilAborted(inTime, bothSignals(signal, ending));
  }
}

/** Implements the `txn` that a closure receives. */
class RemoteTransaction extends RemoteKeyValue implements Transaction {
  readonly #session: Session;
  readonly #scope: TransactionScope;
  #state: 'open' | 'committed' | 'undone' = 'open';
  #undoing: Promise<unknown> = Promise.resolve();

  constructor(session: Session, scope: TransactionScope) {
    super({ call: (call) => session.call(call, scope) });
    this.#session = session;
    this.#scope = scope;
  }

  rollback(): void {
    if (this.#state === 'committed') throw transactionEnded('committed');
    void this.undo(transactionEnded('rolled back'));
    // As in the worker, later changes of the closure through the handle itself are not rolled back.
    this.#session.leave(this.#scope);
  }

  /** Rolls the transaction back. Its operations reject with this reason from now on. Idempotent. */
  undo(reason: Error): Promise<unknown> {
    if (this.#state === 'open') {
      this.#state = 'undone';
      // If this fails, the worker has already ended the transaction and rolled it back.
      this.#undoing = this.#tell('rollback').catch(() => {});
      this.#scope.end(reason);
    }
    return this.#undoing;
  }

  /** Keeps the changes, unless the closure called rollback(). */
  async commit(): Promise<void> {
    if (this.#state !== 'open') {
      await this.#undoing;
      return;
    }
    this.#state = 'committed';
    const committing = this.#tell('commit');
    this.#scope.end(transactionEnded('committed'));
    await committing;
  }

  /** Sends the end of the transaction, after earlier calls. Rejects at once if the transaction's worker is lost. */
  #tell(op: 'commit' | 'rollback'): Promise<unknown> {
    const { ended, number } = this.#scope;
    if (ended !== null) return Promise.reject(ended);
    return this.#session.call({ op, txn: number }, null);
  }
}
