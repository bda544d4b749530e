// SQLite in Node with an allocator that refuses requests, as a device without memory does.
//
// The allocator goes between SQLite and its own, by the interface that SQLite has for it
// (https://sqlite.org/c3ref/mem_methods.html). It sees every request for memory, and every one for more of it.
//
// Invariant: without `refuse` it returns the results of the allocator beneath it.

import { readFileSync } from 'node:fs';
import {
  type Pointer,
  type Sqlite,
  type SqliteExports,
  sqliteOf,
} from '../../../worker/engine/vfs/sqlite-module.ts';
import { installFunctions } from '../../../worker/engine/vfs/wasm-functions.ts';
import { startWasm } from '../../../worker/engine/vfs/wasm-host.ts';

/** https://sqlite.org/c3ref/c_config_covering_index_scan.html */
const CONFIG = { malloc: 4, getMalloc: 5 } as const;
/** `struct sqlite3_mem_methods`: eight words, with the methods that give memory. */
const METHODS_BYTES = 32;
const X_MALLOC = 0;
const X_REALLOC = 2;
/** An address behind the stack and SQLite's own data, where nothing lies before SQLite is initialized. */
const SPARE_ADDRESS = 7 * 1024 * 1024;

/** An allocator that refuses chosen requests. */
export interface RefusingAllocator {
  /** Requests since the last `refuse`. */
  readonly requests: number;
  /** Requests refused since the last `refuse`. */
  readonly refused: number;
  /** Refuses `count` requests after the next `after` ones. Without arguments, none. */
  refuse(after?: number, count?: number): void;
}

export interface RefusingSqlite {
  readonly sqlite: Sqlite;
  readonly allocator: RefusingAllocator;
}

type Allocate = (...args: number[]) => Pointer;

/** Starts a module of its own, apart from the module of `loadSqlite`. */
export function startRefusingSqlite(): RefusingSqlite {
  const file = readFileSync(new URL('../../../worker/engine/vfs/sqlite3.wasm', import.meta.url));
  return start(new WebAssembly.Module(file));
}

function start(module: WebAssembly.Module): RefusingSqlite {
  const started = startWasm(module);
  const exports = started.exports as unknown as SqliteExports & {
    sqlite3__wasm_config_i(option: number, argument: number): number;
  };
  const table = exports.__indirect_function_table;
  let first = Number.POSITIVE_INFINITY;
  let end = first;
  const counts = { requests: 0, refused: 0 };
  const isRefused = () => {
    counts.requests += 1;
    const refuses = counts.requests > first && counts.requests <= end;
    if (refuses) counts.refused += 1;
    return refuses;
  };
  const methods = new Int32Array(started.memory.buffer, SPARE_ADDRESS, METHODS_BYTES / 4);
  exports.sqlite3__wasm_config_i(CONFIG.getMalloc, SPARE_ADDRESS);
  const over = (at: number): Allocate => {
    const beneath = table.get(methods[at]!) as Allocate;
    return (...args) => (isRefused() ? 0 : beneath(...args));
  };
  const [malloc, realloc] = installFunctions(table, [
    { parameters: 'i', call: over(X_MALLOC) as never },
    { parameters: 'ii', call: over(X_REALLOC) as never },
  ]);
  methods[X_MALLOC] = malloc!;
  methods[X_REALLOC] = realloc!;
  const resultCode = exports.sqlite3__wasm_config_i(CONFIG.malloc, SPARE_ADDRESS);
  if (resultCode !== 0) throw new Error(`Setting the allocator gave ${resultCode}.`);
  return {
    sqlite: sqliteOf(exports, started.memory, () => start(module).sqlite),
    allocator: {
      get requests() {
        return counts.requests;
      },
      get refused() {
        return counts.refused;
      },
      refuse(after = Number.POSITIVE_INFINITY, count = 1) {
        first = after;
        end = after + count;
        counts.requests = 0;
        counts.refused = 0;
      },
    },
  };
}
