// The fields of operations: their types, and the check of each when it arrives in a message.
//
// Invariant: a field that passes has its exact type and is within the limits that the sender has
// checked too. A tab with other code than this package's can send anything.

import { convertKey } from './arguments.ts';
import {
  checkArray,
  checkBoolean,
  checkBytes,
  checkFields,
  checkInteger,
  checkNumber,
  checkNumberOf,
  checkString,
  malformed,
} from './check.ts';
import { eachOf } from './each-of.ts';
import { storageError } from './errors.ts';
import type { KeyRange } from './key-range.ts';
import {
  ALARM_TIME_MS_MAX,
  HISTORY_COMMITS_MAX,
  KEYS_PER_CALL_MAX,
  VALUE_BYTES_MAX,
  VALUE_FRAME_BYTES_MAX,
} from './limits.ts';

/** A stored value, serialized. */
export type ValueBytes = Uint8Array;

/** An entry to store. */
export type Entry = readonly [key: string, value: ValueBytes];

/** A binding of `sql.exec`, converted. */
export type SqlBinding = string | number | null | ArrayBuffer | ArrayBufferView;

/** Most rows of one batch of a cursor. */
export const BATCH_ROWS_MAX = 10_000;

/** Most bindings of one statement: SQLite's own limit (SQLITE_MAX_VARIABLE_NUMBER). */
const BINDINGS_MAX = 32_766;

/**
 * Returns the field's value if it may be one. `operation` is for the message of an error.
 *
 * @throws INVALID_ARGUMENT, and the errors of limits
 */
export type FieldCheck<T> = (name: string, value: unknown, operation: string) => T;

export const string: FieldCheck<string> = checkString;
export const boolean: FieldCheck<boolean> = checkBoolean;
export const number: FieldCheck<number> = checkNumber;
export const bytes: FieldCheck<Uint8Array> = checkBytes;
export const numberOf: FieldCheck<number> = checkNumberOf;

export const keys: FieldCheck<readonly string[]> = (name, value, operation) => {
  if (!Array.isArray(value)) throw malformed(name, 'an array');
  checkCount(operation, value.length);
  return eachOf(value, (key) => checkKey(operation, key));
};

export const entries: FieldCheck<readonly Entry[]> = (name, value, operation) => {
  if (!Array.isArray(value)) throw malformed(name, 'an array');
  checkCount(operation, value.length);
  return eachOf(value, (entry) => {
    const [key, content] = checkArray('entry', entry, 2);
    return [checkKey(operation, key), checkValue(operation, content)] as const;
  });
};

// A bound may be longer than a key, because an imported database may contain such keys.
export const range: FieldCheck<KeyRange> = (name, value) => {
  const { start, end, reverse, limit } = checkFields(name, value);
  return {
    start: checkBytes('start', start),
    end: end === null ? null : checkBytes('end', end),
    reverse: checkBoolean('reverse', reverse),
    limit: limit === null ? null : checkInteger('limit', limit, 1, 2 ** 31 - 1),
  };
};

export const alarmTime: FieldCheck<number> = (name, value) =>
  checkInteger(name, value, 1, ALARM_TIME_MS_MAX);

export const bindings: FieldCheck<readonly SqlBinding[]> = (name, value) =>
  checkArray(name, value, BINDINGS_MAX).map(checkBinding);

export const rowCount: FieldCheck<number> = (name, value) =>
  checkInteger(name, value, 1, BATCH_ROWS_MAX);

export const bytesOrNull: FieldCheck<Uint8Array | null> = (name, value) =>
  value === null ? null : checkBytes(name, value);

export const stringOrNull: FieldCheck<string | null> = (name, value) =>
  value === null ? null : checkString(name, value);

export const timeOrNull: FieldCheck<number | null> = (name, value) =>
  value === null ? null : checkNumber(name, value);

export const commitCount: FieldCheck<number> = (name, value) =>
  checkInteger(name, value, 1, HISTORY_COMMITS_MAX);

function checkKey(operation: string, value: unknown): string {
  return convertKey(operation, checkString('key', value));
}

function checkValue(operation: string, value: unknown): ValueBytes {
  const content = checkBytes('value', value);
  const { byteLength } = content;
  if (byteLength <= VALUE_BYTES_MAX + VALUE_FRAME_BYTES_MAX) return content;
  throw storageError(
    'VALUE_TOO_LARGE',
    `${operation}: a serialized value is ${byteLength} bytes, at most ${VALUE_BYTES_MAX}; split it.`,
  );
}

function checkBinding(value: unknown): SqlBinding {
  const isBinding =
    value === null ||
    typeof value === 'string' ||
    typeof value === 'number' ||
    value instanceof ArrayBuffer ||
    ArrayBuffer.isView(value);
  if (isBinding) return value;
  throw malformed('binding', 'a string, a number, null, or bytes');
}

function checkCount(operation: string, count: number): void {
  if (count <= KEYS_PER_CALL_MAX) return;
  throw storageError(
    'TOO_MANY_KEYS',
    `${operation}: ${count} keys in one call, at most ${KEYS_PER_CALL_MAX}; split the call.`,
  );
}
