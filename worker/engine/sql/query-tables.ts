// Finds the tables that a query reads and writes, also through views, triggers and foreign keys.
//
// SQLite reports these tables to its authorizer while a statement is compiled, so the statement is compiled once more,
// but only when a caller asks. A virtual table hides its accesses: writing one writes its shadow tables, and a table
// that shows other tables may read anything.
//
// Invariant: the result never lacks a table. Uncertain accesses are `all`.

import type { Binding } from '../../../src/shared/contract/bindings.ts';
import { isStorageError } from '../../../src/shared/contract/errors.ts';
import type { Connection } from './connection.ts';
import { keysOf, type PointQuery, pointQuery, rowShape, type TableRows } from './point-lookup.ts';
import type { Query } from './query.ts';
import type { TableWatch } from './regulator.ts';
import type { RowWatch } from './row-watch.ts';
import type { PreparedStatement } from './statement.ts';
import { isKeyword, nameOf, statementTokens } from './tokens.ts';

/** Names of tables, spelled as in the schema; `all` stands for every table and the schema itself. */
export type TableSet = ReadonlySet<string> | 'all';

export interface QueryTables {
  readonly reads: TableSet;
  /** The written tables; empty for a query that does not write. */
  readonly writes: TableSet;
}

/** The rows and tables that one run of a query touches. */
export interface QueryAccess extends QueryTables {
  /** The rows that it can see, if it reads one table by its keys; undefined if it can see any row. */
  readonly rows?: TableRows;
  /** The written tables whose changed rows are reported one by one. */
  readonly byRow?: ReadonlySet<string>;
}

interface VirtualTable {
  readonly shadows: readonly string[];
  /** True if the virtual table shows only its own rows. */
  readonly isClosed: boolean;
}

const TABLES = "SELECT name, sql FROM sqlite_schema WHERE type = 'table'";
const ALL: QueryTables = { reads: 'all', writes: 'all' };
/**
 * Names that are not reported as tables: pragmas used as tables, and tables that SQLite writes without asking the
 * authorizer, such as sequences. sqlite_master is reported, because every change of the schema writes it.
 */
const INTERNAL_NAME = /^(sqlite_(?!master$)|pragma_)/i;
const VIRTUAL = /^\s*CREATE\s+VIRTUAL\s/i;

export class QueryTablesIndex {
  readonly #connection: Connection;
  readonly #statement: (sql: string) => PreparedStatement;
  readonly #rows: RowWatch;
  #known = new WeakMap<Query, QueryTables>();
  /** The lookups of queries that find rows by key; null for other queries. */
  #lookups = new WeakMap<QueryTables, PointQuery | null>();
  #virtual: ReadonlyMap<string, VirtualTable> | undefined;

  /** `statement` returns the prepared statement of trusted text. */
  constructor(
    connection: Connection,
    statement: (sql: string) => PreparedStatement,
    rows: RowWatch,
  ) {
    this.#connection = connection;
    this.#rows = rows;
    this.#statement = statement;
  }

  /** Returns the tables that the query touches; they are remembered until `forget`. */
  of(query: Query): QueryTables {
    const known = this.#known.get(query);
    if (known !== undefined) return known;
    const tables = this.#find(query);
    this.#known.set(query, tables);
    return tables;
  }

  /**
   * Returns the rows and tables that a run of the query with these bindings touches. From then on, changed rows of a
   * table that it looks up by key are reported one by one.
   */
  access(query: Query, bindings: readonly Binding[]): QueryAccess {
    const tables = this.of(query);
    if (tables.writes === 'all') return tables;
    if (tables.writes.size === 0) {
      const rows = this.#lookup(query, tables, bindings);
      return rows === undefined ? tables : { ...tables, rows };
    }
    if (!this.#rows.isActive || this.#rows.clears(query.pointer)) return tables;
    const byRow = new Set([...tables.writes].filter((table) => this.#rows.has(table)));
    return { ...tables, byRow };
  }

  #lookup(query: Query, tables: QueryTables, bindings: readonly Binding[]): TableRows | undefined {
    const { reads } = tables;
    if (reads === 'all' || reads.size !== 1) return undefined;
    const [table] = reads as ReadonlySet<string>;
    let point = this.#lookups.get(tables);
    if (point === undefined) {
      const { exports, memory } = this.#connection.sqlite;
      point = pointQuery(memory.readCString(exports.sqlite3_sql(query.pointer))) ?? null;
      if (point?.table !== table!.toLowerCase()) point = null;
      this.#lookups.set(tables, point);
    }
    if (point === null) return undefined;
    const shape = this.#rows.shape(table!) ?? rowShape(table!, this.#statement);
    const keys = shape && keysOf(point, shape, bindings);
    if (keys === undefined) return undefined;
    this.#rows.add(table!, shape!);
    return { table: table!, keys };
  }

  /** Forgets all results, because the schema may have changed. */
  forget(): void {
    this.#rows.clear();
    this.#known = new WeakMap();
    this.#virtual = undefined;
  }

  #find(query: Query): QueryTables {
    const touched = new TouchedTables();
    try {
      this.#compile(query, touched);
    } catch (error) {
      if (!isStorageError(error)) throw error;
      return ALL; // Perhaps out of memory. The query itself runs, or reports the error.
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

/** Collects the authorizer's reports. */
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

// An fts5vocab table shows the words of another table, and an FTS5 table with external content shows that content.
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
