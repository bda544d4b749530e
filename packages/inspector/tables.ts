// The tables of an object: SQLite's description of them, and the queries that read and change their
// rows.

import type {
  SqlRow,
  SqlStorageValue,
  StorageHandle,
  StorageMoment,
} from '@ctx-storage/core/storage';

/** An object's storage, now or at an earlier moment. */
export type Readable = Pick<StorageHandle | StorageMoment, 'sql' | 'list'>;

export interface Table {
  readonly name: string;
  readonly kind: 'table' | 'view';
  readonly columns: readonly Column[];
  /** Expressions that name a row; empty for a view, and where columns have taken every name of the row's number. */
  readonly keys: readonly string[];
}

export interface Column {
  readonly name: string;
  readonly type: string;
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** The tables and views that programs may read. */
export async function tablesOf(source: Readable): Promise<Table[]> {
  const found = await source.sql
    .exec<{ schema: string; name: string; type: string; wr: number }>('PRAGMA table_list')
    .toArray();
  const own = found.filter(
    ({ schema, name, type }) =>
      schema === 'main' && type !== 'shadow' && !/^(_cf_|sqlite_)/i.test(name),
  );
  const described = own.map(({ name, type, wr }) =>
    describe(source, name, type === 'view', wr !== 0),
  );
  return (await Promise.all(described)).sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function describe(
  source: Readable,
  name: string,
  isView: boolean,
  hasNoRowid: boolean,
): Promise<Table> {
  const columns = await source.sql
    .exec<{ name: string; type: string; pk: number; hidden: number }>(
      `PRAGMA table_xinfo(${quoted(name)})`,
    )
    .toArray();
  const primary = columns.filter(({ pk }) => pk > 0).map((column) => quoted(column.name));
  const keys = isView ? [] : hasNoRowid ? primary : rowNumberBeside(columns);
  return {
    name,
    kind: isView ? 'view' : 'table',
    columns: columns.filter(({ hidden }) => hidden !== 1),
    keys,
  };
}

/** SQLite's name for the number of a row that is not a column's. */
function rowNumberBeside(columns: readonly { readonly name: string }[]): string[] {
  const taken = new Set(columns.map(({ name }) => name.toLowerCase()));
  return ['_rowid_', 'rowid', 'oid'].filter((name) => !taken.has(name)).slice(0, 1);
}

/** Which rows of a table are read. */
export interface Choice {
  readonly sort: { readonly column: string; readonly isDescending: boolean } | null;
  /** Rows of which a column contains this text. */
  readonly filter: string;
}

/** The condition of a choice, with its bindings. */
function condition(table: Table, { filter }: Choice): { where: string; bindings: string[] } {
  if (filter === '') return { where: '', bindings: [] };
  const columns = table.columns.slice(0, 50);
  const tests = columns.map(
    ({ name }) => `instr(lower(CAST(${quoted(name)} AS TEXT)), lower(?1)) > 0`,
  );
  return { where: ` WHERE ${tests.join(' OR ')}`, bindings: [filter] };
}

export function countQuery(table: Table, choice: Choice): readonly [string, ...string[]] {
  const { where, bindings } = condition(table, choice);
  return [`SELECT count(*) AS n FROM ${quoted(table.name)}${where}`, ...bindings];
}

/** A part of the rows: the columns, then the keys. */
export function rowsQuery(
  table: Table,
  choice: Choice,
  first: number,
  count: number,
): readonly [string, ...string[]] {
  const { where, bindings } = condition(table, choice);
  const columns = [...table.columns.map(({ name }) => quoted(name)), ...keysAs(table)].join(', ');
  const order = orderOf(table, choice);
  return [
    `SELECT ${columns} FROM ${quoted(table.name)}${where}${order} LIMIT ${count} OFFSET ${first}`,
    ...bindings,
  ];
}

/** A row of `rowsQuery`: the values of the columns, then those of the keys. */
export function valuesOf(table: Table, row: SqlRow): SqlStorageValue[] {
  const names = [...table.columns.map(({ name }) => name), ...table.keys.map(keyName)];
  return names.map((name) => row[name] ?? null);
}

/** A name that no column should have. */
function keyName(_key: string, index: number): string {
  return ` key ${index + 1}`;
}

function keysAs(table: Table): string[] {
  return table.keys.map((key, index) => `${exact(table, key)} AS ${quoted(keyName(key, index))}`);
}

/** A key as JavaScript can hold it: an integer as its digits, which SQLite compares as the integer. */
function exact({ columns }: Table, key: string): string {
  const column = columns.find(({ name }) => quoted(name) === key);
  // SQLite's rule for integer affinity. A column without a type does not compare a text as an integer.
  if (column !== undefined && !/int/i.test(column.type)) return key;
  return `iif(typeof(${key}) = 'integer', CAST(${key} AS TEXT), ${key})`;
}

function orderOf(table: Table, { sort }: Choice): string {
  const terms = sort === null ? [] : [`${quoted(sort.column)}${sort.isDescending ? ' DESC' : ''}`];
  const all = [...terms, ...table.keys];
  return all.length === 0 ? '' : ` ORDER BY ${all.join(', ')}`;
}

/** Changes one cell; its bindings are the value, then the keys. */
export function updateQuery(table: Table, column: string): string {
  return `UPDATE ${quoted(table.name)} SET ${quoted(column)} = ? WHERE ${rowCondition(table)}`;
}

export function deleteQuery(table: Table): string {
  return `DELETE FROM ${quoted(table.name)} WHERE ${rowCondition(table)}`;
}

function rowCondition(table: Table): string {
  return table.keys.map((key) => `${key} = ?`).join(' AND ');
}
