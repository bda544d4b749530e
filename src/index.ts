// The package as a page imports it: `openStorage`, `connect`, their types, and the errors' codes.

import { absoluteUrl, browserEnvironment, startWorker } from './client/browser.ts';
import { connectObjects, type RemoteObjects } from './client/connect.ts';
import { LeaderFinders } from './client/leader-finders.ts';
import { openObjectStorage } from './client/open-storage.ts';
import { checkStorageName, choiceOfConnect, choiceOfStorage } from './client/worker-choice.ts';
import type { StorageMedium } from './contract/medium.ts';
import type { RemoteStorage } from './contract/storage.ts';

export type { RemoteObjects } from './client/connect.ts';
export type {
  ConnectionState,
  ConnectionStatus,
  NamedObject,
  PersistedState,
  StatusEvents,
  StorageEvents,
  StorageSpace,
} from './contract/connection-status.ts';
export { isStorageError, type StorageError, type StorageErrorCode } from './contract/errors.ts';
export type {
  Live,
  LiveIdentity,
  LiveKeys,
  LiveOptions,
  LiveState,
  LiveStub,
} from './contract/live.ts';
export type { StorageMedium } from './contract/medium.ts';
export type {
  DurableObjectClass,
  DurableObjectFacets,
  DurableObjectId,
  DurableObjectJurisdiction,
  DurableObjectNamespace,
  DurableObjectStub,
  FacetStartupOptions,
  FacetStub,
  GetOptions,
  LoopbackExport,
  Namespace,
  ObjectResponse,
  ObjectWebSocket,
  RpcStub,
} from './contract/object.ts';
export type {
  ListObjectsOptions,
  ManagedObjects,
  NamespacesOf,
  ObjectSummary,
  ObjectsClock,
  RanAlarm,
} from './contract/object-management.ts';
export { RpcTarget } from './contract/rpc-target.ts';
export type {
  BinarySource,
  KeyValueOperations,
  ListOptions,
  LiveKeyValue,
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
export { live } from './live/live-stub.ts';
export { withSignal } from './stubs/with-signal.ts';

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

const page = { absoluteUrl, startWorker };
let known: LeaderFinders | undefined;

function finders(operation: string): LeaderFinders {
  known ??= new LeaderFinders(browserEnvironment(operation));
  return known;
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
  const checkedName = checkStorageName(name);
  const choice = choiceOfStorage(options, page);
  return openObjectStorage(finders('openStorage'), checkedName, choice);
}

/** Where the objects of a worker's classes live. */
export interface ConnectOptions {
  /** Directory in which the objects are kept. @default 'ctx-storage-objects' */
  directory?: string;
  /** Address of `sqlite3.wasm`. @default the file beside the worker */
  wasmUrl?: string | URL;
  /**
   * Where the directory is kept. `memory` keeps nothing: what is stored ends with the worker that leads.
   * @default where the directory is already, else `opfs`, else `indexeddb`
   */
  medium?: StorageMedium;
}

/**
 * The classes that the worker serves (`serve` of `ctx-storage/worker`), as namespaces.
 *
 * One worker of all tabs on this directory leads, and hosts every object; the others wait. A function
 * starts the page's worker, and again when it was terminated; a worker that is passed is used as it
 * is. A page has one worker for a directory: while it is in use, another function or worker is
 * INVALID_ARGUMENT (functions of equal text are the same); after a failed start, the next one is used. Stubs stay valid when the worker behind them is replaced: a call under way rejects with
 * CONNECTION_CLOSED, which is `retryable`, and later calls reach the next worker.
 *
 * `Classes` names the classes with their types: `connect<{ Counter: Counter }>(…)`.
 *
 * @throws StorageError INVALID_ARGUMENT, INSECURE_CONTEXT, OPFS_UNAVAILABLE, WORKER_FAILED,
 *   WORKER_BUSY, VERSION_MISMATCH, STORAGE_LOCKED, MEDIUM_CONFLICT, SITE_DATA_CLEARED, DISK_FULL
 */
export async function connect<Classes extends object>(
  worker: Worker | (() => Worker),
  options: ConnectOptions = {},
): Promise<RemoteObjects<Classes>> {
  const choice = choiceOfConnect(worker, options, page);
  return connectObjects<Classes>(finders('connect'), choice);
}
