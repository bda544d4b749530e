// Values between JavaScript and SQLite: a binding into a statement, a column of a row out of it.
//
// A row is read directly from SQLite's memory, in one pass that allocates nothing but the values. As on
// workerd, numbers are bound as REAL, and integers are read as numbers (rounded beyond 2^53). A blob is a
// new ArrayBuffer each time.

import type { Binding } from '../../src/contract/bindings.ts';
import type { SqlRow, SqlStorageValue } from '../../src/contract/storage.ts';
import type { Pointer, Sqlite } from '../vfs/sqlite-module.ts';
import { FLAG, VALUE, VDBE } from '../vfs/vdbe-layout.ts';
import type { WasmMemory } from '../vfs/wasm-memory.ts';

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

/** The current row as an array of its columns. */
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

/** The current row as an object; of several columns with one name, the last one counts. */
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

/** The same, from values that were read before. */
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

/** About as many bytes as the values of a row take. */
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

// Column `column` of the current row, counted from 0, which lies at `value`.
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

// A value with more than one form, or with zeros that are not in memory: SQLite's functions choose the
// form and fill in the zeros.
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
  // True for a detached buffer too, which can have no view.
  if (value.byteLength === 0) return NO_BYTES;
  return ArrayBuffer.isView(value)
    ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
    : new Uint8Array(value);
}
