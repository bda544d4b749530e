// One open database: runs trusted statements for this package, and user SQL for programs.
//
// The text of `exec` may hold several statements. Each but the last runs to its first row, and its rows
// are dropped; the effects of earlier ones stay when a later one fails. The last one gets the bindings
// and returns rows. The owner decides when a transaction begins.

import { convertString } from '../../../src/shared/contract/arguments.ts';
import { type Binding, convertBinding } from '../../../src/shared/contract/bindings.ts';
import type { BulkResult } from '../../../src/shared/contract/bulk.ts';
import { storageError } from '../../../src/shared/contract/errors.ts';
import type { Pointer, Sqlite } from '../vfs/sqlite-module.ts';
import { Changesets, type Refusal } from './changesets.ts';
import { Connection, type DatabaseEvents, type DatabaseOptions } from './connection.ts';
import { Cursor } from './cursor.ts';
import { Execution, type ExecutionOwner } from './execution.ts';
import type { TableShape } from './order-limit.ts';
import { Query, type Run } from './query.ts';
import { QueryCache } from './query-cache.ts';
import type { QueryPolicy, QueryWatcher } from './query-policy.ts';
import { QueryTablesIndex } from './query-tables.ts';
import { QueryText } from './query-text.ts';
import { RowWatch } from './row-watch.ts';
import { PreparedStatement } from './statement.ts';
import { type Savepoint, TransactionControl } from './transaction-control.ts';
import { inSavepoint } from './write-savepoint.ts';

export type { DatabaseEvents, DatabaseOptions } from './connection.ts';

const TABLE_KIND = "SELECT type, wr FROM pragma_table_list(?1) WHERE schema = 'main'";
const TABLE_COLUMNS = 'SELECT name, pk FROM pragma_table_xinfo(?1)';

const PAGE_BYTES = 4096;

/** A run whose counts are read as soon as it ends, so nothing has to be copied later. */
const UNCOUNTED: Run = { keepCounts() {} };

// From this many cursors with unread rows on, cursors are registered for garbage collection: some may be dropped ones.
const UNWATCHED_MAX = 16;

export class Database implements ExecutionOwner {
  /** Begins and ends the database's transaction. */
  readonly control: TransactionControl;
  readonly #connection: Connection;
  readonly #statements = new Map<string, PreparedStatement>();
  readonly #queries = new QueryCache();
  // Executions with unread rows, which a reset closes.
  readonly #open = new Set<Execution>();
  readonly #tables: QueryTablesIndex;
  readonly #rows: RowWatch;

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
    this.#rows = new RowWatch(sqlite, this.#connection.pointer);
    const statement = (sql: string) => this.statement(sql);
    this.#tables = new QueryTablesIndex(this.#connection, statement, this.#rows);
    try {
      this.control = new TransactionControl(this.#connection, (sql) => this.statement(sql));
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** A table of this package's own was created. */
  tableCreated(): void {
    this.#connection.events.tableCreated?.();
  }

  /** Queries have run without a watcher: one of them may have changed the schema. */
  forgetTables(): void {
    this.#tables.forget();
  }

  /** Called after a rollback, which may have changed the schema. */
  schemaChanged(): void {
    this.#tables.forget();
    this.#queries.schemaChanged();
  }

  /** SQLite's version number of the schema; each change of the schema increases it. */
  get schemaVersion(): number {
    const statement = this.statement('PRAGMA schema_version');
    try {
      return statement.step() ? Number(statement.columnInt64(0)) : 0;
    } finally {
      statement.reset();
    }
  }

  /** Returns the prepared statement of trusted text; it is compiled at its first use and kept. */
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
   * @throws INVALID_ARGUMENT, SQL, SQL_FORBIDDEN, SQL_TIMEOUT, SQL_MEMORY, SQL_TOO_LARGE, DISK_FULL, IO, CORRUPT
   */
  exec(
    query: unknown,
    bindings: readonly unknown[],
    policy?: QueryPolicy,
    watcher?: QueryWatcher,
  ): Cursor {
    const text = convertString('exec()', query);
    const converted: Binding[] = [];
    for (let i = 0; i < bindings.length; i++) converted.push(convertBinding(bindings[i]));
    const connection = this.#connection;
    connection.begin();
    try {
      const last = this.#queries.idle(text) ?? this.#compile(text, policy, watcher);
      const execution = this.#execute(last, converted, policy, watcher);
      return new Cursor(execution, { watched: this.#open.size > UNWATCHED_MAX });
    } finally {
      connection.end();
    }
  }

  /**
   * Runs user SQL once for each row of bindings and drops the rows that it returns; earlier statements of the text run
   * once. All rows together have the time of one statement. A transaction is open, and the caller undoes everything if
   * this throws.
   *
   * @throws as `exec`, with the number of the row
   */
  execEach(
    text: string,
    rows: Iterable<readonly Binding[]>,
    policy?: QueryPolicy,
    watcher?: QueryWatcher,
  ): BulkResult {
    const connection = this.#connection;
    return connection.call(() => {
      const query = this.#queries.idle(text) ?? this.#compile(text, policy, watcher);
      let [count, rowsRead, rowsWritten] = [0, 0, 0];
      query.busy = true;
      try {
        if (query.writes) connection.events.mustHaveAsked?.();
        if (watcher !== undefined) this.#tell(query, [], policy, watcher);
        this.#runWatched(query, watcher, () => {
          for (const bindings of rows) {
            mustFit(query, bindings);
            for (let hasRow = query.start(bindings, UNCOUNTED); hasRow; hasRow = query.step());
            rowsRead += query.counter.read();
            rowsWritten += query.counter.written();
            count += 1;
          }
        });
      } catch (error) {
        throw ofRow(count, error);
      } finally {
        query.busy = false;
        if (!query.cached) query.finalize();
      }
      return { count, rowsRead, rowsWritten };
    });
  }

  /** Compiles the first statement of user SQL and drops it. @throws errors of `exec` for it */
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

  /** Returns the name of the collation by which a column compares texts. */
  collationOf(schema: string, table: string, column: string): string {
    return this.#connection.collationOf(schema, table, column);
  }

  /** Attaches a file for trusted statements; it stays attached until the database is closed. */
  attach(filename: string, schema: string): void {
    this.#connection.attach(filename, schema);
  }

  /** Lifts the limits on texts for good. Only trusted statements may be compiled afterwards. */
  trustOnly(): void {
    this.#connection.liftTextLimits();
  }

  /** Runs the action without limits on texts. It must compile only trusted statements. */
  trusted<T>(action: () => T): T {
    this.#connection.liftTextLimits();
    try {
      return action();
    } finally {
      this.#connection.setLimits();
    }
  }

  /** Runs one trusted statement that is not kept. */
  runOnce(sql: string): void {
    const statement = new PreparedStatement(this.#connection, sql);
    try {
      while (statement.step());
    } finally {
      statement.finalize();
    }
  }

  /** Applies a changeset completely, or returns the constraint that refused it and changes nothing. */
  applyChangeset(changeset: Uint8Array): Refusal | null {
    return Changesets.of(this.#connection.sqlite).apply(this.#connection, changeset);
  }

  /** Runs the action while triggers are off. */
  withoutTriggers(action: () => void): void {
    this.#connection.without('triggers', action);
  }

  /** Runs the action; while it runs, foreign keys are not enforced if `isAsked`. */
  withoutForeignKeys(isAsked: boolean, action: () => void): void {
    if (isAsked) this.#connection.without('foreignKeys', action);
    else action();
  }

  /** Finds a table with a row whose foreign key refers to no row; returns null if there is none. */
  tableOfBrokenKey(): string | null {
    const check = this.statement('SELECT "table" FROM pragma_foreign_key_check LIMIT 1');
    const table = check.step() ? check.columnText(0) : null;
    check.reset();
    return table;
  }

  /** True while a transaction is open. */
  get inTransaction(): boolean {
    return this.#connection.transactionOpen;
  }

  /** Size of the pages in use, in bytes; a new database counts its first page. */
  get sizeBytes(): number {
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

  /** Returns the first faults of the pages in SQLite's words, one per line; undefined if there are none. */
  damage(most = 1): string | undefined {
    return this.#fault(`PRAGMA integrity_check(${most})`);
  }

  /**
   * Like `damage`, for the pages in use and the free ones together. If the first table in SQLite's order is a view or a
   * virtual table, which has no root page, `integrity_check` takes itself for a check of a few tables, and leaves out
   * the free pages. No transaction may be open.
   */
  damageOfAllPages(most = 1): string | undefined {
    return this.#connection.withoutRootless(() => this.#fault(`PRAGMA quick_check(${most})`));
  }

  #fault(pragma: string): string | undefined {
    return this.#connection.withoutInstructionLimit(() => {
      const check = this.statement(pragma);
      const found: string[] = [];
      while (check.step()) found.push(check.columnText(0));
      return found[0] === 'ok' ? undefined : found.join('\n');
    });
  }

  /** Sets a time by which all further calls must end; with undefined, each call has its own limit again. */
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
      // Lift the common deadline, so that cursors can be closed after it.
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

  #execute(
    query: Query,
    bindings: readonly Binding[],
    policy: QueryPolicy | undefined,
    watcher: QueryWatcher | undefined,
  ): Execution {
    try {
      mustFit(query, bindings);
    } catch (error) {
      if (!query.cached) query.finalize();
      throw error;
    }
    const execution = this.#start(query, bindings, policy, watcher);
    if (query.busy) this.#open.add(execution);
    return execution;
  }

  #start(
    query: Query,
    bindings: readonly Binding[],
    policy: QueryPolicy | undefined,
    watcher: QueryWatcher | undefined,
  ): Execution {
    const savepoint = this.#prepare(query, bindings, policy, watcher);
    const execute = () =>
      this.#runWatched(query, watcher, () => new Execution(this, query, bindings));
    const execution =
      savepoint === undefined ? execute() : inSavepoint(this.control, savepoint, execute);
    if (query.changesSchema) this.#queries.schemaChanged();
    return execution;
  }

  #tell(
    query: Query,
    bindings: readonly Binding[],
    policy: QueryPolicy | undefined,
    watcher: QueryWatcher,
  ): void {
    const access = this.#tables.access(query, bindings);
    if (access.writes === 'all') this.#tables.forget();
    watcher.onQuery(access, policy?.reads);
  }

  /** Runs a query, and reports to the watcher the rows that it changes. */
  #runWatched<T>(query: Query, watcher: QueryWatcher | undefined, run: () => T): T {
    if (watcher === undefined || !query.writes || !this.#rows.isActive) return run();
    return this.#rows.during(watcher.onRow, run);
  }

  /**
   * Lets the owner open the transaction that a writing query needs, then reports the tables that the query touches as
   * part of that transaction. Opens a savepoint if the query needs one.
   */
  #prepare(
    query: Query,
    bindings: readonly Binding[],
    policy: QueryPolicy | undefined,
    watcher: QueryWatcher | undefined,
  ): Savepoint | undefined {
    const connection = this.#connection;
    try {
      if (query.writes) {
        if (policy?.refusal) throw policy.refusal();
        connection.events.beforeWrite();
      }
      if (watcher !== undefined) this.#tell(query, bindings, policy, watcher);
      if (!query.writes) return undefined;
      connection.events.mustHaveAsked?.();
      if (!query.writesLong || !connection.transactionOpen) return undefined;
      return this.control.save();
    } catch (error) {
      if (!query.cached) query.finalize();
      throw error;
    }
  }

  /** Compiles the text; runs all statements but the last, which it returns. */
  #compile(
    text: string,
    policy: QueryPolicy | undefined,
    watcher: QueryWatcher | undefined,
  ): Query {
    const statements = new QueryText(this.#connection, text, (name) => this.#describe(name));
    try {
      for (;;) {
        const { statement, isFirst, isLast } = statements.next();
        if (!isLast) {
          this.#runEarlier(statement, policy, watcher);
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

  #runEarlier(
    statement: Pointer,
    policy: QueryPolicy | undefined,
    watcher: QueryWatcher | undefined,
  ): void {
    const query = new Query(this.#connection, '', statement);
    if (query.parameterCount > 0) {
      query.finalize();
      throw storageError(
        'SQL',
        'exec(): of several statements in one call only the last can have parameters.',
      );
    }
    this.#start(query, [], policy, watcher).close();
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

function mustFit({ parameterCount }: Query, bindings: readonly Binding[]): void {
  if (parameterCount === bindings.length) return;
  throw storageError(
    'SQL',
    `exec(): wrong number of parameter bindings: ${bindings.length} given, ` +
      `the statement has ${parameterCount}.`,
  );
}

function ofRow(index: number, error: unknown): unknown {
  if (error instanceof Error) error.message = `execMany: row ${index}: ${error.message}`;
  return error;
}

const EXISTS = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?";

/**
 * A table of this package's own, created by its first write, as on workerd. Whether it exists is asked once and
 * remembered. A rollback may remove it again, so the owner calls `forget` after one.
 */
export class HiddenTable {
  readonly #database: Database;
  readonly #name: string;
  readonly #columns: string;
  #isKnown: boolean | undefined;

  /** `columns` is the text after the name in CREATE TABLE. */
  constructor(database: Database, name: string, columns: string) {
    this.#database = database;
    this.#name = name;
    this.#columns = columns;
  }

  get exists(): boolean {
    if (this.#isKnown !== undefined) return this.#isKnown;
    const statement = this.#database.statement(EXISTS);
    statement.bindText(1, this.#name);
    const exists = statement.step();
    statement.reset();
    this.#isKnown = exists;
    return exists;
  }

  /** Creates the table unless it exists. The caller has opened a transaction. */
  create(): void {
    if (this.exists) return;
    this.#database.run(`CREATE TABLE ${this.#name} ${this.#columns}`);
    this.#isKnown = true;
    this.#database.tableCreated();
  }

  /** Called after a rollback or a reset, which may have removed the table. */
  forget(): void {
    this.#isKnown = undefined;
  }
}
