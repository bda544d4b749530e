// Encodes SQLite's values as bytes, in the format of its session extension: a byte for the type, then the value.
//
// Two values are equal exactly if their bytes are equal: 1 and 1.0 differ, and so do 'a' and 'A' under any collation.
// https://sqlite.org/src/file/ext/session/sqlite3session.c ("CHANGESET FORMAT") describes the bytes.

import type { SqlStorageValue } from '../../../src/shared/contract/storage.ts';
import type { Pointer, Sqlite } from '../vfs/sqlite-module.ts';

/** The encoding of one value. */
export type Cell = Uint8Array;

export const CELL = { undefined: 0, integer: 1, real: 2, text: 3, blob: 4, null: 5 } as const;

/** Destructor argument that makes SQLite copy the value (SQLITE_TRANSIENT). */
const COPY = -1;
const NUMBER_BYTES = 8;

// Decodes texts with the same options as WasmMemory.
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

export const NULL_CELL: Cell = Uint8Array.of(CELL.null);
/** The cell of a column that a changeset's record leaves out. */
export const UNDEFINED_CELL: Cell = Uint8Array.of(CELL.undefined);

export function integerCell(value: bigint): Cell {
  return numberCell(CELL.integer, (view) => view.setBigInt64(1, value));
}

export function realCell(value: number): Cell {
  return numberCell(CELL.real, (view) => view.setFloat64(1, value));
}

/** Encodes a text or a blob; `type` says which. */
export function bytesCell(type: number, content: Uint8Array): Cell {
  const length = varint(content.length);
  const cell = new Uint8Array(1 + length.length + content.length);
  cell[0] = type;
  cell.set(length, 1);
  cell.set(content, 1 + length.length);
  return cell;
}

export function isNull(cell: Cell): boolean {
  return cell[0] === CELL.null;
}

export function sameCell(a: Cell, b: Cell): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** Decodes a cell's integer; returns null if the cell has another type. */
export function integerOf(cell: Cell): bigint | null {
  return cell[0] === CELL.integer ? viewOf(cell).getBigInt64(1) : null;
}

/** Decodes a cell that holds an integer or a real number. */
export function numberOfCell(cell: Cell): bigint | number {
  return cell[0] === CELL.integer ? viewOf(cell).getBigInt64(1) : viewOf(cell).getFloat64(1);
}

/** Returns the bytes of a cell that holds a text or a blob. */
export function contentOf(cell: Cell): Uint8Array {
  let at = 1;
  while (cell[at]! & 0x80) at++;
  return cell.subarray(at + 1);
}

/** Decodes a cell to the value that a query returns: integers beyond 2^53 are rounded. */
export function valueOfCell(cell: Cell): SqlStorageValue {
  switch (cell[0]) {
    case CELL.integer:
    case CELL.real:
      return Number(numberOfCell(cell));
    case CELL.text:
      return decoder.decode(contentOf(cell));
    case CELL.blob:
      return contentOf(cell).slice().buffer as ArrayBuffer;
    default:
      return null;
  }
}

/** Encodes a column of the current row; columns are counted from 0. */
export function readCell({ exports, memory }: Sqlite, statement: Pointer, column: number): Cell {
  const type = exports.sqlite3_column_type(statement, column);
  switch (type) {
    case CELL.integer:
      return integerCell(exports.sqlite3_column_int64(statement, column));
    case CELL.real:
      return realCell(exports.sqlite3_column_double(statement, column));
    case CELL.text:
    case CELL.blob: {
      const at =
        type === CELL.text
          ? exports.sqlite3_column_text(statement, column)
          : exports.sqlite3_column_blob(statement, column);
      const sizeBytes = exports.sqlite3_column_bytes(statement, column);
      return bytesCell(type, memory.u8.subarray(at, at + sizeBytes));
    }
    default:
      return NULL_CELL;
  }
}

/** Binds a cell to parameter `index`, counted from 1; returns SQLite's result code. */
export function bindCell(
  { exports, memory }: Sqlite,
  statement: Pointer,
  index: number,
  cell: Cell,
): number {
  switch (cell[0]) {
    case CELL.integer:
      return exports.sqlite3_bind_int64(statement, index, viewOf(cell).getBigInt64(1));
    case CELL.real:
      return exports.sqlite3_bind_double(statement, index, viewOf(cell).getFloat64(1));
    case CELL.text:
    case CELL.blob: {
      const content = contentOf(cell);
      const at = memory.scratch(Math.max(1, content.length));
      memory.u8.set(content, at);
      return cell[0] === CELL.text
        ? exports.sqlite3_bind_text(statement, index, at, content.length, COPY)
        : content.length === 0
          ? exports.sqlite3_bind_zeroblob(statement, index, 0)
          : exports.sqlite3_bind_blob(statement, index, at, content.length, COPY);
    }
    default:
      return exports.sqlite3_bind_null(statement, index);
  }
}

/** Encodes a number in SQLite's variable length: seven bits a byte, the highest first. */
export function varint(value: number): number[] {
  const bytes = [value & 0x7f];
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128)) {
    bytes.unshift((rest & 0x7f) | 0x80);
  }
  return bytes;
}

function numberCell(type: number, write: (view: DataView) => void): Cell {
  const cell = new Uint8Array(1 + NUMBER_BYTES);
  cell[0] = type;
  write(viewOf(cell));
  return cell;
}

function viewOf(cell: Cell): DataView {
  return new DataView(cell.buffer, cell.byteOffset, cell.byteLength);
}
