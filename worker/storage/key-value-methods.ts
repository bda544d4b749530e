// The key-value methods as programs call them: arguments converted, values serialized, results in
// their promised shape. One implementation for `ctx.storage` and for the `txn` of a transaction.
//
// Serialization happens inside the call, so a later change of the value is not stored; each read
// deserializes a fresh copy.

import {
  checkArgumentCount,
  convertAlarmTime,
  convertEntries,
  convertKey,
  convertKeys,
  convertListOptions,
  convertOptions,
  convertReadOptions,
  convertWriteOptions,
  isEntries,
} from '../../src/contract/arguments.ts';
import { storageError } from '../../src/contract/errors.ts';
import { compareKeys } from '../../src/contract/key-order.ts';
import { decodeValue, encodeValue } from '../../src/contract/value.ts';
import type { Confirmation, ObjectStorage } from './object-storage.ts';

/** Runs a method whose every failure is a rejection, as the real storage's promises do. */
export function promised<T>(method: () => T | Promise<T>): Promise<T> {
  try {
    return Promise.resolve(method());
  } catch (error) {
    return Promise.reject(error);
  }
}

export function get(storage: ObjectStorage, args: readonly unknown[]): unknown {
  checkArgumentCount('get', args.length, 1);
  const keys = convertKeys('get', args[0]);
  convertReadOptions('get', args[1]);
  if (keys.kind === 'one') return storage.get(keys.key, decodeValue);
  const found = new Map<string, unknown>();
  for (const key of [...new Set(keys.keys)].sort(compareKeys)) {
    storage.get(key, (bytes) => found.set(key, decodeValue(bytes)));
  }
  return found;
}

export function put(storage: ObjectStorage, args: readonly unknown[]): void {
  checkArgumentCount('put', args.length, 1);
  if (isEntries(args[0])) {
    const write = convertWrite('put', args[1]);
    if (args[2] !== undefined) convertOptions('put', args[2]);
    const entries = convertEntries('put', args[0]);
    storage.put(
      entries.map(([key, value]) => [key, encodeValue('put', key, value)] as const),
      write,
    );
    return;
  }
  const key = convertKey('put', args[0]);
  const write = convertWrite('put', args[2]);
  if (args[1] === undefined) {
    throw storageError(
      'INVALID_ARGUMENT',
      'put: the value is undefined; store null, or delete the key.',
    );
  }
  storage.put([[key, encodeValue('put', key, args[1])]], write);
}

/** Boolean for one key, a count for many. */
export function remove(storage: ObjectStorage, args: readonly unknown[]): boolean | number {
  checkArgumentCount('delete', args.length, 1);
  const keys = convertKeys('delete', args[0]);
  const write = convertWrite('delete', args[1]);
  if (keys.kind === 'many') return storage.delete(keys.keys, write);
  return storage.delete([keys.key], write) === 1;
}

export function list(storage: ObjectStorage, args: readonly unknown[]): Map<string, unknown> {
  const cursor = storage.list(convertListOptions('list', args[0]));
  const entries = new Map<string, unknown>();
  for (let entry = cursor.next(); entry !== undefined; entry = cursor.next()) {
    entries.set(entry.key, decodeValue(entry.value));
  }
  return entries;
}

export function getAlarm(storage: ObjectStorage, args: readonly unknown[]): number | null {
  convertReadOptions('getAlarm', args[0]);
  return storage.alarm;
}

export function setAlarm(storage: ObjectStorage, args: readonly unknown[]): void {
  checkArgumentCount('setAlarm', args.length, 1);
  const timeMs = convertAlarmTime('setAlarm', args[0]);
  storage.setAlarm(timeMs, convertWrite('setAlarm', args[1]));
}

export function deleteAlarm(storage: ObjectStorage, args: readonly unknown[]): void {
  storage.setAlarm(null, convertWrite('deleteAlarm', args[0]));
}

export function convertWrite(operation: string, options: unknown): Confirmation {
  return { confirmed: !convertWriteOptions(operation, options).allowUnconfirmed };
}
