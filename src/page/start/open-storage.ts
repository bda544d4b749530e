// `openStorage`: objects without classes, served by the worker that comes with the package.
//
// A module of its own, because a bundler that follows it emits that worker.

import { spawnWorker, workerAt } from './client/spawn-worker.ts';
import { withClient } from './client-code.ts';
import type { StorageMedium } from './contract/medium.ts';
import type { RemoteStorage } from './contract/storage.ts';

/** Where the objects live and which worker serves them; the same for all handles of a directory. */
export interface OpenOptions {
  /**
   * Directory in which the objects are kept. Objects of different directories have nothing in
   * common; each directory has a worker of its own. @default 'ctx-storage'
   */
  directory?: string;
  /** A worker the page started itself, from this package's `worker.js`. */
  worker?: Worker;
  /** Address of `worker.js`, for pages whose bundler does not find it. */
  workerUrl?: string | URL;
  /** Address of `sqlite3.wasm`. @default the file beside the worker */
  wasmUrl?: string | URL;
  /**
   * Where the directory is kept. `memory` keeps nothing: what is stored ends with the worker that leads.
   * @default where the directory is already, else `opfs`, else `indexeddb`
   */
  medium?: StorageMedium;
}

/**
 * A handle on the object of this name, which exists from its first write on.
 *
 * Any number of handles, in any number of tabs, see the same object. A handle stays valid when the
 * worker behind it is replaced, because its tab was closed or it was terminated: reads under way
 * are made again; a write under way, and an open transaction, reject with CONNECTION_CLOSED.
 *
 * @throws StorageError INVALID_ARGUMENT, INSECURE_CONTEXT, OPFS_UNAVAILABLE, WORKER_FAILED,
 *   WORKER_BUSY, VERSION_MISMATCH, STORAGE_LOCKED, MEDIUM_CONFLICT, SITE_DATA_CLEARED, DISK_FULL, CORRUPT
 */
export async function openStorage(name: string, options: OpenOptions = {}): Promise<RemoteStorage> {
  return withClient('openStorage', firstWorker(options), (client) =>
    client.openStorage(name, options, spawn),
  );
}

function firstWorker(options: unknown) {
  const { worker, workerUrl, wasmUrl } = (options ?? {}) as OpenOptions;
  if (worker !== undefined) return null;
  if (workerUrl === undefined) return { key: null, start: spawnWorker, wasmUrl };
  try {
    const key = new URL(workerUrl, document.baseURI).href;
    return { key, start: () => spawn(key), wasmUrl };
  } catch {
    return null; // the client says what is wrong with it
  }
}

function spawn(url: string | null): Worker {
  return url === null ? spawnWorker() : workerAt(url);
}
