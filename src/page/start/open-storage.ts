// Implements `openStorage`, which opens objects without classes. The package's own worker serves them.
//
// This is a module of its own, because a bundler that includes it emits that worker.

import { DEFAULT_DIRECTORY } from '../../shared/contract/directory.ts';
import type { HistoryLimits } from '../../shared/contract/history-limits.ts';
import type { StorageMedium } from '../../shared/contract/medium.ts';
import type { OpenLimits } from '../../shared/contract/open-limits.ts';
import type { RemoteStorage } from '../../shared/contract/storage.ts';
import { spawnWorker } from '../leader/spawn-worker.ts';
import { workerAt } from '../leader/worker-start.ts';
import { withClient } from './client-code.ts';

/** Options of `openStorage`: where the objects are, and which worker serves them. Handles of a directory share them. */
export interface OpenOptions {
  /**
   * Directory in which the objects are kept. Objects of different directories have nothing in
   * common; each directory has a worker of its own. @default 'ctx-storage'
   */
  directory?: string;
  /** A worker that the page started itself, from this package's `worker.js`. */
  worker?: Worker;
  /** Address of `worker.js`, for pages whose bundler does not find it. */
  workerUrl?: string | URL;
  /** Address of `sqlite3.wasm`. @default the file beside the worker */
  wasmUrl?: string | URL;
  /** Address of `late.js`. @default the file beside the worker */
  lateUrl?: string | URL;
  /**
   * The medium that stores the directory. `memory` persists nothing: its data is lost when the leading worker ends.
   * @default the medium where the directory already is, else `opfs`, else `indexeddb`
   */
  medium?: StorageMedium;
  /**
   * How much history each object keeps. If several tabs set this, the tab whose worker leads decides. @default 30 days,
   * within 256 MiB or the size of the object's database
   */
  history?: HistoryLimits;
  /**
   * Limits of the worker: how long the checks of an imported file may take. If several tabs set this, the tab whose
   * worker leads decides.
   */
  limits?: OpenLimits;
  /**
   * If true, resolves before the worker has started. Live reads show the result that was kept at the last visit, with
   * the status `stale`, until the worker answers. Calls wait for the worker and `prepare`, and reject if one of them
   * fails; live reads report the failure.
   * @default false: resolves when the object is open
   */
  early?: boolean;
  /**
   * The user who is signed in, for an early handle; null if nobody is. Results that were kept for other users in this
   * directory are never shown and are deleted. With null, no results are kept. @default unknown: results are kept and
   * shown
   */
  identity?: string | null;
  /** With false, an early handle keeps no results of its live reads, and deletes those of the object. @default true */
  keepResults?: boolean;
  /**
   * Prepares the object before any call and live read of this handle, for example `(storage) => migrate(storage, …)`.
   * The function uses the storage that it receives, whose calls wait for nothing. On an early handle, an error of the
   * function rejects the calls that wait, and live reads report the error; the next call or live read runs the function
   * again. Otherwise `openStorage` waits for the function, and rejects with its error. @default no preparation
   */
  prepare?: (storage: RemoteStorage) => Promise<unknown>;
}

/**
 * A handle on the object of this name, which exists from its first write on.
 *
 * Any number of handles, in any number of tabs, see the same object. A handle stays valid when the
 * worker behind it is replaced, because its tab was closed or it was terminated: reads under way
 * are made again; a write under way, and an open transaction, reject with CONNECTION_CLOSED.
 *
 * @throws StorageError INVALID_ARGUMENT, INSECURE_CONTEXT, BROWSER_TOO_OLD, OPFS_UNAVAILABLE, WORKER_FAILED,
 *   WORKER_BUSY, VERSION_MISMATCH, STORAGE_LOCKED, MEDIUM_CONFLICT, SITE_DATA_CLEARED, DISK_FULL, CORRUPT
 */
export async function openStorage(name: string, options: OpenOptions = {}): Promise<RemoteStorage> {
  return withClient('openStorage', firstWorker(options), (client, hold) =>
    client.openStorage(name, options, spawn, hold),
  );
}

function firstWorker(options: unknown) {
  const {
    early,
    worker,
    workerUrl,
    wasmUrl,
    directory = DEFAULT_DIRECTORY,
  } = (options ?? {}) as OpenOptions;
  // For an early handle, no worker is started yet: stored results are shown sooner if nothing else loads meanwhile.
  if (early === true || worker !== undefined) return null;
  if (workerUrl === undefined) return { key: null, start: spawnWorker, wasmUrl, directory };
  try {
    const key = new URL(workerUrl, document.baseURI).href;
    return { key, start: () => spawn(key), wasmUrl, directory };
  } catch {
    return null; // The client reports the error.
  }
}

function spawn(url: string | null): Worker {
  return url === null ? spawnWorker() : workerAt(url);
}
