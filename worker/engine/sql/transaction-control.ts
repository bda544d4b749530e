// Begins and ends the transaction of a connection, and the savepoints in it.
//
// Invariants: each of these statements has its whole effect, or `onCritical` tells the owner to end. So no work
// continues in a transaction that is undone only in part, or that cannot end. Savepoints are a stack, and none is open
// when the transaction commits. The statements are compiled when the connection opens, because an undo often follows a
// lack of memory.

import { type StorageError, storageError } from '../../../src/shared/contract/errors.ts';
import type { Connection } from './connection.ts';
import type { PreparedStatement } from './statement.ts';

/** A savepoint, as the number of savepoints that are open with it: 1 is the outermost. */
export type Savepoint = number;

// All savepoints have the same name: SQLite takes the innermost one of a name.
const NAME = '_cf_savepoint';

/** workerd's message for a deferred constraint that fails at the end of a turn. */
const VIOLATED =
  'Durable Object was reset and rolled back to its last known good state because the application left the database ' +
  'in a state where constraints were violated: ';

export class TransactionControl {
  readonly #connection: Connection;
  readonly #begin: PreparedStatement;
  readonly #commit: PreparedStatement;
  readonly #rollback: PreparedStatement;
  readonly #save: PreparedStatement;
  readonly #release: PreparedStatement;
  readonly #rollbackTo: PreparedStatement;
  /** Number of open savepoints. */
  #depth = 0;

  /** `compile` compiles trusted text and keeps it for the connection's life. */
  constructor(connection: Connection, compile: (sql: string) => PreparedStatement) {
    this.#connection = connection;
    this.#begin = compile('BEGIN');
    this.#commit = compile('COMMIT');
    this.#rollback = compile('ROLLBACK');
    this.#save = compile(`SAVEPOINT ${NAME}`);
    this.#release = compile(`RELEASE ${NAME}`);
    this.#rollbackTo = compile(`ROLLBACK TO ${NAME}`);
  }

  /** True while a transaction is open. */
  get isOpen(): boolean {
    return this.#connection.transactionOpen;
  }

  /** True while the savepoint is open, that is, until it or an outer rollback has ended it. */
  has(savepoint: Savepoint): boolean {
    return this.isOpen && savepoint <= this.#depth;
  }

  begin(): void {
    this.#assert(!this.isOpen, 'a transaction began inside another one');
    this.#run(this.#begin);
    this.#depth = 0;
    this.#assert(this.isOpen, 'BEGIN opened no transaction');
  }

  /**
   * Commits the transaction. `isAsked` says whether the program asked for the commit. If not, a failure does not belong
   * to one of its calls, so the error is not marked as one that resets the object, as on workerd.
   */
  commit(isAsked: boolean): void {
    this.#assert(this.isOpen && this.#depth === 0, 'a transaction ended before its savepoints');
    try {
      this.#run(this.#commit, isAsked);
    } catch (error) {
      const { message } = error as Error;
      if (!isAsked && message.includes('constraint failed')) {
        (error as Error).message = VIOLATED + message;
      }
      throw error;
    }
    this.#assert(!this.isOpen, 'COMMIT ended no transaction');
  }

  /** Undoes the transaction, with all savepoints. */
  rollback(): void {
    this.#assert(this.isOpen, 'there was no transaction to undo');
    this.#run(this.#rollback);
    this.#depth = 0;
    this.#assert(!this.isOpen, 'ROLLBACK ended no transaction');
  }

  /** Opens a savepoint inside the transaction. */
  save(): Savepoint {
    this.#assert(this.isOpen, 'a savepoint began outside of a transaction');
    this.#run(this.#save);
    this.#depth += 1;
    return this.#depth;
  }

  /** Ends the innermost savepoint and keeps its changes. */
  release(savepoint: Savepoint): void {
    this.#assert(
      this.isOpen && savepoint === this.#depth,
      'a savepoint ended before its inner one',
    );
    this.#run(this.#release);
    this.#depth -= 1;
  }

  /** Undoes and ends a savepoint, and those inside it. */
  undo(savepoint: Savepoint): void {
    this.#assert(this.has(savepoint), 'there was no savepoint to undo');
    while (this.#depth > savepoint) this.release(this.#depth);
    this.#run(this.#rollbackTo);
    this.release(savepoint);
  }

  #run(statement: PreparedStatement, isMarked = true): void {
    try {
      statement.step();
    } catch (error) {
      throw this.#endWith(error as StorageError, isMarked);
    }
  }

  #assert(isTrue: boolean, otherwise: string): void {
    if (isTrue) return;
    const fact = `${otherwise}. The object was reset; please report this defect.`;
    throw this.#endWith(storageError('INTERNAL', `Transactions: ${fact}`));
  }

  /** Tells the owner to end. Returns the error, marked as one that resets the object unless `isMarked` is false. */
  #endWith(error: StorageError, isMarked = true): StorageError {
    if (isMarked) {
      Object.defineProperty(error, 'durableObjectReset', { value: true, configurable: true });
    }
    this.#connection.whenIdle(() => this.#connection.events.onCritical(error));
    return error;
  }
}
