// Loads the SQLite module of this worker once: the official build, instrumented by build/instrument-wasm.
//
// The layers above get a small typed handle: SQLite's functions, its memory, the VFS, and a way to install functions
// that SQLite calls. This file does not open databases.

import { isStorageError, storageError } from '../../../src/shared/contract/errors.ts';
import { COUNT_TABLE, COUNT_TABLE_BYTES, COUNTED_STATEMENT } from './count-table.ts';

import { LogVfs } from './log-vfs.ts';
import type { Pointer, SqliteExports } from './sqlite-exports.ts';
import { type Callback, installFunctions } from './wasm-functions.ts';
import { startWasm } from './wasm-host.ts';
import { WasmMemory } from './wasm-memory.ts';

export type { Pointer, SqliteExports } from './sqlite-exports.ts';

/** The loaded module; one per worker at a time. */
export interface Sqlite {
  readonly exports: SqliteExports;
  readonly memory: WasmMemory;
  /** Address of the count table, cleared. */
  readonly countTable: Pointer;
  /** The statement whose instructions the table counts. */
  readonly counted: CountedStatement;
  /** Makes a function callable for SQLite, for the life of the module; returns its address. */
  readonly install: (callback: Callback) => Pointer;
  /** The file system of every database of this module. */
  readonly vfs: LogVfs;
  /** Starts another instance with a memory of its own; `loadSqlite` returns that one from now on. */
  readonly renew: () => Sqlite;
}

/** Where SQLite comes from; null if the worker script has no address and no other one was passed. */
type Wasm = URL | WebAssembly.Module | Uint8Array | null;

// The load that every call of `loadSqlite` in this worker shares. `renew` replaces it; a failed load clears it.
let loading: Promise<Sqlite> | undefined;

/** The first four bytes of every WebAssembly module. */
const MAGIC = [0x00, 0x61, 0x73, 0x6d];
/** The next four bytes, the version of the format. */
const VERSION = [0x01, 0x00, 0x00, 0x00];

/**
 * Loads the module from an address, from bytes, or from a compiled module. The first call decides; later
 * ones get the same module. A failed load is forgotten, so that it can be retried.
 *
 * @throws WORKER_FAILED when the file cannot be fetched, compiled or started.
 */
export function loadSqlite(wasm: Wasm): Promise<Sqlite> {
  loading ??= load(wasm).catch((cause: unknown) => {
    loading = undefined;
    return throwLoadError(cause);
  });
  return loading;
}

async function throwLoadError(cause: unknown): Promise<never> {
  if (isStorageError(cause)) throw cause;
  if (await policyRefusesWasm()) {
    throw storageError(
      'WORKER_FAILED',
      "Loading SQLite: the Content-Security-Policy of this worker refuses WebAssembly. Add 'wasm-unsafe-eval' to the " +
        "directive script-src: of the response of the worker's script, of the page if the worker has no response of its " +
        'own, or, in an extension, of content_security_policy.extension_pages in its manifest.',
      { cause },
    );
  }
  const reason = cause instanceof Error ? cause.message : String(cause);
  throw storageError('WORKER_FAILED', `Loading SQLite failed: ${reason}`, { cause });
}

/** True if the worker's security policy refuses WebAssembly: even an empty module does not compile then. */
function policyRefusesWasm(): Promise<boolean> {
  return WebAssembly.compile(new Uint8Array([...MAGIC, ...VERSION])).then(
    () => false,
    () => true,
  );
}

async function load(wasm: Wasm): Promise<Sqlite> {
  return startSqlite(await compile(wasm));
}

function startSqlite(module: WebAssembly.Module): Sqlite {
  const { exports, memory } = startWasm(module);
  return sqliteOf(exports as unknown as SqliteExports, memory, () => {
    const renewed = startSqlite(module);
    loading = Promise.resolve(renewed);
    return renewed;
  });
}

/** Returns the handle of a started module. @throws WORKER_FAILED if it is another build */
export function sqliteOf(
  exports: SqliteExports,
  wasmMemory: WebAssembly.Memory,
  renew: () => Sqlite,
): Sqlite {
  if (exports[COUNTED_STATEMENT] === undefined) {
    throw storageError(
      'WORKER_FAILED',
      'Loading SQLite: this sqlite3.wasm is not the one of this package; use the file it ships.',
    );
  }
  const memory = memoryOf(exports, wasmMemory);
  const countTable = memory.allocate(COUNT_TABLE_BYTES);
  memory.u8.fill(0, countTable, countTable + COUNT_TABLE_BYTES);
  exports[COUNT_TABLE].value = countTable;
  const counted = new CountedStatement(exports[COUNTED_STATEMENT]);
  const install = (callback: Callback) =>
    installFunctions(exports.__indirect_function_table, [callback])[0]!;
  return { exports, memory, countTable, counted, install, vfs: new LogVfs(exports, memory), renew };
}

/** Returns the memory of a started module. */
export function memoryOf(exports: SqliteExports, memory: WebAssembly.Memory): WasmMemory {
  return new WasmMemory(memory, { malloc: exports.sqlite3_malloc, free: exports.sqlite3_free });
}

async function compile(wasm: Wasm): Promise<WebAssembly.Module> {
  if (wasm === null) throw noAddress();
  if (wasm instanceof WebAssembly.Module) return wasm;
  if (wasm instanceof Uint8Array) return WebAssembly.compile(wasm as Uint8Array<ArrayBuffer>);
  const response = await fetchFile(wasm);
  // compileStreaming compiles during the download, and browsers cache its code. It accepts only the right MIME type,
  // which static hosts often do not send.
  if (response.headers.get('content-type') === 'application/wasm') {
    try {
      return await WebAssembly.compileStreaming(response);
    } catch {
      // Load the file again: its bytes show whether it is WebAssembly at all.
      return await compileBytes(wasm, await fetchFile(wasm));
    }
  }
  return await compileBytes(wasm, response);
}

function noAddress(): Error {
  return storageError(
    'WORKER_FAILED',
    'Loading SQLite: this script has no address beside which sqlite3.wasm could lie. Pass its address (wasmUrl).',
  );
}

async function fetchFile(wasm: URL): Promise<Response> {
  const response = await fetch(wasm);
  if (response.ok) return response;
  throw storageError('WORKER_FAILED', `Loading SQLite: ${wasm} answered ${response.status}.`);
}

async function compileBytes(wasm: URL, response: Response): Promise<WebAssembly.Module> {
  const bytes = new Uint8Array(await response.arrayBuffer());
  if (!MAGIC.every((byte, index) => bytes[index] === byte)) throw notWasm(wasm, response);
  return WebAssembly.compile(bytes);
}

// Servers of single-page applications answer with their page when there is no such file.
function notWasm(wasm: URL, response: Response): Error {
  const type = response.headers.get('content-type') ?? 'an unknown type';
  return storageError(
    'WORKER_FAILED',
    `Loading SQLite: ${wasm} is ${type}, not WebAssembly. Serve sqlite3.wasm of ctx-storage there, or pass ` +
      "its address (wasmUrl). In Vite, name this package: optimizeDeps: { exclude: ['ctx-storage'] }.",
  );
}

/** Tells the module to count no statement. */
const NO_STATEMENT = 0;

/**
 * Chooses the statement whose instructions the module counts. Writing a global of WebAssembly costs as much as reading
 * a row, and a program that reads rows steps one statement again and again. So the choice stays until another statement
 * is stepped.
 *
 * Invariant: a statement is chosen only while it exists, because the next one may get its address. Other statements may
 * run meanwhile; the module compares addresses.
 */
export class CountedStatement {
  readonly #global: WebAssembly.Global<'i32'>;
  #statement = NO_STATEMENT;

  /** `global` is the variable of the module that holds the address of the counted statement. */
  constructor(global: WebAssembly.Global<'i32'>) {
    this.#global = global;
  }

  /** Counts the statement at this address, and no other statement. */
  count(statement: number): void {
    if (statement === this.#statement) return;
    this.#statement = statement;
    this.#global.value = statement;
  }

  /** Stops counting the statement, which is about to be finalized. */
  forget(statement: number): void {
    if (statement === this.#statement) this.count(NO_STATEMENT);
  }
}
