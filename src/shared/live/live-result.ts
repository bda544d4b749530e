// Converts the arguments of live reads, and the bytes of a result to the value that the same read returns when it is not
// live.

import { checkArgumentCount, convertKeys, convertString } from '../contract/arguments.ts';
import { convertBinding, ownBytes } from '../contract/bindings.ts';
import { storageError } from '../contract/errors.ts';
import { compareKeys } from '../contract/key-order.ts';
import { convertListOptions } from '../contract/list-options.ts';
import type { StorageRead } from '../contract/live.ts';
import type { SqlRow, SqlStorageValue } from '../contract/storage.ts';
import { deserialize } from '../values/decode.ts';
import { decodeValue } from '../values/value.ts';

/** A read, and the function that converts its result. */
export interface LiveReading<Read extends StorageRead = StorageRead> {
  readonly read: Read;
  /** The form of the value. Live values with the same read and form are equal. */
  readonly form: 'value' | 'entries' | 'rows';
  readonly value: (bytes: Uint8Array) => unknown;
}

/** The rows of a query, as they cross the connection. */
export interface LiveRows {
  readonly columnNames: readonly string[];
  readonly rows: readonly SqlStorageValue[][];
}

type Values = readonly (Uint8Array | null)[];

/** Converts the arguments of `storage.live`. @throws INVALID_ARGUMENT, KEY_TOO_LARGE, TOO_MANY_KEYS */
export function liveKeys(args: readonly unknown[]): LiveReading {
  checkArgumentCount('live', args.length, 1);
  const [options] = args;
  if (typeof options !== 'object' || options === null) throw invalidKeysError();
  const { key, keys } = options as { key?: unknown; keys?: unknown };
  if (key !== undefined) {
    return { read: { op: 'get', keys: keysOf(key) }, form: 'value', value: oneValue };
  }
  if (keys === undefined) {
    const read = { op: 'list', range: convertListOptions('live', options) } as const;
    return { read, form: 'entries', value: listedEntries };
  }
  if (!Array.isArray(keys)) throw invalidKeysError();
  const sorted = [...new Set(keysOf(keys))].sort(compareKeys);
  const value = (bytes: Uint8Array) => toEntries(sorted, deserialize(bytes) as Values);
  return { read: { op: 'get', keys: sorted }, form: 'entries', value };
}

/** Converts the arguments of `sql.live`. @throws INVALID_ARGUMENT */
export function liveQuery(args: readonly unknown[]): LiveReading {
  checkArgumentCount('live', args.length, 1);
  const query = convertString('live', args[0]);
  // The bindings are copied, because the read is repeated and the program may change them.
  const bindings = args.slice(1).map((value) => ownBytes(convertBinding(value)));
  return { read: { op: 'query', query, bindings }, form: 'rows', value: rowObjects };
}

function keysOf(value: unknown): readonly string[] {
  const keys = convertKeys('live', value);
  return keys.kind === 'one' ? [keys.key] : keys.keys;
}

function oneValue(bytes: Uint8Array): unknown {
  const [value] = deserialize(bytes) as Values;
  return value ? decodeValue(value) : undefined;
}

function toEntries(keys: readonly string[], values: Values): Map<string, unknown> {
  const found = new Map<string, unknown>();
  for (const [i, key] of keys.entries()) {
    const value = values[i];
    if (value) found.set(key, decodeValue(value));
  }
  return found;
}

function listedEntries(bytes: Uint8Array): Map<string, unknown> {
  const listed = deserialize(bytes) as [string, Uint8Array][];
  return new Map(listed.map(([key, value]) => [key, decodeValue(value)]));
}

function rowObjects(bytes: Uint8Array): SqlRow[] {
  return namedRows(deserialize(bytes) as LiveRows);
}

/** Converts rows to objects. As for a cursor, a column named __proto__ is left out. */
export function namedRows({ columnNames, rows }: LiveRows): SqlRow[] {
  return rows.map((row) => {
    const object: SqlRow = {};
    for (const [i, name] of columnNames.entries()) {
      if (name !== '__proto__') object[name] = row[i] ?? null;
    }
    return object;
  });
}

function invalidKeysError(): Error {
  return storageError(
    'INVALID_ARGUMENT',
    'live: takes { key }, { keys: [] }, or a range as list() does: { prefix, start, end, limit }.',
  );
}
