// Which transaction SQLite is in, and who opened it.
//
//   none      no transaction; the first write opens the implicit one
//   implicit  writes made since the last turn of the event loop; committed in the next turn, or by `endTurn`
//   explicit  a stack of frames opened by transaction(): the first is BEGIN, inner ones savepoints
//
// transactionSync() adds savepoints of its own that never outlive the call, in any state.
//
// Invariant: SQLite is in a transaction exactly when the state is not `none`. The caller is told of
// every rollback, because what it has cached of the schema may be undone.
//
// Does not know durability (commits.ts) nor which event may run (the input gate).

import { storageError } from '../../src/contract/errors.ts';
import type { Database } from '../sql/database.ts';

/** One explicit transaction. Inner ones are savepoints of the outer. */
export interface Frame {
  readonly parent: Frame | null;
  readonly name: string;
  status: 'open' | 'committed' | 'rolledBack';
}

type State =
  | { readonly kind: 'none' }
  | { readonly kind: 'implicit' }
  | { readonly kind: 'explicit'; readonly frame: Frame };

export interface TransactionEvents {
  /** SQLite committed; it is in the log. */
  committed(): void;
  /** Something was undone. `implicit`: the writes of this turn. */
  rolledBack(options: { implicit: boolean }): void;
  /** Runs the task in the next turn of the event loop. */
  nextTurn(task: () => void): void;
  /** A commit failed; the object must be reset. */
  failed(error: unknown): void;
}

const NONE: State = { kind: 'none' };

export class Transactions {
  readonly #database: Database;
  readonly #events: TransactionEvents;
  #state: State = NONE;
  #syncDepth = 0;
  /** No later turn is needed for a commit: the running code ends its own. */
  #isInTurn = false;
  /** Counts resets of the database, which take every savepoint with them. */
  #epoch = 0;

  constructor(database: Database, events: TransactionEvents) {
    this.#database = database;
    this.#events = events;
  }

  /** True when writes made now belong to the implicit transaction. */
  get isImplicit(): boolean {
    return this.#state.kind !== 'explicit';
  }

  get isExplicit(): boolean {
    return this.#state.kind === 'explicit';
  }

  /** Opens the implicit transaction unless one is open. Called before every write. */
  beforeWrite(): void {
    if (this.#state.kind !== 'none') return;
    this.#database.run('BEGIN');
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

  /** Commits the implicit transaction, if one is open; a failure is reported to the events. */
  endTurn(): void {
    this.#commitPending();
  }

  /** Commits the implicit transaction now, if one is open. @throws why the commit failed */
  commitImplicit(): void {
    const failure = this.#commitPending();
    if (failure !== undefined) throw failure.error;
  }

  /** Opens an explicit transaction, inside the one that is open. */
  begin(): Frame {
    this.commitImplicit();
    const parent = this.#state.kind === 'explicit' ? this.#state.frame : null;
    const depth = parent === null ? 0 : depthOf(parent) + 1;
    const frame: Frame = { parent, name: `_cf_savepoint_${depth}`, status: 'open' };
    this.#database.run(parent === null ? 'BEGIN' : `SAVEPOINT ${frame.name}`);
    this.#state = { kind: 'explicit', frame };
    return frame;
  }

  /** Ends an explicit transaction with its changes; does nothing when it was rolled back. */
  commit(frame: Frame): void {
    if (frame.status !== 'open') return;
    this.#mustBeInnermost(frame, 'commit');
    try {
      this.#database.run(frame.parent === null ? 'COMMIT' : `RELEASE ${frame.name}`);
    } catch (error) {
      // The caller of transaction() sees the reset itself, not only its cause.
      Object.defineProperty(error, 'durableObjectReset', { value: true, configurable: true });
      this.#events.failed(error);
      throw error;
    }
    frame.status = 'committed';
    this.#leave(frame);
    if (frame.parent === null) this.#events.committed();
  }

  /** Undoes an explicit transaction; does nothing when it has ended. @throws TRANSACTION_NESTING */
  rollback(frame: Frame): void {
    if (frame.status !== 'open') return;
    this.#mustBeInnermost(frame, 'rollback');
    if (frame.parent === null) this.#undoAll();
    else this.#undoSavepoint(frame.name);
    frame.status = 'rolledBack';
    this.#leave(frame);
    this.#events.rolledBack({ implicit: false });
  }

  /** Runs a synchronous callback as one transaction, inside an open one if there is one. */
  sync<T>(callback: () => T): T {
    this.beforeWrite();
    const name = `_cf_sync_savepoint_${this.#syncDepth}`;
    const epoch = this.#epoch;
    this.#database.run(`SAVEPOINT ${name}`);
    this.#syncDepth += 1;
    let result: T;
    try {
      result = callback();
      if (isThenable(result)) throw asyncCallback(result);
    } catch (error) {
      this.#syncDepth -= 1;
      // After a critical error SQLite has rolled everything back, the savepoint included.
      if (this.#epoch === epoch && this.#database.inTransaction) {
        this.#undoSavepoint(name);
        this.#events.rolledBack({ implicit: false });
      }
      throw error;
    }
    this.#syncDepth -= 1;
    if (this.#epoch !== epoch) {
      throw storageError(
        'TRANSACTION_NESTING',
        'transactionSync(): deleteAll() inside ended the transaction; call it outside.',
      );
    }
    this.#database.run(`RELEASE ${name}`);
    return result;
  }

  /** Runs writes that succeed or fail together, without ending an open transaction. */
  group(writes: () => void): void {
    this.#database.run('SAVEPOINT _cf_put_multiple_savepoint');
    try {
      writes();
    } catch (error) {
      if (this.#database.inTransaction) {
        this.#undoSavepoint('_cf_put_multiple_savepoint');
        this.#events.rolledBack({ implicit: false });
      }
      throw error;
    }
    this.#database.run('RELEASE _cf_put_multiple_savepoint');
  }

  /** Rolls everything back, for deleteAll, which would delete it anyway. */
  discard(): void {
    this.#epoch += 1;
    if (this.#state.kind === 'none') return;
    const implicit = this.#state.kind === 'implicit';
    this.#state = NONE;
    if (this.#database.inTransaction) this.#undoAll();
    this.#events.rolledBack({ implicit });
  }

  // Reports a failure to the events, and returns it for a caller that can report it too.
  #commitPending(): { readonly error: unknown } | undefined {
    if (this.#state.kind !== 'implicit') return undefined;
    try {
      this.#database.run('COMMIT');
    } catch (error) {
      this.#events.failed(error);
      return { error };
    }
    this.#state = NONE;
    this.#events.committed();
    return undefined;
  }

  // On a full disk, SQLite may report that again for the rollback, although it was performed.
  #undoAll(): void {
    try {
      this.#database.run('ROLLBACK');
    } catch (error) {
      if (this.#database.inTransaction) throw error;
    }
  }

  #undoSavepoint(name: string): void {
    this.#database.run(`ROLLBACK TO ${name}`);
    this.#database.run(`RELEASE ${name}`);
  }

  #leave(frame: Frame): void {
    this.#state = frame.parent === null ? NONE : { kind: 'explicit', frame: frame.parent };
  }

  #mustBeInnermost(frame: Frame, act: string): void {
    if (this.#state.kind === 'explicit' && this.#state.frame === frame) return;
    throw storageError(
      'TRANSACTION_NESTING',
      `${act}: an inner transaction is still open; end it first.`,
    );
  }
}

function depthOf(frame: Frame): number {
  return frame.parent === null ? 0 : depthOf(frame.parent) + 1;
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as { then?: unknown }).then === 'function'
  );
}

function asyncCallback(result: PromiseLike<unknown>) {
  // Later operations of the callback are refused or have no effect here; its failure is reported.
  result.then(undefined, () => {});
  return storageError(
    'TRANSACTION_ASYNC',
    'transactionSync(): the callback returned a promise, and was rolled back; use transaction().',
  );
}
