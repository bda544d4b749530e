// Changes as the bytes that a message carries, and their check: a server with other code than this package's can send
// anything.
//
// The rows of a table are one list of values, which costs less than a list for each row. A message holds the bytes as they
// are, so that they are made once for all followers of a position, and a copy stores those of a part unread.
//
// Invariant: decoded changes have exactly their type, and each row has as many values as its table has columns. Whether
// they fit the tables is found when they are applied.

import {
  checkArray,
  checkBoolean,
  checkBytes,
  checkFields,
  checkNumberOf,
  checkString,
  eachOf,
  malformed,
} from '@ctx-storage/core/contract';
import { deserialize, serialize } from '@ctx-storage/core/values';
import {
  type Changes,
  type CopyPlace,
  KEY_COLUMNS_MAX,
  type SchemaEntry,
  type SentCell,
  type TableChanges,
} from './changes.ts';
import { isExactText } from './exact-text.ts';

const TYPES = ['table', 'index', 'trigger', 'view'] as const;

/** An array of the message. @throws INVALID_ARGUMENT */
type ListOf = <T>(what: string, value: unknown, make: (element: unknown) => T) => T[];

export function encodeChanges({ tables, ...others }: Changes): Uint8Array<ArrayBuffer> {
  const inOneList = ({ rows, gone, ...table }: TableChanges) => ({
    ...table,
    rows: rows.flat(),
    gone: gone.flat(),
  });
  return serialize({ ...others, tables: tables.map(inOneList) });
}

/** @throws INVALID_ARGUMENT */
export function decodeChanges(message: unknown): Changes {
  const bytes = checkBytes('changes', message);
  // Each element takes a byte. An array with holes names any number of elements in ten.
  const listOf: ListOf = (what, value, make) => eachOf(checkArray(what, value, bytes.length), make);
  const { isWiped, schema, tables, sequences, kv, kvGone } = checkFields(
    'changes',
    readValue(bytes),
  );
  return {
    isWiped: checkBoolean('isWiped', isWiped),
    schema: schema === null ? null : listOf('schema', schema, schemaObject),
    tables: listOf('tables', tables, (table) => tableChanges(table, listOf)),
    sequences: sequences === null ? null : listOf('sequences', sequences, sequenceOf),
    kv: listOf('kv', kv, entry),
    kvGone: listOf('kvGone', kvGone, (key) => checkString('key', key)),
  };
}

function readValue(bytes: Uint8Array): unknown {
  try {
    return deserialize(bytes);
  } catch {
    throw malformed('changes', 'a serialized value');
  }
}

/** Null for anything else: a follower with other code can send it. */
export function decodeCopyPlace(value: unknown): CopyPlace | null {
  try {
    const { table, after, sentBytes } = checkFields('place', value);
    return {
      table: table === null ? null : checkString('table', table),
      after: after === null ? null : eachOf(checkArray('after', after, KEY_COLUMNS_MAX), cell),
      sentBytes: checkNumberOf('sentBytes', sentBytes),
    };
  } catch {
    return null;
  }
}

function schemaObject(value: unknown): SchemaEntry {
  const { type, name, sql } = checkFields('schema', value);
  const known = TYPES.find((one) => one === type);
  if (known === undefined) throw malformed('type', TYPES.join(', '));
  return { type: known, name: checkString('name', name), sql: checkString('sql', sql) };
}

function tableChanges(value: unknown, listOf: ListOf): TableChanges {
  const { name, keys, columns, isWhole, rows, gone } = checkFields('table', value);
  const named = listOf('keys', keys, (key) => checkString('key', key));
  const held = listOf('columns', columns, (column) => checkString('column', column));
  return {
    name: checkString('name', name),
    keys: named,
    columns: held,
    isWhole: checkBoolean('isWhole', isWhole),
    rows: rowsOf('rows', listOf('rows', rows, cell), held.length),
    gone: rowsOf('gone', listOf('gone', gone, cell), named.length),
  };
}

function sequenceOf(value: unknown): readonly [string, number | bigint] {
  const [table, sequence] = checkArray('sequence', value, 2);
  if (typeof sequence === 'number' || typeof sequence === 'bigint') {
    return [checkString('table', table), sequence];
  }
  throw malformed('sequence', 'a number');
}

function entry(value: unknown): readonly [string, Uint8Array] {
  const [key, bytes] = checkArray('entry', value, 2);
  return [checkString('key', key), checkBytes('value', bytes)];
}

function rowsOf(what: string, cells: readonly SentCell[], width: number): SentCell[][] {
  const count = cells.length / width;
  if (!Number.isSafeInteger(count))
    throw malformed(what, `a list with ${width} values for each row`);
  return Array.from({ length: count }, (_, i) => cells.slice(i * width, (i + 1) * width));
}

function cell(value: unknown): SentCell {
  switch (typeof value) {
    case 'number':
    case 'bigint':
      return value;
    case 'string':
      if (isExactText(value)) return value;
      throw malformed('value', 'a text, or U+FFFD and the bytes of one in hex');
    default:
      return value === null ? null : checkBytes('value', value);
  }
}
