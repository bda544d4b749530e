// Encodes changes as the bytes that a message carries, and decodes and checks them, because a server that does not run
// this package can send anything.
//
// The rows of a table are one flat list of values, which is smaller than a list for each row. The encoded bytes are shared:
// the server encodes changes once for all followers at a position, and a copy stores the bytes of a part unread.
//
// Invariant: decoded changes have exactly the fields of `Changes`, and each row has a value for each column. Whether the
// rows fit the copy's tables is checked when they are applied. Decoded bytes come from a peer, so faults in them cause
// typed errors; values to encode are asserted.

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
import { assert } from '@ctx-storage/core/errors';
import { deserialize, serialize } from '@ctx-storage/core/values';
import {
  type Changes,
  type CopyPlace,
  KEY_COLUMNS_MAX,
  type SchemaEntry,
  type SentCell,
  type TableChanges,
} from './changes.ts';
import { isSentText } from './exact-text.ts';

/** Matches the names of tables that no class can create (SQL13), or that this package has in each copy. */
const RESERVED_TABLE = /^(?:_cf(?:_|$)|_follow_|sqlite_)/i;
const SCHEMA_TYPES = ['table', 'index', 'trigger', 'view'] as const;

/** Checks that `value` is an array, and makes each of its elements. @throws INVALID_ARGUMENT */
type ListOf = <T>(what: string, value: unknown, make: (element: unknown) => T) => T[];

export function encodeChanges({ tables, ...others }: Changes): Uint8Array<ArrayBuffer> {
  const withFlatRows = ({ rows, gone, ...table }: TableChanges) => ({
    ...table,
    rows: flat(rows, table.columns),
    gone: flat(gone, table.keys),
  });
  return serialize({ ...others, tables: tables.map(withFlatRows) });
}

function flat(rows: TableChanges['rows'], columns: readonly string[]): readonly SentCell[] {
  const cells = rows.flat();
  assert(cells.length === rows.length * columns.length, 'a row has not one value for each column');
  return cells;
}

/** Returns the checked changes of a message's bytes. @throws INVALID_ARGUMENT */
export function decodeChanges(message: unknown): Changes {
  const bytes = checkBytes('changes', message);
  // A list has at most one element for each byte. Without this bound, ten bytes could name a huge array of holes.
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
    kv: listOf('kv', kv, kvEntry),
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

/** Returns the place where a part of a snapshot begins; null if a follower has sent something else. */
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
  const known = SCHEMA_TYPES.find((one) => one === type);
  if (known === undefined) throw malformed('type', SCHEMA_TYPES.join(', '));
  return { type: known, name: checkString('name', name), sql: checkString('sql', sql) };
}

function tableChanges(value: unknown, listOf: ListOf): TableChanges {
  const { name, keys, columns, isWhole, rows, gone } = checkFields('table', value);
  const keyNames = listOf('keys', keys, (key) => checkString('key', key));
  const columnNames = listOf('columns', columns, (column) => checkString('column', column));
  return {
    name: tableName(name),
    keys: keyNames,
    columns: columnNames,
    isWhole: checkBoolean('isWhole', isWhole),
    rows: rowsOf('rows', listOf('rows', rows, cell), columnNames.length),
    gone: rowsOf('gone', listOf('gone', gone, cell), keyNames.length),
  };
}

/**
 * Checks a table's name. A write to a table of SQLite, of the storage or of this package would bypass the code that
 * keeps that table valid.
 */
function tableName(value: unknown): string {
  const name = checkString('name', value);
  if (RESERVED_TABLE.test(name)) throw malformed('name', 'that of a table of the class');
  return name;
}

function sequenceOf(value: unknown): readonly [string, number | bigint] {
  const [table, sequence] = checkArray('sequence', value, 2);
  if (typeof sequence === 'number' || typeof sequence === 'bigint') {
    return [checkString('table', table), sequence];
  }
  throw malformed('sequence', 'a number');
}

function kvEntry(value: unknown): readonly [string, Uint8Array] {
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
      if (isSentText(value)) return value;
      throw malformed('value', 'a text, or U+FFFD and the bytes of one in hex');
    default:
      return value === null ? null : checkBytes('value', value);
  }
}
