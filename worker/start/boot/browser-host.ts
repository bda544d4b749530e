// Starts the host of objects in a browser's worker: loads the instrumented SQLite, and opens the medium of the directory.

import type { HistoryLimits } from '../../../src/shared/contract/history-limits.ts';
import type { StorageMedium } from '../../../src/shared/contract/medium.ts';
import { ownWasmUrl } from '../../../src/shared/contract/wasm-url.ts';
import { KeptDatabase } from '../../../src/shared/live/kept-database.ts';
import type { FilesWatch } from '../../../src/shared/wire/worker-end.ts';
import type { Space } from '../../engine/file/space-watch.ts';
import type { Limits } from '../../engine/sql/query-limits.ts';
import { loadSqlite, type Sqlite } from '../../engine/vfs/sqlite-module.ts';
import { MemoryCatalog, type ObjectCatalog } from '../../objects/catalog/catalog.ts';
import { IdbCatalog } from '../../objects/catalog/idb-catalog.ts';
import { systemTime } from '../../objects/clock/clock.ts';
import { ClassRegistry } from '../../objects/instance/object-class.ts';
import { type KeptEnvironment, KeptResults } from '../../objects/live/kept-results.ts';
import type { Realm } from '../../realm/globals/realm.ts';
import {
  type BrowserMedium,
  type BrowserMediumEnvironment,
  openBrowserMedium,
} from './browser-medium.ts';
import { type HostedApp, type RunningHost, startHost } from './start-host.ts';

type Wasm = URL | WebAssembly.Module | null;

export interface BrowserHostOptions extends HostedApp {
  /** The name of the directory; one host uses it at a time. */
  readonly directory: string;
  /** The medium of the files. @default null: the medium where the files already are, else the best one available */
  readonly medium?: StorageMedium | null;
  /** The instrumented SQLite, as a compiled module or an address; null if unknown. @default the file beside the worker */
  readonly wasm?: Wasm | Promise<Wasm>;
  /** The classes of the host's objects. @default none: only objects of `openStorage` */
  readonly classes?: ClassRegistry;
  /** The realm that replaces globals of this thread for object code. */
  readonly realm: Realm;
  /** The time after which an idle instance is evicted, in milliseconds. @default 10,000 */
  readonly idleMs?: number;
  /** The limits of queries and imports. @default those of query-limits */
  readonly limits?: Limits;
  /** The limits of the objects' history. @default 30 days, within historyBytes */
  readonly history?: HistoryLimits;
}

/** A running host, its medium, and the watch of its files. */
export interface BrowserHost extends RunningHost {
  readonly medium: StorageMedium;
  /** Resolves to the reason when the files or the catalog were deleted, or can no longer be reached. */
  readonly lost: Promise<Error>;
  readonly watch: FilesWatch;
}

/** How long the loss of the catalog waits for a better reason: a browser that clears site data also deletes the files. */
const REASON_WAIT_MS = 1000;

const FILE_TIME: BrowserMediumEnvironment = {
  now: () => performance.now(),
  sleep: (delayMs) => new Promise((resolve) => void systemTime.after(delayMs, resolve, false)),
  after: (delayMs, task) => systemTime.after(delayMs, task, false),
};

/**
 * The delay before free space is estimated. It is longer than the 50 ms for which a closing page waits for its writes.
 */
const ESTIMATE_AFTER_MS = 250;

// Estimates the free space. In Firefox 153 the page's thread makes the estimate, and the worker is blocked until then.
// The caller delays the estimate so that no write waits for it, because the page's thread may be waiting for that
// write.
async function estimate(): Promise<Space> {
  await FILE_TIME.sleep(ESTIMATE_AFTER_MS);
  const { usage = 0, quota = Number.POSITIVE_INFINITY } = await navigator.storage.estimate();
  return { usage, quota };
}

interface Parts {
  readonly sqlite: Sqlite;
  readonly medium: BrowserMedium;
  readonly catalog: ObjectCatalog;
  /** Resolves when the catalog is lost, to the reason why this worker ends. */
  readonly catalogLost: Promise<Error>;
}

/**
 * Opens SQLite, the medium and the catalog in parallel, because all pages wait for a takeover. If the medium and the
 * catalog both fail, the medium's error is thrown.
 */
async function openParts(
  { directory, medium: wanted = null, wasm = ownWasmUrl() }: BrowserHostOptions,
  classes: ClassRegistry,
): Promise<Parts> {
  const opening = openBrowserMedium(directory, wanted, FILE_TIME);
  let tellLost: (reason: Error) => void = () => {};
  const catalogLost = new Promise<Error>((resolve) => {
    tellLost = resolve;
  });
  const whenLost = async (lost: Error): Promise<Error> => {
    const reason = await opening.then(
      (medium) => whyLost(medium, lost),
      () => lost,
    );
    tellLost(reason);
    return reason;
  };
  // Without classes no catalog is needed, because objects without a class have no alarms and are never listed.
  const isListed = !classes.isEmpty && wanted !== 'memory';
  const listing = isListed
    ? IdbCatalog.open(directory, whenLost)
    : Promise.resolve(new MemoryCatalog());
  listing.catch(() => {}); // The error is thrown below.
  try {
    const [sqlite, medium] = await Promise.all([
      Promise.resolve(wasm).then((found) => loadSqlite(found)),
      opening,
    ]);
    return { sqlite, medium, catalog: await listing, catalogLost };
  } catch (error) {
    void listing.then(
      (catalog) => catalog.close(),
      () => {},
    );
    throw error;
  }
}

/**
 * Returns the reason of the loss: the deletion of the files if they were deleted, otherwise the loss of the catalog.
 */
async function whyLost({ watch, suspect }: BrowserMedium, lost: Error): Promise<Error> {
  suspect(); // The next call checks that the files exist.
  await FILE_TIME.sleep(REASON_WAIT_MS);
  suspect();
  try {
    return await watch.during(async () => lost);
  } catch (reason) {
    return reason as Error;
  }
}

/**
 * Starts a host on the directory. It opens nothing until an object is used or its alarm is due.
 *
 * @throws OPFS_UNAVAILABLE, MEDIUM_CONFLICT, INSECURE_CONTEXT, DISK_FULL, WORKER_FAILED
 */
export async function startBrowserHost(options: BrowserHostOptions): Promise<BrowserHost> {
  const { classes = new ClassRegistry() } = options;
  const parts = await openParts(options, classes);
  const { sqlite, catalog, catalogLost } = parts;
  const { kind, medium, lost, watch } = parts.medium;
  const chosen = {
    ...(options.idleMs !== undefined && { idleMs: options.idleMs }),
    ...(options.limits !== undefined && { limits: options.limits }),
    ...(options.history !== undefined && { history: options.history }),
  };
  const isRevoked = workerFlagReader();
  const { realm, directory } = options;
  const makeKept = (failed: KeptEnvironment['failed']) => keptResults(directory, failed);
  const platform = { sqlite, medium, catalog, realm, isRevoked, isDedicated: true, ...chosen };
  const started = await startHost(
    kind === 'memory' ? platform : { ...platform, estimate, makeKept },
    classes,
    options,
  );
  return { ...started, medium: kind, lost: Promise.race([lost, catalogLost]), watch };
}

/** Stores results of live reads. It is used only for persistent media, because in memory the results would outlive the data. */
function keptResults(directory: string, failed: KeptEnvironment['failed']): KeptResults {
  return new KeptResults({
    directory,
    open: (isMade) => KeptDatabase.open(indexedDB, isMade),
    now: () => Date.now(),
    after: (delayMs, task) => void systemTime.after(delayMs, task, false),
    failed,
  });
}

/** Loads the address synchronously. Returns true if it exists. */
type Load = (url: string) => boolean;

/**
 * Makes a function that tells whether the flag of a call was revoked. A busy thread can call it: a blob URL can be loaded
 * synchronously until the page that made it revokes it or is closed.
 *
 * Invariant: a flag counts as revoked only if the worker could have loaded it. A policy (connect-src) without `blob:`
 * refuses every blob URL, so the worker first tests whether it can load a blob URL of its own.
 * No assertion keeps this: it is about the browser.
 */
export function flagReader(load: Load, makeFlag: () => string): (url: string) => boolean {
  let own: string | undefined;
  let canLook = true;
  return (url) => {
    if (!canLook || load(url)) return false;
    own ??= makeFlag();
    canLook = load(own);
    return canLook && !load(url); // the flag is loaded once more, because a request may fail by chance
  };
}

/** Makes the function that reads flags in a worker. Pages cannot load synchronously, so they cannot read flags. */
function workerFlagReader(): (url: string) => boolean {
  if (typeof XMLHttpRequest !== 'function') return () => false;
  return flagReader(loadNow, () => URL.createObjectURL(new Blob([])));
}

function loadNow(url: string): boolean {
  try {
    const request = new XMLHttpRequest();
    request.open('GET', url, false);
    request.send();
    return request.status === 200;
  } catch {
    return false;
  }
}
