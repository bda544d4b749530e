// SQLite with every pointer checked: statements and connections that are given to it must be live,
// and none may end while a call of its connection is on the stack. Objects share one heap, so a
// pointer used after it was freed may be another object's.
//
// Knows nothing of what the statements do.

import type { Pointer, Sqlite, SqliteExports } from '../vfs/sqlite-module.ts';

type AnyFunction = (...args: (number | bigint)[]) => unknown;

/** Calls whose first argument is a connection; all other watched ones take a statement. */
const OF_CONNECTION =
  /^sqlite3_(close_v2|exec|extended_result_codes|limit|set_authorizer|drop_modules|get_autocommit|errmsg|extended_errcode|error_offset|changes|total_changes|prepare_v3|_wasm_db_config_ip)$/;
const OF_STATEMENT = /^sqlite3_(finalize|step|reset|clear_bindings|stmt_|bind_|column_)/;

export interface StatementWatch {
  /** The module, whose calls are checked. */
  readonly sqlite: Sqlite;
  /** Misuse since it was last taken. */
  takeViolations(): string[];
}

export function watchStatements(sqlite: Sqlite): StatementWatch {
  const connections = new Set<Pointer>();
  const connectionOf = new Map<Pointer, Pointer>();
  const running: Pointer[] = [];
  let violations: string[] = [];

  const isLive = (name: string, pointer: Pointer) => {
    if (pointer === 0) return;
    const isKnown = OF_CONNECTION.test(name) ? connections.has(pointer) : connectionOf.has(pointer);
    if (!isKnown) violations.push(`${name} on what is not open${place()}`);
  };
  const ends = (name: string, connection: Pointer | undefined) => {
    if (connection !== undefined && running.includes(connection)) {
      violations.push(`${name} while a call of its connection runs${place()}`);
    }
  };
  const watched = (name: string, call: AnyFunction): AnyFunction => {
    switch (name) {
      case 'sqlite3_open_v2':
        return (...args) => {
          const result = call(...args);
          connections.add(sqlite.memory.i32[Number(args[1]) >> 2]!);
          return result;
        };
      case 'sqlite3_close_v2':
        return (db) => {
          if (Number(db) !== 0) isLive(name, Number(db));
          ends(name, Number(db));
          connections.delete(Number(db));
          return call(db!);
        };
      case 'sqlite3_prepare_v3':
        return (...args) => {
          isLive(name, Number(args[0]));
          const result = call(...args);
          const statement = sqlite.memory.i32[Number(args[4]) >> 2]!;
          if (result === 0 && statement !== 0) connectionOf.set(statement, Number(args[0]));
          return result;
        };
      case 'sqlite3_finalize':
        return (statement) => {
          isLive(name, Number(statement));
          ends(name, connectionOf.get(Number(statement)));
          connectionOf.delete(Number(statement));
          return call(statement!);
        };
      case 'sqlite3_step':
      case 'sqlite3_reset':
        return (statement) => {
          isLive(name, Number(statement));
          running.push(connectionOf.get(Number(statement)) ?? 0);
          try {
            return call(statement!);
          } finally {
            running.pop();
          }
        };
      default:
        return (...args) => {
          isLive(name, Number(args[0]));
          return call(...args);
        };
    }
  };

  const exports: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(sqlite.exports)) {
    const isWatched =
      name === 'sqlite3_open_v2' || OF_CONNECTION.test(name) || OF_STATEMENT.test(name);
    exports[name] = isWatched ? watched(name, member as AnyFunction) : member;
  }
  return {
    sqlite: { ...sqlite, exports: exports as unknown as SqliteExports },
    takeViolations() {
      const taken = violations;
      violations = [];
      return taken;
    },
  };
}

/** Where in the package it happened. */
function place(): string {
  const lines = (new Error().stack ?? '').split('\n').slice(3);
  const inPackage = lines.find((line) => !line.includes('statement-watch')) ?? '';
  return ` (${inPackage.trim()})`;
}
