// One compiled statement of user SQL, with its parameters, column names and row counter.
//
// Invariant: at most one execution uses it at a time. It stays compiled between executions, so that the
// same text need not be compiled again; SQLite itself compiles it again after a change of the schema.

import type { Binding } from '../../../src/shared/contract/bindings.ts';
import type { Pointer } from '../vfs/sqlite-module.ts';
import type { Connection } from './connection.ts';
import { programOf } from './program.ts';
import { RowCounter } from './row-counter.ts';
import { DONE, OK, ROW } from './sql-error.ts';
import { bindValue } from './statement.ts';
import { changesSchema, hasLoop } from './write-savepoint.ts';

/** A run of the query. It is notified before the query is used for another run. */
export interface Run {
  /** Copies the current counts of the query's counter. */
  keepCounts(): void;
}

export class Query {
  readonly text: string;
  readonly pointer: Pointer;
  readonly connection: Connection;
  readonly counter: RowCounter;
  readonly parameterCount: number;
  readonly instructionCount: number;
  /** True if the query may change the database. */
  readonly writes: boolean;
  /** True if the query writes and may run for long, so that it needs a savepoint of its own. */
  writesLong: boolean;
  /** True if the query changes the schema, after which SQLite recompiles other statements. */
  readonly changesSchema: boolean;
  /** True for EXPLAIN: its rows describe a program. */
  readonly explains: boolean;
  /** The names of the columns; executions share this array and must not change it. */
  columnNames: readonly string[];
  /** True while an execution uses it. */
  busy = false;
  /** True while the cache keeps it for the next execution of its text. */
  cached = false;
  /** Sequence number of the last use, counted over all queries. */
  lastUse = 0;
  #lastRun: Run | undefined;
  #isStale = false;

  constructor(connection: Connection, text: string, pointer: Pointer) {
    const { exports } = connection.sqlite;
    this.connection = connection;
    this.text = text;
    this.pointer = pointer;
    this.parameterCount = exports.sqlite3_bind_parameter_count(pointer);
    this.instructionCount = programOf(connection.sqlite, pointer).instructionCount;
    this.writes = exports.sqlite3_stmt_readonly(pointer) === 0;
    this.explains = exports.sqlite3_stmt_isexplain(pointer) !== 0;
    this.writesLong = this.writes && hasLoop(connection.sqlite, pointer);
    this.changesSchema = this.writes && changesSchema(connection.sqlite, pointer);
    this.columnNames = this.#readColumnNames();
    this.counter = new RowCounter(connection.sqlite, connection.pointer, pointer, this.writes);
  }

  /** Called after a change of the schema: the next step may run a recompiled program, which may run for long. */
  schemaChanged(): void {
    this.#isStale = true;
    this.writesLong = this.writes;
  }

  /** Binds all parameters and makes the first step; returns true if there is a row. */
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
      // SQLite recompiles a statement in its first step, and that step may fail too.
      const isRecompiled = counter.recompiled();
      if (isRecompiled) this.columnNames = this.#readColumnNames();
      if (isRecompiled || this.#isStale) {
        this.#isStale = false;
        this.writesLong = this.writes && hasLoop(connection.sqlite, this.pointer);
      }
    }
  }

  /** Makes a step; returns true if there is a row. At the end, and after an error, the query is reset. */
  step(): boolean {
    const { connection } = this;
    const { exports, counted } = connection.sqlite;
    const { guard, regulator } = connection;
    counted.count(this.pointer);
    let resultCode: number;
    regulator.regulating = true;
    try {
      resultCode = this.writesLong
        ? guard.stepHaltable(this.pointer)
        : exports.sqlite3_step(this.pointer);
    } finally {
      regulator.regulating = false;
    }
    if (resultCode === ROW) return true;
    if (resultCode === DONE) {
      this.counter.ended();
      exports.sqlite3_reset(this.pointer);
      return false;
    }
    throw this.#failure(resultCode);
  }

  /** Drops the remaining rows. */
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
