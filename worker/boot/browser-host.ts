// Starts the host of a browser's worker: the instrumented SQLite, and the medium of the directory.

import type { StorageMedium } from '../../src/contract/medium.ts';
import { WASM_URL } from '../../src/contract/wasm-url.ts';
import { MemoryCatalog } from '../catalog/catalog.ts';
import { IdbCatalog } from '../catalog/idb-catalog.ts';
import { systemTime } from '../clock/system-time.ts';
import type { Space } from '../file/space-watch.ts';
import { ClassRegistry } from '../instance/object-class.ts';
import type { Limits } from '../sql/query-limits.ts';
import { loadSqlite } from '../vfs/sqlite-module.ts';
import { type BrowserMediumEnvironment, openBrowserMedium } from './browser-medium.ts';
import { workerFlagReader } from './flag-reader.ts';
import { type RunningHost, startHost } from './start-host.ts';
import type { Watch } from './watched-host.ts';

export interface BrowserHostOptions {
  /** Name of the directory; one host uses it at a time. */
  readonly directory: string;
  /** Where its files are kept. @default null: where they are already, else on the best medium here */
  readonly medium?: StorageMedium | null;
  /** The instrumented SQLite, compiled or as its address. @default the file beside the worker */
  readonly wasm?: URL | WebAssembly.Module;
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

/**
 * Starts a host on the directory. It opens nothing until an object is used or its alarm is due.
 *
 * @throws OPFS_UNAVAILABLE, MEDIUM_CONFLICT, INSECURE_CONTEXT, DISK_FULL, WORKER_FAILED
 */
export async function startBrowserHost(options: BrowserHostOptions): Promise<BrowserHost> {
  const [sqlite, { kind, medium, watch, suspect }] = await Promise.all([
    loadSqlite(options.wasm ?? WASM_URL),
    openBrowserMedium(options.directory, options.medium ?? null, FILE_TIME),
  ]);
  const { classes = new ClassRegistry(), env = {} } = options;
  // Objects without a class have no alarm handler, and are never listed.
  const isListed = !classes.isEmpty && kind !== 'memory';
  const catalog = isListed
    ? await IdbCatalog.open(options.directory, suspect)
    : new MemoryCatalog();
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
