// `ctx-storage/source`: classes whose code the page gives as text.
//
// A module of its own, because a bundler that follows it emits the worker that runs them.

import type { ConsoleEntry, SourceFiles } from '@ctx-storage/core/contract';
import type { ConnectOptions, SourceObjects } from '@ctx-storage/core/page';
import { withClient } from '@ctx-storage/core/page';
import type { HistoryLimits } from '@ctx-storage/core/storage';
import { spawnSourceWorker } from './spawn-source-worker.ts';

export type { ConsoleEntry, ConsoleLevel, SourceFiles } from '@ctx-storage/core/contract';
export type { SourceObjects } from '@ctx-storage/core/page';
export type { HistoryLimits } from '@ctx-storage/core/storage';

/** How classes from source are loaded and run, and where their objects live. */
export interface SourceConnectOptions extends ConnectOptions {
  /** The module that exports the classes. @default the only one, or `main`, `index` or `worker` */
  main?: string;
  /** Members of the objects' `env` besides the namespaces; sent to the worker as a clone. */
  env?: object;
  /** More names of classes in `env`: name in `env` to name of the class. */
  bindings?: Readonly<Record<string, string>>;
  /** First part of the unique keys of the classes. @default 'worker' */
  scriptName?: string;
  /** `YYYY-MM-DD`. */
  compatibilityDate?: string;
  /** How long an idle object stays in memory, in milliseconds. @default 10,000 */
  idleMs?: number;
  /** How much history each object keeps. @default 30 days, within 256 MiB or the size of its database */
  history?: HistoryLimits;
  /** How long source may take to load, in milliseconds. @default 10,000 */
  loadMs?: number;
  /** Receives the code's console output while the worker of this page runs it. */
  onConsole?: (entry: ConsoleEntry) => void;
  /**
   * Starts a worker that runs this package's `source-worker.js`, once for each version of the code: at another address, or
   * under another Content-Security-Policy than that of its response. @default the one beside this package's files
   */
  worker?: () => Worker;
}

/**
 * Runs classes whose code is given as text: every exported class that extends `DurableObject`.
 *
 * Files import each other by relative paths, the base classes from `cloudflare:workers`, and modules of the web by
 * address. The text is JavaScript; compile TypeScript first. The code runs with the rights of the page's origin: do not
 * pass code of a stranger.
 *
 * `replace(files)` runs another version; of versions that several tabs give for one directory, the latest runs. For the
 * rest, this is `connect`.
 *
 * @throws StorageError INVALID_ARGUMENT, SOURCE_INVALID, SOURCE_TIMEOUT, and as `connect`
 */
export async function connectSource<Classes extends object = Record<string, object>>(
  files: SourceFiles,
  options: SourceConnectOptions = {},
): Promise<SourceObjects<Classes>> {
  const { worker = spawnSourceWorker, ...others } = options;
  return withClient('connectSource', null, (client) =>
    client.connectSource<Classes>(files, others, worker),
  );
}
