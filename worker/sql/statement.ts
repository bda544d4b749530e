// A prepared statement of this package's own SQL: bound, stepped and read with SQLite's functions, and
// kept for the database's life. User SQL goes through query and execution instead.
//
// Invariant: after the last row it is reset, so that it holds no lock and can be bound again at once; a
// caller that leaves rows unread calls `reset`. Once finalized it never reaches SQLite again.

import type { Pointer } from '../vfs/sqlite-module.ts';
import { FLAG, VALUE, VDBE } from '../vfs/vdbe-layout.ts';
import { type Connection, databaseClosed } from './connection.ts';
import { DONE, OK, ROW } from './sql-error.ts';
import { bindBlob, bindText } from './values.ts';

const CHANGES_TRANSACTION = /^\s*(BEGIN|COMMIT|END|ROLLBACK|SAVEPOINT|RELEASE)\b/i;

export class PreparedStatement {
  readonly #connection: Connection;
  /** 0 once it is finalized. */
  #pointer: Pointer;
  readonly #changesTransaction: boolean;

  /** Compiles trusted text of one statement. */
  constructor(connection: Connection, sql: string) {
    this.#connection = connection;
    const { memory } = connection.sqlite;
    const sizeBytes = memory.writeScratch(sql);
    this.#pointer = connection.prepare(memory.scratch(0), sizeBytes).statement;
    this.#changesTransaction = CHANGES_TRANSACTION.test(sql);
  }

  /** Binds parameter `index`, counted from 1. */
  bindText(index: number, text: string): void {
    this.#check(bindText(this.#connection.sqlite, this.#live, index, text));
  }

  bindBlob(index: number, bytes: Uint8Array): void {
    this.#check(bindBlob(this.#connection.sqlite, this.#live, index, bytes));
  }

  bindNumber(index: number, value: number): void {
    const { exports } = this.#connection.sqlite;
    this.#check(exports.sqlite3_bind_double(this.#live, index, value));
  }

  bindInt64(index: number, value: bigint): void {
    const { exports } = this.#connection.sqlite;
    this.#check(exports.sqlite3_bind_int64(this.#live, index, value));
  }

  bindNull(index: number): void {
    this.#check(this.#connection.sqlite.exports.sqlite3_bind_null(this.#live, index));
  }

  /** True when there is a row to read; false at the end, and the statement is then reset. */
  step(): boolean {
    const connection = this.#connection;
    const { exports } = connection.sqlite;
    const pointer = this.#live;
    connection.begin();
    try {
      const resultCode = this.#changesTransaction
        ? connection.guard.stepUnbounded(pointer)
        : exports.sqlite3_step(pointer);
      if (resultCode === ROW) return true;
      if (resultCode === DONE) {
        exports.sqlite3_reset(pointer);
        if (this.#changesTransaction) connection.readTransactionState();
        return false;
      }
      const error = connection.failure(resultCode);
      exports.sqlite3_reset(pointer);
      throw error;
    } finally {
      connection.end();
    }
  }

  /** True when column `column` of the row, counted from 0, is NULL. */
  columnIsNull(column: number): boolean {
    return (this.#flags(column) & FLAG.null) !== 0;
  }

  /** The column as text; empty for NULL. */
  columnText(column: number): string {
    const { exports, memory } = this.#connection.sqlite;
    const at = exports.sqlite3_column_text(this.#live, column);
    return memory.readText(at, exports.sqlite3_column_bytes(this.#live, column));
  }

  /** The column as a number; 0 for NULL. */
  columnNumber(column: number): number {
    return this.#connection.sqlite.exports.sqlite3_column_double(this.#live, column);
  }

  columnInt64(column: number): bigint {
    return this.#connection.sqlite.exports.sqlite3_column_int64(this.#live, column);
  }

  /** The bytes of the column, as a view of SQLite's memory: valid until the next call of any function. */
  columnBlob(column: number): Uint8Array {
    const { exports, memory } = this.#connection.sqlite;
    const plain = FLAG.typeMask | FLAG.zeroTail;
    if ((this.#flags(column) & plain) === FLAG.blob) {
      const value = this.#value(column);
      const at = memory.i32[(value + VALUE.bytes) >> 2]!;
      return memory.u8.subarray(at, at + memory.i32[(value + VALUE.byteCount) >> 2]!);
    }
    const at = exports.sqlite3_column_blob(this.#live, column);
    const sizeBytes = exports.sqlite3_column_bytes(this.#live, column);
    return memory.u8.subarray(at, at + sizeBytes);
  }

  /** How many rows the last statement of this database changed. */
  changes(): number {
    return this.#connection.sqlite.exports.sqlite3_changes(this.#connection.pointer);
  }

  /** Drops the remaining rows. */
  reset(): void {
    if (this.#pointer === 0) return;
    this.#connection.sqlite.exports.sqlite3_reset(this.#live);
  }

  finalize(): void {
    this.#connection.sqlite.exports.sqlite3_finalize(this.#pointer);
    this.#pointer = 0;
  }

  /** The pointer for a call of SQLite, which may allocate or free memory. */
  get #live(): Pointer {
    if (this.#pointer === 0) throw databaseClosed();
    this.#connection.enter();
    return this.#pointer;
  }

  #flags(column: number): number {
    return this.#connection.sqlite.memory.i32[(this.#value(column) + VALUE.flags) >> 2]!;
  }

  #value(column: number): Pointer {
    const row = this.#connection.sqlite.memory.i32[(this.#live + VDBE.resultRow) >> 2]!;
    return row + column * VALUE.sizeBytes;
  }

  #check(resultCode: number): void {
    if (resultCode !== OK) throw this.#connection.failure(resultCode);
  }
}
