// `ctx-storage/worker`: what a worker that hosts classes imports, and what `cloudflare:workers`
// stands for there.
//
// Keeps true: classes are checked when serve() is called, so a mistake fails the worker's start and
// is told to every page, not to the first call.

import { ClassRegistry, type ClassTable, type ClassTableOptions } from './runtime/object-class.ts';
import { serveHost } from './serve-host.ts';

export * from './library.ts';
export type { ClassOptions, ClassTable, UserClass } from './runtime/object-class.ts';

/** Options of `serve`. */
export interface ServeOptions extends ClassTableOptions {
  /** What the app passes to its objects as `env`, beside the namespaces. */
  readonly env?: object;
  /** How long an idle object stays in memory, in milliseconds. @default 10,000 */
  readonly idleMs?: number;
}

/**
 * Hosts the classes in this worker and serves them to pages (`connect`). Each is bound in `env` to
 * its own name, and to those of `bindings`.
 *
 * To be called once, before anything is awaited. Objects live in the directory that the page names.
 *
 * @throws CLASS_INVALID, which fails the worker's start
 */
export function serve(classes: ClassTable, options: ServeOptions = {}): void {
  const { env = {}, idleMs } = options;
  serveHost({
    classes: new ClassRegistry(classes, options),
    env,
    ...(idleMs !== undefined && { idleMs }),
  });
}
