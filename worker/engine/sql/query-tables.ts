// Which tables a query reads and writes, also through views, triggers and foreign keys.
//
// SQLite's authorizer is told while a statement is compiled, so the statement is compiled once more, and
// only when somebody asks. A virtual table hides what it does: writing one writes its shadow tables, and
// one that shows other tables may read anything.
//
// Invariant: never too little. What is not known for certain is `all`.
//
// Does not know who asks, nor which queries run.

import { isStorageError } from '../../src/contract/errors.ts';
import type { Connection } from './connection.ts';
import type { Query } from './query.ts';
import type { TableWatch } from './regulator.ts';
import type { PreparedStatement } from './statement.ts';
import { isKeyword, nameOf, statementTokens } from './tokens.ts';

/** Names of tables as the schema writes them; `all`: every table, and the schema. */
export type TableSet = ReadonlySet<string> | 'all';

export interface QueryTables {
  readonly reads: TableSet;
  /** Empty for a query that does not write. */
  readonly writes: TableSet;
}

interface VirtualTable {
  readonly shadows: readonly string[];
  /** True when it shows only its own rows. */
  readonly isClosed: boolean;
}

const TABLES = "SELECT name, sql FROM sqlite_schema WHERE type = 'table'";
const ALL: QueryTables = { reads: 'all', writes: 'all' };
/**
 * Not tables, or written without asking the authorizer: pragmas as tables, sequences. The schema is written by
 * what writes everything.
 */
const INTERNAL_NAME = /^(sqlite_(?!(?:master|schema)$)|pragma_)/i;
const VIRTUAL = /^\s*CREATE\s+VIRTUAL\s/i;

export class QueryTablesIndex {
  readonly #connection: Connection;
  readonly #statement: (sql: string) => PreparedStatement;
  #known = new WeakMap<Query, QueryTables>();
  #virtual: ReadonlyMap<string, VirtualTable> | undefined;

  /** `statement` prepares trusted text, or has prepared it before. */
  constructor(connection: Connection, statement: (sql: string) => PreparedStatement) {
    this.#connection = connection;
    this.#statement = statement;
  }

  /** What the query touches, as of the last `forget`. */
  of(query: Query): QueryTables {
    const known = this.#known.get(query);
    if (known !== undefined) return known;
    const tables = this.#find(query);
    this.#known.set(query, tables);
    return tables;
  }

  /** The schema may have changed. */
  forget(): void {
    this.#known = new WeakMap();
    this.#virtual = undefined;
  }

  #find(query: Query): QueryTables {
    const touched = new TouchedTables();
    try {
      this.#compile(query, touched);
    } catch (error) {
      if (!isStorageError(error)) throw error;
      return ALL; // out of memory, perhaps; the query itself runs, or says what is wrong
    }
    const { read, written } = touched;
    return {
      reads: read === 'all' ? 'all' : this.#withHiddenReads(read),
      writes: !query.writes ? new Set() : written === 'all' ? 'all' : this.#withShadows(written),
    };
  }

  #compile(query: Query, touched: TableWatch): void {
    const { regulator, sqlite } = this.#connection;
    const { exports, memory } = sqlite;
    const sql = exports.sqlite3_sql(query.pointer);
    let end = sql;
    while (memory.u8[end] !== 0) end += 1;
    regulator.begin();
    regulator.watch = touched;
    try {
      exports.sqlite3_finalize(this.#connection.prepare(sql, end - sql).statement);
    } finally {
      regulator.watch = undefined;
      regulator.regulating = false;
    }
  }

  #withHiddenReads(names: ReadonlySet<string>): TableSet {
    for (const name of names) {
      if (INTERNAL_NAME.test(name)) return 'all';
      if (this.#virtualTables.get(name)?.isClosed === false) return 'all';
    }
    return names;
  }

  #withShadows(names: ReadonlySet<string>): TableSet {
    const written = new Set(names);
    for (const name of names) {
      for (const shadow of this.#virtualTables.get(name)?.shadows ?? []) written.add(shadow);
    }
    return written;
  }

  get #virtualTables(): ReadonlyMap<string, VirtualTable> {
    this.#virtual ??= this.#readVirtualTables();
    return this.#virtual;
  }

  #readVirtualTables(): ReadonlyMap<string, VirtualTable> {
    const definitions: (readonly [name: string, sql: string])[] = [];
    const tables = this.#statement(TABLES);
    while (tables.step()) definitions.push([tables.columnText(0), tables.columnText(1)]);
    const names = definitions.map(([name]) => name);
    return new Map(
      definitions
        .filter(([, sql]) => VIRTUAL.test(sql))
        .map(([name, sql]) => {
          const shadows = names.filter((other) => other.startsWith(`${name}_`));
          return [name, { shadows, isClosed: isClosed(sql) }];
        }),
    );
  }
}

/** Collects what the authorizer reports. */
class TouchedTables implements TableWatch {
  readonly #tables = { read: new Set<string>(), written: new Set<string>() };
  readonly #all = { read: false, written: false };

  reads(table: string): void {
    this.#tables.read.add(table);
  }

  writes(table: string): void {
    this.#tables.written.add(table);
  }

  readsAll(): void {
    this.#all.read = true;
  }

  writesAll(): void {
    this.#all.written = true;
  }

  get read(): TableSet {
    return this.#all.read ? 'all' : this.#tables.read;
  }

  get written(): TableSet {
    return this.#all.written ? 'all' : this.#tables.written;
  }
}

// A vocabulary shows another table's words, and a table with foreign content that content.
function isClosed(sql: string): boolean {
  const tokens = statementTokens(sql);
  const using = tokens.findIndex((token) => isKeyword(token, 'USING'));
  const module = tokens[using + 1];
  if (using < 0 || module === undefined) return false;
  switch (nameOf(module).toLowerCase()) {
    case 'rtree':
    case 'rtree_i32':
      return true;
    case 'fts5':
      return !tokens.some(
        (token, index) =>
          nameOf(token).toLowerCase() === 'content' && tokens[index + 1]?.text === '=',
      );
    default:
      return false;
  }
}
