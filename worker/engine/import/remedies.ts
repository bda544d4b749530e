// Makes the statements for plain SQLite that repair a file, so that it can be imported.
//
// A table that no object could have created is replaced: its rows are copied through a temporary table with an unused
// name. The rows, types, defaults and primary key stay, and so do the indexes and triggers that the new table can have.

import type { Database } from '../sql/database.ts';

/** Maximum number of columns; workerd's limit, which is set in SQLite here. */
export const COLUMNS_MAX = 100;

export interface StoredColumn {
  readonly name: string;
  readonly type: string;
  readonly isNotNull: boolean;
  readonly default: string | null;
  /** Position in the primary key, counted from 1; 0 if the column does not belong to it. */
  readonly keyPlace: number;
}

const COLUMNS =
  'SELECT name, type, "notnull", dflt_value, pk FROM pragma_table_xinfo(?1) WHERE hidden = 0';

/** Returns the stored columns of a table, without generated ones. */
export function storedColumns(table: string, database: Database): StoredColumn[] {
  const info = database.statement(COLUMNS);
  info.bindText(1, table);
  const columns: StoredColumn[] = [];
  while (info.step()) {
    columns.push({
      name: info.columnText(0),
      type: info.columnText(1),
      isNotNull: info.columnNumber(2) !== 0,
      default: info.columnIsNull(3) ? null : info.columnText(3),
      keyPlace: info.columnNumber(4),
    });
  }
  return columns;
}

/** Returns the part after the name in CREATE TABLE: columns with types and defaults, and the primary key. */
export function definitionOf(columns: readonly StoredColumn[], suffix = ''): string {
  const parts = columns.map(({ name, type, isNotNull, default: value }) => {
    // A default that is a word or a text in double quotes must not be put in parentheses.
    const text = value === null || /^("([^"]|"")*"|\w+)$/.test(value) ? value : `(${value})`;
    return `${inQuotes(name)} ${type}${isNotNull ? ' NOT NULL' : ''}${text === null ? '' : ` DEFAULT ${text}`}`;
  });
  const key = columns.filter(isInKey).sort((a, b) => a.keyPlace - b.keyPlace);
  if (key.length > 0) parts.push(`PRIMARY KEY (${namesInQuotes(key)})`);
  return `(${parts.join(', ')})${suffix}`;
}

export function isInKey({ keyPlace }: StoredColumn): boolean {
  return keyPlace > 0;
}

/**
 * Returns statements that replace a table by one with these columns. Columns beyond the limit go to further tables with
 * the rowid.
 */
export function replacingTable(
  table: string,
  columns: readonly StoredColumn[],
  definition: string,
  isTaken: (name: string) => boolean,
): { readonly sql: string[]; readonly parts: string[] } {
  const name = inQuotes(table);
  const names = namesInQuotes(columns);
  const sql = [
    `CREATE TEMP TABLE mend (${names});`,
    `INSERT INTO temp.mend SELECT ${names} FROM main.${name} NOT INDEXED;`,
    `DROP TABLE main.${name};`,
    `CREATE TABLE main.${name} ${definition};`,
    `INSERT INTO main.${name} SELECT ${namesInQuotes(columns.slice(0, COLUMNS_MAX))} FROM temp.mend;`,
  ];
  const parts: string[] = [];
  const number = columns.some((column) => /^rowid$/i.test(column.name)) ? '_rowid_' : 'rowid';
  for (let at = COLUMNS_MAX; at < columns.length; at += COLUMNS_MAX - 1) {
    const part = freeName(`${table}_${parts.length + 2}`, isTaken);
    const others = namesInQuotes(columns.slice(at, at + COLUMNS_MAX - 1));
    sql.push(
      `CREATE TABLE main.${inQuotes(part)} AS SELECT ${number} AS "row", ${others} FROM temp.mend;`,
    );
    parts.push(part);
  }
  sql.push('DROP TABLE temp.mend;');
  return { sql, parts };
}

/** Returns statements that replace a virtual table, whose module SQLite has, by a plain one. */
export function asPlainTable(table: string): string[] {
  const name = inQuotes(table);
  return [
    `CREATE TEMP TABLE mend AS SELECT * FROM main.${name};`,
    `DROP TABLE main.${name};`,
    `CREATE TABLE main.${name} AS SELECT * FROM temp.mend;`,
    'DROP TABLE temp.mend;',
  ];
}

/** Returns statements that remove a virtual table from the schema without its module. */
export function removingFromSchema(table: string): string[] {
  return [
    'PRAGMA writable_schema=ON;',
    `DELETE FROM sqlite_master WHERE type = 'table' AND name = '${table.replaceAll("'", "''")}';`,
    'PRAGMA writable_schema=RESET;',
  ];
}

/** Returns the name, with a number appended if it is taken. */
export function freeName(name: string, isTaken: (name: string) => boolean): string {
  let free = name;
  for (let i = 2; isTaken(free); i++) free = `${name}_${i}`;
  return free;
}

export function namesInQuotes(columns: readonly StoredColumn[]): string {
  return columns.map(({ name }) => inQuotes(name)).join(', ');
}

/** Quotes a name for a statement. */
export function inQuotes(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
