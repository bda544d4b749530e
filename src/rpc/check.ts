// What the fields of a message may be. A peer's message has any shape that structured clone allows,
// so each field is asked for its exact type: nothing is converted, and lengths come first, because an
// array can claim four billion elements and hold none.

import { storageError } from '../contract/errors.ts';
import { OBJECT_NAME_BYTES_MAX } from '../contract/limits.ts';
import { utf8Bytes } from '../contract/utf8.ts';
import type { WireAddress } from './object-protocol.ts';

/** Fields of a message, not checked yet. */
export type Fields = Readonly<Record<string, unknown>>;

/** The fact that a message is malformed. */
export function malformed(what: string, expected: string): Error {
  return storageError('INVALID_ARGUMENT', `Malformed message: ${what} is not ${expected}.`);
}

/** A plain object or what looks like one: only its fields are read. @throws INVALID_ARGUMENT */
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

/** The number of a session, cursor, transaction or reference; whether it is one is asked later. */
export function checkNumberOf(what: string, value: unknown): number {
  return checkInteger(what, value, 0, Number.MAX_SAFE_INTEGER);
}

export function checkBytes(what: string, value: unknown): Uint8Array<ArrayBuffer> {
  if (value instanceof Uint8Array) return value as Uint8Array<ArrayBuffer>;
  throw malformed(what, 'a Uint8Array');
}

/** An array of at most so many elements; holes are elements that are undefined. */
export function checkArray(what: string, value: unknown, countMax: number): readonly unknown[] {
  if (!Array.isArray(value)) throw malformed(what, 'an array');
  if (value.length > countMax) {
    throw malformed(`${what} (${value.length} elements)`, `an array of at most ${countMax}`);
  }
  return Array.from(value);
}

/** Where an object is; its id becomes part of a path of files. @throws INVALID_ARGUMENT */
export function checkAddress(value: unknown): WireAddress {
  const { className, id, name, jurisdiction } = checkFields('address', value);
  if (!/^[0-9a-f]{64}$/.test(checkString('id', id))) {
    throw storageError('INVALID_ARGUMENT', 'An id of an object has 64 hexadecimal digits.');
  }
  if (name !== undefined && utf8Bytes(checkString('name', name)) > OBJECT_NAME_BYTES_MAX) {
    throw malformed('name', `at most ${OBJECT_NAME_BYTES_MAX} bytes long`);
  }
  return {
    className: className === null ? null : checkString('className', className),
    id: id as string,
    ...(name !== undefined && { name: name as string }),
    ...(jurisdiction !== undefined && { jurisdiction: checkString('jurisdiction', jurisdiction) }),
  };
}
