// What `sql.exec` returns: rows as objects or arrays, one position for all its views.
//
// Looks like the platform's own object: `new` throws, methods refuse a foreign `this`, the iterators
// have the iterator helpers of the engine.

import { storageError } from '../../src/contract/errors.ts';
import type { SqlRow, SqlStorageValue } from '../../src/contract/storage.ts';
import { Execution } from './execution.ts';

type Step<T> = { done: false; value: T } | { done: true; value: undefined };

// %IteratorPrototype%, by way of an array's iterator: not every engine names it Iterator.prototype.
const ITERATOR_PROTOTYPE: object = Object.getPrototypeOf(
  Object.getPrototypeOf([][Symbol.iterator]()),
);

/** A cursor over the rows of one execution. */
export class Cursor {
  readonly #execution: Execution;

  /** Not for user code. @throws ILLEGAL_INVOCATION */
  constructor(execution: Execution) {
    if (!(execution instanceof Execution)) {
      throw storageError('ILLEGAL_INVOCATION', 'Cursor cannot be constructed; use sql.exec().');
    }
    this.#execution = execution;
  }

  /** The next row; `{done: true, value: undefined}` at the end. */
  next(): Step<SqlRow> {
    const execution = Cursor.#of(this);
    if (!execution.hasRow) return { done: true, value: undefined };
    return { done: false, value: execution.takeNamedRow() };
  }

  /** The remaining rows. */
  toArray(): SqlRow[] {
    const execution = Cursor.#of(this);
    const rows: SqlRow[] = [];
    while (execution.hasRow) rows.push(execution.takeNamedRow());
    return rows;
  }

  /** The row when exactly one is left. @throws CURSOR_ROWS; with more than one the cursor ends */
  one(): SqlRow {
    const execution = Cursor.#of(this);
    checkOneRow(execution);
    const row = execution.takeNamedRow();
    checkLastRow(execution);
    return row;
  }

  /** The same rows as arrays. */
  raw(): RawIterator {
    return new RawIterator(Cursor.#of(this));
  }

  /** The names of the columns; always the same array. */
  get columnNames(): string[] {
    return Cursor.#of(this).columnNames;
  }

  /** Rows read so far; runs one row ahead of the program. */
  get rowsRead(): number {
    return Cursor.#of(this).rowsRead;
  }

  /** Rows and index entries written. */
  get rowsWritten(): number {
    return Cursor.#of(this).rowsWritten;
  }

  [Symbol.iterator](): RowIterator {
    return new RowIterator(Cursor.#of(this));
  }

  /** Gives up the remaining rows of a cursor. */
  static close(cursor: Cursor): void {
    Cursor.#of(cursor).close();
  }

  static #of(cursor: Cursor): Execution {
    if (!(#execution in cursor)) throw illegalInvocation('Cursor');
    return cursor.#execution;
  }
}

/** The iterator of a cursor: rows as objects. */
export class RowIterator {
  readonly #execution: Execution;

  constructor(execution: Execution) {
    this.#execution = execution;
  }

  next(): Step<SqlRow> {
    if (!(#execution in this)) throw illegalInvocation('RowIterator');
    const execution = this.#execution;
    if (!execution.hasRow) return { done: true, value: undefined };
    return { done: false, value: execution.takeNamedRow() };
  }

  [Symbol.iterator](): this {
    return this;
  }
}

/** The iterator of `cursor.raw()`: rows as arrays of column values. */
export class RawIterator {
  readonly #execution: Execution;

  constructor(execution: Execution) {
    this.#execution = execution;
  }

  next(): Step<SqlStorageValue[]> {
    const execution = RawIterator.#of(this);
    if (!execution.hasRow) return { done: true, value: undefined };
    return { done: false, value: execution.takeRow() };
  }

  /** The remaining rows. */
  toArray(): SqlStorageValue[][] {
    const execution = RawIterator.#of(this);
    const rows: SqlStorageValue[][] = [];
    while (execution.hasRow) rows.push(execution.takeRow());
    return rows;
  }

  /** The row when exactly one is left. @throws CURSOR_ROWS; with more than one the cursor ends */
  one(): SqlStorageValue[] {
    const execution = RawIterator.#of(this);
    checkOneRow(execution);
    const row = execution.takeRow();
    checkLastRow(execution);
    return row;
  }

  [Symbol.iterator](): this {
    return this;
  }

  static #of(iterator: RawIterator): Execution {
    if (!(#execution in iterator)) throw illegalInvocation('RawIterator');
    return iterator.#execution;
  }
}

for (const [type, name] of [
  [Cursor, 'Cursor'],
  [RowIterator, 'RowIterator'],
  [RawIterator, 'RawIterator'],
] as const) {
  Object.defineProperty(type.prototype, Symbol.toStringTag, { value: name, configurable: true });
}
Object.setPrototypeOf(RowIterator.prototype, ITERATOR_PROTOTYPE);
Object.setPrototypeOf(RawIterator.prototype, ITERATOR_PROTOTYPE);

/** The error of a method called on a foreign `this`. */
export function illegalInvocation(name: string): Error {
  return storageError('ILLEGAL_INVOCATION', `Illegal invocation: call this on a ${name}.`);
}

function checkOneRow(execution: Execution): void {
  if (!execution.hasRow) {
    throw storageError(
      'CURSOR_ROWS',
      'Expected exactly one result from SQL query, but got no results.',
    );
  }
}

function checkLastRow(execution: Execution): void {
  if (execution.hasRow) {
    execution.close();
    throw storageError(
      'CURSOR_ROWS',
      'Expected exactly one result from SQL query, but got multiple results.',
    );
  }
}
