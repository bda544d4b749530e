// `transaction` of a page: begins in the worker, runs the closure here, then commits or rolls back.
//
// Invariant: a handle has one transaction at a time. The worker learns how the closure ended before
// the promise settles. A closure may not run longer than the worker lets a transaction hold an
// object. A page that goes away rolls back: in the browser's back/forward cache, its closure stands still, and all
// others would wait for it.
//
// The closure starts as the transaction begins: its first calls travel with the beginning, and wait in the
// worker until the transaction is open. So does the commit of a closure that has ended by then.

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

/** The transactions of one handle, one after the other. */
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

  /** `signal` rolls it back, unless its commit is under way. */
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
      signal?.throwIfAborted(); // while it waited
      return this.#session.begin(signal, label);
    });
    const result = started.then((scope) => this.#one(scope, run, signal));
    this.#last = result.catch(() => {}); // the caller receives the error
    if (signal === undefined) return result;
    // It may wait for others to end theirs. The worker refuses it, or it is undone.
    const begun = started.then((scope) => scope.begun);
    await untilAborted(begun, signal);
    return result;
  }

  async #one<T>(
    scope: TransactionScope,
    closure: Closure<T>,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const transaction = new RemoteTransaction(this.#session, scope);
    const running = this.#start(() => closure(transaction));
    // Not before the closure ends, even after a timeout: until then, its writes must not become
    // single ones.
    const leave = () => this.#session.leave(scope);
    running.then(leave, leave);
    let result: T;
    try {
      result = await this.#inTime(running, transaction, scope, signal);
      if (signal !== undefined) {
        // Not before it is open: a transaction cancelled while it waits is not committed.
        await scope.begun;
        signal.throwIfAborted();
      }
    } catch (error) {
      await transaction.undo(transactionEnded('rolled back'));
      throw error;
    }
    const committed = transaction.commit();
    committed.catch(() => {}); // thrown below, unless it never began, which is why then
    await scope.begun;
    await committed;
    return result;
  }

  async #start<T>(closure: () => T | PromiseLike<T>): Promise<T> {
    this.#isInClosure = true;
    try {
      return closure() as T; // a promise is followed by the async function
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
        // In a task of the page that is back: the handle's next transaction must not begin before.
        after(0, () => undo(scope.ended!));
      });
      // The time that it waits for others does not count.
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

/** The `txn` that a closure receives. */
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
    // As in the worker, the closure's changes on the storage itself from here on are kept.
    this.#session.leave(this.#scope);
  }

  /** Rolls it back; its operations fail from now on, for this reason. Idempotent. */
  undo(reason: Error): Promise<unknown> {
    if (this.#state === 'open') {
      this.#state = 'undone';
      // If this fails, the worker has ended the transaction already, and has undone it.
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

  // Keeps its place after earlier calls; rejects at once if the transaction's worker is lost.
  #tell(op: 'commit' | 'rollback'): Promise<unknown> {
    const { ended, number } = this.#scope;
    if (ended !== null) return Promise.reject(ended);
    return this.#session.call({ op, txn: number }, null);
  }
}
