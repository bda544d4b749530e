// One open database: trusted statements for this package, user SQL for programs.
//
// The text of `exec` may hold several statements. Each but the last is run to its first row, its
// rows dropped; what ran stays when a later one fails. The last one gets the bindings and its rows.
//
// Knows nothing of key-value tables, alarms or when a transaction begins.

import { convertString } from '../../src/contract/arguments.ts';
import { type Binding, convertBinding } from '../../src/contract/bindings.ts';
import { storageError } from '../../src/contract/errors.ts';
import type { Pointer, Sqlite } from '../vfs/sqlite-module.ts';
import {
  Connection,
  type DatabaseEvents,
  type DatabaseOptions,
  type Prepared,
} from './connection.ts';
import { Cursor } from './cursor.ts';
import { Execution, type ExecutionOwner } from './execution.ts';
import { Query } from './query.ts';
import { QueryCache } from './query-cache.ts';
import { Statement } from './statement.ts';

export type { DatabaseEvents, DatabaseOptions } from './connection.ts';

/** Longest text of one `exec`, in bytes of UTF-8 (workerd). */
const SQL_BYTES_MAX = 100_000;

const PAGE_BYTES = 4096;

export class Database implements ExecutionOwner {
  readonly #connection: Connection;
  readonly #statements = new Map<string, Statement>();
  readonly #queries = new QueryCache();
  // Executions that have rows left, so that a reset can close them.
  readonly #open = new Set<Execution>();

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
  }

  /** The prepared statement of trusted text, compiled on its first use and kept. */
  statement(sql: string): Statement {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = new Statement(this.#connection, sql);
    this.#statements.set(sql, statement);
    return statement;
  }

  /** Runs trusted text without rows. */
  run(sql: string): void {
    this.#connection.run(sql);
  }

  /**
   * Runs user SQL: any value as text and bindings, converted here.
   *
   * @throws INVALID_ARGUMENT, SQL, SQL_FORBIDDEN, DISK_FULL, IO, CORRUPT
   */
  exec(query: unknown, bindings: readonly unknown[]): Cursor {
    const text = convertString('exec()', query);
    const converted: Binding[] = [];
    for (let i = 0; i < bindings.length; i++) converted.push(convertBinding(bindings[i]));
    const last = this.#queries.idle(text) ?? this.#compile(text);
    return new Cursor(this.#execute(last, converted));
  }

  /** True while a transaction is open. */
  get inTransaction(): boolean {
    return this.#connection.transactionOpen;
  }

  /** Pages in use, in bytes; a fresh database counts its first page. */
  get sizeBytes(): number {
    const pages = this.#pragma('PRAGMA page_count') - this.#pragma('PRAGMA freelist_count');
    return Math.max(1, pages) * PAGE_BYTES;
  }

  /**
   * Removes everything in one transaction; the database is usable again at once. No transaction may
   * be open. Cursors with rows left are closed and throw CURSOR_CLOSED.
   */
  reset(): void {
    const error = storageError(
      'CURSOR_CLOSED',
      'The cursor was closed because deleteAll() removed the database under it.',
    );
    for (const execution of this.#open) execution.close(error);
    this.#connection.reset();
  }

  /** Closes the cursors and the database. */
  close(): void {
    const error = storageError('CURSOR_CLOSED', 'The cursor was closed with its database.');
    for (const execution of this.#open) execution.close(error);
    this.#queries.clear();
    for (const statement of this.#statements.values()) statement.finalize();
    this.#statements.clear();
    this.#connection.close();
  }

  ended(execution: Execution, query: Query): void {
    this.#open.delete(execution);
    if (!query.cached) query.finalize();
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
    const execution = new Execution(this, query, bindings);
    if (query.busy) this.#open.add(execution);
    return execution;
  }

  /** Compiles the text, running all statements but the last, which is returned. */
  #compile(text: string): Query {
    const { memory } = this.#connection.sqlite;
    const sizeBytes = memory.writeScratch(text);
    if (sizeBytes > SQL_BYTES_MAX) {
      throw storageError(
        'SQL',
        `exec(): the text is ${sizeBytes} bytes, at most ${SQL_BYTES_MAX}: SQLITE_TOOBIG`,
      );
    }
    // Kept apart from scratch memory, which the statements that run meanwhile use.
    const start = memory.allocate(sizeBytes + 1);
    const scratch = memory.scratch(0);
    memory.u8.copyWithin(start, scratch, scratch + sizeBytes + 1);
    try {
      const end = start + sizeBytes;
      for (let at = start; ; ) {
        const { statement, tail } = this.#prepare(at, end - at);
        if (statement === 0) {
          throw storageError('SQL', 'exec(): SQL code did not contain a statement.');
        }
        const next = this.#skipWhitespace(tail, end);
        if (next === end) {
          const query = new Query(this.#connection, text, statement);
          // A text of several statements must run them all again, so it is not kept.
          if (at === start) this.#queries.add(query);
          return query;
        }
        this.#runEarlier(statement);
        at = next;
      }
    } finally {
      memory.free(start);
    }
  }

  #prepare(at: Pointer, sizeBytes: number): Prepared {
    const { regulator, sqlite } = this.#connection;
    regulator.begin();
    try {
      const prepared = this.#connection.prepare(at, sizeBytes);
      const refusal = regulator.refusalOf(() => sqlite.memory.readText(at, prepared.tail - at));
      if (refusal === undefined) return prepared;
      sqlite.exports.sqlite3_finalize(prepared.statement);
      throw refusal;
    } finally {
      regulator.regulating = false;
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
    new Execution(this, query, []).close();
  }

  #skipWhitespace(from: Pointer, end: Pointer): Pointer {
    const { u8 } = this.#connection.sqlite.memory;
    let at = from;
    // Space, \t, \n, \v, \f, \r.
    while (at < end && (u8[at] === 0x20 || (u8[at]! >= 0x09 && u8[at]! <= 0x0d))) at += 1;
    return at;
  }

  #pragma(sql: string): number {
    const statement = this.statement(sql);
    const value = statement.step() ? statement.columnNumber(0) : 0;
    statement.reset();
    return value;
  }
}
