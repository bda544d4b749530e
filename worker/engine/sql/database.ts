// One open database: trusted statements for this package, user SQL for programs.
//
// The text of `exec` may hold several statements. Each but the last runs to its first row, and its rows
// are dropped; what ran stays when a later one fails. The last one gets the bindings and returns rows.
//
// Knows nothing of key-value tables, alarms or when a transaction begins.

import { convertString } from '../../src/contract/arguments.ts';
import { type Binding, convertBinding } from '../../src/contract/bindings.ts';
import { storageError } from '../../src/contract/errors.ts';
import type { Pointer, Sqlite } from '../vfs/sqlite-module.ts';
import { Connection, type DatabaseEvents, type DatabaseOptions } from './connection.ts';
import { Cursor } from './cursor.ts';
import { Execution, type ExecutionOwner } from './execution.ts';
import type { TableShape } from './order-limit.ts';
import { Query } from './query.ts';
import { QueryCache } from './query-cache.ts';
import { type QueryTables, QueryTablesIndex } from './query-tables.ts';
import { QueryText } from './query-text.ts';
import { PreparedStatement } from './statement.ts';
import { inSavepoint, setSavepoint } from './write-savepoint.ts';

export type { DatabaseEvents, DatabaseOptions } from './connection.ts';

const TABLE_KIND = "SELECT type, wr FROM pragma_table_list(?1) WHERE schema = 'main'";
const TABLE_COLUMNS = 'SELECT name, pk FROM pragma_table_xinfo(?1)';

const PAGE_BYTES = 4096;

/** Every commit may change the size. */
const SIZE: QueryTables = { reads: 'all', writes: new Set() };

// This many cursors with unread rows are normal; beyond that, some may be forgotten.
const UNWATCHED_MAX = 16;

export class Database implements ExecutionOwner {
  readonly #connection: Connection;
  readonly #statements = new Map<string, PreparedStatement>();
  readonly #queries = new QueryCache();
  // Executions with unread rows, which a reset closes.
  readonly #open = new Set<Execution>();
  readonly #tables: QueryTablesIndex;
  #onQuery: ((tables: QueryTables) => void) | undefined;
  /** Why no query may write now; undefined: it may. */
  refusesWrites: (() => Error) | undefined;

  /**
   * Opens and configures a database; `vfsName` undefined is SQLite's own default.
   *
   * @throws CORRUPT, IO, DISK_FULL
   */
  constructor(
    sqlite: Sqlite,
    filename: string,
    vfsName: string | undefined,
    events: DatabaseEvents,
    options: DatabaseOptions = {},
  ) {
    this.#connection = new Connection(sqlite, filename, vfsName, events, options);
    this.#tables = new QueryTablesIndex(this.#connection, (sql) => this.statement(sql));
  }

  get onQuery(): ((tables: QueryTables) => void) | undefined {
    return this.#onQuery;
  }

  /** Told what each user query touches, just before it runs; undefined: nobody wants to know. */
  set onQuery(told: ((tables: QueryTables) => void) | undefined) {
    this.#onQuery = told;
    this.#tables.forget(); // the schema may have changed while nobody looked
  }

  /** The schema may have changed otherwise than by a query: something was rolled back. */
  schemaChanged(): void {
    this.#tables.forget();
  }

  /** The prepared statement of trusted text, compiled on its first use and kept. */
  statement(sql: string): PreparedStatement {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = new PreparedStatement(this.#connection, sql);
    this.#statements.set(sql, statement);
    return statement;
  }

  /** Runs one trusted statement and drops its rows; compiled once and kept. */
  run(sql: string): void {
    const statement = this.statement(sql);
    if (statement.step()) statement.reset();
  }

  /**
   * Runs user SQL. The text and the bindings may be any values; they are converted here.
   *
   * @throws INVALID_ARGUMENT, SQL, SQL_FORBIDDEN, SQL_TIMEOUT, SQL_MEMORY, DISK_FULL, IO, CORRUPT
   */
  exec(query: unknown, bindings: readonly unknown[]): Cursor {
    const text = convertString('exec()', query);
    const converted: Binding[] = [];
    for (let i = 0; i < bindings.length; i++) converted.push(convertBinding(bindings[i]));
    const connection = this.#connection;
    connection.begin();
    try {
      const last = this.#queries.idle(text) ?? this.#compile(text);
      const execution = this.#execute(last, converted);
      return new Cursor(execution, { watched: this.#open.size > UNWATCHED_MAX });
    } finally {
      connection.end();
    }
  }

  /** Compiles the first statement of user SQL and drops it. @throws what `exec` throws for it */
  check(text: string): void {
    const connection = this.#connection;
    connection.call(() => {
      const statements = new QueryText(connection, text, (name) => this.#describe(name));
      try {
        connection.sqlite.exports.sqlite3_finalize(statements.next().statement);
      } finally {
        statements.free();
      }
    });
  }

  /** True while a transaction is open. */
  get inTransaction(): boolean {
    return this.#connection.transactionOpen;
  }

  /** Size of the pages in use, in bytes; a new database counts its first page. */
  get sizeBytes(): number {
    this.#onQuery?.(SIZE);
    const pages = this.#pragma('PRAGMA page_count') - this.#pragma('PRAGMA freelist_count');
    return Math.max(1, pages) * PAGE_BYTES;
  }

  /**
   * Removes everything in one transaction; the database is usable again at once. No transaction may
   * be open. Cursors with unread rows are closed and throw CURSOR_CLOSED.
   */
  reset(): void {
    this.#closeCursors('The cursor was closed because deleteAll() removed the database under it.');
    this.#tables.forget();
    this.#connection.call(() => this.#connection.reset());
  }

  /** The first fault of the pages, in SQLite's words; undefined when they are sound. */
  damage(): string | undefined {
    return this.#connection.withoutInstructionLimit(() => {
      const check = this.statement('PRAGMA integrity_check(1)');
      const found = check.step() ? check.columnText(0) : '';
      check.reset();
      return found === 'ok' ? undefined : found;
    });
  }

  /** All calls from now on must end by this time; undefined: each has its own limit again. */
  endBy(endMs: number | undefined): void {
    this.#connection.endMs = endMs;
  }

  /**
   * Closes the cursors and the database, once no call of it is on the stack; then calls `closed`.
   * Closing it again does nothing.
   */
  close(closed = () => {}): void {
    this.#connection.whenIdle(() => {
      if (this.#connection.isClosed) return;
      this.#connection.enter();
      // What is past its deadline must be closed too.
      this.endBy(undefined);
      this.#closeCursors('The cursor was closed with its database.');
      this.#queries.clear();
      for (const statement of this.#statements.values()) statement.finalize();
      this.#statements.clear();
      this.#connection.close();
      closed();
    });
  }

  ended(execution: Execution, query: Query): void {
    this.#open.delete(execution);
    if (!query.cached) query.finalize();
  }

  #closeCursors(reason: string): void {
    const error = storageError('CURSOR_CLOSED', reason);
    for (const execution of this.#open) execution.close(error);
  }

  #execute(query: Query, bindings: readonly Binding[]): Execution {
    if (query.parameterCount !== bindings.length) {
      if (!query.cached) query.finalize();
      throw storageError(
        'SQL',
        `exec(): wrong number of parameter bindings: ${bindings.length} given, ` +
          `the statement has ${query.parameterCount}.`,
      );
    }
    const execution = this.#start(query, bindings);
    if (query.busy) this.#open.add(execution);
    return execution;
  }

  #start(query: Query, bindings: readonly Binding[]): Execution {
    if (this.#onQuery !== undefined) this.#tell(query, this.#onQuery);
    if (!this.#prepareWrite(query)) return new Execution(this, query, bindings);
    return inSavepoint(this, () => new Execution(this, query, bindings));
  }

  #tell(query: Query, told: (tables: QueryTables) => void): void {
    const tables = this.#tables.of(query);
    if (tables.writes === 'all') this.#tables.forget();
    told(tables);
  }

  /** Opens what a query that writes needs: a transaction, and (then true) a savepoint. */
  #prepareWrite(query: Query): boolean {
    if (!query.writes) return false;
    const connection = this.#connection;
    try {
      if (this.refusesWrites !== undefined) throw this.refusesWrites();
      if (!connection.transactionOpen) connection.events.beforeWrite();
      if (!query.writesLong || !connection.transactionOpen) return false;
      setSavepoint(this);
      return true;
    } catch (error) {
      if (!query.cached) query.finalize();
      throw error;
    }
  }

  /** Compiles the text; runs all statements but the last, which it returns. */
  #compile(text: string): Query {
    const statements = new QueryText(this.#connection, text, (name) => this.#describe(name));
    try {
      for (;;) {
        const { statement, isFirst, isLast } = statements.next();
        if (!isLast) {
          this.#runEarlier(statement);
          continue;
        }
        const query = new Query(this.#connection, text, statement);
        // A text of several statements must run them all again, so it is not kept.
        if (isFirst) this.#queries.add(query);
        return query;
      }
    } finally {
      statements.free();
    }
  }

  #runEarlier(statement: Pointer): void {
    const query = new Query(this.#connection, '', statement);
    if (query.parameterCount > 0) {
      query.finalize();
      throw storageError(
        'SQL',
        'exec(): of several statements in one call only the last can have parameters.',
      );
    }
    this.#start(query, []).close();
  }

  #describe(name: string): TableShape | undefined {
    const list = this.statement(TABLE_KIND);
    list.bindText(1, name);
    if (!list.step()) return undefined;
    const kind = list.columnText(0) === 'view' ? 'view' : 'table';
    const withoutRowid = list.columnNumber(1) !== 0;
    list.reset();

    const columns: string[] = [];
    const keyColumns: string[] = [];
    const info = this.statement(TABLE_COLUMNS);
    info.bindText(1, name);
    while (info.step()) {
      const column = info.columnText(0);
      columns.push(column);
      if (withoutRowid && info.columnNumber(1) > 0) keyColumns[info.columnNumber(1) - 1] = column;
    }
    return { kind, keyColumns, columns };
  }

  #pragma(sql: string): number {
    const statement = this.statement(sql);
    const value = statement.step() ? statement.columnNumber(0) : 0;
    statement.reset();
    return value;
  }
}
