// Starts the host of a browser's worker: the instrumented SQLite, and OPFS for files.

import { WASM_URL } from '../../src/contract/wasm-url.ts';
import { MemoryCatalog } from '../catalog/catalog.ts';
import { IdbCatalog } from '../catalog/idb-catalog.ts';
import { systemTime } from '../clock/system-time.ts';
import type { ClearanceWatch } from '../file/clearance-watch.ts';
import { OpfsMedium, type OpfsMediumEnvironment } from '../file/opfs-medium.ts';
import { ClassRegistry } from '../instance/object-class.ts';
import type { Limits } from '../sql/query-limits.ts';
import { loadSqlite } from '../vfs/sqlite-module.ts';
import { type RunningHost, startHost } from './start-host.ts';

export interface OpfsHostOptions {
  /** Name of the directory in the origin private file system; one host uses it at a time. */
  readonly directory: string;
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

/** A running host, and the watch that notices when its files are cleared. */
export interface OpfsHost extends RunningHost {
  readonly watch: ClearanceWatch;
}

const FILE_TIME: OpfsMediumEnvironment = {
  now: () => performance.now(),
  sleep: (delayMs) => new Promise((resolve) => void systemTime.after(delayMs, resolve, false)),
  after: (delayMs, task) => systemTime.after(delayMs, task, false),
};

/**
 * Starts a host on the directory. It opens nothing until an object is used or its alarm is due.
 *
 * @throws OPFS_UNAVAILABLE, INSECURE_CONTEXT, DISK_FULL, WORKER_FAILED
 */
export async function startOpfsHost(options: OpfsHostOptions): Promise<OpfsHost> {
  const [sqlite, medium] = await Promise.all([
    loadSqlite(options.wasm ?? WASM_URL),
    OpfsMedium.open(options.directory, FILE_TIME),
  ]);
  const { classes = new ClassRegistry(), env = {} } = options;
  // Objects without a class have no alarm handler, and are never listed.
  const catalog = classes.isEmpty
    ? new MemoryCatalog()
    : await IdbCatalog.open(options.directory, () => medium.watch.expire());
  const chosen = {
    ...(options.idleMs !== undefined && { idleMs: options.idleMs }),
    ...(options.limits !== undefined && { limits: options.limits }),
  };
  const platform = { sqlite, medium, catalog, isDedicated: true, ...chosen };
  return { ...(await startHost(platform, classes, env)), watch: medium.watch };
}
