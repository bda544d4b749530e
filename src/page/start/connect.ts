// Implements `connect`, which connects a page to the classes that the app's worker serves.

import { OBJECTS_DIRECTORY } from '../../shared/contract/directory.ts';
import type { StorageMedium } from '../../shared/contract/medium.ts';
import type { RemoteObjects } from '../storage/connect.ts';
import { withClient } from './client-code.ts';

/** Options of `connect`: where the objects and the package's files are. */
export interface ConnectOptions {
  /** Directory in which the objects are kept. @default 'ctx-storage-objects' */
  directory?: string;
  /** Address of `sqlite3.wasm`. @default the file beside the worker */
  wasmUrl?: string | URL;
  /** Address of `late.js`. @default the file beside the worker */
  lateUrl?: string | URL;
  /**
   * The medium that stores the directory. `memory` persists nothing: its data is lost when the leading worker ends.
   * @default the medium where the directory already is, else `opfs`, else `indexeddb`
   */
  medium?: StorageMedium;
}

/**
 * Returns the classes that the worker serves (`serve` of `ctx-storage/worker`), as namespaces. One worker of all tabs
 * on this directory leads, and hosts every object; the others wait.
 *
 * A function starts the page's worker, and starts it again when it was terminated; a worker that is passed is used as
 * it is. A page has one worker for a directory: while it is in use, another function or worker is INVALID_ARGUMENT
 * (functions of equal text are the same); after a failed start, the next one is used.
 *
 * Stubs stay valid when the worker behind them is replaced: a call under way rejects with CONNECTION_CLOSED, which is
 * `retryable`, and later calls reach the next worker.
 *
 * `Classes` names the classes with their types: `connect<{ Counter: Counter }>(…)`.
 *
 * @throws StorageError INVALID_ARGUMENT, INSECURE_CONTEXT, BROWSER_TOO_OLD, OPFS_UNAVAILABLE, WORKER_FAILED,
 *   WORKER_BUSY, VERSION_MISMATCH, STORAGE_LOCKED, MEDIUM_CONFLICT, SITE_DATA_CLEARED, DISK_FULL
 */
export async function connect<Classes extends object>(
  worker: Worker | (() => Worker),
  options: ConnectOptions = {},
): Promise<RemoteObjects<Classes>> {
  const { wasmUrl, directory = OBJECTS_DIRECTORY } = options ?? {};
  const first =
    typeof worker === 'function' ? { key: worker, start: worker, wasmUrl, directory } : null;
  return withClient('connect', first, (client) => client.connect<Classes>(worker, options));
}
