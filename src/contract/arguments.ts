// Converts and checks the arguments of the storage interface, in the order and with the leniency of
// WebIDL, as workerd does: a number is converted to a key, `null` means no options, and a Set is
// one key named "[object Set]".
//
// Pure, and used on both sides, so that a page and the worker report the same errors. Exceptions of
// user code (in a toString or a getter) propagate unchanged.

import { storageError } from './errors.ts';
import { type ConvertedListOptions, compileRange, type KeyRange } from './key-range.ts';
import {
  ALARM_TIME_MS_MAX,
  HISTORY_COMMITS_DEFAULT,
  HISTORY_COMMITS_MAX,
  KEY_BYTES_MAX,
  KEYS_PER_CALL_MAX,
} from './limits.ts';
import { utf8Bytes } from './utf8.ts';

/** One key or many: the difference decides the shape of the result. */
export type Keys =
  | { readonly kind: 'one'; readonly key: string }
  | { readonly kind: 'many'; readonly keys: readonly string[] };

/** Converted write options, without the cache hints, which have no observable effect. */
export interface ConvertedWriteOptions {
  readonly allowUnconfirmed: boolean;
}

/** A string argument, by ToString. @throws INVALID_ARGUMENT for a symbol. */
export function convertString(operation: string, value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'symbol') {
    throw storageError('INVALID_ARGUMENT', `${operation}: a symbol is not a string.`);
  }
  return String(value);
}

/** Bytes of a file, copied. @throws INVALID_ARGUMENT */
export function convertBinary(
  operation: string,
  value: unknown,
): Uint8Array<ArrayBuffer> | Promise<Uint8Array<ArrayBuffer>> {
  if (value instanceof Blob) {
    return value.arrayBuffer().then((buffer) => new Uint8Array(buffer));
  }
  if (ArrayBuffer.isView(value)) {
    return new Uint8Array(value.buffer, value.byteOffset, value.byteLength).slice();
  }
  if (value instanceof ArrayBuffer) return new Uint8Array(value.slice(0));
  throw storageError(
    'INVALID_ARGUMENT',
    `${operation}: the file must be an ArrayBuffer, a view of one, or a Blob.`,
  );
}

/** A key. @throws INVALID_ARGUMENT, KEY_TOO_LARGE */
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
 * A key or an array of keys; only a real array is `many`. @throws TOO_MANY_KEYS and as convertKey
 */
export function convertKeys(operation: string, value: unknown): Keys {
  if (!Array.isArray(value)) return { kind: 'one', key: convertKey(operation, value) };
  checkCount(operation, value.length, 'keys');
  return { kind: 'many', keys: Array.from(value, (key) => convertKey(operation, key)) };
}

/** The first argument of put as a dictionary: own enumerable members, except undefined ones. */
export function convertEntries(operation: string, value: object): [string, unknown][] {
  const entries: [string, unknown][] = [];
  for (const key of Object.keys(value)) {
    const member = (value as Record<string, unknown>)[key];
    if (member !== undefined) entries.push([convertKey(operation, key), member]);
  }
  checkCount(operation, entries.length, 'pairs');
  return entries;
}

/** True if the first argument of put is a dictionary of entries: any object except an array. */
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

/** Read options are only checked, because both members are hints without an observable effect. */
export function convertReadOptions(operation: string, value: unknown): void {
  const options = convertOptions(operation, value);
  // Each member is read once, so that an error of a getter reaches the caller.
  void options.allowConcurrency;
  void options.noCache;
}

/** Write options. */
export function convertWriteOptions(operation: string, value: unknown): ConvertedWriteOptions {
  const options = convertOptions(operation, value);
  void options.allowConcurrency;
  const allowUnconfirmed = Boolean(options.allowUnconfirmed);
  void options.noCache;
  return { allowUnconfirmed };
}

/** List options, compiled. @throws INVALID_ARGUMENT, KEY_TOO_LARGE */
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

/** An alarm time, in whole milliseconds. @throws INVALID_ARGUMENT */
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

/** A point in time for a bookmark, as by `new Date(value)`. @throws INVALID_ARGUMENT */
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

/** Which commits `history` lists; null: no bound. */
export interface ConvertedHistoryOptions {
  readonly fromMs: number | null;
  readonly toMs: number | null;
  readonly before: string | null;
  readonly limit: number;
}

/** Options of `history`. @throws INVALID_ARGUMENT */
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

/** A callback argument. @throws INVALID_ARGUMENT */
export function checkCallback(operation: string, value: unknown): asserts value is Function {
  if (typeof value !== 'function') {
    throw storageError('INVALID_ARGUMENT', `${operation}: the first argument must be a function.`);
  }
}

/** The number of arguments. @throws INVALID_ARGUMENT */
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

// ToNumber, truncation, range check, as for WebIDL's [EnforceRange] long, except that null and
// other values that convert to less than one are refused.
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
