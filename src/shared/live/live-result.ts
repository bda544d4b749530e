// A program's result of a live read: the same value as from the read that is not live.

import {
  checkArgumentCount,
  convertKeys,
  convertListOptions,
  convertString,
} from '../contract/arguments.ts';
import { convertBinding } from '../contract/bindings.ts';
import { storageError } from '../contract/errors.ts';
import { compareKeys } from '../contract/key-order.ts';
import type { StorageRead } from '../contract/live.ts';
import type { SqlRow, SqlStorageValue } from '../contract/storage.ts';
import { deserialize } from '../values/decode.ts';
import { decodeValue } from '../values/value.ts';

/** A read, and how its result becomes the value. */
export interface LiveReading<Read extends StorageRead = StorageRead> {
  readonly read: Read;
  /** The form of the value. Live values with equal read and form are the same. */
  readonly form: 'value' | 'entries' | 'rows';
  readonly value: (bytes: Uint8Array) => unknown;
}

/** Rows of a query. */
export interface LiveRows {
  readonly columnNames: readonly string[];
  readonly rows: readonly SqlStorageValue[][];
}

type Values = readonly (Uint8Array | null)[];

/** The arguments of `storage.live`. @throws INVALID_ARGUMENT, KEY_TOO_LARGE, TOO_MANY_KEYS */
export function liveKeys(args: readonly unknown[]): LiveReading {
  checkArgumentCount('live', args.length, 1);
  const [options] = args;
  if (typeof options !== 'object' || options === null) throw noKeys();
  const { key, keys } = options as { key?: unknown; keys?: unknown };
  if (key !== undefined) {
    return { read: { op: 'get', keys: keysOf(key) }, form: 'value', value: oneValue };
  }
  if (keys === undefined) {
    const read = { op: 'list', range: convertListOptions('live', options) } as const;
    return { read, form: 'entries', value: entries };
  }
  if (!Array.isArray(keys)) throw noKeys();
  const sorted = [...new Set(keysOf(keys))].sort(compareKeys);
  const value = (bytes: Uint8Array) => found(sorted, deserialize(bytes) as Values);
  return { read: { op: 'get', keys: sorted }, form: 'entries', value };
}

/** The arguments of `sql.live`. @throws INVALID_ARGUMENT */
export function liveQuery(args: readonly unknown[]): LiveReading {
  checkArgumentCount('live', args.length, 1);
  const query = convertString('live', args[0]);
  // Copies, because the read is made again and again.
  const bindings = args.slice(1).map((value) => structuredClone(convertBinding(value)));
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

function found(keys: readonly string[], values: Values): Map<string, unknown> {
  const entries = new Map<string, unknown>();
  for (const [i, key] of keys.entries()) {
    const value = values[i];
    if (value) entries.set(key, decodeValue(value));
  }
  return entries;
}

function entries(bytes: Uint8Array): Map<string, unknown> {
  const listed = deserialize(bytes) as [string, Uint8Array][];
  return new Map(listed.map(([key, value]) => [key, decodeValue(value)]));
}

function rowObjects(bytes: Uint8Array): SqlRow[] {
  return namedRows(deserialize(bytes) as LiveRows);
}

/** Rows as objects. As for a cursor, a column named __proto__ does not become a key. */
export function namedRows({ columnNames, rows }: LiveRows): SqlRow[] {
  return rows.map((row) => {
    const object: SqlRow = {};
    for (const [i, name] of columnNames.entries()) {
      if (name !== '__proto__') object[name] = row[i] ?? null;
    }
    return object;
  });
}

function noKeys(): Error {
  return storageError(
    'INVALID_ARGUMENT',
    'live: takes { key }, { keys: [] }, or a range as list() does: { prefix, start, end, limit }.',
  );
}
