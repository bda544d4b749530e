// A checker for tests: the SQLite module with checks of every pointer that it is passed.
//
// SQLite does not notice a statement or connection that was already freed: it reads whatever the memory
// holds now, in a heap that all objects share. The checker requires that every pointer is live, that nothing
// is freed while a call on it runs, and that a connection is closed after its statements.
//
// An address that was freed and allocated again counts as live. Production code never loads this.

import type { Pointer, Sqlite, SqliteExports } from '../../../worker/engine/vfs/sqlite-module.ts';

/** Receives the fault of a call, in words: the error that is thrown too may be caught on its way. */
export type ReportViolation = (violation: string) => void;

type Call = (...args: never[]) => unknown;

const TAKES_NOTHING = new Set([
  'sqlite3_malloc',
  'sqlite3_free',
  'sqlite3_status',
  'sqlite3__wasm_enum_json',
  'sqlite3_randomness',
  // An iterator, which lives as long as the callback that gets it.
  'sqlite3changeset_op',
]);
const TAKES_STATEMENT = /^sqlite3_(finalize|step|reset|clear_bindings|stmt_|bind_|column_|sql$)/;
/** Documented to do nothing for a null pointer. */
const TAKES_NULL = new Set(['sqlite3_finalize', 'sqlite3_reset', 'sqlite3_close_v2']);
/** The functions that end or restart their argument, a statement, which must not be running. */
const NEEDS_IDLE = new Set([
  'sqlite3_finalize',
  'sqlite3_step',
  'sqlite3_reset',
  'sqlite3_close_v2',
]);

/** Returns the module with exports that check their pointers. */
export function withLivePointers(sqlite: Sqlite, report: ReportViolation): Sqlite {
  const checker = new Checker(sqlite, report);
  const wrapped = new Map<string, Call>();
  const exports = new Proxy(Object.create(null) as SqliteExports, {
    get(_, name: string) {
      const call: unknown = sqlite.exports[name as keyof SqliteExports];
      if (typeof call !== 'function' || TAKES_NOTHING.has(name)) return call;
      let checked = wrapped.get(name);
      if (checked === undefined) {
        checked = (...args: Pointer[]) => checker.call(name, call as Call, args);
        wrapped.set(name, checked);
      }
      return checked;
    },
  });
  return { ...sqlite, exports };
}

class Checker {
  readonly #sqlite: Sqlite;
  readonly #report: ReportViolation;
  readonly #connections = new Set<Pointer>();
  /** Live statements, and the connection of each. */
  readonly #statements = new Map<Pointer, Pointer>();
  /** Pointers that the calls on the stack were passed, and the connections of statements. */
  readonly #running: Pointer[] = [];

  constructor(sqlite: Sqlite, report: ReportViolation) {
    this.#sqlite = sqlite;
    this.#report = report;
  }

  call(name: string, action: Call, args: readonly Pointer[]): unknown {
    const depth = this.#running.length;
    try {
      this.#check(name, args);
      const result = action(...(args as never[]));
      this.#note(name, args);
      return result;
    } finally {
      this.#running.length = depth;
    }
  }

  #check(name: string, args: readonly Pointer[]): void {
    if (name === 'sqlite3_open_v2') return;
    const pointer = args[0]!;
    if (pointer === 0 && TAKES_NULL.has(name)) return;
    if (TAKES_STATEMENT.test(name)) {
      if (!this.#statements.has(pointer)) this.#violated(name, 'a statement that is not live');
      this.#enter(name, pointer);
      this.#running.push(this.#statements.get(pointer)!);
      return;
    }
    if (!this.#connections.has(pointer)) this.#violated(name, 'a closed connection');
    this.#enter(name, pointer);
    if (name === 'sqlite3_close_v2' && [...this.#statements.values()].includes(pointer)) {
      this.#violated(name, 'a connection with statements that were not finalized');
    }
  }

  #enter(name: string, pointer: Pointer): void {
    if (NEEDS_IDLE.has(name) && this.#running.includes(pointer)) {
      this.#violated(name, 'what a call further up the stack is using');
    }
    this.#running.push(pointer);
  }

  #note(name: string, args: readonly Pointer[]): void {
    const { i32 } = this.#sqlite.memory;
    switch (name) {
      case 'sqlite3_open_v2':
        return void this.#connections.add(i32[args[1]! >> 2]!);
      case 'sqlite3_close_v2':
        return void this.#connections.delete(args[0]!);
      case 'sqlite3_prepare_v3': {
        const statement = i32[args[4]! >> 2]!;
        if (statement !== 0) this.#statements.set(statement, args[0]!);
        return;
      }
      case 'sqlite3_finalize':
        return void this.#statements.delete(args[0]!);
    }
  }

  #violated(name: string, what: string): never {
    const violation = `${name} was passed ${what}`;
    this.#report(violation);
    throw new Error(violation);
  }
}
