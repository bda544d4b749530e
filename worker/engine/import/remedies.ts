// Statements that change a file so that it can be imported, for plain SQLite.
//
// A table that no object could have made is copied by way of a temporary one, whose name nothing in the file has. Its
// rows, types, defaults and primary key stay; so do indexes and triggers that the copy can have.

import type { Database } from '../sql/database.ts';

/** workerd's limit, which is SQLite's limit here. */
export const COLUMNS_MAX = 100;

export interface StoredColumn {
  readonly name: string;
  readonly type: string;
  readonly isNotNull: boolean;
  readonly default: string | null;
  /** Its place in the primary key, from 1; 0: it is no part. */
  readonly keyPlace: number;
}

const COLUMNS =
  'SELECT name, type, "notnull", dflt_value, pk FROM pragma_table_xinfo(?1) WHERE hidden = 0';

/** The columns that are stored; generated ones are not. */
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

/** What follows the name in CREATE TABLE: types, defaults, primary key. */
export function definitionOf(columns: readonly StoredColumn[], suffix = ''): string {
  const parts = columns.map(({ name, type, isNotNull, default: value }) => {
    // A word, or a text in double quotes, must not be in parentheses.
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

/** Makes a table again with these columns. Those beyond the limit get tables of their own, with the number of the row. */
export function madeAgain(
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

/** Makes a plain table of a virtual one, whose module SQLite has. */
export function asPlainTable(table: string): string[] {
  const name = inQuotes(table);
  return [
    `CREATE TEMP TABLE mend AS SELECT * FROM main.${name};`,
    `DROP TABLE main.${name};`,
    `CREATE TABLE main.${name} AS SELECT * FROM temp.mend;`,
    'DROP TABLE temp.mend;',
  ];
}

/** Takes a virtual table out of the schema, without its module. */
export function unlisted(table: string): string[] {
  return [
    'PRAGMA writable_schema=ON;',
    `DELETE FROM sqlite_master WHERE type = 'table' AND name = '${table.replaceAll("'", "''")}';`,
    'PRAGMA writable_schema=RESET;',
  ];
}

/** The name, or with a number behind it. */
export function freeName(name: string, isTaken: (name: string) => boolean): string {
  let free = name;
  for (let i = 2; isTaken(free); i++) free = `${name}_${i}`;
  return free;
}

export function namesInQuotes(columns: readonly StoredColumn[]): string {
  return columns.map(({ name }) => inQuotes(name)).join(', ');
}

/** The name as statements have it. */
export function inQuotes(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
