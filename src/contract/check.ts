// Checks of the fields of a message. A message can have any shape that structured clone allows, so
// each field must have its exact type: nothing is converted. The length of an array is checked before
// its elements, because an array can claim four billion elements and contain none.

import { eachOf } from './each-of.ts';
import { storageError } from './errors.ts';

/** Fields of a message that are not checked yet. */
export type Fields = Readonly<Record<string, unknown>>;

/** The error of a malformed message. */
export function malformed(what: string, expected: string): Error {
  return storageError('INVALID_ARGUMENT', `Malformed message: ${what} is not ${expected}.`);
}

/** Any object: only its fields are read. @throws INVALID_ARGUMENT */
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

/** The number of a session, cursor, transaction or reference; it may name one that does not exist. */
export function checkNumberOf(what: string, value: unknown): number {
  return checkInteger(what, value, 0, Number.MAX_SAFE_INTEGER);
}

export function checkBytes(what: string, value: unknown): Uint8Array<ArrayBuffer> {
  if (value instanceof Uint8Array) return value as Uint8Array<ArrayBuffer>;
  throw malformed(what, 'a Uint8Array');
}

/** An array of at most `countMax` elements; holes become undefined. */
export function checkArray(what: string, value: unknown, countMax: number): readonly unknown[] {
  if (!Array.isArray(value)) throw malformed(what, 'an array');
  if (value.length > countMax) {
    throw malformed(`${what} (${value.length} elements)`, `an array of at most ${countMax}`);
  }
  return eachOf(value, (element) => element);
}
