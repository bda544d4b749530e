// The package as a page imports it: `openStorage`, its types, and the errors' codes.

import type { RemoteStorage } from './contract/storage.ts';
import { absoluteUrl, browserEnvironment, startWorker } from './page/browser.ts';
import { DEFAULT_DIRECTORY, StorageOpener } from './page/open-storage.ts';

export { isStorageError, type StorageError, type StorageErrorCode } from './contract/errors.ts';
export type {
  BinarySource,
  KeyValueOperations,
  ListOptions,
  ReadOptions,
  Recovery,
  RemoteKvStorage,
  RemoteSqlCursor,
  RemoteSqlStorage,
  RemoteStorage,
  SqlRow,
  SqlStorageValue,
  SyncListOptions,
  Transaction,
  WriteOptions,
} from './contract/storage.ts';

/** Where the objects live and which worker serves them; the same for all handles of a directory. */
export interface OpenOptions {
  /**
   * Directory in the origin private file system. Objects of different directories have nothing in
   * common; each directory has a worker of its own. @default 'ctx-storage'
   */
  directory?: string;
  /** A worker the page started itself, from this package's `worker.js`. */
  worker?: Worker;
  /** Address of `worker.js`, for pages whose bundler does not find it. */
  workerUrl?: string | URL;
  /** Address of `sqlite3.wasm`. @default the file beside the worker */
  wasmUrl?: string | URL;
}

let opener: StorageOpener | undefined;

/**
 * A handle on the object of this name, which exists from its first write on.
 *
 * Any number of handles, in any number of tabs, see the same object. A handle stays valid when the
 * worker behind it is replaced, because its tab was closed or it was terminated: reads under way
 * are made again; a write under way, and an open transaction, reject with CONNECTION_CLOSED.
 *
 * @throws StorageError INVALID_ARGUMENT, INSECURE_CONTEXT, OPFS_UNAVAILABLE, WORKER_FAILED,
 *   STORAGE_LOCKED, CORRUPT
 */
export async function openStorage(name: string, options: OpenOptions = {}): Promise<RemoteStorage> {
  opener ??= new StorageOpener(browserEnvironment(), startWorker);
  return opener.open(name, {
    directory: options.directory ?? DEFAULT_DIRECTORY,
    worker: options.worker ?? null,
    workerUrl: options.workerUrl === undefined ? null : absoluteUrl(options.workerUrl),
    wasmUrl: options.wasmUrl === undefined ? null : absoluteUrl(options.wasmUrl),
  });
}
