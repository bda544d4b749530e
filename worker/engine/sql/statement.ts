// A prepared statement of this package's own SQL: bound, stepped and read with SQLite's functions, and
// kept for the database's life. User SQL goes through query and execution instead. Both bind values into statements and
// read rows out of them with the functions at the end.
//
// A row is read directly from SQLite's memory, in one pass that allocates nothing but the values. As on workerd,
// numbers are bound as REAL, and integers are read as numbers (rounded beyond 2^53). A blob is a new ArrayBuffer each
// time.
//
// Invariant: after the last row it is reset, so that it holds no lock and can be bound again at once; a
// caller that leaves rows unread calls `reset`. Once finalized it never reaches SQLite again.

import type { Binding } from '../../../src/shared/contract/bindings.ts';
import type { SqlRow, SqlStorageValue } from '../../../src/shared/contract/storage.ts';
import type { Pointer, Sqlite } from '../vfs/sqlite-module.ts';
import { FLAG, VALUE, VDBE } from '../vfs/vdbe-layout.ts';
import type { WasmMemory } from '../vfs/wasm-memory.ts';

import { bindCell, type Cell, readCell } from './cells.ts';
import { type Connection, databaseClosed } from './connection.ts';
import { DONE, OK, ROW } from './sql-error.ts';

const CHANGES_TRANSACTION = /^\s*(BEGIN|COMMIT|END|ROLLBACK|SAVEPOINT|RELEASE)\b/i;

export class PreparedStatement {
  readonly #connection: Connection;
  /** Address of the statement; 0 once it is finalized. */
  #pointer: Pointer;
  readonly #changesTransaction: boolean;
  readonly #writes: boolean;

  /** Compiles trusted text of one statement. */
  constructor(connection: Connection, sql: string) {
    this.#connection = connection;
    const { memory } = connection.sqlite;
    const sizeBytes = memory.writeScratch(sql);
    this.#pointer = connection.prepare(memory.scratch(0), sizeBytes).statement;
    this.#changesTransaction = CHANGES_TRANSACTION.test(sql);
    this.#writes = connection.sqlite.exports.sqlite3_stmt_readonly(this.#pointer) === 0;
  }

  /** Binds parameter `index`, counted from 1. */
  bindText(index: number, text: string): void {
    this.#check(bindText(this.#connection.sqlite, this.#live, index, text));
  }

  /** Binds the bytes of a text that may not be UTF-8. */
  bindTextBytes(index: number, bytes: Uint8Array): void {
    const { exports, memory } = this.#connection.sqlite;
    const at = memory.scratch(bytes.length);
    memory.u8.set(bytes, at);
    this.#check(exports.sqlite3_bind_text(this.#live, index, at, bytes.length, COPY));
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

  bindCell(index: number, cell: Cell): void {
    this.#check(bindCell(this.#connection.sqlite, this.#live, index, cell));
  }

  /** Makes a step; returns true if there is a row. At the end it returns false and the statement is reset. */
  step(): boolean {
    const connection = this.#connection;
    const { exports } = connection.sqlite;
    const pointer = this.#live;
    if (this.#writes) connection.events.mustHaveAsked?.();
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

  /** Returns true if a column of the row is NULL; columns are counted from 0. */
  columnIsNull(column: number): boolean {
    return (this.#flags(column) & FLAG.null) !== 0;
  }

  /** Returns a column as text; empty for NULL. */
  columnText(column: number): string {
    const { exports, memory } = this.#connection.sqlite;
    const at = exports.sqlite3_column_text(this.#live, column);
    return memory.readText(at, exports.sqlite3_column_bytes(this.#live, column));
  }

  /** Returns a column as a number; 0 for NULL. */
  columnNumber(column: number): number {
    return this.#connection.sqlite.exports.sqlite3_column_double(this.#live, column);
  }

  columnInt64(column: number): bigint {
    return this.#connection.sqlite.exports.sqlite3_column_int64(this.#live, column);
  }

  /** Returns the bytes of a column as a view of SQLite's memory, valid until the next call of any function. */
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

  /** Returns a copy of a column as a cell. */
  columnCell(column: number): Cell {
    return readCell(this.#connection.sqlite, this.#live, column);
  }

  get columnCount(): number {
    return this.#connection.sqlite.exports.sqlite3_column_count(this.#live);
  }

  /** Returns the number of rows that the last statement of this database changed. */
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

  /** The pointer for a call of SQLite; announces the call, which may allocate or free memory, to the guard. */
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

// ---- Values between JavaScript and SQLite.

// Destructor argument that makes SQLite copy the value (SQLITE_TRANSIENT).
const COPY = -1;

const TYPE_INTEGER = 1;
const TYPE_REAL = 2;
const TYPE_TEXT = 3;
const TYPE_BLOB = 4;

/** Binds one converted value to parameter `index`, counted from 1; returns SQLite's result code. */
export function bindValue(
  sqlite: Sqlite,
  statement: Pointer,
  index: number,
  value: Binding,
): number {
  const { exports } = sqlite;
  if (typeof value === 'number') return exports.sqlite3_bind_double(statement, index, value);
  if (typeof value === 'string') return bindText(sqlite, statement, index, value);
  if (value === null) return exports.sqlite3_bind_null(statement, index);
  return bindBlob(sqlite, statement, index, bytesOf(value));
}

export function bindText(sqlite: Sqlite, statement: Pointer, index: number, text: string): number {
  const sizeBytes = sqlite.memory.writeScratch(text);
  const at = sqlite.memory.scratch(0);
  return sqlite.exports.sqlite3_bind_text(statement, index, at, sizeBytes, COPY);
}

export function bindBlob(
  sqlite: Sqlite,
  statement: Pointer,
  index: number,
  bytes: Uint8Array,
): number {
  const { exports, memory } = sqlite;
  // bind_blob of no bytes would bind NULL.
  if (bytes.length === 0) return exports.sqlite3_bind_zeroblob(statement, index, 0);
  const at = memory.scratch(bytes.length);
  memory.u8.set(bytes, at);
  return exports.sqlite3_bind_blob(statement, index, at, bytes.length, COPY);
}

/** Reads the current row as an array of its columns. */
export function readRow(
  sqlite: Sqlite,
  statement: Pointer,
  columnCount: number,
): SqlStorageValue[] {
  const row: SqlStorageValue[] = [];
  let value = firstValue(sqlite.memory, statement);
  for (let column = 0; column < columnCount; column++, value += VALUE.sizeBytes) {
    row.push(readValue(sqlite, statement, column, value));
  }
  return row;
}

/** Reads the current row as an object; if several columns have the same name, the last one counts. */
export function readNamedRow(
  sqlite: Sqlite,
  statement: Pointer,
  columnNames: readonly string[],
): SqlRow {
  const row: SqlRow = {};
  let value = firstValue(sqlite.memory, statement);
  for (let column = 0; column < columnNames.length; column++, value += VALUE.sizeBytes) {
    row[columnNames[column]!] = readValue(sqlite, statement, column, value);
  }
  return row;
}

/** Makes an object of a row's values, as `readNamedRow` does. */
export function nameRow(
  values: readonly SqlStorageValue[],
  columnNames: readonly string[],
): SqlRow {
  const row: SqlRow = {};
  for (let column = 0; column < columnNames.length; column++) {
    row[columnNames[column]!] = values[column]!;
  }
  return row;
}

const NUMBER_BYTES = 8;

/** Estimates the bytes that the values of a row take. */
export function sizeOfRow(row: readonly SqlStorageValue[]): number {
  let sizeBytes = 0;
  for (let column = 0; column < row.length; column++) {
    const value = row[column]!;
    if (typeof value === 'string') sizeBytes += value.length;
    else sizeBytes += value instanceof ArrayBuffer ? value.byteLength : NUMBER_BYTES;
  }
  return sizeBytes;
}

function firstValue(memory: WasmMemory, statement: Pointer): Pointer {
  return memory.i32[(statement + VDBE.resultRow) >> 2]!;
}

// Reads a column of the current row from its address in SQLite's memory.
function readValue(
  sqlite: Sqlite,
  statement: Pointer,
  column: number,
  value: Pointer,
): SqlStorageValue {
  const { memory } = sqlite;
  const i32 = memory.i32;
  switch (i32[(value + VALUE.flags) >> 2]! & (FLAG.typeMask | FLAG.zeroTail)) {
    case FLAG.integer:
      return i32[(value >> 2) + 1]! * 2 ** 32 + (i32[value >> 2]! >>> 0);
    case FLAG.real:
      return memory.f64[value >> 3]!;
    case FLAG.text:
      return memory.readText(
        i32[(value + VALUE.bytes) >> 2]!,
        i32[(value + VALUE.byteCount) >> 2]!,
      );
    case FLAG.null:
      return null;
    case FLAG.blob: {
      const at = i32[(value + VALUE.bytes) >> 2]!;
      return memory.u8.slice(at, at + i32[(value + VALUE.byteCount) >> 2]!).buffer;
    }
    default:
      return readUnusualColumn(sqlite, statement, column);
  }
}

// Reads a value that SQLite holds in two forms, or a blob whose zeros are not in memory, with SQLite's functions: they
// choose the form and write the zeros.
function readUnusualColumn(sqlite: Sqlite, statement: Pointer, column: number): SqlStorageValue {
  const { exports, memory } = sqlite;
  switch (exports.sqlite3_column_type(statement, column)) {
    case TYPE_INTEGER:
      return Number(exports.sqlite3_column_int64(statement, column));
    case TYPE_REAL:
      return exports.sqlite3_column_double(statement, column);
    case TYPE_TEXT: {
      const at = exports.sqlite3_column_text(statement, column);
      return memory.readText(at, exports.sqlite3_column_bytes(statement, column));
    }
    case TYPE_BLOB: {
      const at = exports.sqlite3_column_blob(statement, column);
      const sizeBytes = exports.sqlite3_column_bytes(statement, column);
      return memory.u8.slice(at, at + sizeBytes).buffer;
    }
    default:
      return null;
  }
}

const NO_BYTES = new Uint8Array(0);

function bytesOf(value: ArrayBuffer | ArrayBufferView): Uint8Array {
  // A detached buffer has length 0 too, and cannot have a view.
  if (value.byteLength === 0) return NO_BYTES;
  return ArrayBuffer.isView(value)
    ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
    : new Uint8Array(value);
}
