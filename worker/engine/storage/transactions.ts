// Knows which kind of transaction SQLite is in, and begins and ends it.
//
//   none      no transaction; the first write opens the implicit one
//   implicit  writes made since the last turn of the event loop; committed in the next turn, or by `endTurn`
//   explicit  a stack of frames opened by transaction(): the first is BEGIN, inner ones savepoints
//
// transactionSync() adds savepoints of its own that never outlive the call, in any state. A closure that fails
// while a transaction which it began is still open is undone when that one has ended; a closure that returns then
// resets the object, as on workerd.
//
// Invariant: SQLite is in a transaction exactly when the state is not `none`, and every frame ends. A failure to
// undo or end (sql/transaction-control) resets the object. The owner is notified of every rollback, because it may undo
// the schema that the owner has cached.

import { storageError } from '../../../src/shared/contract/errors.ts';
import type { Savepoint, TransactionControl } from '../sql/transaction-control.ts';

/** An explicit transaction. Inner transactions are savepoints of the outer one. */
export interface Frame {
  readonly parent: Frame | null;
  /** The savepoint of an inner frame; undefined for the outermost one, which is SQLite's transaction. */
  readonly savepoint: Savepoint | undefined;
  /** The frame's state. A frame that was rolled back stays on the stack until its inner one has ended. */
  status: 'open' | 'committed' | 'rolledBack';
}

type State =
  | { readonly kind: 'none' }
  | { readonly kind: 'implicit' }
  | { readonly kind: 'explicit'; readonly frame: Frame };

export interface TransactionEvents {
  /** Called before SQLite begins a transaction. */
  begins(): void;
  /** Called after SQLite has committed to the log. If it throws, the object is reset. */
  committed(): void;
  /** Called after a rollback; `implicit` says that it undid the writes of this turn. */
  rolledBack(options: { implicit: boolean }): void;
  /** Runs the task in the next turn of the event loop. */
  nextTurn(task: () => void): void;
  /** Called if a transaction cannot end as its code requires; the object must be reset. */
  failed(error: unknown): void;
}

const NO_TRANSACTION: State = { kind: 'none' };

export class Transactions {
  readonly #control: TransactionControl;
  readonly #events: TransactionEvents;
  #state: State = NO_TRANSACTION;
  #syncDepth = 0;
  /** True while `turn` runs: its caller commits by `endTurn`, so no commit is scheduled for a later turn. */
  #isInTurn = false;

  constructor(control: TransactionControl, events: TransactionEvents) {
    this.#control = control;
    this.#events = events;
  }

  /** True if a write made now would belong to the implicit transaction. */
  get isImplicit(): boolean {
    return this.#state.kind !== 'explicit';
  }

  /**
   * Checks that the operation runs outside of transaction(). @throws TRANSACTION_NESTING inside of transaction(), where
   * the operation cannot run
   */
  mustBeImplicit(operation: string): void {
    if (this.isImplicit) return;
    const message = `${operation}: not inside transaction(); call it before or after.`;
    throw storageError('TRANSACTION_NESTING', message);
  }

  /** True while the implicit transaction is open. */
  get isPending(): boolean {
    return this.#state.kind === 'implicit';
  }

  /** True inside transactionSync(), where nothing can be committed. */
  get isSync(): boolean {
    return this.#syncDepth > 0;
  }

  /** Opens the implicit transaction unless one is open. Called before every write. */
  beforeWrite(): void {
    if (this.#state.kind !== 'none') return;
    this.#events.begins();
    this.#control.begin();
    this.#state = { kind: 'implicit' };
    if (!this.#isInTurn) this.#events.nextTurn(() => this.endTurn());
  }

  /** Runs the work as a turn of its own, which the caller ends with `endTurn`. */
  turn<T>(work: () => T): T {
    this.#isInTurn = true;
    try {
      return work();
    } finally {
      this.#isInTurn = false;
    }
  }

  /** Commits the implicit transaction, if one is open. A failure resets the object. */
  endTurn(): void {
    this.#commitPending();
  }

  /**
   * Commits the implicit transaction now, if one is open, but not inside transactionSync(), which may still
   * be undone. @throws the reason if the commit failed; the object is reset then
   */
  commitImplicit(): void {
    if (this.isSync) return;
    const failure = this.#commitPending();
    if (failure !== undefined) throw failure.error;
  }

  /** Opens an explicit transaction, inside an open one if there is one. */
  begin(): Frame {
    this.commitImplicit();
    const parent = this.#state.kind === 'explicit' ? this.#state.frame : null;
    const frame: Frame = { parent, savepoint: this.#open(parent), status: 'open' };
    this.#state = { kind: 'explicit', frame };
    return frame;
  }

  /**
   * Ends an explicit transaction with its changes; does nothing when it was rolled back.
   *
   * @throws TRANSACTION_NESTING when an inner one is open, and the object is reset
   */
  commit(frame: Frame): void {
    if (frame.status !== 'open') return;
    if (!this.#isInnermost(frame)) throw this.#unendedTransactionError();
    if (frame.savepoint === undefined) this.#control.commit(true);
    else this.#control.release(frame.savepoint);
    frame.status = 'committed';
    this.#leave(frame);
    if (frame.parent === null) this.#events.committed();
  }

  /** Undoes an explicit transaction; does nothing when it has ended. @throws TRANSACTION_NESTING */
  rollback(frame: Frame): void {
    if (frame.status !== 'open') return;
    if (!this.#isInnermost(frame)) {
      throw storageError(
        'TRANSACTION_NESTING',
        'rollback: an inner transaction is still open; end it first.',
      );
    }
    this.#undo(frame);
  }

  /** Undoes an explicit transaction whose closure failed, as soon as an inner one has ended. */
  fail(frame: Frame): void {
    if (frame.status !== 'open') return;
    if (this.#isInnermost(frame)) this.#undo(frame);
    else frame.status = 'rolledBack';
  }

  /** Runs a synchronous callback as one transaction, inside an open one if there is one. */
  sync<T>(callback: () => T): T {
    this.beforeWrite();
    const savepoint = this.#control.save();
    this.#syncDepth += 1;
    let result: T;
    try {
      result = callback();
      if (isThenable(result)) throw asyncCallback(result);
    } catch (error) {
      this.#syncDepth -= 1;
      this.#undoWrites(savepoint);
      throw error;
    }
    this.#syncDepth -= 1;
    if (!this.#control.has(savepoint)) throw endedInside();
    this.#control.release(savepoint);
    return result;
  }

  /** Runs writes that succeed or fail together, without ending an open transaction. */
  group<T>(writes: () => T): T {
    const savepoint = this.#control.save();
    let result: T;
    try {
      result = writes();
    } catch (error) {
      this.#undoWrites(savepoint);
      throw error;
    }
    this.#control.release(savepoint);
    return result;
  }

  /** Rolls back every transaction, for deleteAll, which would delete their writes anyway. */
  discard(): void {
    if (this.#state.kind === 'none') return;
    const implicit = this.#state.kind === 'implicit';
    this.#control.rollback();
    this.#state = NO_TRANSACTION;
    this.#events.rolledBack({ implicit });
  }

  // Commits the implicit transaction. A failure resets the object, and is returned to a caller that can report it.
  #commitPending(): { readonly error: unknown } | undefined {
    if (this.#state.kind !== 'implicit') return undefined;
    try {
      this.#control.commit(false);
      this.#state = NO_TRANSACTION;
      this.#events.committed();
    } catch (error) {
      return { error };
    }
    return undefined;
  }

  #open(parent: Frame | null): Savepoint | undefined {
    if (parent !== null) return this.#control.save();
    this.#events.begins();
    this.#control.begin();
    return undefined;
  }

  #undo(frame: Frame): void {
    if (frame.savepoint === undefined) this.#control.rollback();
    else this.#control.undo(frame.savepoint);
    frame.status = 'rolledBack';
    this.#leave(frame);
    this.#events.rolledBack({ implicit: false });
  }

  /** Undoes a savepoint, unless a critical error made SQLite roll back the whole transaction. */
  #undoWrites(savepoint: Savepoint): void {
    if (!this.#control.isOpen) return;
    if (!this.#control.has(savepoint)) throw endedInside();
    this.#control.undo(savepoint);
    this.#events.rolledBack({ implicit: false });
  }

  /** Removes an ended frame from the stack; also ends the frame around it if that was rolled back. */
  #leave({ parent }: Frame): void {
    this.#state = parent === null ? NO_TRANSACTION : { kind: 'explicit', frame: parent };
    if (parent?.status === 'rolledBack') this.#undo(parent);
  }

  #isInnermost(frame: Frame): boolean {
    return this.#state.kind === 'explicit' && this.#state.frame === frame;
  }

  #unendedTransactionError(): Error {
    const error = storageError(
      'TRANSACTION_NESTING',
      'transaction(): the closure returned while a transaction that it had begun was still open, so neither could ' +
        'be committed; await the inner one. The object was reset, and nothing of both is stored.',
    );
    Object.defineProperty(error, 'durableObjectReset', { value: true, configurable: true });
    this.#events.failed(error);
    return error;
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as { then?: unknown }).then === 'function'
  );
}

function asyncCallback(result: PromiseLike<unknown>) {
  // Ignore the outcome of the callback's promise: transactionSync() already reports the error.
  result.then(undefined, () => {});
  return storageError(
    'TRANSACTION_ASYNC',
    'transactionSync(): the callback returned a promise, and was rolled back; use transaction().',
  );
}

function endedInside() {
  return storageError(
    'TRANSACTION_NESTING',
    'transactionSync(): deleteAll() or rollback() inside ended the transaction: the callback’s earlier writes are ' +
      'undone, its later writes stay. Call them outside.',
  );
}
