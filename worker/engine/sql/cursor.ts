// The result of `sql.exec`: rows as objects or arrays, with one position for all its views.
//
// Behaves like an object of the platform: `new` throws, methods refuse a foreign `this`, and iterators
// have the engine's iterator helpers.

import { storageError } from '../../../src/shared/contract/errors.ts';
import type { SqlRow, SqlStorageValue } from '../../../src/shared/contract/storage.ts';
import { Execution } from './execution.ts';
import { asPlatformClass, illegalConstructor, illegalInvocation } from './platform-class.ts';

type Step<T> = { done: false; value: T } | { done: true; value: undefined };

// %IteratorPrototype%, through an array's iterator: not every engine has Iterator.prototype.
const ITERATOR_PROTOTYPE: object = Object.getPrototypeOf(
  Object.getPrototypeOf([][Symbol.iterator]()),
);

// Closes cursors that a program drops half-way; otherwise their statements would lock their tables for good.
const DROPPED = new FinalizationRegistry<Execution>((execution) => execution.close());

/** Rows that were taken from a cursor in one call. */
export interface CursorBatch {
  readonly rows: SqlStorageValue[][];
  readonly isAtEnd: boolean;
}

/** A cursor over the rows of one execution. */
export class Cursor {
  readonly #execution: Execution;
  #watched = false;

  /** Only this package may construct cursors. @throws ILLEGAL_INVOCATION */
  constructor(execution: Execution, options?: { readonly watched: boolean }) {
    if (!(execution instanceof Execution)) throw illegalConstructor('Cursor');
    this.#execution = execution;
    if (options?.watched) Cursor.#watch(this);
  }

  /** Returns the next row; `{done: true, value: undefined}` at the end. */
  next(): Step<SqlRow> {
    const execution = Cursor.#of(this);
    if (!execution.hasRow) return { done: true, value: undefined };
    const value = execution.takeNamedRow();
    Cursor.#watch(this);
    return { done: false, value };
  }

  /** Returns the remaining rows. */
  toArray(): SqlRow[] {
    const execution = Cursor.#of(this);
    return execution.takeRest(() => execution.takeNamedRow());
  }

  /**
   * Returns the only remaining row.
   *
   * @throws CURSOR_ROWS if there is not exactly one; if there are more, the cursor ends
   */
  one(): SqlRow {
    const execution = Cursor.#of(this);
    checkOneRow(execution);
    const row = execution.takeNamedRow();
    checkLastRow(execution);
    return row;
  }

  /** Returns an iterator over the same rows as arrays. */
  raw(): RawIterator {
    Cursor.#watch(Cursor.#checkCursor(this));
    return new RawIterator(this, this.#execution);
  }

  /** The names of the columns; always the same array. */
  get columnNames(): string[] {
    return Cursor.#of(this).columnNames;
  }

  /** Number of rows read so far, including the row that was fetched ahead. */
  get rowsRead(): number {
    return Cursor.#of(this).rowsRead;
  }

  /** Number of rows and index entries written. */
  get rowsWritten(): number {
    return Cursor.#of(this).rowsWritten;
  }

  [Symbol.iterator](): RowIterator {
    Cursor.#watch(Cursor.#checkCursor(this));
    return new RowIterator(this, this.#execution);
  }

  /** Drops the remaining rows of a cursor. */
  static close(cursor: Cursor): void {
    Cursor.#of(cursor).close();
  }

  /** Takes the next rows as arrays, as `Execution.takeBatch` does, and says whether they are the last. */
  static takeBatch(cursor: Cursor, rowCount: number, bytesMax: number): CursorBatch {
    const execution = Cursor.#of(cursor);
    const rows = execution.takeBatch(rowCount, bytesMax);
    Cursor.#watch(cursor);
    return { rows, isAtEnd: !execution.hasRow };
  }

  static #checkCursor(cursor: Cursor): Cursor {
    if (!(#execution in cursor)) throw illegalInvocation('Cursor');
    return cursor;
  }

  static #of(cursor: Cursor): Execution {
    return Cursor.#checkCursor(cursor).#execution;
  }

  // Releases the statement when the program drops the cursor. The registration costs a third of a point select, so it
  // is made at the first use that may leave rows.
  static #watch(cursor: Cursor): void {
    const execution = cursor.#execution;
    if (cursor.#watched || !execution.isOpen) return;
    cursor.#watched = true;
    DROPPED.register(cursor, execution);
  }
}

/** The iterator of a cursor: rows as objects. Keeps its cursor alive. */
export class RowIterator {
  readonly #cursor: Cursor;
  readonly #execution: Execution;

  /** Only this package may construct it. @throws ILLEGAL_INVOCATION */
  constructor(cursor: Cursor, execution: Execution) {
    if (!(execution instanceof Execution)) throw illegalConstructor('RowIterator');
    this.#cursor = cursor;
    this.#execution = execution;
  }

  next(): Step<SqlRow> {
    if (!(#cursor in this)) throw illegalInvocation('RowIterator');
    const execution = this.#execution;
    if (!execution.hasRow) return { done: true, value: undefined };
    return { done: false, value: execution.takeNamedRow() };
  }

  [Symbol.iterator](): this {
    return this;
  }
}

/** The iterator of `cursor.raw()`: rows as arrays of column values. Keeps its cursor alive. */
export class RawIterator {
  readonly #cursor: Cursor;
  readonly #execution: Execution;

  /** Only this package may construct it. @throws ILLEGAL_INVOCATION */
  constructor(cursor: Cursor, execution: Execution) {
    if (!(execution instanceof Execution)) throw illegalConstructor('RawIterator');
    this.#cursor = cursor;
    this.#execution = execution;
  }

  next(): Step<SqlStorageValue[]> {
    const execution = RawIterator.#of(this);
    if (!execution.hasRow) return { done: true, value: undefined };
    return { done: false, value: execution.takeRow() };
  }

  /** Returns the remaining rows. */
  toArray(): SqlStorageValue[][] {
    const execution = RawIterator.#of(this);
    return execution.takeRest(() => execution.takeRow());
  }

  /**
   * Returns the only remaining row.
   *
   * @throws CURSOR_ROWS if there is not exactly one; if there are more, the cursor ends
   */
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
    if (!(#cursor in iterator)) throw illegalInvocation('RawIterator');
    return iterator.#execution;
  }
}

asPlatformClass(Cursor, 'Cursor');
asPlatformClass(RowIterator, 'RowIterator');
asPlatformClass(RawIterator, 'RawIterator');
Object.setPrototypeOf(RowIterator.prototype, ITERATOR_PROTOTYPE);
Object.setPrototypeOf(RawIterator.prototype, ITERATOR_PROTOTYPE);

function checkOneRow(execution: Execution): void {
  if (execution.hasRow) return;
  throw storageError(
    'CURSOR_ROWS',
    'Expected exactly one result from SQL query, but got no results.',
  );
}

function checkLastRow(execution: Execution): void {
  if (!execution.hasRow) return;
  execution.close();
  throw storageError(
    'CURSOR_ROWS',
    'Expected exactly one result from SQL query, but got multiple results.',
  );
}
