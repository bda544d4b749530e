// Whether the schema of a foreign file is one that an object could have made.
//
// SQLite does not ask its authorizer while it loads a schema. So every text of it is run again, as
// user SQL, in an empty database: what a program may not create is refused here as there. What views,
// triggers and defaults use is decided when they are used, so a use of each is compiled: of a table
// once, however many triggers it has.
//
// Keeps true: names that begin with `_cf_` are the storage's own tables, exactly as it makes them, and
// no table of the file refers to one.

import { isStorageError } from '../../src/contract/errors.ts';
import type { Database } from '../sql/database.ts';
import { isReservedName } from '../sql/reserved-names.ts';
import { importInvalid } from './database-header.ts';

/** The storage's own tables, as workerd makes them. */
const HIDDEN_TABLES: Readonly<Record<string, string>> = {
  _cf_KV: '(key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID',
  _cf_METADATA: '(key INTEGER PRIMARY KEY, value BLOB)',
  // Of values that hold stubs; kept for the way back, not read here.
  _cf_EXTERNALS: '(key TEXT, idx INTEGER, token BLOB, PRIMARY KEY(key, idx)) WITHOUT ROWID',
};

const SCHEMA = 'SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY rowid';
/** What SQLite makes by itself. */
const SQLITE_TABLES: Readonly<Record<string, string>> = {
  sqlite_sequence: '(name,seq)',
  sqlite_stat1: '(tbl,idx,stat)',
  sqlite_stat4: '(tbl,idx,neq,nlt,ndlt,sample)',
};
const REMOVE = 'remove it from the file first';

interface SchemaObject {
  readonly type: string;
  readonly name: string;
  readonly table: string;
  /** Null: an index that a constraint made. */
  readonly sql: string | null;
}

/**
 * Checks the schema of `database` by making it anew in `empty`.
 *
 * @throws IMPORT_INVALID, naming what cannot be taken
 */
export function checkSchema(database: Database, empty: Database): void {
  const objects = schemaOf(database).filter((object) => !isSqlitesOwn(object));
  const hidden = objects.filter(isReserved);
  for (const object of hidden) checkHidden(object);
  for (const [name, columns] of Object.entries(HIDDEN_TABLES)) {
    empty.run(`CREATE TABLE ${name} ${columns}`);
  }
  const own = objects.filter((object) => !isReserved(object)).sort((a, b) => rank(a) - rank(b));
  for (const object of own.filter(isVirtual)) make(object, empty);
  const broughtAlong = new Set(schemaOf(empty).map(label));
  for (const object of own) {
    // Virtual tables have made the tables they keep their rows in.
    if (!broughtAlong.has(label(object))) make(object, empty);
  }
  const made = new Set(schemaOf(empty).map(label));
  for (const object of own) {
    if (!made.has(label(object))) throw refused(object, 'has a text that makes something else');
    checkReferences(object, empty);
  }
  const changed = new Set(own.filter(isChange).map(({ table }) => table));
  for (const object of own.filter(isRelation)) {
    const uses = object.type === 'view' ? [`SELECT * FROM ${quoted(object.name)}`] : [];
    if (changed.has(object.name)) uses.push(...changesOf(object.name, empty));
    for (const use of uses) checkUse(object, use, empty);
  }
}

function schemaOf(database: Database): SchemaObject[] {
  const statement = database.statement(SCHEMA);
  const objects: SchemaObject[] = [];
  while (statement.step()) {
    objects.push({
      type: statement.columnText(0),
      name: statement.columnText(1),
      table: statement.columnText(2),
      sql: statement.columnIsNull(3) ? null : statement.columnText(3),
    });
  }
  return objects;
}

function isSqlitesOwn({ type, name, table, sql }: SchemaObject): boolean {
  if (sql !== null) return type === 'table' && isAsIn(SQLITE_TABLES, name, sql);
  return type === 'index' && /^sqlite_autoindex_/.test(name) && !/^_cf_/i.test(table);
}

/** True when the text is the one that makes the table of this name. */
function isAsIn(tables: Readonly<Record<string, string>>, name: string, sql: string): boolean {
  if (!Object.hasOwn(tables, name)) return false;
  return compact(sql) === compact(`CREATE TABLE ${name} ${tables[name]}`);
}

function isReserved({ name, table }: SchemaObject): boolean {
  return isReservedName(name) || isReservedName(table);
}

function checkHidden(object: SchemaObject): void {
  const { type, name, table, sql } = object;
  const isTable = type === 'table' && table === name && sql !== null;
  if (isTable && isAsIn(HIDDEN_TABLES, name, sql)) return;
  throw importInvalid(
    `the ${type} "${name}" has, or is on, a name that begins with _cf_; those are the storage's own, ` +
      `and only ${Object.keys(HIDDEN_TABLES).join(', ')} with its columns may be there`,
    REMOVE,
  );
}

function make(object: SchemaObject, empty: Database): void {
  try {
    run(empty, object.sql!);
  } catch (error) {
    throw refused(object, 'cannot be made here', error);
  }
}

/** A foreign key is compiled only when all others of its table are sound, so it is looked up instead. */
function checkReferences(object: SchemaObject, empty: Database): void {
  if (object.type !== 'table') return;
  const keys = empty.statement('SELECT "table" FROM pragma_foreign_key_list(?1)');
  keys.bindText(1, object.name);
  let hidden: string | undefined;
  while (keys.step()) {
    const parent = keys.columnText(0);
    if (isReservedName(parent)) hidden = parent;
  }
  if (hidden !== undefined) {
    throw refused(object, `has a foreign key to "${hidden}", and _cf_ names are the storage's own`);
  }
}

function isRelation({ type }: SchemaObject): boolean {
  return type === 'table' || type === 'view';
}

/** True for what makes its table or view one that is written. */
function isChange({ type }: SchemaObject): boolean {
  return type === 'table' || type === 'trigger';
}

/** Statements that meet every trigger of a table or view, its defaults and its foreign keys. */
function changesOf(table: string, database: Database): string[] {
  const name = quoted(table);
  const columns = columnsOf(table, database);
  return [
    `INSERT INTO ${name} DEFAULT VALUES`,
    `DELETE FROM ${name}`,
    ...(columns.length > 0 ? [`UPDATE ${name} SET ${columns.map(unchanged)}`] : []),
  ];
}

/** Compiles what makes a program meet the object. */
function checkUse(object: SchemaObject, use: string, empty: Database): void {
  try {
    empty.check(use);
  } catch (error) {
    if (isBroken(error)) return;
    throw isStorageError(error) && error.code === 'SQL_FORBIDDEN'
      ? refused(object, 'uses what objects may not use', error)
      : error;
  }
}

/** What names a missing table, or is too long, is broken and not forbidden: so may a program's own be. */
function isBroken(error: unknown): boolean {
  return isStorageError(error) && (error.code === 'SQL' || error.code === 'SQL_MEMORY');
}

function columnsOf(table: string, database: Database): string[] {
  const info = database.statement('SELECT name FROM pragma_table_xinfo(?1) WHERE hidden = 0');
  info.bindText(1, table);
  const columns: string[] = [];
  try {
    while (info.step()) columns.push(info.columnText(0));
  } catch (error) {
    // Of a view: its columns are those of a SELECT that is compiled for them.
    if (!isBroken(error)) throw error;
  }
  return columns;
}

/** Runs user SQL and gives up its rows. */
function run(database: Database, sql: string): void {
  database.exec(sql, []).toArray();
}

/** Indexes and triggers after what they are on. */
function rank({ type }: SchemaObject): number {
  return ['table', 'index', 'view', 'trigger'].indexOf(type);
}

function label({ type, name }: SchemaObject): string {
  return `${type} ${name}`;
}

function isVirtual({ sql }: SchemaObject): boolean {
  return sql !== null && /^CREATE\s+VIRTUAL\b/i.test(sql);
}

function refused({ type, name }: SchemaObject, why: string, cause?: unknown) {
  const reason = cause instanceof Error ? ` (${cause.message})` : '';
  return importInvalid(`the ${type} "${name}" ${why}${reason}`, REMOVE, cause);
}

function compact(sql: string): string {
  return sql
    .replace(/\s*([(),])\s*/g, '$1')
    .replace(/\s+/g, ' ')
    .trim();
}

function unchanged(column: string): string {
  return `${quoted(column)} = ${quoted(column)}`;
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
