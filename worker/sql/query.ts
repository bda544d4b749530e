// One compiled statement of user SQL: its parameters, its column names, its counter.
//
// Keeps true: at most one execution uses it at a time. It stays compiled between executions, so the
// same text need not be compiled again; SQLite itself compiles it anew when the schema changed.

import type { Binding } from '../../src/contract/bindings.ts';
import type { Pointer } from '../vfs/sqlite-module.ts';
import type { Connection } from './connection.ts';
import { RowCounter } from './row-counter.ts';
import { DONE, OK, ROW } from './sql-error.ts';
import { bindValue } from './values.ts';
import { hasLoop } from './write-savepoint.ts';

/** Whoever runs a query: hears when the query is needed for another run. */
export interface Run {
  /** Keeps what the query's counter says now. */
  keepCounts(): void;
}

export class Query {
  readonly text: string;
  readonly pointer: Pointer;
  readonly connection: Connection;
  readonly counter: RowCounter;
  readonly parameterCount: number;
  /** True when it may change the database. */
  readonly writes: boolean;
  /** True when it writes and may run for long: it needs a savepoint of its own. */
  writesLong: boolean;
  /** True when its rows are about a program, not of it: EXPLAIN. */
  readonly explains: boolean;
  /** Not to be changed: executions share it. */
  columnNames: readonly string[];
  /** True while an execution uses it. */
  busy = false;
  /** True while it is to be kept for the next execution of its text. */
  cached = false;
  /** Counts up with the uses of all queries, so that the least recently used one is known. */
  lastUse = 0;
  #lastRun: Run | undefined;

  constructor(connection: Connection, text: string, pointer: Pointer) {
    const { exports } = connection.sqlite;
    this.connection = connection;
    this.text = text;
    this.pointer = pointer;
    this.parameterCount = exports.sqlite3_bind_parameter_count(pointer);
    this.writes = exports.sqlite3_stmt_readonly(pointer) === 0;
    this.explains = exports.sqlite3_stmt_isexplain(pointer) !== 0;
    this.writesLong = this.writes && hasLoop(connection.sqlite, pointer);
    this.columnNames = this.#readColumnNames();
    this.counter = new RowCounter(connection.sqlite, connection.pointer, pointer, this.writes);
  }

  /** Binds all parameters and makes the first step; true when there is a row. */
  start(bindings: readonly Binding[], run: Run): boolean {
    const { connection, counter } = this;
    this.#lastRun?.keepCounts();
    this.#lastRun = run;
    for (let i = 0; i < bindings.length; i++) {
      const resultCode = bindValue(connection.sqlite, this.pointer, i + 1, bindings[i]!);
      if (resultCode !== OK) throw this.#failure(resultCode);
    }
    counter.begin();
    try {
      return this.step();
    } finally {
      // SQLite compiles a statement anew in its first step, and that step may fail too.
      if (counter.recompiled()) {
        this.columnNames = this.#readColumnNames();
        this.writesLong = this.writes && hasLoop(connection.sqlite, this.pointer);
      }
    }
  }

  /** True when there is a row; false at the end. Afterwards, and after an error, it is reset. */
  step(): boolean {
    const { connection } = this;
    const { exports } = connection.sqlite;
    const { guard, regulator } = connection;
    regulator.regulating = true;
    exports.vdbe_counted.value = this.pointer;
    const resultCode = this.writesLong
      ? guard.stepHaltable(this.pointer)
      : exports.sqlite3_step(this.pointer);
    exports.vdbe_counted.value = 0;
    regulator.regulating = false;
    if (resultCode === ROW) return true;
    if (resultCode === DONE) {
      this.counter.ended();
      exports.sqlite3_reset(this.pointer);
      return false;
    }
    throw this.#failure(resultCode);
  }

  /** Gives up the rows that are left. */
  reset(): void {
    this.connection.sqlite.exports.sqlite3_reset(this.pointer);
  }

  finalize(): void {
    const { exports } = this.connection.sqlite;
    this.#lastRun?.keepCounts();
    this.#lastRun = undefined;
    this.counter.release();
    exports.sqlite3_finalize(this.pointer);
  }

  #failure(resultCode: number): Error {
    const error = this.connection.failure(resultCode);
    this.reset();
    return error;
  }

  #readColumnNames(): string[] {
    const { exports, memory } = this.connection.sqlite;
    const count = exports.sqlite3_column_count(this.pointer);
    return Array.from({ length: count }, (_, column) =>
      memory.readCString(exports.sqlite3_column_name(this.pointer, column)),
    );
  }
}
