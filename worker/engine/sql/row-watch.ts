// Reports the rows that a statement changes while it runs, including those that triggers, foreign keys and REPLACE
// change.
//
// SQLite asks a callback before each change of a row. It is installed only while a statement runs that writes to a
// watched table, because SQLite compiles a DELETE of all rows to a slower program while there is one. The
// faster program, with the instruction `Clear`, reports no rows, so callers must assume that it changed all of them.

import type { Pointer, Sqlite } from '../vfs/sqlite-module.ts';
import { FLAG, INSTRUCTION, OPCODE, VALUE } from '../vfs/vdbe-layout.ts';
import type { LookupKey, RowShape } from './point-lookup.ts';
import { endOf, programsOf } from './program.ts';

// Operations of the callback: https://sqlite.org/c3ref/c_alter_table.html
const INSERT = 18;
const DELETE = 9;
const OK = 0;

/** Receives the key of a changed row; `all` stands for some rows whose keys are not known. */
export type ToldRow = (table: string, key: LookupKey | 'all') => void;

export class RowWatch {
  static readonly #ofModule = new WeakMap<
    Sqlite,
    { running: RowWatch | undefined; callback: Pointer }
  >();

  readonly #sqlite: Sqlite;
  readonly #db: Pointer;
  readonly #shapes = new Map<string, RowShape>();
  #told: ToldRow = () => {};

  constructor(sqlite: Sqlite, db: Pointer) {
    this.#sqlite = sqlite;
    this.#db = db;
  }

  /** Starts to report changed rows of the table. */
  add(table: string, shape: RowShape): void {
    this.#shapes.set(table, shape);
  }

  shape(table: string): RowShape | undefined {
    return this.#shapes.get(table);
  }

  has(table: string): boolean {
    return this.#shapes.has(table);
  }

  /** True if changed rows of at least one table are reported. */
  get isActive(): boolean {
    return this.#shapes.size > 0;
  }

  /** Stops all reports. */
  clear(): void {
    this.#shapes.clear();
  }

  /** True if the statement deletes all rows of a table without reporting them. */
  clears(statement: Pointer): boolean {
    const { u8 } = this.#sqlite.memory;
    return programsOf(this.#sqlite, statement).some((program) => {
      for (let at = program.address; at < endOf(program); at += INSTRUCTION.sizeBytes) {
        if (u8[at + INSTRUCTION.opcode] === OPCODE.Clear) return true;
      }
      return false;
    });
  }

  /** Runs a statement, and reports the rows that it changes. */
  during<T>(told: ToldRow, run: () => T): T {
    const { exports } = this.#sqlite;
    const shared = this.#sharedByModule();
    const before = shared.running;
    this.#told = told;
    shared.running = this;
    exports.sqlite3_preupdate_hook(this.#db, shared.callback, 0);
    try {
      return run();
    } finally {
      exports.sqlite3_preupdate_hook(this.#db, 0, 0);
      shared.running = before;
    }
  }

  #sharedByModule() {
    let shared = RowWatch.#ofModule.get(this.#sqlite);
    if (shared === undefined) {
      const made: { running: RowWatch | undefined; callback: Pointer } = {
        running: undefined,
        callback: 0,
      };
      made.callback = this.#sqlite.install({
        parameters: 'iiiiijj',
        isVoid: true,
        call: (
          _: Pointer,
          db: Pointer,
          operation: number,
          _schema: Pointer,
          table: Pointer,
          before: bigint,
          after: bigint,
        ) => {
          const { running } = made;
          if (running !== undefined) running.#changes(db, operation, table, before, after);
          return 0;
        },
      });
      shared = made;
      RowWatch.#ofModule.set(this.#sqlite, shared);
    }
    return shared;
  }

  #changes(
    db: Pointer,
    operation: number,
    tableName: Pointer,
    before: bigint,
    after: bigint,
  ): void {
    if (db !== this.#db) return;
    const table = this.#sqlite.memory.readCString(tableName);
    const shape = this.#shapes.get(table);
    if (shape === undefined) return;
    if (shape.hasRowid) {
      this.#tellRowid(table, operation === INSERT ? after : before);
      if (before !== after) this.#tellRowid(table, operation === DELETE ? before : after);
    }
    if (shape.textKey === undefined) return;
    const { exports } = this.#sqlite;
    const { column } = shape.textKey;
    if (operation !== INSERT) this.#tellText(table, exports.sqlite3_preupdate_old, column);
    if (operation !== DELETE) this.#tellText(table, exports.sqlite3_preupdate_new, column);
  }

  #tellRowid(table: string, rowid: bigint): void {
    const key = Number(rowid);
    this.#told(table, Number.isSafeInteger(key) ? key : 'all');
  }

  #tellText(
    table: string,
    read: (db: Pointer, column: number, value: Pointer) => number,
    column: number,
  ): void {
    const { memory } = this.#sqlite;
    const at = memory.allocate(4);
    try {
      const value = read(this.#db, column, at) === OK ? memory.i32[at >> 2]! : 0;
      this.#told(table, value === 0 ? 'all' : this.#textOf(value));
    } finally {
      memory.free(at);
    }
  }

  /** Returns a key's text. Lookups find only text, so any other key is reported as `all`. */
  #textOf(value: Pointer): LookupKey | 'all' {
    const { i32 } = this.#sqlite.memory;
    if ((i32[(value + VALUE.flags) >> 2]! & FLAG.text) === 0) return 'all';
    const [at, sizeBytes] = [
      i32[(value + VALUE.bytes) >> 2]!,
      i32[(value + VALUE.byteCount) >> 2]!,
    ];
    return this.#sqlite.memory.readText(at, sizeBytes);
  }
}
