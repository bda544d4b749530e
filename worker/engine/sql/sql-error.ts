// Makes the error of a failed SQLite call: SQLite's text, the offset in the statement, and the name of the result code.
//
// The message has workerd's form, which programs match: `no such table: t: SQLITE_ERROR`.

import {
  type StorageError,
  type StorageErrorCode,
  storageError,
} from '../../../src/shared/contract/errors.ts';
import type { Pointer, Sqlite } from '../vfs/sqlite-module.ts';

/** Result codes of SQLite's functions for success. */
export const OK = 0;
export const ROW = 100;
export const DONE = 101;

export const NO_MEMORY = 7;
const IO_ERROR = 10;
const CORRUPT = 11;
const FULL = 13;
const AUTH = 23;
const NOT_A_DATABASE = 26;

/**
 * The maximum number of instructions of a statement's program. SQLite begins with room for 51 instructions and doubles
 * it, so any other limit would act like the next lower of these numbers. workerd's newest builds allow at least 90,000,
 * and a text of 100,000 bytes without views cannot make more than 150,000.
 */
export const PROGRAM_INSTRUCTIONS_MAX = 51 * 2 ** 12;

const TOO_MANY_VARIABLES = 'too many SQL variables';
const VARIABLES_ADVICE =
  ' (a statement has at most 100 parameters; run it with many rows by sql.execMany on a page, or pass a list as one ' +
  'JSON parameter and read it with json_each(?))';

/** Makes the error of a call on `db` that returned `resultCode`, with the details of SQLite's last error. */
export function sqlError(sqlite: Sqlite, db: Pointer, resultCode: number): StorageError {
  const { exports, memory } = sqlite;
  const extended = exports.sqlite3_extended_errcode(db);
  const code = extended & 0xff ? extended : resultCode;
  const offset = exports.sqlite3_error_offset(db);
  const text = memory.readCString(exports.sqlite3_errmsg(db));
  const place = offset >= 0 ? ` at offset ${offset}` : '';
  const advice = text.startsWith(TOO_MANY_VARIABLES) ? VARIABLES_ADVICE : '';
  return storageError(storageCode(code), `${text}${place}: ${codeName(sqlite, code)}${advice}`);
}

/** Makes the error of a call that was stopped at its deadline. */
export function timeError(queryMs: number): StorageError {
  return storageError(
    'SQL_TIMEOUT',
    `The statement ran for more than ${queryMs} ms and was stopped; its writes are undone. Read or ` +
      'write fewer rows at once, add an index, or raise limits.queryMs: SQLITE_INTERRUPT',
  );
}

/** Makes the error of a call that its caller has cancelled. */
export function cancelError(): StorageError {
  return storageError(
    'CANCELLED',
    'The caller cancelled the call by its signal, so the statement was stopped; its writes are undone: ' +
      'SQLITE_INTERRUPT',
  );
}

/** Makes the error of a statement whose program is too large. */
export function programError(): StorageError {
  return storageError(
    'SQL_TOO_LARGE',
    `The statement compiles to more than ${PROGRAM_INSTRUCTIONS_MAX} instructions. Name fewer values, views and ` +
      'subqueries: pass a list as one JSON parameter and read it with json_each(?), or use several statements: ' +
      'SQLITE_NOMEM',
  );
}

/** Makes the error of a call that ran out of memory; it names the limit. */
export function memoryError(error: StorageError, heapBytes: number): StorageError {
  return storageError(
    'SQL_MEMORY',
    `${error.message} (SQLite's memory of an object is at most ${heapBytes} bytes; sort or collect ` +
      'smaller values, close cursors, write less in one transaction, nest fewer views, or raise limits.heapBytes)',
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

/** Reads the names of result codes from SQLite. */
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
