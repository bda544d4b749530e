// One connection of SQLite: opens and configures it, compiles statements, and turns failed calls into errors.
//
// Invariants: `transactionOpen` is SQLite's own state. User SQL cannot open or end a transaction, so it
// changes only with trusted statements that do, and with an error that rolled back. Nothing that may
// close the connection runs while one of its calls is on the stack, because that call still needs its
// statement.

import { type StorageError, storageError } from '../../../src/shared/contract/errors.ts';
import { isDefect } from '../../../src/shared/contract/invariant.ts';
import { LOG_PRAGMAS } from '../vfs/log-vfs.ts';
import type { Pointer, Sqlite } from '../vfs/sqlite-module.ts';
import { INSTRUCTION } from '../vfs/vdbe-layout.ts';
import { Guard, type Guarded } from './guard.ts';
import { completeLimits, type Limits } from './query-limits.ts';
import { Regulator } from './regulator.ts';
import {
  cancelError,
  memoryError,
  NO_MEMORY,
  OK,
  PROGRAM_INSTRUCTIONS_MAX,
  programError,
  sqlError,
  timeError,
} from './sql-error.ts';

/** The notifications of a database to its owner. */
export interface DatabaseEvents {
  /**
   * Called before a query that writes. If no transaction is open, the owner opens one by `run('BEGIN …')`, unless it
   * wants the statement to commit by itself. If one is open, the owner may end it first.
   */
  beforeWrite(): void;
  /**
   * Called before any statement that writes, trusted or not; asserts that `beforeWrite` was called.
   *
   * @throws INTERNAL
   */
  mustHaveAsked?(): void;
  /** A hidden table was created: a query that lists the tables has another result now. */
  tableCreated?(): void;
  /**
   * Called after SQLite rolled back the open transaction by itself: a full disk, a failed read, no memory. No call of
   * the connection is on the stack then, so the owner may close it at once.
   */
  onCritical(error: StorageError): void;
  /** Called from time to time while a statement runs; returns true if its caller has cancelled it. */
  isCancelled?(): boolean;
}

export interface DatabaseOptions {
  /** Returns the error of the database file that made SQLite fail, if there was one. */
  readonly lastVfsError?: () => StorageError | undefined;
  /** @default those of query-limits */
  readonly limits?: Limits;
}

const OPEN_READ_WRITE_CREATE = 0x2 | 0x4;
// Tells SQLite that the statement is kept for long, so that it does not use its small, fast allocator for it.
const PREPARE_PERSISTENT = 0x1;

// https://sqlite.org/c3ref/c_dbconfig_defensive.html
const DBCONFIG = {
  foreignKeys: 1002,
  triggers: 1003,
  resetDatabase: 1009,
  defensive: 1010,
  doubleQuotedInQueries: 1013,
  doubleQuotedInSchema: 1014,
  trustedSchema: 1017,
} as const;

// https://sqlite.org/c3ref/c_limit_attached.html. The numbers are workerd's; the length is
// that of its builds on this version of SQLite (older ones have 2,200,000).
const LIMITS: readonly (readonly [limit: number, value: number])[] = [
  [0, 8 * 1024 * 1024 + 34], // LENGTH
  [1, 400_000], // SQL_LENGTH: Database checks the program's text, rewriting may lengthen it
  [2, 100], // COLUMN
  [3, 100], // EXPR_DEPTH
  [4, 5], // COMPOUND_SELECT
  [5, PROGRAM_INSTRUCTIONS_MAX], // VDBE_OP
  [6, 127], // FUNCTION_ARG
  [7, 0], // ATTACHED
  [8, 50], // LIKE_PATTERN_LENGTH
  [9, 100], // VARIABLE_NUMBER
  [10, 10], // TRIGGER_DEPTH
];

/** SQLite's default limits on the text of a statement. */
const TEXT_LIMITS: typeof LIMITS = [
  [1, 8_000_000], // SQL_LENGTH
  [6, 1000], // FUNCTION_ARG
  [2, 2000], // COLUMN
  [3, 1000], // EXPR_DEPTH
  [4, 500], // COMPOUND_SELECT
  [9, 32_766], // VARIABLE_NUMBER
];

// The log's settings, and a cache of 16 MiB for each connection. If all connections together have more than 64 MiB, a
// page that is read replaces another page in its connection's cache, where possible.
const PRAGMAS = [
  ...LOG_PRAGMAS,
  'PRAGMA cache_size=-16384',
  'PRAGMA soft_heap_limit=67108864',
].join(';');

// Settings that user SQL may change, with their values when an object starts.
const INITIAL_SETTINGS =
  'PRAGMA case_sensitive_like=OFF; PRAGMA foreign_keys=ON; PRAGMA defer_foreign_keys=OFF;' +
  'PRAGMA ignore_check_constraints=OFF; PRAGMA legacy_alter_table=OFF;' +
  'PRAGMA recursive_triggers=OFF; PRAGMA reverse_unordered_selects=OFF;';

const LIMIT_ATTACHED = 7;
const LIMIT_INSTRUCTIONS = 5;
/** The counter of the largest request for memory: https://sqlite.org/c3ref/c_status_malloc_count.html. */
const STATUS_LARGEST_REQUEST = 5;
const RESETS = 1;
const PROGRAM_BYTES_MAX = PROGRAM_INSTRUCTIONS_MAX * INSTRUCTION.sizeBytes;
/** SQLite's default limit on the instructions of a statement. */
const INSTRUCTIONS_MAX = 250_000_000;

/** A compiled statement, and the position in the text after it. */
export interface Prepared {
  /** 0 when the text has no statement. */
  readonly statement: Pointer;
  readonly tail: Pointer;
}

export class Connection implements Guarded {
  readonly sqlite: Sqlite;
  readonly pointer: Pointer;
  readonly regulator: Regulator;
  readonly guard: Guard;
  readonly events: DatabaseEvents;
  readonly limits: Limits;
  heldBytes = 0;
  endMs: number | undefined;
  readonly #lastVfsError: () => StorageError | undefined;
  #transactionOpen = false;
  /** Number of calls of this connection on the stack, and tasks that run after the outermost one. */
  #depth = 0;
  #waiting: (() => void)[] = [];
  #isClosed = false;

  /** Opens and configures the connection. @throws CORRUPT, IO, DISK_FULL when the file cannot be opened. */
  constructor(
    sqlite: Sqlite,
    filename: string,
    vfsName: string | undefined,
    events: DatabaseEvents,
    options: DatabaseOptions,
  ) {
    this.sqlite = sqlite;
    this.events = events;
    this.regulator = Regulator.of(sqlite);
    this.guard = Guard.of(sqlite);
    this.limits = options.limits ?? completeLimits();
    this.#lastVfsError = options.lastVfsError ?? (() => undefined);
    this.enter();
    this.pointer = this.#open(filename, vfsName);
    try {
      this.#configure();
      this.regulator.attach(this.pointer);
      this.guard.attach(this.pointer);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** True between BEGIN and COMMIT or ROLLBACK. */
  get transactionOpen(): boolean {
    return this.#transactionOpen;
  }

  isCancelled(): boolean {
    return this.events.isCancelled?.() ?? false;
  }

  /** Announces a call of SQLite that runs without limits. */
  enter(): void {
    this.guard.enter(this);
  }

  /** Begins a call, which may enter SQLite more than once; `end` must follow. */
  begin(): void {
    if (this.#depth === 0) {
      this.guard.begin(this);
      // Forget an earlier refusal, which does not explain this call: SQLite skips a view that it cannot list.
      this.regulator.refused = undefined;
    }
    this.#depth += 1;
  }

  /** Ends the call; after the outermost one, runs the tasks that wait for it. */
  end(): void {
    this.#depth -= 1;
    if (this.#depth > 0) return;
    this.guard.end();
    if (this.#waiting.length === 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const task of waiting) task();
  }

  /** Runs the action as a call. */
  call<T>(action: () => T): T {
    this.begin();
    try {
      return action();
    } finally {
      this.end();
    }
  }

  /** Runs the task when no call of this connection is on the stack: at once, or after the outermost call. */
  whenIdle(task: () => void): void {
    if (this.#depth === 0) task();
    else this.#waiting.push(task);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Runs trusted text that returns no rows. It has no limits, because it is the storage's own work. */
  run(sql: string): void {
    const { exports, memory } = this.sqlite;
    this.call(() => {
      memory.writeScratch(sql);
      const resultCode = this.guard.unbounded(() =>
        exports.sqlite3_exec(this.pointer, memory.scratch(0), 0, 0, 0),
      );
      if (resultCode !== OK) throw this.failure(resultCode);
      this.readTransactionState();
    });
  }

  /** Reads the state again, after a trusted statement that may have changed it. */
  readTransactionState(): void {
    this.#transactionOpen = this.sqlite.exports.sqlite3_get_autocommit(this.pointer) === 0;
  }

  /**
   * Compiles the first statement at `sql`, a text of `sizeBytes` bytes and a NUL.
   *
   * @throws CURSOR_CLOSED when the connection is closed
   */
  prepare(sql: Pointer, sizeBytes: number): Prepared {
    if (this.#isClosed) throw databaseClosed();
    this.enter();
    this.regulator.refused = undefined;
    const { exports, memory } = this.sqlite;
    const result = memory.allocate(8);
    try {
      exports.sqlite3_status(STATUS_LARGEST_REQUEST, result, result + 4, RESETS);
      const resultCode = exports.sqlite3_prepare_v3(
        this.pointer,
        sql,
        sizeBytes + 1,
        PREPARE_PERSISTENT,
        result,
        result + 4,
      );
      if (resultCode === NO_MEMORY && this.#reachedProgramLimit(result)) throw programError();
      if (resultCode !== OK) throw this.failure(resultCode);
      const i32 = memory.i32;
      return { statement: i32[result >> 2]!, tail: i32[(result + 4) >> 2]! };
    } finally {
      memory.free(result);
    }
  }

  /** Makes the error of a call that returned `resultCode`; reports a lost transaction, or a defect, to the owner. */
  failure(resultCode: number): StorageError {
    const reported = this.#describe(resultCode);
    const wasOpen = this.#transactionOpen;
    this.readTransactionState();
    if ((wasOpen && !this.#transactionOpen) || isDefect(reported)) {
      this.whenIdle(() => this.events.onCritical(reported));
    }
    return reported;
  }

  /** Empties the database in one transaction, its settings included. No statement may be running. */
  reset(): void {
    const { exports } = this.sqlite;
    this.#setOption(DBCONFIG.resetDatabase, true);
    // VACUUM attaches a database of its own.
    exports.sqlite3_limit(this.pointer, LIMIT_ATTACHED, 1);
    try {
      this.run('VACUUM');
    } finally {
      exports.sqlite3_limit(this.pointer, LIMIT_ATTACHED, 0);
      this.#setOption(DBCONFIG.resetDatabase, false);
    }
    this.run(INITIAL_SETTINGS);
  }

  /** Attaches another database of the same file system. */
  attach(filename: string, schema: string): void {
    const { exports } = this.sqlite;
    exports.sqlite3_limit(this.pointer, LIMIT_ATTACHED, 1);
    try {
      this.run(`ATTACH '${filename}' AS ${schema}`);
    } finally {
      exports.sqlite3_limit(this.pointer, LIMIT_ATTACHED, 0);
    }
  }

  /** Returns the name of a column's collation, which no pragma returns. */
  collationOf(schema: string, table: string, column: string): string {
    const { exports, memory } = this.sqlite;
    const names = [schema, table, column];
    const sizes = names.map((name) => 3 * name.length + 1);
    const result = memory.allocate(4 + sizes.reduce((sum, size) => sum + size, 0));
    try {
      let end = result + 4;
      const [at, of, by] = names.map((name, i) => {
        const start = end;
        memory.write(name, start);
        end += sizes[i]!;
        return start;
      }) as [Pointer, Pointer, Pointer];
      const resultCode = this.call(() =>
        exports.sqlite3_table_column_metadata(this.pointer, at, of, by, 0, result, 0, 0, 0),
      );
      if (resultCode !== OK) throw this.failure(resultCode);
      return memory.readCString(memory.i32[result >> 2]!);
    } finally {
      memory.free(result);
    }
  }

  /** Runs the action while the setting is off. */
  without(setting: 'triggers' | 'foreignKeys', action: () => void): void {
    const { exports, memory } = this.sqlite;
    const result = memory.allocate(4);
    exports.sqlite3__wasm_db_config_ip(this.pointer, DBCONFIG[setting], -1, result);
    const wasOn = memory.i32[result >> 2] !== 0;
    memory.free(result);
    this.#setOption(DBCONFIG[setting], false);
    try {
      action();
    } finally {
      this.#setOption(DBCONFIG[setting], wasOn);
    }
  }

  /** Lifts the limits on a statement's text, because a statement with every column of a table may exceed them. */
  liftTextLimits(): void {
    for (const [limit, value] of TEXT_LIMITS) {
      this.sqlite.exports.sqlite3_limit(this.pointer, limit, value);
    }
  }

  /** Sets the limits on a statement's text again. */
  setLimits(): void {
    for (const [limit, value] of LIMITS)
      this.sqlite.exports.sqlite3_limit(this.pointer, limit, value);
  }

  /** Lifts the limit on a statement's instructions while the action runs. */
  withoutInstructionLimit<T>(action: () => T): T {
    const { exports } = this.sqlite;
    const before = exports.sqlite3_limit(this.pointer, LIMIT_INSTRUCTIONS, INSTRUCTIONS_MAX);
    try {
      return action();
    } finally {
      exports.sqlite3_limit(this.pointer, LIMIT_INSTRUCTIONS, before);
    }
  }

  /**
   * Runs the action while the schema lacks its views, virtual tables and triggers; they are restored afterwards. No
   * transaction may be open.
   */
  withoutRootless<T>(action: () => T): T {
    this.#setOption(DBCONFIG.defensive, false);
    try {
      this.run(
        'PRAGMA writable_schema=ON; BEGIN; DELETE FROM sqlite_schema WHERE coalesce(rootpage, 0) = 0;' +
          'PRAGMA writable_schema=RESET',
      );
      return action();
    } finally {
      if (this.transactionOpen) this.run('ROLLBACK');
      this.run('PRAGMA writable_schema=RESET');
      this.#setOption(DBCONFIG.defensive, true);
    }
  }

  /** Closes the connection. All statements must be finalized, and no call may be on the stack. */
  close(): void {
    this.#isClosed = true;
    this.#transactionOpen = false;
    this.enter();
    this.sqlite.exports.sqlite3_close_v2(this.pointer);
    this.guard.enter(undefined);
  }

  // SQLite reports missing memory when a program would exceed its limit on instructions. The size of the refused
  // request tells: SQLite doubles the program's memory, and requests no other memory of that size while it compiles.
  #reachedProgramLimit(scratch: Pointer): boolean {
    const { exports, memory } = this.sqlite;
    exports.sqlite3_status(STATUS_LARGEST_REQUEST, scratch, scratch + 4, RESETS);
    return memory.i32[(scratch + 4) >> 2]! >= PROGRAM_BYTES_MAX && this.guard.stopped === undefined;
  }

  #open(filename: string, vfsName: string | undefined): Pointer {
    const { exports, memory } = this.sqlite;
    const result = memory.allocate(8 + 3 * (filename.length + (vfsName?.length ?? 0)) + 2);
    const name = result + 8;
    try {
      const nameBytes = memory.write(filename, name);
      const vfs = vfsName === undefined ? 0 : name + nameBytes + 1;
      if (vfsName !== undefined) memory.write(vfsName, vfs);
      const resultCode = exports.sqlite3_open_v2(name, result, OPEN_READ_WRITE_CREATE, vfs);
      const pointer = memory.i32[result >> 2]!;
      if (resultCode !== OK) {
        const error = this.#lastVfsError() ?? sqlError(this.sqlite, pointer, resultCode);
        exports.sqlite3_close_v2(pointer);
        throw error;
      }
      return pointer;
    } finally {
      memory.free(result);
    }
  }

  #configure(): void {
    const { exports } = this.sqlite;
    exports.sqlite3_extended_result_codes(this.pointer, 1);
    this.setLimits();
    if (this.limits.anyText) this.liftTextLimits();
    this.#setOption(DBCONFIG.foreignKeys, true);
    this.#setOption(DBCONFIG.defensive, true);
    this.#setOption(DBCONFIG.doubleQuotedInQueries, true);
    this.#setOption(DBCONFIG.doubleQuotedInSchema, true);
    this.#setOption(DBCONFIG.trustedSchema, false);
    this.run(PRAGMAS);
  }

  #setOption(option: number, on: boolean): void {
    const { exports } = this.sqlite;
    const resultCode = exports.sqlite3__wasm_db_config_ip(this.pointer, option, Number(on), 0);
    if (resultCode !== OK) {
      throw storageError('INTERNAL', `Configuring SQLite: option ${option} gave ${resultCode}.`);
    }
  }

  #describe(resultCode: number): StorageError {
    if (this.guard.stopped === 'late') return timeError(this.limits.queryMs);
    if (this.guard.stopped === 'cancelled') return cancelError();
    const error = sqlError(this.sqlite, this.pointer, resultCode);
    if (error.code === 'SQL_MEMORY') return memoryError(error, this.limits.heapBytes);
    const beneath = error.code === 'SQL' ? undefined : this.#lastVfsError();
    return beneath ?? this.regulator.explain(error) ?? error;
  }
}

/** Makes the error of a statement or iterator whose database is closed. */
export function databaseClosed(): StorageError {
  return storageError(
    'CURSOR_CLOSED',
    'The database was closed under this statement or iterator: its object was reset or evicted.',
  );
}
