// The error of a failed SQLite call: SQLite's text, the offset in the statement, and the code's name.
//
// The message has workerd's form, which programs match: `no such table: t: SQLITE_ERROR`.

import {
  type StorageError,
  type StorageErrorCode,
  storageError,
} from '../../src/contract/errors.ts';
import type { Pointer, Sqlite } from '../vfs/sqlite-module.ts';

/** Result codes of SQLite's functions for success. */
export const OK = 0;
export const ROW = 100;
export const DONE = 101;

const NO_MEMORY = 7;
const IO_ERROR = 10;
const CORRUPT = 11;
const FULL = 13;
const AUTH = 23;
const NOT_A_DATABASE = 26;

/** The error of a call on `db` that returned `resultCode`; the details are SQLite's last error. */
export function sqlError(sqlite: Sqlite, db: Pointer, resultCode: number): StorageError {
  const { exports, memory } = sqlite;
  const extended = exports.sqlite3_extended_errcode(db);
  const code = extended & 0xff ? extended : resultCode;
  const offset = exports.sqlite3_error_offset(db);
  const text = memory.readCString(exports.sqlite3_errmsg(db));
  const place = offset >= 0 ? ` at offset ${offset}` : '';
  return storageError(storageCode(code), `${text}${place}: ${codeName(sqlite, code)}`);
}

/** The error of a call that was stopped at its deadline. */
export function timeError(queryMs: number): StorageError {
  return storageError(
    'SQL_TIMEOUT',
    `The statement ran for more than ${queryMs} ms and was stopped; what it wrote is undone. Read or ` +
      'write fewer rows at once, add an index, or raise limits.queryMs: SQLITE_INTERRUPT',
  );
}

/** The error of a call whose caller has cancelled it. */
export function cancelError(): StorageError {
  return storageError(
    'CANCELLED',
    'The caller cancelled the call by its signal, so the statement was stopped; what it wrote is undone: ' +
      'SQLITE_INTERRUPT',
  );
}

/** The error of a call that ran out of memory, with the limit. */
export function memoryError(error: StorageError, heapBytes: number): StorageError {
  return storageError(
    'SQL_MEMORY',
    `${error.message} (SQLite's memory of an object is at most ${heapBytes} bytes, and the program of ` +
      'a statement 25,000 instructions; sort or collect smaller values, close cursors, write less in ' +
      'one transaction, nest fewer views, or raise limits.heapBytes)',
  );
}

function storageCode(resultCode: number): StorageErrorCode {
  switch (resultCode & 0xff) {
    case NO_MEMORY:
      return 'SQL_MEMORY';
    case FULL:
      return 'DISK_FULL';
    case IO_ERROR:
      return 'IO';
    case CORRUPT:
    case NOT_A_DATABASE:
      return 'CORRUPT';
    case AUTH:
      return 'SQL_FORBIDDEN';
    default:
      return 'SQL';
  }
}

function codeName(sqlite: Sqlite, resultCode: number): string {
  const name = (code: number) => namesOf(sqlite).get(code) ?? `SQLITE_${code}`;
  const primary = resultCode & 0xff;
  return resultCode === primary
    ? name(primary)
    : `${name(primary)} (extended: ${name(resultCode)})`;
}

const namesOfModule = new WeakMap<Sqlite, ReadonlyMap<number, string>>();

/** The names of result codes, as SQLite itself lists them. */
function namesOf(sqlite: Sqlite): ReadonlyMap<number, string> {
  let names = namesOfModule.get(sqlite);
  if (names === undefined) {
    const { exports, memory } = sqlite;
    const listed = JSON.parse(memory.readCString(exports.sqlite3__wasm_enum_json())) as {
      readonly resultCodes: Readonly<Record<string, number>>;
    };
    names = new Map(Object.entries(listed.resultCodes).map(([name, code]) => [code, name]));
    namesOfModule.set(sqlite, names);
  }
  return names;
}
