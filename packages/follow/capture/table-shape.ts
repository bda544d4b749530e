// Reads the schema of an object: the keys, columns and unique indexes of each table whose changes are recorded.
//
// This file does not know the writes.

import { storageError } from '@ctx-storage/core/errors';
import { KEY_COLUMNS_MAX, type SchemaEntry, type TableChanges } from '../changes/changes.ts';
import type { ReadValue, StoredAs } from './exact-rows.ts';
import type { OwnSql } from './own-sql.ts';

/** The names of this package's own tables, triggers and views begin with this. */
export const OWN_PREFIX = '_follow_';

/** A table's rowid can be read by any of these names, unless a column of the same name hides it. */
export const ROWID_NAMES = ['rowid', '_rowid_', 'oid'] as const;

interface Column {
  readonly name: string;
  readonly stores: StoredAs;
}

export interface NotedTable {
  readonly name: string;
  /** The columns that identify a row (see `TableChanges.keys`). */
  readonly keys: readonly string[];
  readonly hasRowid: boolean;
  readonly columns: readonly Column[];
  readonly uniques: readonly UniqueIndex[];
  /** The columns that are NOT NULL and have a default. */
  readonly defaulted: readonly string[];
  /** The columns that are computed from others. */
  readonly generated: ReadonlySet<string>;
  /** This text differs if the table or its unique indexes were changed. */
  readonly signature: string;
}

export interface UniqueIndex {
  readonly columns: readonly { readonly name: string; readonly collation: string }[];
}

/**
 * In workerd, a result has at most this many columns. The statement of changes reads a row's columns, its key in the notes,
 * and whether the row is deleted.
 */
const RESULT_COLUMNS_MAX = 100;

/** Lists the schema without objects that SQLite creates itself, and without the storage's own tables. */
const SCHEMA_SQL =
  'SELECT type, name, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL AND ' +
  "lower(substr(name, 1, 7)) <> 'sqlite_' AND lower(substr(name, 1, 4)) <> '_cf_'";
const TABLE_KINDS_SQL = "SELECT name, type, wr FROM pragma_table_list WHERE schema = 'main'";

export interface Schema {
  readonly objects: readonly SchemaEntry[];
  readonly tables: ReadonlyMap<string, NotedTable>;
  /** True if the table sqlite_sequence exists. */
  readonly hasSequences: boolean;
}

/** Reads the schema without this package's own tables. @throws FOLLOW_UNSUPPORTED if changes of a table cannot be recorded */
export function readSchema(sql: OwnSql): Schema {
  const kinds = new Map(
    (sql.rows(TABLE_KINDS_SQL) as [string, string, number][]).map(([name, kind, wr]) => [
      name,
      { kind, wr },
    ]),
  );
  const objects: SchemaEntry[] = [];
  const tables = new Map<string, NotedTable>();
  for (const [type, name, table, text] of sql.rows(SCHEMA_SQL) as [
    SchemaEntry['type'],
    ...string[],
  ][]) {
    if (sql.isOwn(name!)) continue;
    if (name!.toLowerCase().startsWith(OWN_PREFIX)) throw reservedNameError(type, name!);
    if (kinds.get(table!)?.kind === 'virtual')
      throw unsupportedTableError(`table ${name} is virtual`);
    objects.push({ type, name: name!, sql: text! });
    if (type === 'table') tables.set(name!, tableOf(sql, name!, text!, kinds.get(name!)?.wr === 1));
  }
  return { objects, tables, hasSequences: kinds.has('sqlite_sequence') };
}

function tableOf(sql: OwnSql, name: string, text: string, isWithoutRowid: boolean): NotedTable {
  const info = sql.rows(
    'SELECT name, type, pk, hidden, "notnull" AND dflt_value IS NOT NULL FROM pragma_table_xinfo(?)',
    name,
  ) as [string, string, number, number, number][];
  const indexes = sql.rows('SELECT name, "unique", origin FROM pragma_index_list(?)', name) as [
    string,
    number,
    string,
  ][];
  const uniques = indexes
    .filter(([, isUnique]) => isUnique === 1)
    .map(([index]) => uniqueOf(sql, name, index))
    .sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));
  const hasKeyIndex = indexes.some(([, , origin]) => origin === 'pk');
  const keys = keysOf(name, info, isWithoutRowid, hasKeyIndex);
  const columns = info
    .filter(([, , , hidden]) => hidden === 0)
    .map(([column, type]) => columnOf(column, type));
  const isRowidSeparate = !isWithoutRowid && !columns.some((column) => column.name === keys[0]);
  const sentColumns = isRowidSeparate ? [columnOf(keys[0]!, 'INTEGER'), ...columns] : columns;
  const excessColumns = sentColumns.length + keys.length + 1 - RESULT_COLUMNS_MAX;
  if (excessColumns > 0) {
    throw unsupportedTableError(
      `${name} has ${columns.length} columns, at most ${columns.length - excessColumns}: a statement reads them with the row's key`,
    );
  }
  return {
    name,
    keys,
    hasRowid: !isWithoutRowid,
    columns: sentColumns,
    uniques,
    defaulted: info.filter(([, , , , isDefaulted]) => isDefaulted === 1).map(([one]) => one),
    generated: new Set(info.filter(([, , , hidden]) => hidden > 0).map(([one]) => one)),
    signature: JSON.stringify([text, uniques]),
  };
}

function keysOf(
  table: string,
  info: readonly (readonly [name: string, type: string, pk: number, ...unknown[]])[],
  isWithoutRowid: boolean,
  hasKeyIndex: boolean,
): string[] {
  const keys = info
    .filter(([, , pk]) => pk > 0)
    .sort(([, , one], [, , other]) => one - other)
    .map(([name]) => name);
  if (isWithoutRowid) {
    if (keys.length <= KEY_COLUMNS_MAX) return keys;
    throw unsupportedTableError(
      `the primary key of ${table}, which is WITHOUT ROWID, has ${keys.length} columns, at most ${KEY_COLUMNS_MAX}`,
    );
  }
  if (keys.length === 1 && !hasKeyIndex) return keys; // An INTEGER PRIMARY KEY is the rowid itself.
  const names = new Set(info.map(([name]) => name.toLowerCase()));
  const rowid = ROWID_NAMES.find((name) => !names.has(name));
  if (rowid !== undefined) return [rowid];
  throw unsupportedTableError(
    `${table} has columns with all three names of the rowid, and no INTEGER PRIMARY KEY`,
  );
}

function uniqueOf(sql: OwnSql, table: string, index: string): UniqueIndex {
  const columns = sql.rows('SELECT name, coll FROM pragma_index_xinfo(?) WHERE key = 1', index);
  return {
    columns: (columns as [string | null, string][]).map(([name, collation]) => {
      if (name !== null) return { name, collation };
      throw unsupportedTableError(`the unique index ${index} of ${table} is over an expression`);
    }),
  };
}

/** Finds the affinity of a column by its type: https://sqlite.org/datatype3.html#determination_of_column_affinity */
function columnOf(name: string, type: string): Column {
  const upper = type.toUpperCase();
  const storedAs = (): StoredAs => {
    if (upper.includes('INT')) return 'numbers';
    if (/CHAR|CLOB|TEXT/.test(upper)) return 'texts';
    if (upper === '' || upper === 'ANY' || upper.includes('BLOB')) return 'anything';
    return /REAL|FLOA|DOUB/.test(upper) ? 'reals' : 'numbers';
  };
  return { name, stores: storedAs() };
}

/** Returns the expressions of a table's columns. `table` is the table's name in the statement. */
export function readValuesOf({ columns }: NotedTable, table: string): ReadValue[] {
  return columns.map(({ name, stores }) => ({ sql: `${table}.${sqlName(name)}`, stores }));
}

export function namesInChanges({
  name,
  keys,
  columns,
}: NotedTable): Pick<TableChanges, 'name' | 'keys' | 'columns'> {
  return { name, keys, columns: columns.map((column) => column.name) };
}

export function sqlName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

function unsupportedTableError(fact: string): Error {
  return storageError(
    'FOLLOW_UNSUPPORTED',
    `followable: ${fact}: its changes cannot be noted, so followers would not see them; change the table, or do not make ` +
      'the class followable.',
  );
}

function reservedNameError(type: string, name: string): Error {
  return storageError(
    'FOLLOW_UNSUPPORTED',
    `followable: the ${type} ${name} has a name that begins with ${OWN_PREFIX}, as the tables of followable() do; choose another name.`,
  );
}
