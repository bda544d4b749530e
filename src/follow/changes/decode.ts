// The check of the changes that a message carries: a server with other code than this package's can send anything.
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
} from '../../shared/contract/arguments.ts';
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
const LENGTH_MAX = 2 ** 32 - 1;

/** @throws INVALID_ARGUMENT */
export function decodeChanges(value: unknown): Changes {
  const { isWiped, schema, tables, sequences, kv, kvGone } = checkFields('changes', value);
  return {
    isWiped: checkBoolean('isWiped', isWiped),
    schema: schema === null ? null : listOf('schema', schema, schemaObject),
    tables: listOf('tables', tables, tableChanges),
    sequences: sequences === null ? null : listOf('sequences', sequences, sequenceOf),
    kv: listOf('kv', kv, entry),
    kvGone: listOf('kvGone', kvGone, (key) => checkString('key', key)),
  };
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

function tableChanges(value: unknown): TableChanges {
  const { name, keys, columns, isWhole, rows, gone } = checkFields('table', value);
  const named = listOf('keys', keys, (key) => checkString('key', key));
  const held = listOf('columns', columns, (column) => checkString('column', column));
  return {
    name: checkString('name', name),
    keys: named,
    columns: held,
    isWhole: checkBoolean('isWhole', isWhole),
    rows: listOf('rows', rows, (row) => cells(row, held.length)),
    gone: listOf('gone', gone, (row) => cells(row, named.length)),
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

function cells(value: unknown, count: number): readonly SentCell[] {
  const row = checkArray('row', value, count);
  if (row.length !== count) throw malformed('row', `an array of ${count} values`);
  return eachOf(row, cell);
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

function listOf<T>(what: string, value: unknown, make: (element: unknown) => T): T[] {
  return eachOf(checkArray(what, value, LENGTH_MAX), make);
}
