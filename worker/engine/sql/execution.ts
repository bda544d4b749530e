// One run of a query: holds its position, the row that was fetched ahead, and the rows of a write.
//
// The first row is fetched when the query starts, so writes and errors of the first row happen then;
// reading row n fetches row n+1. A query that writes runs to its end at once, and its rows are kept
// here, so that no statement still writes when a commit comes.
//
// Invariant: the query is released when the last row has been fetched, on an error, and on close; counts
// and column names stay readable after that.

import type { Binding } from '../../../src/shared/contract/bindings.ts';
import { type StorageError, storageError } from '../../../src/shared/contract/errors.ts';
import type { SqlRow, SqlStorageValue } from '../../../src/shared/contract/storage.ts';
import type { Connection } from './connection.ts';
import type { Query, Run } from './query.ts';
import { nameRow, readNamedRow, readRow, sizeOfRow } from './statement.ts';

/** Called when an execution no longer needs its query. */
export interface ExecutionOwner {
  ended(execution: Execution, query: Query): void;
}

export class Execution implements Run {
  readonly #owner: ExecutionOwner;
  readonly #connection: Connection;
  #query: Query;
  // 'row': a fetched row waits; 'end': no row is left; an error: the execution was closed with that error.
  #state: 'row' | 'end' | StorageError = 'end';
  // The rows of a query that writes, and the index of the next one to take.
  #kept: SqlStorageValue[][] | undefined;
  #keptNext = 0;
  #columnNames: string[] | undefined;
  #names: readonly string[];
  #counts: { readonly read: number; readonly written: number } | undefined;

  /** Starts the query. @throws errors of its first step */
  constructor(owner: ExecutionOwner, query: Query, bindings: readonly Binding[]) {
    this.#owner = owner;
    this.#connection = query.connection;
    this.#query = query;
    query.busy = true;
    try {
      if (query.start(bindings, this)) this.#state = 'row';
      this.#names = query.columnNames;
      if (query.writes && this.#state === 'row') this.#keepAllRows();
    } catch (error) {
      this.#end();
      throw error;
    }
    if (this.#state === 'end') this.#end();
  }

  /** True when a row waits. @throws CURSOR_CLOSED when it was closed from outside */
  get hasRow(): boolean {
    if (this.#state === 'row') return true;
    if (this.#state === 'end') return false;
    throw this.#state;
  }

  /** True while the execution still uses its query. */
  get isOpen(): boolean {
    return this.#state === 'row' && this.#kept === undefined;
  }

  /** Takes the waiting row as an object, and fetches the next one. */
  takeNamedRow(): SqlRow {
    const names = this.#columnNames ?? this.#names;
    if (names.length !== this.#names.length) {
      throw storageError(
        'SQL',
        `columnNames was changed to ${names.length} names, but the rows have ` +
          `${this.#names.length} columns; change names only.`,
      );
    }
    if (this.#kept !== undefined) return nameRow(this.#takeKept(this.#kept), names);
    const { sqlite } = this.#connection;
    const row = readNamedRow(sqlite, this.#query.pointer, names);
    this.#advance();
    return row;
  }

  /** Takes the waiting row as an array, and fetches the next one. */
  takeRow(): SqlStorageValue[] {
    if (this.#kept !== undefined) return this.#takeKept(this.#kept);
    const { sqlite } = this.#connection;
    const row = readRow(sqlite, this.#query.pointer, this.#names.length);
    this.#advance();
    return row;
  }

  /** Takes the remaining rows, in one call with one deadline. */
  takeRest<T>(take: () => T): T[] {
    return this.#connection.call(() => {
      const rows: T[] = [];
      while (this.hasRow) rows.push(take());
      return rows;
    });
  }

  /**
   * Takes the next rows as arrays, in one call with one deadline: up to `rowCount` rows, and no further row once they
   * have `bytesMax` bytes of content.
   */
  takeBatch(rowCount: number, bytesMax: number): SqlStorageValue[][] {
    return this.#connection.call(() => {
      const rows: SqlStorageValue[][] = [];
      let sizeBytes = 0;
      while (rows.length < rowCount && sizeBytes < bytesMax && this.hasRow) {
        const row = this.takeRow();
        sizeBytes += sizeOfRow(row);
        rows.push(row);
      }
      return rows;
    });
  }

  /** The column names, always the same array: a program that changes it changes the keys of later rows. */
  get columnNames(): string[] {
    return (this.#columnNames ??= [...this.#names]);
  }

  get rowsRead(): number {
    return (this.#counts?.read ?? this.#query.counter.read()) - this.#rowsNotFetched();
  }

  get rowsWritten(): number {
    return this.#counts?.written ?? this.#query.counter.written();
  }

  keepCounts(): void {
    const { counter } = this.#query;
    this.#counts ??= { read: counter.read(), written: counter.written() };
  }

  /** Drops the remaining rows; later reads find the end, or throw `error` if given. */
  close(error?: StorageError): void {
    if (this.#state !== 'row') return;
    if (this.#kept === undefined) {
      this.#connection.call(() => {
        this.#query.reset();
        this.#end();
      });
    }
    this.#kept = undefined;
    this.#state = error ?? 'end';
  }

  #advance(): void {
    let hasRow = false;
    this.#connection.begin();
    try {
      hasRow = this.#query.step();
    } finally {
      if (!hasRow) this.#end();
      this.#connection.end();
    }
  }

  #keepAllRows(): void {
    const { sqlite } = this.#connection;
    const { pointer } = this.#query;
    this.#kept = [];
    do {
      this.#kept.push(readRow(sqlite, pointer, this.#names.length));
    } while (this.#query.step());
    this.#end();
    this.#state = 'row';
  }

  // The number of rows of a RETURNING clause that the program has not fetched yet. SQLite has read each of them from a
  // temporary table, but a query that is stepped row by row would not have read them yet.
  #rowsNotFetched(): number {
    if (this.#kept === undefined || this.#query.explains) return 0;
    return this.#kept.length - this.#keptNext - 1;
  }

  #takeKept(kept: SqlStorageValue[][]): SqlStorageValue[] {
    const row = kept[this.#keptNext]!;
    this.#keptNext += 1;
    if (this.#keptNext === kept.length) {
      this.#kept = undefined;
      this.#state = 'end';
    }
    return row;
  }

  #end(): void {
    this.#state = 'end';
    this.#query.busy = false;
    this.#owner.ended(this, this.#query);
  }
}
