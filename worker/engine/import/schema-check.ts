// Checks that an object could have created the schema of an imported file.
//
// SQLite does not ask its authorizer while it loads a schema. So every statement of the schema runs again,
// as user SQL, in an empty database, which refuses objects that a program may not create. The tables that
// views, triggers and defaults may touch are checked when they are used, so a use of each is compiled:
// once per table, however many triggers it has.
//
// A refused object is a fault. The check continues as if the file had been repaired: without the object, or with the
// table that replaces it. So all faults are found, except mere consequences of others.
//
// Invariant: names that begin with `_cf_` belong to the storage's own tables, exactly as the storage creates them, and
// no table of the file refers to one.

import { isStorageError } from '../../../src/shared/contract/errors.ts';
import type { Database } from '../sql/database.ts';
import { isReservedName } from '../sql/reserved-names.ts';
import type { CheckTime } from './check-time.ts';
import { type Fault, type ImportFaults, STEP } from './import-faults.ts';
import {
  asPlainTable,
  COLUMNS_MAX,
  definitionOf,
  freeName,
  inQuotes,
  isInKey,
  namesInQuotes,
  removingFromSchema,
  replacingTable,
  storedColumns,
} from './remedies.ts';

/** The storage's own tables, as workerd creates them. */
const HIDDEN_TABLES: Readonly<Record<string, string>> = {
  _cf_KV: '(key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID',
  _cf_METADATA: '(key INTEGER PRIMARY KEY, value BLOB)',
  // workerd uses it for values that contain stubs. It is kept for an export to workerd, and not read here.
  _cf_EXTERNALS: '(key TEXT, idx INTEGER, token BLOB, PRIMARY KEY(key, idx)) WITHOUT ROWID',
};

const SCHEMA = 'SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY rowid';
/** Tables that SQLite creates by itself. */
const SQLITE_TABLES: Readonly<Record<string, string>> = {
  sqlite_sequence: '(name,seq)',
  sqlite_stat1: '(tbl,idx,stat)',
  sqlite_stat4: '(tbl,idx,neq,nlt,ndlt,sample)',
};

/** Matches SQLite's messages about limits that are lower in objects than in plain SQLite. */
const LIMIT = /^too many (columns|terms|arguments)|^Expression tree|the text is \d+ bytes/;
/** Matches modules that SQLite usually has, so that their tables can be read. */
const READABLE = /\busing\s+["'`[]?(fts[345]|rtree|rtree_i32|geopoly)\b/i;

const CHANGED_BY_HAND = 'its schema was changed by hand: use another copy';

interface SchemaObject {
  readonly type: string;
  readonly name: string;
  readonly table: string;
  /** The definition; null for the index of a constraint. */
  readonly sql: string | null;
}

export class SchemaCheck {
  readonly #database: Database;
  readonly #empty: Database;
  readonly #time: CheckTime;
  readonly #faults: ImportFaults;
  readonly #objects: readonly SchemaObject[];
  readonly #refused = new Set<SchemaObject>();
  /** The statements that replace a table, by its name. */
  readonly #replacements = new Map<string, string[]>();
  /** The definitions of all accepted objects, also on replaced tables, as SQLite wrote them in `empty`. */
  #accepted: ReadonlyMap<string, string | null> = new Map();

  /** Checks the schema of `database` by creating it again in `empty`. */
  constructor(database: Database, empty: Database, time: CheckTime, faults: ImportFaults) {
    this.#database = database;
    this.#empty = empty;
    this.#time = time;
    this.#faults = faults;
    // Compile it like user SQL, so that the authorizer is asked.
    database.check(SCHEMA);
    this.#objects = schemaOf(database).filter((object) => !isSqlitesOwn(object));
  }

  /** Adds a fault for each part that cannot be imported. @throws SQL_TIMEOUT, CORRUPT, IO */
  async run(): Promise<void> {
    for (const object of this.#objects.filter(isReserved)) this.#checkHidden(object);
    for (const [name, columns] of Object.entries(HIDDEN_TABLES)) {
      this.#empty.run(`CREATE TABLE ${name} ${columns}`);
    }
    const own = this.#objects
      .filter((object) => !isReserved(object))
      .sort((a, b) => creationOrder(a) - creationOrder(b));
    await this.#createAll(own);
    await this.#checkUses(own.filter((object) => this.#accepted.has(identity(object))));
  }

  /** Adds the indexes and triggers of replaced tables to the statements. */
  complete(): void {
    for (const object of this.#objects) {
      const text = this.#accepted.get(identity(object)) ?? null;
      if (object.type === 'table' || text === null || this.#refused.has(object)) continue;
      this.#replacements.get(key(object.table))?.push(`${text};`);
    }
  }

  /** True if the file has this table of the storage with the expected definition. */
  has(hidden: string): boolean {
    return this.#objects.some((object) => object.name === hidden && isHiddenTable(object));
  }

  // ---- Checks of objects whose names are reserved for the storage.

  #checkHidden(object: SchemaObject): void {
    const { type, name, table, sql } = object;
    if (isHiddenTable(object)) return;
    // Some objects are renamed together with their table: indexes, triggers, and shadow tables of virtual tables.
    const follows = isRelation(object)
      ? (other: SchemaObject) => isVirtual(other) && isReserved(other) && keepsRows(other, name)
      : (other: SchemaObject) =>
          isRelation(other) &&
          key(other.name) === key(table) &&
          isReserved(other) &&
          !isHiddenTable(other) &&
          (sql === null || !isReservedName(name));
    if (this.#objects.some(follows)) return;
    const fact =
      `${label(object)} has a name that begins with _cf_, or is on a table with one; those belong to the storage, ` +
      `which has ${Object.keys(HIDDEN_TABLES).join(', ')} only`;
    if (type === 'table') {
      const free = inQuotes(freeName(name.replace(/^_+/, ''), this.isTaken));
      const rename = [`ALTER TABLE main.${inQuotes(name)} RENAME TO ${free};`];
      this.#refuse(object, { fact, wayOut: `call it ${free}`, sql: rename, step: STEP.table });
    } else {
      this.#drop(object, fact);
    }
  }

  // ---- Objects are created again.

  async #createAll(own: readonly SchemaObject[]): Promise<void> {
    for (const object of own.filter(isVirtual)) {
      await this.#time.betweenSteps(label(object));
      this.#create(object);
    }
    // Skip shadow tables, which creating their virtual table has already created.
    const madeWithIt = new Set(schemaOf(this.#empty).map(identity));
    const virtual = [...this.#refused].filter(isVirtual);
    for (const object of own) {
      if (isVirtual(object) || madeWithIt.has(identity(object))) continue;
      if (virtual.some((other) => keepsRows(other, object.name))) continue;
      await this.#time.betweenSteps(label(object));
      this.#create(object);
    }
    this.#accepted = new Map(schemaOf(this.#empty).map((made) => [identity(made), made.sql]));
    for (const object of own) {
      if (this.#accepted.has(identity(object)) || this.#isRefused(object)) continue;
      this.#refuse(object, {
        fact: `${label(object)} has a text that creates something else`,
        wayOut: CHANGED_BY_HAND,
      });
    }
  }

  #create(object: SchemaObject): void {
    try {
      if (object.type === 'table' && this.#refersToHidden(object)) return;
      runUserSql(this.#empty, object.sql!);
    } catch (error) {
      if (isTimeout(error)) throw error;
      // Skip objects of refused tables: they are created again with the replaced table, if possible.
      if (!this.#isRefused(object)) this.#refuseCreation(object, error as Error);
    }
  }

  /** True for a refused object, and for an object on a refused table. */
  #isRefused(object: SchemaObject): boolean {
    for (const other of this.#refused) {
      if (other === object) return true;
      if (isRelation(other) && key(other.name) === key(object.table)) return true;
      if (isVirtual(other) && keepsRows(other, object.name)) return true;
    }
    return false;
  }

  #refuseCreation(object: SchemaObject, error: Error): void {
    const { type, name } = object;
    const reason = LIMIT.test(error.message)
      ? `exceeds a limit of objects, here and in workerd (${error.message}); they have at most ${COLUMNS_MAX} columns, ` +
        '5 SELECTs in a UNION, 127 arguments and 100000 bytes'
      : `cannot be created here (${error.message})`;
    const fact = `${label(object)} ${reason}`;
    if (type !== 'table') {
      this.#drop(object, fact);
    } else if (/^sqlite_stat/.test(name)) {
      const sql = [`DROP TABLE ${name};`];
      this.#refuse(object, {
        fact,
        wayOut: 'drop it: ANALYZE makes another',
        sql,
        step: STEP.drop,
      });
    } else if (/^sqlite_/.test(name)) {
      this.#refuse(object, { fact, wayOut: CHANGED_BY_HAND });
    } else if (isVirtual(object)) {
      this.#refuseVirtual(object, fact, error);
    } else {
      this.#refuseTable(object, fact);
    }
  }

  #refuseVirtual(object: SchemaObject, fact: string, error: Error): void {
    const { name, sql } = object;
    const isReadable = READABLE.test(sql!) && !/tokenizer/.test(error.message);
    this.#refuse(object, {
      fact,
      wayOut: isReadable
        ? 'make it a plain table with its rows, or an fts5 or rtree table'
        : `take it out of the schema; tables whose names begin with "${shortenName(name)}_" keep its rows (a defensive ` +
          'connection refuses that)',
      sql: isReadable ? asPlainTable(name) : removingFromSchema(name),
      step: STEP.table,
    });
  }

  /** Replaces a refused table, in `empty` too, with the indexes and triggers that it can still have. */
  #refuseTable(object: SchemaObject, fact: string): void {
    const { name } = object;
    const stored = storedColumns(name, this.#database);
    // Columns of the primary key stay in the first table.
    const columns =
      stored.findLastIndex(isInKey) < COLUMNS_MAX
        ? stored
        : [...stored.filter(isInKey), ...stored.filter((column) => !isInKey(column))];
    const kept = columns.slice(0, COLUMNS_MAX);
    const options = /\)((?:\s|,|STRICT|WITHOUT|ROWID)*)$/i.exec(object.sql!)?.[1];
    const definition = this.#workingDefinition(name, [
      definitionOf(kept, options),
      definitionOf(kept),
      `(${namesInQuotes(kept)})`,
    ]);
    const { sql, parts } = replacingTable(name, columns, definition, this.isTaken);
    this.#replacements.set(key(name), sql);
    const wayOut =
      parts.length === 0
        ? 'make it again with its rows, types, defaults and primary key, without other constraints and generated ' +
          'columns (with the program that made the file, where sqlite3 lacks what it uses)'
        : `move the others to ${parts.map((part) => `"${shortenName(part)}"`).join(', ')}`;
    this.#refuse(object, { fact, wayOut, sql, step: STEP.table });
  }

  /**
   * Returns the first of the definitions with which the table can be created. The last one always works, because it
   * contains no text of the file.
   */
  #workingDefinition(name: string, definitions: readonly string[]): string {
    for (const definition of definitions) {
      try {
        runUserSql(this.#empty, `CREATE TABLE ${inQuotes(name)} ${definition}`);
        return definition;
      } catch (error) {
        if (isTimeout(error)) throw error;
      }
    }
    return definitions.at(-1)!;
  }

  /**
   * True if a foreign key refers to a hidden table. They are read from the schema, because SQLite compiles one only if
   * all are valid.
   */
  #refersToHidden(object: SchemaObject): boolean {
    const keys = this.#database.statement('SELECT "table" FROM pragma_foreign_key_list(?1)');
    keys.bindText(1, object.name);
    let hidden: string | undefined;
    while (keys.step()) {
      const parent = keys.columnText(0);
      if (isReservedName(parent)) hidden = parent;
    }
    if (hidden === undefined) return false;
    const fact = `${label(object)} has a foreign key to "${shortenName(hidden)}", and names that begin with _cf_ belong to the storage`;
    this.#refuseTable(object, fact);
    return true;
  }

  // ---- Uses.

  async #checkUses(own: readonly SchemaObject[]): Promise<void> {
    const refusal = new Map<SchemaObject, unknown>();
    const changed = new Set(own.filter(isChange).map(({ table }) => key(table)));
    for (const object of own.filter(isRelation)) {
      await this.#time.betweenSteps(label(object));
      const error = this.#refusalOf(
        object.name,
        object.type === 'view',
        changed.has(key(object.name)),
      );
      if (error !== undefined) refusal.set(object, error);
    }
    if (refusal.size > 0) await this.#findCulprits(own, refusal);
  }

  /** Tries the uses of a table or view; returns the refusal of one, undefined if all are allowed or broken. */
  #refusalOf(name: string, isRead: boolean, isChanged: boolean): unknown {
    const uses = isRead ? [`SELECT * FROM ${inQuotes(name)}`] : [];
    if (isChanged) uses.push(...statementsUsing(name, this.#empty));
    for (const use of uses) {
      try {
        this.#empty.check(use);
      } catch (error) {
        if (isStorageError(error) && error.code === 'SQL_FORBIDDEN') return error;
        if (!isBroken(error)) throw error;
      }
    }
    return undefined;
  }

  /**
   * Finds the views and triggers because of which a use was refused; it may reach them through others. Drops all
   * triggers and the refused views, and tries each alone.
   */
  async #findCulprits(
    own: readonly SchemaObject[],
    refusal: ReadonlyMap<SchemaObject, unknown>,
  ): Promise<void> {
    const triggers = own.filter(({ type }) => type === 'trigger');
    const views = own.filter((object) => object.type === 'view' && refusal.has(object));
    const before = this.#faults.count;
    for (const { type, name } of [...triggers, ...views]) {
      runUserSql(this.#empty, `DROP ${type} IF EXISTS ${inQuotes(name)}`);
    }
    for (const object of [...views, ...triggers]) {
      await this.#time.betweenSteps(label(object));
      const isView = object.type === 'view';
      try {
        runUserSql(this.#empty, object.sql!);
      } catch (error) {
        if (isTimeout(error)) throw error;
        continue; // its view was dropped
      }
      const error = this.#refusalOf(object.table, isView, !isView);
      if (error !== undefined) this.#drop(object, forbiddenNameText(object, error));
      // Drop it again, so that the next one is tried without it.
      if (error !== undefined || !isView)
        runUserSql(this.#empty, `DROP ${object.type} ${inQuotes(object.name)}`);
    }
    if (this.#faults.count > before) return;
    const [[object, error]] = refusal as unknown as [[SchemaObject, unknown]];
    this.#refuse(object, {
      fact: forbiddenNameText(object, error),
      wayOut: 'drop the triggers and views that use it',
    });
  }

  // ---- Faults.

  #drop(object: SchemaObject, fact: string): void {
    const { type, name } = object;
    const sql = [`DROP ${type.toUpperCase()} IF EXISTS ${inQuotes(name)};`];
    const wayOut = 'drop it, which takes no rows away';
    // Do not use an unknown type, because it may be any text and would become a part of the program.
    const isKnown = creationOrder(object) > 0;
    this.#refuse(
      object,
      isKnown ? { fact, wayOut, sql, step: STEP.drop } : { fact, wayOut: CHANGED_BY_HAND },
    );
  }

  #refuse(object: SchemaObject, fault: Fault): void {
    this.#refused.add(object);
    this.#faults.add(fault);
  }

  /** True if an object of the file has the name. */
  readonly isTaken = (name: string): boolean =>
    this.#objects.some((object) => key(object.name) === key(name));
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
  if (sql !== null) return type === 'table' && isExpectedTable(SQLITE_TABLES, name, sql);
  return type === 'index' && /^sqlite_autoindex_/.test(name) && !/^_cf_/i.test(table);
}

/** True if the text creates the table of this name with exactly the known columns. */
function isExpectedTable(
  tables: Readonly<Record<string, string>>,
  name: string,
  sql: string,
): boolean {
  if (!Object.hasOwn(tables, name)) return false;
  return compact(sql) === compact(`CREATE TABLE ${name} ${tables[name]}`);
}

function isHiddenTable({ type, name, table, sql }: SchemaObject): boolean {
  return (
    type === 'table' && table === name && sql !== null && isExpectedTable(HIDDEN_TABLES, name, sql)
  );
}

function isReserved({ name, table }: SchemaObject): boolean {
  return isReservedName(name) || isReservedName(table);
}

function isRelation({ type }: SchemaObject): boolean {
  return type === 'table' || type === 'view';
}

/** True if writes to the object's table or view must be tried. */
function isChange({ type }: SchemaObject): boolean {
  return type === 'table' || type === 'trigger';
}

/** Returns statements that use every trigger, default and foreign key of a table or view. */
function statementsUsing(table: string, database: Database): string[] {
  const name = inQuotes(table);
  const columns = columnsOf(table, database);
  return [
    `INSERT INTO ${name} DEFAULT VALUES`,
    `DELETE FROM ${name}`,
    ...(columns.length > 0 ? [`UPDATE ${name} SET ${columns.map(setToItself)}`] : []),
  ];
}

const BROKEN: ReadonlySet<string> = new Set(['SQL', 'SQL_MEMORY', 'SQL_TOO_LARGE']);

/**
 * True if a use fails because a table is missing or its text is too long. That is not forbidden: objects of programs
 * may be broken like this.
 */
function isBroken(error: unknown): boolean {
  return isStorageError(error) && BROKEN.has(error.code);
}

function isTimeout(error: unknown): boolean {
  return isStorageError(error) && error.code === 'SQL_TIMEOUT';
}

function forbiddenNameText(object: SchemaObject, error: unknown): string {
  return `${label(object)} uses a name that objects may not use (${(error as Error).message})`;
}

function columnsOf(table: string, database: Database): string[] {
  try {
    return storedColumns(table, database).map(({ name }) => name);
  } catch (error) {
    // For a view, SQLite compiles its SELECT to find the columns, which may fail.
    if (!isBroken(error)) throw error;
    return [];
  }
}

/** Returns a name in lower case, because SQLite ignores the case of names. */
function key(name: string): string {
  return name.toLowerCase();
}

/** Runs user SQL and drops its rows. */
function runUserSql(database: Database, sql: string): void {
  database.exec(sql, []).toArray();
}

/** Orders indexes and triggers after their tables and views. */
function creationOrder({ type }: SchemaObject): number {
  return ['table', 'index', 'view', 'trigger'].indexOf(type);
}

function identity({ type, name }: SchemaObject): string {
  return `${type} ${name}`;
}

/** Describes an object for a message. */
function label({ type, name }: SchemaObject): string {
  return `the ${type} "${shortenName(name)}"`;
}

/** Shortens a name for a message; statements contain it completely. */
function shortenName(name: string): string {
  return name.slice(0, 100);
}

function isVirtual({ sql }: SchemaObject): boolean {
  return sql !== null && /^CREATE\s+VIRTUAL\b/i.test(sql);
}

/** True if the virtual table stores its rows in a table of this name. */
function keepsRows(virtual: SchemaObject, name: string): boolean {
  return key(name).startsWith(`${key(virtual.name)}_`);
}

/** Compacts white space in linear time: it reads each run of white space once. */
function compact(sql: string): string {
  return sql
    .replace(/\s+/g, ' ')
    .replace(/ ?([(),]) ?/g, '$1')
    .trim();
}

function setToItself(column: string): string {
  return `${inQuotes(column)} = ${inQuotes(column)}`;
}
