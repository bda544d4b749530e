// Checks that an object could have made the schema of a foreign file.
//
// SQLite does not ask its authorizer while it loads a schema. So every statement of the schema runs again,
// as user SQL, in an empty database, which refuses objects that a program may not create. The tables that
// views, triggers and defaults may touch are checked when they are used, so a use of each is compiled:
// once per table, however many triggers it has.
//
// Invariant: names that begin with `_cf_` are the storage's own tables, exactly as it makes them, and no
// table of the file refers to one.

import { isStorageError } from '../../../src/shared/contract/errors.ts';
import type { Database } from '../sql/database.ts';
import { isReservedName } from '../sql/regulator.ts';
import type { CheckTime } from './check-time.ts';
import { importInvalid } from './database-header.ts';

/** The storage's own tables, as workerd creates them. */
const HIDDEN_TABLES: Readonly<Record<string, string>> = {
  _cf_KV: '(key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID',
  _cf_METADATA: '(key INTEGER PRIMARY KEY, value BLOB)',
  // For values that hold stubs; kept for an export to workerd, not read here.
  _cf_EXTERNALS: '(key TEXT, idx INTEGER, token BLOB, PRIMARY KEY(key, idx)) WITHOUT ROWID',
};

const SCHEMA = 'SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY rowid';
/** Tables that SQLite creates by itself. */
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
  /** Null for the index of a constraint. */
  readonly sql: string | null;
}

/**
 * Checks the schema of `database` by creating it again in `empty`.
 *
 * @throws IMPORT_INVALID, naming the part that cannot be imported
 */
export async function checkSchema(
  database: Database,
  empty: Database,
  time: CheckTime,
): Promise<void> {
  // Compiled like user SQL, whose limits bound the parser's work on the file.
  database.check(SCHEMA);
  const objects = schemaOf(database).filter((object) => !isSqlitesOwn(object));
  const hidden = objects.filter(isReserved);
  for (const object of hidden) checkHidden(object);
  for (const [name, columns] of Object.entries(HIDDEN_TABLES)) {
    empty.run(`CREATE TABLE ${name} ${columns}`);
  }
  const own = objects.filter((object) => !isReserved(object)).sort((a, b) => rank(a) - rank(b));
  for (const object of own.filter(isVirtual)) {
    await time.betweenSteps();
    make(object, empty);
  }
  const madeWithIt = new Set(schemaOf(empty).map(label));
  for (const object of own) {
    await time.betweenSteps();
    // Virtual tables have created the tables that keep their rows.
    if (!madeWithIt.has(label(object))) make(object, empty);
  }
  const made = new Set(schemaOf(empty).map(label));
  for (const object of own) {
    await time.betweenSteps();
    if (!made.has(label(object))) throw refused(object, 'has a text that creates something else');
    checkReferences(object, empty);
  }
  const changed = new Set(own.filter(isChange).map(({ table }) => table));
  for (const object of own.filter(isRelation)) {
    const uses = object.type === 'view' ? [`SELECT * FROM ${quoted(object.name)}`] : [];
    if (changed.has(object.name)) uses.push(...changesOf(object.name, empty));
    for (const use of uses) {
      await time.betweenSteps();
      checkUse(object, use, empty);
    }
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

/** True when the text creates the table of this name with the known columns. */
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
    `the ${type} "${name}" has a name that begins with _cf_, or is on a table with one; those names ` +
      `belong to the storage, and only its tables ${Object.keys(HIDDEN_TABLES).join(', ')} are accepted`,
    REMOVE,
  );
}

function make(object: SchemaObject, empty: Database): void {
  try {
    run(empty, object.sql!);
  } catch (error) {
    throw isLate(error) ? error : refused(object, 'cannot be created here', error);
  }
}

/** Foreign keys are looked up: SQLite compiles one only if all others of its table are sound. */
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
    throw refused(
      object,
      `has a foreign key to "${hidden}", and names that begin with _cf_ belong to the storage`,
    );
  }
}

function isRelation({ type }: SchemaObject): boolean {
  return type === 'table' || type === 'view';
}

/** True when its table or view can be written. */
function isChange({ type }: SchemaObject): boolean {
  return type === 'table' || type === 'trigger';
}

/** Statements that use every trigger of a table or view, its defaults and its foreign keys. */
function changesOf(table: string, database: Database): string[] {
  const name = quoted(table);
  const columns = columnsOf(table, database);
  return [
    `INSERT INTO ${name} DEFAULT VALUES`,
    `DELETE FROM ${name}`,
    ...(columns.length > 0 ? [`UPDATE ${name} SET ${columns.map(unchanged)}`] : []),
  ];
}

const BROKEN: ReadonlySet<string> = new Set(['SQL', 'SQL_MEMORY', 'SQL_TOO_LARGE']);

/** Compiles a use of the object. */
function checkUse(object: SchemaObject, use: string, empty: Database): void {
  try {
    empty.check(use);
  } catch (error) {
    if (isBroken(error)) return;
    throw isStorageError(error) && error.code === 'SQL_FORBIDDEN'
      ? refused(object, 'uses a name that objects may not use', error)
      : error;
  }
}

/**
 * A use of a missing table, or a use that is too long, is broken and not forbidden; programs may have
 * those.
 */
function isBroken(error: unknown): boolean {
  return isStorageError(error) && BROKEN.has(error.code);
}

function isLate(error: unknown): boolean {
  return isStorageError(error) && error.code === 'SQL_TIMEOUT';
}

function columnsOf(table: string, database: Database): string[] {
  const info = database.statement('SELECT name FROM pragma_table_xinfo(?1) WHERE hidden = 0');
  info.bindText(1, table);
  const columns: string[] = [];
  try {
    while (info.step()) columns.push(info.columnText(0));
  } catch (error) {
    // A view: SQLite compiles its SELECT to find the columns.
    if (!isBroken(error)) throw error;
  }
  return columns;
}

/** Runs user SQL and drops its rows. */
function run(database: Database, sql: string): void {
  database.exec(sql, []).toArray();
}

/** Orders indexes and triggers after their tables and views. */
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

/** In time that is linear: each run of white space is looked at once. */
function compact(sql: string): string {
  return sql
    .replace(/\s+/g, ' ')
    .replace(/ ?([(),]) ?/g, '$1')
    .trim();
}

function unchanged(column: string): string {
  return `${quoted(column)} = ${quoted(column)}`;
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
