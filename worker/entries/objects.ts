// `ctx-storage/worker`: what a worker that hosts classes imports, and what `cloudflare:workers`
// stands for there.
//
// Keeps true: classes are checked when serve() is called, so a mistake fails the worker's start and
// is told to every page, not to the first call.

import { startBrowserWorker } from '../boot/browser-worker.ts';
import type { ClassTable, ClassTableOptions } from '../instance/object-class.ts';
import { appOf } from '../library/provided-env.ts';
import { completeLimits, type QueryLimits } from '../sql/query-limits.ts';

export type { ClassOptions, ClassTable, UserClass } from '../instance/object-class.ts';
export * from '../library/library.ts';
export type { QueryLimits } from '../sql/query-limits.ts';

/** Options of `serve`. */
export interface ServeOptions extends ClassTableOptions {
  /** What the app passes to its objects as `env`, beside the namespaces. @default as provided */
  readonly env?: object;
  /** How long an idle object stays in memory, in milliseconds. @default 10,000 */
  readonly idleMs?: number;
  /** How long a query may run, and how much of SQLite's memory an object may take. */
  readonly limits?: QueryLimits;
}

/**
 * Hosts the classes in this worker and serves them to pages (`connect`). Each is bound in `env` to
 * its own name, and to those of `bindings`.
 *
 * To be called once, before anything is awaited. Objects live in the directory that the page names.
 *
 * @throws CLASS_INVALID, INVALID_ARGUMENT, which fail the worker's start
 */
export function serve(classes: ClassTable, options: ServeOptions = {}): void {
  const { idleMs, limits } = options;
  startBrowserWorker({
    ...appOf(classes, options),
    limits: completeLimits(limits),
    ...(idleMs !== undefined && { idleMs }),
  });
}
