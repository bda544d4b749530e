// Reads SQLite's description of an object's tables, and makes the queries that read and change their rows.

import type {
  SqlRow,
  SqlStorageValue,
  StorageHandle,
  StorageMoment,
} from '@ctx-storage/core/storage';

/** The members of a handle, or of an earlier moment of the object, that the inspector reads. */
export type Readable = Pick<StorageHandle | StorageMoment, 'sql' | 'list'>;

export interface Table {
  readonly name: string;
  readonly kind: 'table' | 'view';
  readonly columns: readonly Column[];
  /**
   * The expressions that identify a row. A view has none, and so has a table whose columns have taken every name of the
   * row number.
   */
  readonly keys: readonly string[];
}

export interface Column {
  readonly name: string;
  readonly type: string;
}

export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Returns the tables and views that programs may read. */
export async function tablesOf(source: Readable): Promise<Table[]> {
  const found = await source.sql
    .exec<{ schema: string; name: string; type: string; wr: number }>('PRAGMA table_list')
    .toArray();
  const readable = found.filter(
    ({ schema, name, type }) =>
      schema === 'main' && type !== 'shadow' && !/^(_cf_|sqlite_)/i.test(name),
  );
  const described = readable.map(({ name, type, wr }) =>
    describeTable(source, name, type === 'view', wr !== 0),
  );
  return (await Promise.all(described)).sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function describeTable(
  source: Readable,
  name: string,
  isView: boolean,
  hasNoRowid: boolean,
): Promise<Table> {
  const columns = await source.sql
    .exec<{ name: string; type: string; pk: number; hidden: number }>(
      `PRAGMA table_xinfo(${quoteName(name)})`,
    )
    .toArray();
  const primary = columns.filter(({ pk }) => pk > 0).map((column) => quoteName(column.name));
  const keys = isView ? [] : hasNoRowid ? primary : freeRowNumberName(columns);
  return {
    name,
    kind: isView ? 'view' : 'table',
    columns: columns.filter(({ hidden }) => hidden !== 1),
    keys,
  };
}

/** Returns a name of SQLite for the row number that no column has. */
function freeRowNumberName(columns: readonly { readonly name: string }[]): string[] {
  const taken = new Set(columns.map(({ name }) => name.toLowerCase()));
  return ['_rowid_', 'rowid', 'oid'].filter((name) => !taken.has(name)).slice(0, 1);
}

/** The order and filter of the rows that are read. */
export interface Choice {
  readonly sort: { readonly column: string; readonly isDescending: boolean } | null;
  /** Only rows in which a column contains this text are read. */
  readonly filter: string;
}

/** Returns the WHERE clause of a filter, with its bindings. */
function condition(table: Table, { filter }: Choice): { where: string; bindings: string[] } {
  if (filter === '') return { where: '', bindings: [] };
  const columns = table.columns.slice(0, 50);
  const tests = columns.map(
    ({ name }) => `instr(lower(CAST(${quoteName(name)} AS TEXT)), lower(?1)) > 0`,
  );
  return { where: ` WHERE ${tests.join(' OR ')}`, bindings: [filter] };
}

export function countQuery(table: Table, choice: Choice): readonly [string, ...string[]] {
  const { where, bindings } = condition(table, choice);
  return [`SELECT count(*) AS n FROM ${quoteName(table.name)}${where}`, ...bindings];
}

/** Returns the query for `count` rows from `first`. It selects the columns, then the keys. */
export function rowsQuery(
  table: Table,
  choice: Choice,
  first: number,
  count: number,
): readonly [string, ...string[]] {
  const { where, bindings } = condition(table, choice);
  const columns = [...table.columns.map(({ name }) => quoteName(name)), ...selectKeys(table)].join(
    ', ',
  );
  const order = orderOf(table, choice);
  return [
    `SELECT ${columns} FROM ${quoteName(table.name)}${where}${order} LIMIT ${count} OFFSET ${first}`,
    ...bindings,
  ];
}

/** Returns the values of a row of `rowsQuery`: those of the columns, then those of the keys. */
export function valuesOf(table: Table, row: SqlRow): SqlStorageValue[] {
  const names = [...table.columns.map(({ name }) => name), ...table.keys.map(keyName)];
  return names.map((name) => row[name] ?? null);
}

/** Returns the name of a key in the result. It begins with a space, so that hardly any column has the same name. */
function keyName(_key: string, index: number): string {
  return ` key ${index + 1}`;
}

function selectKeys(table: Table): string[] {
  return table.keys.map(
    (key, index) => `${exactKey(table, key)} AS ${quoteName(keyName(key, index))}`,
  );
}

/**
 * Returns an expression for a key that JavaScript can hold exactly: an integer becomes text, which SQLite compares as
 * the integer.
 */
function exactKey({ columns }: Table, key: string): string {
  const column = columns.find(({ name }) => quoteName(name) === key);
  // SQLite gives a column integer affinity if its type contains "int". Other columns do not compare a text as an
  // integer.
  if (column !== undefined && !/int/i.test(column.type)) return key;
  return `iif(typeof(${key}) = 'integer', CAST(${key} AS TEXT), ${key})`;
}

function orderOf(table: Table, { sort }: Choice): string {
  const terms =
    sort === null ? [] : [`${quoteName(sort.column)}${sort.isDescending ? ' DESC' : ''}`];
  const all = [...terms, ...table.keys];
  return all.length === 0 ? '' : ` ORDER BY ${all.join(', ')}`;
}

/** Returns the query that changes one cell. Its bindings are the value, then the keys. */
export function updateQuery(table: Table, column: string): string {
  return `UPDATE ${quoteName(table.name)} SET ${quoteName(column)} = ? WHERE ${rowCondition(table)}`;
}

export function deleteQuery(table: Table): string {
  return `DELETE FROM ${quoteName(table.name)} WHERE ${rowCondition(table)}`;
}

function rowCondition(table: Table): string {
  return table.keys.map((key) => `${key} = ?`).join(' AND ');
}
