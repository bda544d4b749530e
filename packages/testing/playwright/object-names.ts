// Checks how a test names an object, and writes the name for messages.

import { storageError } from '@ctx-storage/core/errors';
import type { ObjectName } from './page/helper-protocol.ts';

/** Names an object by its id instead of its name. */
export interface ById {
  /** 64 hexadecimal digits, as `String(id)` returns them. */
  readonly id: string | { toString(): string };
}

/** Checks the name of an object of a class. @throws INVALID_ARGUMENT */
export function objectName(what: string, className: unknown, name: unknown): ObjectName {
  const isClass = typeof className === 'string' && className !== '';
  if (!isClass) {
    throw invalidArgument(
      what,
      `takes the name of a class, such as 'Room', not ${shownValue(className)}`,
    );
  }
  if (typeof name === 'string') return { className, name };
  const id = typeof name === 'object' && name !== null && 'id' in name ? String(name.id) : '';
  if (/^[0-9a-f]{64}$/.test(id)) return { className, id };
  throw invalidArgument(
    what,
    `takes the name of an object, such as 'lobby', or { id } with its 64 hexadecimal digits, not ${shownValue(name)}`,
  );
}

/** Checks the name of an object of `openStorage`. @throws INVALID_ARGUMENT */
export function storageName(what: string, name: unknown): ObjectName {
  if (typeof name === 'string') return { className: null, name };
  throw invalidArgument(
    what,
    `takes the name that the app passes to openStorage, not ${shownValue(name)}`,
  );
}

/** Describes an object, such as `Room 'lobby'`. */
export function wordsOfObject({ className, name, id, branch }: ObjectName): string {
  const own = name === undefined ? `${id?.slice(0, 8)}…` : `'${name}'`;
  const object = className === null ? `storage ${own}` : `${className} ${own}`;
  return branch === undefined ? object : `${branch} of ${object}`;
}

function shownValue(value: unknown): string {
  return typeof value === 'string' ? `"${value}"` : String(value);
}

function invalidArgument(what: string, fact: string): Error {
  return storageError('INVALID_ARGUMENT', `${what}: ${fact}.`);
}
