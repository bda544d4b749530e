// Converts the arguments of the storage interface when a method is called, and checks them again when they arrive as
// fields of a message.
//
// Conversion (`convert…`) follows the order and the leniency of WebIDL, as workerd does: a number is converted to a key,
// `null` means no options, and a Set is one key named "[object Set]". It is used on both sides, so that a page and the
// worker report the same errors. Exceptions of user code (in a toString or a getter) propagate unchanged.
//
// A message can have any shape that structured clone allows, and a tab with other code than this package's can send
// anything. Invariant: a field that passes its check has its exact type, because checks convert nothing, and is within the
// limits that the sender has checked, too. The length of an array is checked before its elements, because an array can
// claim four billion elements and contain none.

import { storageError } from './errors.ts';
import { fileBytes } from './file-bytes.ts';
import { type ConvertedListOptions, compileRange, type KeyRange } from './key-range.ts';
import {
  ALARM_TIME_MS_MAX,
  BRANCH_NAME_BYTES_MAX,
  HISTORY_COMMITS_DEFAULT,
  HISTORY_COMMITS_MAX,
  KEY_BYTES_MAX,
  KEYS_PER_CALL_MAX,
  LABEL_BYTES_MAX,
  REVERTED_COMMITS_MAX,
  VALUE_BYTES_MAX,
  VALUE_FRAME_BYTES_MAX,
} from './limits.ts';
import { utf8Bytes } from './utf8.ts';

/** One key or several, which determines the type of the result: a value, or a Map. */
export type Keys =
  | { readonly kind: 'one'; readonly key: string }
  | { readonly kind: 'many'; readonly keys: readonly string[] };

/** Converted write options, without the cache hints, which have no observable effect. */
export interface ConvertedWriteOptions {
  readonly allowUnconfirmed: boolean;
}

/** Converts an argument to a string, as `String()` does. @throws INVALID_ARGUMENT for a symbol. */
export function convertString(operation: string, value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'symbol') {
    throw storageError('INVALID_ARGUMENT', `${operation}: a symbol is not a string.`);
  }
  return String(value);
}

/** Converts the name of a branch. @throws INVALID_ARGUMENT */
export function convertBranchName(operation: string, value: unknown): string {
  const name = convertString(operation, value);
  const sizeBytes = utf8Bytes(name);
  if (sizeBytes > 0 && sizeBytes <= BRANCH_NAME_BYTES_MAX) return name;
  throw storageError(
    'INVALID_ARGUMENT',
    `${operation}: the name of a branch has 1 to ${BRANCH_NAME_BYTES_MAX} bytes of UTF-8, not ${sizeBytes}.`,
  );
}

/** Converts the bookmarks of the commits that `revert` undoes. @throws INVALID_ARGUMENT */
export function convertReverted(operation: string, value: unknown): readonly string[] {
  if (!Array.isArray(value)) return [convertString(operation, value)];
  if (value.length > 0 && value.length <= REVERTED_COMMITS_MAX) {
    return value.map((bookmark) => convertString(operation, bookmark));
  }
  throw storageError(
    'INVALID_ARGUMENT',
    `${operation}: takes 1 to ${REVERTED_COMMITS_MAX} bookmarks, not ${value.length}; call it again for the rest.`,
  );
}

/** Checks the label of commits. @throws INVALID_ARGUMENT */
export function checkLabel(name: string, value: unknown, operation = 'labelled'): string {
  if (typeof value !== 'string') {
    throw storageError('INVALID_ARGUMENT', `${operation}: the ${name} is not a string.`);
  }
  const sizeBytes = utf8Bytes(value);
  if (sizeBytes <= LABEL_BYTES_MAX) return value;
  throw storageError(
    'INVALID_ARGUMENT',
    `${operation}: the ${name} has ${sizeBytes} bytes of UTF-8, at most ${LABEL_BYTES_MAX}; shorten it, and store the rest as data.`,
  );
}

/** Converts the options of `fork`. @throws INVALID_ARGUMENT */
export function convertForkOptions(operation: string, value: unknown) {
  const { at, name, keep, fetch } = convertOptions(operation, value);
  const isTime = at instanceof Date;
  if (fetch != null && fetch !== 'allow' && fetch !== 'refuse') {
    throw storageError(
      'INVALID_ARGUMENT',
      `${operation}: fetch is 'allow' or 'refuse', not ${String(fetch)}.`,
    );
  }
  return {
    bookmark: at == null || isTime ? null : convertString(operation, at),
    timeMs: isTime ? convertTimestamp(operation, at) : null,
    name: name == null ? null : convertBranchName(operation, name),
    isKept: keep === true,
    sends: fetch === 'allow',
  };
}

/** Copies the bytes of a file. @throws INVALID_ARGUMENT, INPUT_CHANGED */
export function convertBinary(
  operation: string,
  value: unknown,
): Uint8Array<ArrayBuffer> | Promise<Uint8Array<ArrayBuffer>> {
  if (value instanceof Blob) return fileBytes(operation, value);
  if (ArrayBuffer.isView(value)) {
    return new Uint8Array(value.buffer, value.byteOffset, value.byteLength).slice();
  }
  if (value instanceof ArrayBuffer) return new Uint8Array(value.slice(0));
  throw storageError(
    'INVALID_ARGUMENT',
    `${operation}: the file must be an ArrayBuffer, a view of one, or a Blob.`,
  );
}

/** Converts a key. @throws INVALID_ARGUMENT, KEY_TOO_LARGE */
export function convertKey(operation: string, value: unknown): string {
  const key = convertString(operation, value);
  // A key of n UTF-16 units has n to 3n bytes, so most keys need no counting.
  if (key.length * 3 > KEY_BYTES_MAX) {
    const bytes = utf8Bytes(key);
    if (bytes > KEY_BYTES_MAX) {
      throw storageError(
        'KEY_TOO_LARGE',
        `${operation}: the key is ${bytes} bytes of UTF-8, at most ${KEY_BYTES_MAX}.`,
      );
    }
  }
  return key;
}

/**
 * Converts a key or an array of keys. Any value but a real array is one key. @throws TOO_MANY_KEYS and as convertKey
 */
export function convertKeys(operation: string, value: unknown): Keys {
  if (!Array.isArray(value)) return { kind: 'one', key: convertKey(operation, value) };
  checkCount(operation, value.length, 'keys');
  return { kind: 'many', keys: Array.from(value, (key) => convertKey(operation, key)) };
}

/** Converts the first argument of `put(entries)`: its own enumerable members, except undefined ones. */
export function convertEntries(operation: string, value: object): [string, unknown][] {
  const pairs: [string, unknown][] = [];
  for (const key of Object.keys(value)) {
    const member = (value as Record<string, unknown>)[key];
    if (member !== undefined) pairs.push([convertKey(operation, key), member]);
  }
  checkCount(operation, pairs.length, 'pairs');
  return pairs;
}

/** Returns true if the first argument of `put` contains entries: for any object except an array. */
export function isEntries(value: unknown): value is object {
  return (
    (typeof value === 'object' && value !== null && !Array.isArray(value)) ||
    typeof value === 'function'
  );
}

/** Checks an options argument: absent, null or any object. @throws INVALID_ARGUMENT */
export function convertOptions(operation: string, value: unknown): Record<string, unknown> {
  if (value === undefined || value === null) return {};
  if (typeof value !== 'object' && typeof value !== 'function') {
    throw storageError(
      'INVALID_ARGUMENT',
      `${operation}: options must be an object, not a ${typeof value}.`,
    );
  }
  return value as Record<string, unknown>;
}

/** Checks read options. They are not converted, because both members are hints without an observable effect. */
export function convertReadOptions(operation: string, value: unknown): void {
  const options = convertOptions(operation, value);
  // Each member is read, so that an error of a getter reaches the caller.
  void options.allowConcurrency;
  void options.noCache;
}

/** Converts write options. */
export function convertWriteOptions(operation: string, value: unknown): ConvertedWriteOptions {
  const options = convertOptions(operation, value);
  void options.allowConcurrency;
  const allowUnconfirmed = Boolean(options.allowUnconfirmed);
  void options.noCache;
  return { allowUnconfirmed };
}

/** Converts list options to a range of keys. @throws INVALID_ARGUMENT, KEY_TOO_LARGE */
export function convertListOptions(operation: string, value: unknown): KeyRange {
  const options = convertOptions(operation, value);
  void options.allowConcurrency;
  void options.noCache;
  const converted: ConvertedListOptions = {
    start: optionalKey(operation, options.start),
    startAfter: optionalKey(operation, options.startAfter),
    end: optionalKey(operation, options.end),
    prefix: optionalKey(operation, options.prefix),
    reverse: Boolean(options.reverse),
    limit: convertLimit(operation, options.limit),
  };
  if (converted.start !== undefined && converted.startAfter !== undefined) {
    throw storageError(
      'INVALID_ARGUMENT',
      `${operation}: start and startAfter exclude each other; give one.`,
    );
  }
  return compileRange(converted);
}

/** Converts an alarm time to whole milliseconds. @throws INVALID_ARGUMENT */
export function convertAlarmTime(operation: string, value: unknown): number {
  const timeMs =
    typeof value === 'number' ? value : value instanceof Date ? value.getTime() : Number.NaN;
  const whole = Math.trunc(timeMs);
  if (!(whole > 0 && whole <= ALARM_TIME_MS_MAX)) {
    throw storageError(
      'INVALID_ARGUMENT',
      `${operation}: an alarm time is a Date or a number of milliseconds after the epoch, ` +
        `at most ${ALARM_TIME_MS_MAX}.`,
    );
  }
  return whole;
}

/** Converts a time as `new Date(value)` does, to milliseconds. @throws INVALID_ARGUMENT */
export function convertTimestamp(operation: string, value: unknown): number {
  const timeMs =
    typeof value === 'number' ? value : value instanceof Date ? value.getTime() : Number.NaN;
  if (!Number.isFinite(timeMs)) {
    throw storageError(
      'INVALID_ARGUMENT',
      `${operation}: a timestamp is a valid Date or a number of milliseconds since the epoch.`,
    );
  }
  return timeMs;
}

/** The converted options of `history`. Null means no bound. */
export interface ConvertedHistoryOptions {
  readonly fromMs: number | null;
  readonly toMs: number | null;
  readonly before: string | null;
  readonly limit: number;
}

/** Converts the options of `history`. @throws INVALID_ARGUMENT */
export function convertHistoryOptions(operation: string, value: unknown): ConvertedHistoryOptions {
  const { from, to, before, limit } = convertOptions(operation, value);
  const time = (bound: unknown) => (bound == null ? null : convertTimestamp(operation, bound));
  return {
    fromMs: time(from),
    toMs: time(to),
    before: before == null ? null : convertString(operation, before),
    limit: limit === undefined ? HISTORY_COMMITS_DEFAULT : convertCommitCount(operation, limit),
  };
}

function convertCommitCount(operation: string, limit: unknown): number {
  if (Number.isInteger(limit) && (limit as number) >= 1 && (limit as number) <= HISTORY_COMMITS_MAX)
    return limit as number;
  throw storageError(
    'INVALID_ARGUMENT',
    `${operation}: limit is a whole number from 1 to ${HISTORY_COMMITS_MAX}; list more with "before".`,
  );
}

/** Checks that an argument is a function. @throws INVALID_ARGUMENT */
export function checkCallback(operation: string, value: unknown): asserts value is Function {
  if (typeof value !== 'function') {
    throw storageError('INVALID_ARGUMENT', `${operation}: the first argument must be a function.`);
  }
}

/** Checks the number of arguments. @throws INVALID_ARGUMENT */
export function checkArgumentCount(operation: string, given: number, needed: number): void {
  if (given < needed) {
    throw storageError(
      'INVALID_ARGUMENT',
      `${operation}: ${needed} argument${needed === 1 ? '' : 's'} needed, ${given} given.`,
    );
  }
}

function optionalKey(operation: string, value: unknown): string | undefined {
  return value === undefined ? undefined : convertKey(operation, value);
}

// Converts a limit as WebIDL converts an [EnforceRange] long: to a number, truncated and checked. Null and other values
// that convert to less than 1 are refused.
function convertLimit(operation: string, value: unknown): number | undefined {
  if (value === undefined) return undefined;
  const limit = typeof value === 'bigint' ? Number.NaN : Math.trunc(Number(value));
  if (!(limit >= 1 && limit < 2 ** 31)) {
    throw storageError('INVALID_ARGUMENT', `${operation}: limit must be a positive integer.`);
  }
  return limit;
}

function checkCount(operation: string, count: number, noun: string): void {
  if (count > KEYS_PER_CALL_MAX) {
    throw storageError(
      'TOO_MANY_KEYS',
      `${operation}: ${count} ${noun} in one call, at most ${KEYS_PER_CALL_MAX}; split the call.`,
    );
  }
}

// ---- The types of fields of messages, and the check of each.

/** A serialized value. */
export type ValueBytes = Uint8Array;

/** An entry to store. */
export type Entry = readonly [key: string, value: ValueBytes];

/** A converted binding of `sql.exec`. */
export type SqlBinding = string | number | null | ArrayBuffer | ArrayBufferView;

/** One statement of `batch`. */
export interface SqlStatement {
  readonly query: string;
  readonly bindings: readonly SqlBinding[];
}

/** The most statements of one `batch`, which runs without a pause. */
export const BATCH_STATEMENTS_MAX = 10_000;

/** The most rows that a cursor fetches at once. */
export const BATCH_ROWS_MAX = 10_000;

/** The most conflicts of a merge that are listed and decided one by one. */
export const CONFLICTS_MAX = 10_000;

/** The most bindings of one statement, which is SQLite's limit (SQLITE_MAX_VARIABLE_NUMBER). */
const BINDINGS_MAX = 32_766;

/**
 * Returns the value if it is valid for the field. `operation` is used in error messages.
 *
 * @throws INVALID_ARGUMENT, and the errors of limits
 */
export type FieldCheck<T> = (name: string, value: unknown, operation: string) => T;

export const string: FieldCheck<string> = checkString;
export const boolean: FieldCheck<boolean> = checkBoolean;
export const number: FieldCheck<number> = checkNumber;
export const bytes: FieldCheck<Uint8Array> = checkBytes;
export const numberOf: FieldCheck<number> = checkNumberOf;

/** Checks the id of a branch, which becomes part of a file path. */
export const checkBranchId: FieldCheck<string> = (name, value) => {
  const id = checkString(name, value);
  if (/^[0-9a-f]{32}$/.test(id)) return id;
  throw malformed(name, 'made of 32 hexadecimal digits');
};

/** Checks the name of a branch. */
export const branchName: FieldCheck<string> = (name, value) => {
  const text = checkString(name, value);
  const sizeBytes = utf8Bytes(text);
  if (sizeBytes > 0 && sizeBytes <= BRANCH_NAME_BYTES_MAX) return text;
  throw malformed(name, `a name of 1 to ${BRANCH_NAME_BYTES_MAX} bytes`);
};

export const branchNameOrNull: FieldCheck<string | null> = (name, value, operation) =>
  value === null ? null : branchName(name, value, operation);

export const keys: FieldCheck<readonly string[]> = (name, value, operation) => {
  if (!Array.isArray(value)) throw malformed(name, 'an array');
  checkCount(operation, value.length, 'keys');
  return eachOf(value, (key) => checkKey(operation, key));
};

export const entries: FieldCheck<readonly Entry[]> = (name, value, operation) => {
  if (!Array.isArray(value)) throw malformed(name, 'an array');
  checkCount(operation, value.length, 'keys');
  return eachOf(value, (entry) => {
    const [key, content] = checkArray('entry', entry, 2);
    return [checkKey(operation, key), checkValue(operation, content)] as const;
  });
};

// Checks a range of keys. A bound may be longer than the limit of keys, because an imported database may have such keys.
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

export const statements: FieldCheck<readonly SqlStatement[]> = (name, value) =>
  eachOf(checkArray(name, value, BATCH_STATEMENTS_MAX), (statement) => {
    const fields = checkFields('statement', statement);
    return {
      query: checkString('query', fields.query),
      bindings: bindings('bindings', fields.bindings, name),
    };
  });

export const rowCount: FieldCheck<number> = (name, value) =>
  checkInteger(name, value, 1, BATCH_ROWS_MAX);

export const bytesOrNull: FieldCheck<Uint8Array | null> = (name, value) =>
  value === null ? null : checkBytes(name, value);

export const stringOrNull: FieldCheck<string | null> = (name, value) =>
  value === null ? null : checkString(name, value);

export const timeOrNull: FieldCheck<number | null> = (name, value) =>
  value === null ? null : checkNumber(name, value);

/** Checks a moment: a bookmark, or a time in milliseconds. */
export const moment: FieldCheck<string | number> = (name, value) =>
  typeof value === 'string' ? value : checkNumber(name, value);

/** A state of a branch: at one of its own bookmarks, or now. */
export interface BranchState {
  readonly branch: string;
  readonly bookmark: string | null;
}

/** A state of an object or of one of its branches: a bookmark, a time or a branch; null for the default state. */
export type StateName = string | number | BranchState | null;

export const stateName: FieldCheck<StateName> = (name, value, operation) => {
  if (value === null) return null;
  if (typeof value !== 'object') return moment(name, value, operation);
  const { branch, bookmark } = checkFields(name, value);
  return {
    branch: checkBranchId('branch', branch, operation),
    bookmark: stringOrNull('bookmark', bookmark, operation),
  };
};

/** The decisions about conflicts: one for all of them, or one for each as listed in the state of a bookmark. */
export interface Decisions {
  readonly at: string | null;
  readonly each: readonly ('ours' | 'theirs')[];
}

export const decisions: FieldCheck<Decisions | null> = (name, value) => {
  if (value === null) return null;
  const { at, each } = checkFields(name, value);
  return {
    at: at === null ? null : checkString('at', at),
    each: checkArray('each', each, CONFLICTS_MAX).map((decision) => {
      if (decision === 'ours' || decision === 'theirs') return decision;
      throw malformed('decision', "'ours' or 'theirs'");
    }),
  };
};

export const revertedCommits: FieldCheck<readonly string[]> = (name, value) => {
  const bookmarks = checkArray(name, value, REVERTED_COMMITS_MAX);
  if (bookmarks.length === 0) throw malformed(name, 'one bookmark at least');
  return bookmarks.map((bookmark) => checkString('bookmark', bookmark));
};

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

/** The fields of a message before they are checked. */
export type Fields = Readonly<Record<string, unknown>>;

/** Makes the error of a malformed message. */
export function malformed(what: string, expected: string): Error {
  return storageError('INVALID_ARGUMENT', `Malformed message: ${what} is not ${expected}.`);
}

/** Checks that a value is an object, whose fields can then be read. @throws INVALID_ARGUMENT */
export function checkFields(what: string, value: unknown): Fields {
  if (typeof value === 'object' && value !== null) return value as Fields;
  throw malformed(what, 'an object');
}

export function checkString(what: string, value: unknown): string {
  if (typeof value === 'string') return value;
  throw malformed(what, 'a string');
}

export function checkBoolean(what: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw malformed(what, 'a boolean');
}

export function checkNumber(what: string, value: unknown): number {
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw malformed(what, 'a finite number');
}

export function checkInteger(what: string, value: unknown, min: number, max: number): number {
  if (Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max) {
    return value as number;
  }
  throw malformed(what, `a whole number from ${min} to ${max}`);
}

/** Checks the number of a session, cursor, transaction or reference, which need not exist. */
export function checkNumberOf(what: string, value: unknown): number {
  return checkInteger(what, value, 0, Number.MAX_SAFE_INTEGER);
}

export function checkBytes(what: string, value: unknown): Uint8Array<ArrayBuffer> {
  if (value instanceof Uint8Array) return value as Uint8Array<ArrayBuffer>;
  throw malformed(what, 'a Uint8Array');
}

/** Checks an array of at most `countMax` elements. Holes become undefined. */
export function checkArray(what: string, value: unknown, countMax: number): readonly unknown[] {
  if (!Array.isArray(value)) throw malformed(what, 'an array');
  if (value.length > countMax) {
    throw malformed(`${what} (${value.length} elements)`, `an array of at most ${countMax}`);
  }
  return eachOf(value, (element) => element);
}

/**
 * Returns the result of `make` for each element, including holes. Use it for lists of calls and answers instead of `map`
 * and `Array.from`.
 *
 * In V8, `map` returns arrays with another internal shape after its caller was compiled, so that V8 discards compiled code
 * which has seen the first shape. `Array.from` has to create an iterator.
 */
export function eachOf<V, T>(values: readonly V[], make: (value: V, index: number) => T): T[] {
  const made: T[] = [];
  for (let i = 0; i < values.length; i++) made.push(make(values[i]!, i));
  return made;
}
