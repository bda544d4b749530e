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
import {
  KEY_BYTES_MAX,
  KEYS_PER_CALL_MAX,
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

/** Returns true if the first argument of `put` contains entries, which is so for any object except an array. */
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

/** The most rows that a cursor fetches at once. */
export const BATCH_ROWS_MAX = 10_000;

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

export const rowCount: FieldCheck<number> = (name, value) =>
  checkInteger(name, value, 1, BATCH_ROWS_MAX);

export const bytesOrNull: FieldCheck<Uint8Array | null> = (name, value) =>
  value === null ? null : checkBytes(name, value);

export const stringOrNull: FieldCheck<string | null> = (name, value) =>
  value === null ? null : checkString(name, value);

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
