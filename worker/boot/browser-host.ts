// Starts the host of a browser's worker: the instrumented SQLite, and the medium of the directory.

import type { StorageMedium } from '../../src/contract/medium.ts';
import { WASM_URL } from '../../src/contract/wasm-url.ts';
import { MemoryCatalog, type ObjectCatalog } from '../catalog/catalog.ts';
import { IdbCatalog } from '../catalog/idb-catalog.ts';
import { systemTime } from '../clock/system-time.ts';
import type { Space } from '../file/space-watch.ts';
import { ClassRegistry } from '../instance/object-class.ts';
import type { Limits } from '../sql/query-limits.ts';
import { loadSqlite, type Sqlite } from '../vfs/sqlite-module.ts';
import {
  type BrowserMedium,
  type BrowserMediumEnvironment,
  openBrowserMedium,
} from './browser-medium.ts';
import { workerFlagReader } from './flag-reader.ts';
import { type RunningHost, startHost } from './start-host.ts';
import type { Watch } from './watched-host.ts';

type Wasm = URL | WebAssembly.Module;

export interface BrowserHostOptions {
  /** Name of the directory; one host uses it at a time. */
  readonly directory: string;
  /** Where its files are kept. @default null: where they are already, else on the best medium here */
  readonly medium?: StorageMedium | null;
  /** The instrumented SQLite, compiled or as its address. @default the file beside the worker */
  readonly wasm?: Wasm | Promise<Wasm>;
  /** The classes of its objects. @default none: objects of `openStorage` only */
  readonly classes?: ClassRegistry;
  /** What the app passes to its objects. @default nothing */
  readonly env?: object;
  /** How long an idle instance stays in memory, in milliseconds. @default 10,000 */
  readonly idleMs?: number;
  /** Limits of queries and imports. @default those of query-limits */
  readonly limits?: Limits;
}

/** A running host, its medium, and the watch that notices when its files are gone. */
export interface BrowserHost extends RunningHost {
  readonly medium: StorageMedium;
  readonly watch: Watch;
}

const FILE_TIME: BrowserMediumEnvironment = {
  now: () => performance.now(),
  sleep: (delayMs) => new Promise((resolve) => void systemTime.after(delayMs, resolve, false)),
  after: (delayMs, task) => systemTime.after(delayMs, task, false),
};

async function estimate(): Promise<Space> {
  const { usage = 0, quota = Number.POSITIVE_INFINITY } = await navigator.storage.estimate();
  return { usage, quota };
}

/** Side by side, because whoever takes over makes everyone wait. The medium's error comes before the catalog's. */
async function openParts(
  { directory, medium: wanted = null, wasm = WASM_URL }: BrowserHostOptions,
  classes: ClassRegistry,
): Promise<[Sqlite, BrowserMedium, ObjectCatalog]> {
  const opening = openBrowserMedium(directory, wanted, FILE_TIME);
  const suspect = () =>
    void opening.then(
      (medium) => medium.suspect(),
      () => {},
    );
  // Objects without a class have no alarm handler, and are never listed.
  const isListed = !classes.isEmpty && wanted !== 'memory';
  const listing = isListed
    ? IdbCatalog.open(directory, suspect)
    : Promise.resolve(new MemoryCatalog());
  listing.catch(() => {}); // thrown below
  try {
    const [sqlite, medium] = await Promise.all([
      Promise.resolve(wasm).then((found) => loadSqlite(found)),
      opening,
    ]);
    return [sqlite, medium, await listing];
  } catch (error) {
    void listing.then(
      (catalog) => catalog.close(),
      () => {},
    );
    throw error;
  }
}

/**
 * Starts a host on the directory. It opens nothing until an object is used or its alarm is due.
 *
 * @throws OPFS_UNAVAILABLE, MEDIUM_CONFLICT, INSECURE_CONTEXT, DISK_FULL, WORKER_FAILED
 */
export async function startBrowserHost(options: BrowserHostOptions): Promise<BrowserHost> {
  const { classes = new ClassRegistry(), env = {} } = options;
  const [sqlite, { kind, medium, watch }, catalog] = await openParts(options, classes);
  const chosen = {
    ...(options.idleMs !== undefined && { idleMs: options.idleMs }),
    ...(options.limits !== undefined && { limits: options.limits }),
  };
  const isRevoked = workerFlagReader();
  const platform = { sqlite, medium, catalog, isRevoked, isDedicated: true, ...chosen };
  const started = await startHost(
    kind === 'memory' ? platform : { ...platform, estimate },
    classes,
    env,
  );
  return { ...started, medium: kind, watch };
}
