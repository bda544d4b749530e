// Statements that change a file so that it can be imported, for plain SQLite.
//
// A table that no object could have made is copied by way of a temporary one, whose name nothing in the file has. Its
// rows, types, defaults and primary key stay; so do indexes and triggers that the copy can have.

import type { Database } from '../sql/database.ts';

/** workerd's limit, which is SQLite's limit here. */
export const COLUMNS_MAX = 100;

export interface TableColumn {
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
export function storedColumns(table: string, database: Database): TableColumn[] {
  const info = database.statement(COLUMNS);
  info.bindText(1, table);
  const columns: TableColumn[] = [];
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

/** Parts of a definition that a copy of a table leaves out. */
export interface Omitted {
  readonly constraints?: boolean;
  readonly keys?: boolean;
}

/** What follows the name in CREATE TABLE: types, defaults, primary key. */
export function definitionOf(
  columns: readonly TableColumn[],
  { constraints = false, keys = false }: Omitted = {},
  suffix = '',
): string {
  const parts = columns.map(({ name, type, isNotNull, default: value }) =>
    [
      quoted(name),
      ...(type === '' ? [] : [type]),
      ...(isNotNull && !constraints ? ['NOT NULL'] : []),
      // A word, or a text in double quotes, must not be in parentheses.
      ...(value === null
        ? []
        : [`DEFAULT ${/^("([^"]|"")*"|\w+)$/.test(value) ? value : `(${value})`}`]),
    ].join(' '),
  );
  const key = columns
    .filter(({ keyPlace }) => keyPlace > 0)
    .sort((a, b) => a.keyPlace - b.keyPlace);
  const isRowid = key.length === 1 && /^integer$/i.test(key[0]!.type);
  const hasKey = key.length > 0 && (!keys || isRowid);
  if (hasKey) parts.push(`PRIMARY KEY (${namesOf(key)})`);
  return `(${parts.join(', ')})${hasKey && !constraints ? suffix : ''}`;
}

/** The definition by names alone. */
export function bareDefinition(columns: readonly TableColumn[]): string {
  return `(${namesOf(columns)})`;
}

/** Makes a table again with these columns, which are all that it stores. */
export function rebuilt(
  table: string,
  columns: readonly TableColumn[],
  definition: string,
): string[] {
  return [
    ...takenAside(table, namesOf(columns)),
    `CREATE TABLE main.${quoted(table)} ${definition};`,
    `INSERT INTO main.${quoted(table)} SELECT * FROM temp.mend;`,
    'DROP TABLE temp.mend;',
  ];
}

/** Splits a table of too many columns: the others are in tables of their own, with the number of the row. */
export function split(
  table: string,
  columns: readonly TableColumn[],
  definition: string,
  isTaken: (name: string) => boolean,
): { readonly sql: string[]; readonly parts: string[] } {
  const name = quoted(table);
  const first = namesOf(columns.slice(0, COLUMNS_MAX));
  const sql = [
    ...takenAside(table, namesOf(columns)),
    `CREATE TABLE main.${name} ${definition};`,
    // The number of a row in the copy is free for every name of a column.
    `INSERT INTO main.${name} SELECT ${first} FROM temp.mend;`,
  ];
  const parts: string[] = [];
  const number = ['rowid', '_rowid_', 'oid'].find(
    (word) => !columns.some((column) => column.name.toLowerCase() === word),
  );
  for (let at = COLUMNS_MAX; at < columns.length; at += COLUMNS_MAX - 1) {
    const part = freeName(
      `${table}_${parts.length + 2}`,
      (each) => isTaken(each) || parts.includes(each),
    );
    const others = namesOf(columns.slice(at, at + COLUMNS_MAX - 1));
    sql.push(
      `CREATE TABLE main.${quoted(part)} AS SELECT ${number} AS ${quoted(freeName('row', isColumn(columns)))}, ${others} FROM temp.mend;`,
    );
    parts.push(part);
  }
  return { sql: [...sql, 'DROP TABLE temp.mend;'], parts };
}

function takenAside(table: string, names: string): string[] {
  return [
    `CREATE TEMP TABLE mend (${names});`,
    `INSERT INTO temp.mend SELECT ${names} FROM main.${quoted(table)} NOT INDEXED;`,
    `DROP TABLE main.${quoted(table)};`,
  ];
}

/** Makes a plain table of a virtual one, whose module SQLite has. */
export function asPlainTable(table: string): string[] {
  const name = quoted(table);
  return [
    `CREATE TEMP TABLE mend AS SELECT * FROM main.${name};`,
    `DROP TABLE main.${name};`,
    `CREATE TABLE main.${name} AS SELECT * FROM temp.mend;`,
    'DROP TABLE temp.mend;',
  ];
}

/** Makes a virtual table again. */
export function madeAgain(table: string, create: string): string[] {
  const name = quoted(table);
  return [
    `CREATE TEMP TABLE mend AS SELECT * FROM main.${name};`,
    `DROP TABLE main.${name};`,
    `${create};`,
    `INSERT INTO main.${name} SELECT * FROM temp.mend;`,
    'DROP TABLE temp.mend;',
  ];
}

/** Takes a virtual table out of the schema, without its module. */
export function unlisted(table: string): string[] {
  return ofSchema(`DELETE FROM sqlite_master WHERE type = 'table' AND name = ${literal(table)};`);
}

/** Changes the schema by hand. */
export function ofSchema(statement: string): string[] {
  return ['PRAGMA writable_schema=ON;', statement, 'PRAGMA writable_schema=RESET;'];
}

export function renamed(table: string, isTaken: (name: string) => boolean): string[] {
  const name = freeName(table.replace(/^_+/, ''), isTaken);
  return [`ALTER TABLE main.${quoted(table)} RENAME TO ${quoted(name)};`];
}

function isColumn(columns: readonly TableColumn[]): (name: string) => boolean {
  return (name) => columns.some((column) => column.name.toLowerCase() === name.toLowerCase());
}

export function freeName(name: string, isTaken: (name: string) => boolean): string {
  let free = name;
  for (let i = 2; isTaken(free); i++) free = `${name}_${i}`;
  return free;
}

function namesOf(columns: readonly TableColumn[]): string {
  return columns.map(({ name }) => quoted(name)).join(', ');
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
