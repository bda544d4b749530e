// Implements `serve`, which runs classes in this worker.
//
// Invariant: classes are checked when serve() is called, so that a mistake fails the worker's start, which is reported to
// every page, and not the first call. No assertion keeps this: classes are the user's, and a wrong one is a typed
// error.

import { BUILD_CHARS_MAX, type Build, isBuild } from '../../../src/shared/contract/deployment.ts';
import { storageError } from '../../../src/shared/contract/errors.ts';
import {
  checkHistoryLimits,
  type HistoryLimits,
} from '../../../src/shared/contract/history-limits.ts';
import { completeLimits, type QueryLimits } from '../../engine/sql/query-limits.ts';
import type { EntryOptions } from '../../objects/entries/workers.ts';
import type { StartFollowing } from '../../objects/host/object-host.ts';
import type { ClassTable, ClassTableOptions } from '../../objects/instance/object-class.ts';
import { objectRealm } from '../../realm/globals/object-realm.ts';
import { appOf } from '../../realm/library/provided-env.ts';
import { startBrowserWorker } from '../boot/browser-worker.ts';
import type { CompareBuilds } from '../boot/deployment-order.ts';
import './answer-starts.ts';

/** Options of `serve`. */
export interface ServeOptions extends Omit<ClassTableOptions, 'bindings'>, EntryOptions {
  /** The members of `env` besides the namespaces. @default the members given to `provideEnv` */
  readonly env?: object;
  /** Makes objects follow objects on a server: the result of `follow` from `ctx-storage/worker/follow`. @default none */
  readonly follow?: StartFollowing;
  /** The time after which an idle object is evicted from memory, in milliseconds. @default 10,000 */
  readonly idleMs?: number;
  /** The limits of a query's time, and of an object's memory in SQLite. */
  readonly limits?: QueryLimits;
  /** The limits of each object's history. @default 30 days, within 256 MiB or the size of its database */
  readonly history?: HistoryLimits;
  /**
   * The app's name for this deployment. When tabs of several deployments are open, the code of the newest deployment
   * runs, and the other tabs are told (`outdated`). The greater number is newer; strings need `compareBuilds`.
   *
   * @default no name: of deployments that differ in the worker's address or the text of its classes, the deployment
   * whose page was opened last is newer
   */
  readonly build?: Build;
  /**
   * Returns a positive number if `one` is newer than `other`, a negative number if it is older, 0 if they are equal.
   */
  readonly compareBuilds?: CompareBuilds;
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
  const { idleMs, limits, build, compareBuilds } = options;
  checkBuild(build, compareBuilds);
  startBrowserWorker({
    ...appOf(classes, options),
    realm: objectRealm,
    limits: completeLimits(limits),
    history: checkHistoryLimits('serve', options.history),
    ...(idleMs !== undefined && { idleMs }),
    ...(build !== undefined && { build }),
    ...(compareBuilds !== undefined && { compareBuilds }),
  });
}

function checkBuild(build: unknown, compareBuilds: unknown): void {
  if (build !== undefined && !isBuild(build)) {
    throw storageError(
      'INVALID_ARGUMENT',
      `serve: build is a finite number, or a string of 1 to ${BUILD_CHARS_MAX} characters, not ` +
        `${typeof build === 'string' ? `one of ${build.length}` : String(build)}.`,
    );
  }
  if (compareBuilds === undefined || typeof compareBuilds === 'function') return;
  throw storageError(
    'INVALID_ARGUMENT',
    'serve: compareBuilds is a function of two builds, such as (one, other) => Number(one) - Number(other).',
  );
}
