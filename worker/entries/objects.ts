// `ctx-storage/worker`: what a worker that runs classes imports, and there a drop-in replacement for
// `cloudflare:workers`.
//
// Invariant: classes are checked when serve() is called, so a mistake fails the worker's start, which
// every page is told, and not the first call.

import { answerStarts } from '../boot/answer-starts.ts';
import { startBrowserWorker } from '../boot/browser-worker.ts';
import type { ClassTable, ClassTableOptions } from '../instance/object-class.ts';
import { appOf } from '../library/provided-env.ts';
import { completeLimits, type QueryLimits } from '../sql/query-limits.ts';

export type { ClassOptions, ClassTable, UserClass } from '../instance/object-class.ts';
export * from '../library/library.ts';
export type { QueryLimits } from '../sql/query-limits.ts';

answerStarts();

/** Options of `serve`. */
export interface ServeOptions extends ClassTableOptions {
  /** What the app passes to its objects as `env`, besides the namespaces. @default as given to `provideEnv` */
  readonly env?: object;
  /** How long an idle object stays in memory, in milliseconds. @default 10,000 */
  readonly idleMs?: number;
  /** How long a query may run, and how much of SQLite's memory an object may take. */
  readonly limits?: QueryLimits;
}

/**
 * Runs the classes in this worker and serves them to pages (`connect`). Each class is bound in `env` to
 * its own name, and to its names in `bindings`.
 *
 * Call it once, at most 3 seconds after the script has run. Objects are stored in the directory that the page names.
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
