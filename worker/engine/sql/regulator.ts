// Decides which tables, functions and pragmas a statement of user SQL may use.
//
// SQLite asks its authorizer while it compiles a statement, also when it recompiles one in the middle
// of a step. `regulating` is true only while user SQL is compiled or stepped. SQLite asks about views and
// trigger bodies when they are used.
//
// The storage's own statements may touch everything, and must run nothing that a program wrote: through a
// foreign key of a program's table they would compile its triggers, which would then be trusted. So outside
// of user SQL, everything that comes from a trigger or view is denied, as on workerd.
//
// The rules are workerd's: names that begin with `_cf_` belong to the storage, and so do transactions;
// functions and pragmas must be on a list; nothing temporary, nothing attached.

import { type StorageError, storageError } from '../../../src/shared/contract/errors.ts';
import type { Pointer, Sqlite } from '../vfs/sqlite-module.ts';
import { Guard } from './guard.ts';
import { isHiddenName, isReservedName, RESERVED_ADVICE } from './reserved-names.ts';
import { isKeyword, nameOf, statementTokens } from './tokens.ts';

const ALLOW = 0;
const DENY = 1;

// https://sqlite.org/c3ref/c_alter_table.html: the questions to an authorizer.
const ACTION = {
  createIndex: 1,
  createTable: 2,
  createTrigger: 7,
  createView: 8,
  delete: 9,
  dropIndex: 10,
  dropTable: 11,
  dropTrigger: 16,
  dropView: 17,
  insert: 18,
  pragma: 19,
  read: 20,
  select: 21,
  transaction: 22,
  update: 23,
  attach: 24,
  detach: 25,
  alterTable: 26,
  reindex: 27,
  analyze: 28,
  createVirtualTable: 29,
  dropVirtualTable: 30,
  function: 31,
  savepoint: 32,
  recursive: 33,
} as const;

/** Modules of which programs may create virtual tables; all others, except those of json, are removed. */
const MODULES = new Set(['fts5', 'fts5vocab', 'rtree', 'rtree_i32']);

const FUNCTIONS = new Set(
  `
  -> ->> abs acos acosh asin asinh atan atan2 atanh avg bm25 ceil changes char coalesce concat
  concat_ws cos cosh count cume_dist current_date current_time current_timestamp date datetime
  degrees dense_rank exp first_value floor format glob group_concat hex highlight ifnull iif instr
  json json_array json_array_length json_extract json_group_array json_group_object json_insert
  json_object json_patch json_quote json_remove json_replace json_set json_type json_valid jsonb
  jsonb_array jsonb_extract jsonb_group_array jsonb_group_object jsonb_insert jsonb_object
  jsonb_patch jsonb_remove jsonb_replace jsonb_set julianday lag last_insert_rowid last_value lead
  length like likelihood likely ln log log2 lower ltrim match max min mod nth_value ntile nullif
  octet_length percent_rank pi pow printf quote radians random randomblob rank replace round
  row_number rtrim sign sin sinh snippet sqrt strftime string_agg substr substring sum tan tanh
  time timediff total total_changes trim trunc typeof unhex unicode unixepoch unlikely upper
  zeroblob rtreecheck
  sqlite_rename_column sqlite_rename_quotefix sqlite_rename_table sqlite_rename_test
  sqlite_drop_column
  `
    .trim()
    .split(/\s+/),
);

/** Functions whose result depends on earlier statements of the connection. */
const COUNTERS = new Set(['changes', 'last_insert_rowid', 'total_changes']);

const HIDDEN_PREFIX = new TextEncoder().encode('_cf_');
const LOWER_CASE = 0x20;

/** The advice of the error for BEGIN, COMMIT and so on; it begins with workerd's words, which programs may match. */
const TRANSACTION_ADVICE =
  'To execute a transaction, please use the state.storage.transaction() or state.storage.transactionSync() APIs ' +
  'instead of the SQL BEGIN TRANSACTION or SAVEPOINT statements. They roll back by themselves when something throws.';

/** Receives the tables that a statement touches while it is compiled. */
export interface TableWatch {
  reads(table: string): void;
  writes(table: string): void;
  /** Called if the statement depends on more than tables: on pragmas, or on counters of the connection. */
  readsAll(): void;
  /** Called if the statement changes the schema or a setting. */
  writesAll(): void;
}

export class Regulator {
  static readonly #ofModule = new WeakMap<Sqlite, Regulator>();

  /** True while user SQL is compiled or stepped. */
  regulating = false;
  /** Receives the tables of the statement that is being compiled; undefined if they are not needed. */
  watch: TableWatch | undefined;
  /** The reason of the last refusal in this call; undefined if there was none. */
  refused: string | undefined;
  readonly #sqlite: Sqlite;
  readonly #callback: Pointer;
  readonly #guard: Guard;
  #altersTable = false;

  private constructor(sqlite: Sqlite) {
    this.#sqlite = sqlite;
    this.#guard = Guard.of(sqlite);
    this.#callback = sqlite.install({
      parameters: 'iiiiii',
      call: (
        _: Pointer,
        action: number,
        first: Pointer,
        second: Pointer,
        schema: Pointer,
        origin: Pointer,
      ) =>
        this.regulating ? this.#decide(action, first, second, schema) : this.#decideTrusted(origin),
    });
  }

  /** Returns the regulator that all connections of a module share; only one call runs at a time. */
  static of(sqlite: Sqlite): Regulator {
    let regulator = Regulator.#ofModule.get(sqlite);
    if (regulator === undefined) {
      regulator = new Regulator(sqlite);
      Regulator.#ofModule.set(sqlite, regulator);
    }
    return regulator;
  }

  /** Sets the authorizer of a connection, and removes the modules that programs may not use. */
  attach(db: Pointer): void {
    const { exports, memory } = this.#sqlite;
    exports.sqlite3_set_authorizer(db, this.#callback, 0);
    const kept = [...MODULES, 'json_each', 'json_tree', 'jsonb_each', 'jsonb_tree'];
    const textBytes = kept.reduce((sum, name) => sum + name.length + 1, 0);
    const list = memory.allocate(4 * (kept.length + 1) + textBytes);
    let at = list + 4 * (kept.length + 1);
    kept.forEach((name, index) => {
      memory.i32[(list >> 2) + index] = at;
      at += memory.write(name, at) + 1;
    });
    memory.i32[(list >> 2) + kept.length] = 0;
    exports.sqlite3_drop_modules(db, list);
    memory.free(list);
  }

  /** Called before user SQL is compiled. */
  begin(): void {
    this.regulating = true;
    this.refused = undefined;
    this.#altersTable = false;
  }

  /**
   * Checks a change about which SQLite does not ask the authorizer: a table's new name. Returns undefined if the text
   * is allowed.
   */
  refusalOf(statement: () => string): StorageError | undefined {
    if (!this.#altersTable) return undefined;
    const tokens = statementTokens(statement());
    const rename = tokens.findIndex(
      (token, index) => isKeyword(token, 'RENAME') && isKeyword(tokens[index + 1], 'TO'),
    );
    const target = rename < 0 ? undefined : tokens[rename + 2];
    if (target === undefined || !isReservedName(nameOf(target))) return undefined;
    return storageError('SQL_FORBIDDEN', `not authorized: SQLITE_AUTH (${RESERVED_ADVICE})`);
  }

  /** Makes an error with the reason of the refusal, if the statement failed because of one. */
  explain(error: StorageError): StorageError | undefined {
    const refused = this.refused;
    this.refused = undefined;
    if (refused === undefined) return undefined;
    const isWhole = refused === TRANSACTION_ADVICE;
    return storageError('SQL_FORBIDDEN', isWhole ? refused : `${error.message} (${refused})`);
  }

  #decide(action: number, first: Pointer, second: Pointer, schema: Pointer): number {
    if (this.#guard.isPastEnd()) return DENY;
    const refused = this.#refusal(action, first, second, schema);
    if (refused === undefined) {
      if (this.watch !== undefined) this.#report(this.watch, action, first, second);
      return ALLOW;
    }
    this.refused = refused;
    return DENY;
  }

  /**
   * Decides an access outside of user SQL; `origin` is the innermost trigger or view that makes it, 0 for the text
   * itself.
   */
  #decideTrusted(origin: Pointer): number {
    if (origin === 0) return ALLOW;
    this.refused =
      `the trigger or view "${this.#text(origin)}" would run as part of the storage's own work, ` +
      'by a foreign key to one of its tables; drop that foreign key';
    return DENY;
  }

  #refusal(action: number, first: Pointer, second: Pointer, schema: Pointer): string | undefined {
    if (action === ACTION.alterTable) {
      // For this action the first name is the schema; the last one, if any, is the dropped column.
      this.#altersTable = true;
      if (!this.#isMain(first)) return temporary();
      return this.#isHidden(second) ? RESERVED_ADVICE : undefined;
    }
    if (schema !== 0 && !this.#isMain(schema)) return this.#refusalElsewhere(action, first, schema);
    switch (action) {
      case ACTION.select:
      case ACTION.recursive:
      case ACTION.reindex:
      case ACTION.analyze:
        return undefined;
      case ACTION.read:
      case ACTION.insert:
      case ACTION.update:
      case ACTION.delete:
      case ACTION.dropTable:
      case ACTION.dropView:
        return this.#isHidden(first) ? RESERVED_ADVICE : undefined;
      case ACTION.createTable:
      case ACTION.createView:
        return this.#isReserved(first) ? RESERVED_ADVICE : undefined;
      case ACTION.createIndex:
      case ACTION.createTrigger:
        return this.#isReserved(first) || this.#isHidden(second) ? RESERVED_ADVICE : undefined;
      case ACTION.dropIndex:
      case ACTION.dropTrigger:
        return this.#isHidden(first) || this.#isHidden(second) ? RESERVED_ADVICE : undefined;
      case ACTION.createVirtualTable:
      case ACTION.dropVirtualTable:
        if (this.#isHidden(first)) return RESERVED_ADVICE;
        if (action === ACTION.createVirtualTable && this.#isReserved(first)) return RESERVED_ADVICE;
        return MODULES.has(this.#text(second).toLowerCase())
          ? undefined
          : `virtual tables: ${[...MODULES].join(', ')} only`;
      case ACTION.function:
        return FUNCTIONS.has(this.#text(second).toLowerCase())
          ? undefined
          : `the function ${this.#text(second)} is not available`;
      case ACTION.pragma:
        return checkPragma(this.#text(first), second === 0 ? undefined : this.#text(second));
      case ACTION.transaction:
      case ACTION.savepoint:
        return TRANSACTION_ADVICE;
      case ACTION.attach:
      case ACTION.detach:
        return 'ATTACH, DETACH and VACUUM are not allowed: an object has exactly one database';
      default:
        return temporary();
    }
  }

  // SQLite itself reads the temporary schema, for example when a table is renamed.
  #refusalElsewhere(action: number, first: Pointer, schema: Pointer): string | undefined {
    const inspects = action === ACTION.read || action === ACTION.update;
    if (inspects && this.#text(schema) === 'temp' && !this.#isHidden(first)) return undefined;
    return temporary();
  }

  #report(watch: TableWatch, action: number, first: Pointer, second: Pointer): void {
    switch (action) {
      case ACTION.select:
      case ACTION.recursive:
        return;
      case ACTION.read:
        watch.reads(this.#text(first));
        return;
      case ACTION.insert:
      case ACTION.update:
      case ACTION.delete:
        watch.writes(this.#text(first));
        return;
      case ACTION.function:
        if (COUNTERS.has(this.#text(second).toLowerCase())) watch.readsAll();
        return;
      default:
        // A pragma reads or changes more than tables; all other actions change the schema.
        watch.readsAll();
        watch.writesAll();
    }
  }

  #isMain(name: Pointer): boolean {
    return this.#text(name) === 'main';
  }

  #isReserved(name: Pointer): boolean {
    return name !== 0 && isReservedName(this.#text(name));
  }

  // Does the same as isHiddenName without creating a string, because it is called for every column that a statement
  // reads.
  #isHidden(name: Pointer): boolean {
    if (name === 0) return false;
    const { u8 } = this.#sqlite.memory;
    return (
      u8[name] === HIDDEN_PREFIX[0] &&
      (u8[name + 1]! | LOWER_CASE) === HIDDEN_PREFIX[1] &&
      (u8[name + 2]! | LOWER_CASE) === HIDDEN_PREFIX[2] &&
      u8[name + 3] === HIDDEN_PREFIX[3]
    );
  }

  #text(pointer: Pointer): string {
    return this.#sqlite.memory.readCString(pointer);
  }
}

function temporary(): string {
  return 'temporary tables, views and triggers are not available; use ordinary ones';
}

// ---- Pragmas that user SQL may use, with their values. The list and its rules are workerd's.

/** The permitted value of a pragma. */
type ValueRule = 'none' | 'boolean' | 'object' | 'optionalObject' | 'objectOrNumber' | 'number';

const PRAGMAS: Readonly<Record<string, ValueRule>> = {
  data_version: 'none',
  page_size: 'none',

  case_sensitive_like: 'boolean',
  defer_foreign_keys: 'boolean',
  foreign_keys: 'boolean',
  ignore_check_constraints: 'boolean',
  legacy_alter_table: 'boolean',
  recursive_triggers: 'boolean',
  reverse_unordered_selects: 'boolean',

  foreign_key_list: 'object',
  index_info: 'object',
  index_list: 'object',
  index_xinfo: 'object',
  table_info: 'object',
  table_xinfo: 'object',

  foreign_key_check: 'optionalObject',
  table_list: 'optionalObject',
  quick_check: 'objectOrNumber',
  optimize: 'number',
};

/** Returns undefined if the pragma may run with this value; otherwise the reason for the refusal. */
export function checkPragma(name: string, value: string | undefined): string | undefined {
  const rule = PRAGMAS[name.toLowerCase()];
  if (rule === undefined) return `PRAGMA ${name} is not available`;
  if (isAllowed(rule, value)) return undefined;
  return value === undefined
    ? `PRAGMA ${name} needs the name of an object`
    : `PRAGMA ${name} may not have the value ${value}`;
}

function isAllowed(rule: ValueRule, value: string | undefined): boolean {
  switch (rule) {
    case 'none':
      return value === undefined;
    case 'boolean':
      // As on workerd, only the beginning is checked: SQLite reads "onx" as off.
      return value === undefined || /^['"]?(true|false|yes|no|on|off|1|0)/i.test(value);
    case 'object':
      return value !== undefined && !isHiddenName(value);
    case 'optionalObject':
    case 'objectOrNumber':
      return value === undefined || !isHiddenName(value);
    case 'number':
      return value === undefined || /^[-+]?(\d+|0x[\da-f]+)$/i.test(value);
  }
}
