// The host of objects of a browser worker: OPFS for files, our SQLite, the clock of the machine.
//
// The only file of the worker that touches the worker's globals, worker/index.ts aside.
//
// Keeps true: without OPFS and its synchronous handles there is an error, never a memory database.

import { OpfsMedium } from './file/opfs-medium.ts';
import { type HostEnvironment, messageTurns } from './runtime/environment.ts';
import type { ClassRegistry } from './runtime/object-class.ts';
import { ObjectHost, type Surround } from './runtime/object-host.ts';
import { installTimers } from './runtime/timers.ts';
import { openLogDatabase } from './storage/log-database.ts';
import { LogVfs } from './vfs/log-vfs.ts';
import { loadSqlite } from './vfs/sqlite-module.ts';
import { WASM_URL } from './wasm-url.ts';

export interface HostOptions {
  /** Name of the directory in the origin private file system; one host holds it at a time. */
  readonly directory: string;
  /** The instrumented SQLite, compiled or by address. @default the file beside the worker */
  readonly wasm?: URL | WebAssembly.Module;
  /** The classes of its objects. @default none: objects of `openStorage` only */
  readonly classes?: ClassRegistry;
  readonly surround?: Surround;
}

/**
 * A host over the directory. It opens nothing until an object is used.
 *
 * @throws OPFS_UNAVAILABLE, INSECURE_CONTEXT, WORKER_FAILED
 */
export async function openHost(options: HostOptions): Promise<ObjectHost> {
  const { setTimeout, clearTimeout } = globalThis;
  const now = () => Date.now();
  const sleep = (delayMs: number) => new Promise<void>((resolve) => setTimeout(resolve, delayMs));
  const [sqlite, medium] = await Promise.all([
    loadSqlite(options.wasm ?? WASM_URL),
    OpfsMedium.open(options.directory, { now, sleep }),
  ]);
  const vfs = new LogVfs(sqlite.sqlite3);
  const environment: HostEnvironment = {
    now,
    randomUint32: () => crypto.getRandomValues(new Uint32Array(1))[0]!,
    nextTurn: messageTurns(),
    after(delayMs, task) {
      const timer = setTimeout(task, delayMs);
      return () => clearTimeout(timer);
    },
    directory: (key) => medium.directory(key),
    removeDirectory: (key) => medium.remove(key),
    openDatabase: (store, events) => openLogDatabase(sqlite, vfs, store, events),
  };
  const host = new ObjectHost(environment, options.classes, options.surround);
  installTimers(globalThis, host);
  return host;
}
