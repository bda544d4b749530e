// How the transaction of a connection begins and ends, and the savepoints in it.
//
// Invariants: each of these statements has its whole effect, or the owner is told to end (`onCritical`): nobody
// goes on in a transaction that is undone in part, or that cannot end. Savepoints are a stack, and none is
// open when the transaction commits. The statements are compiled when the connection opens, because an undo
// often follows a lack of memory.
//
// Does not know why a transaction is open.

import { type StorageError, storageError } from '../../../src/shared/contract/errors.ts';
import type { Connection } from './connection.ts';
import type { PreparedStatement } from './statement.ts';

/** A savepoint: how many are open with it, so 1 is the outermost. */
export type Savepoint = number;

// All have one name: SQLite takes the innermost one of a name, and they are a stack.
const NAME = '_cf_savepoint';

/** workerd's words for a deferred constraint that fails at the end of a turn. */
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
  /** How many savepoints are open. */
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

  /** True while the savepoint is open: a rollback around it has not ended it. */
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
   * Ends the transaction with its changes. `isAsked`: code asked for this end. If it did not, a failure is no
   * result of its call, so the error is not marked as an error that resets the object (workerd).
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

  /** Ends the innermost savepoint, with its changes. */
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
      throw this.#failed(error as StorageError, isMarked);
    }
  }

  #assert(isTrue: boolean, otherwise: string): void {
    if (isTrue) return;
    const fact = `${otherwise}. The object was reset; please report this defect.`;
    throw this.#failed(storageError('INTERNAL', `Transactions: ${fact}`));
  }

  /** Requests the owner's end. Returns the error, marked as an error that resets the object. */
  #failed(error: StorageError, isMarked = true): StorageError {
    if (isMarked) {
      Object.defineProperty(error, 'durableObjectReset', { value: true, configurable: true });
    }
    this.#connection.whenIdle(() => this.#connection.events.onCritical(error));
    return error;
  }
}
