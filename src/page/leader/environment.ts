// The functions of the browser that a page's storage needs. They are a parameter, so that tests can control them;
// browser.ts creates them from the globals.

import type { Locks } from '../../shared/wire/control.ts';
import type { Flags } from './flags.ts';
import type { Persistence } from './status.ts';

export interface PageEnvironment {
  readonly locks: Locks;
  readonly openChannel: (name: string) => BroadcastChannel;
  readonly randomId: () => string;
  /** Address of `sqlite3.wasm` beside the page's code; null if this code has no address. */
  readonly ownWasmUrl: string | null;
  /**
   * Returns why the browser has refused the script of a worker; null if no reason was found. Settles in seconds, and
   * never rejects.
   */
  readonly scriptFault: (worker: object) => Promise<string | null>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Milliseconds that only go forward. */
  readonly elapsed: () => number;
  /** The time at which the page was opened, in milliseconds since the epoch. */
  readonly startedMs: number;
  /** Runs the task after the delay; the result cancels it. */
  readonly after: (delayMs: number, task: () => void) => () => void;
  /** Runs the task when the page goes away, or before it is suspended; the result cancels that. */
  readonly onPageHide: (task: () => void) => () => void;
  /** Runs the task before the browser freezes the page and its workers; the result cancels that. */
  readonly onFreeze: (task: () => void) => () => void;
  /**
   * Keeps the page for a moment as it goes away, if work is under way then, because the browser ends the page's worker
   * with the page. The result cancels that.
   */
  readonly stayFor: (isUnderWay: () => boolean) => () => void;
  /** Resolves in a later task, soon. Tasks that already wait for the page's thread run before. */
  readonly nextTask: () => Promise<void>;
  /** The flags of calls that can be cancelled. */
  readonly flags: Flags;
  /** Calls `abandon` of the remains some time after the owner is collected. The remains must not refer to the owner. */
  readonly whenCollected: (owner: object, left: Abandoned) => void;
  readonly persistence: Persistence;
  /** The site's IndexedDB, which some browsers refuse with an error. */
  readonly indexedDB: () => IDBFactory | undefined;
}

/**
 * The remains of a collected object. They are not a function, because a function refers to everything that the
 * functions of its scope use together, and a minifier chooses the scope.
 */
export interface Abandoned {
  abandon(): void;
}

/** The part of a Worker that the page uses. */
export interface WorkerLike {
  postMessage(message: unknown): void;
  addEventListener(type: string, listener: (event: Event) => void): void;
  removeEventListener(type: string, listener: (event: Event) => void): void;
  terminate?(): void;
}

/** The source of the page's worker: passed by the caller, or started by the page. */
export type WorkerSource =
  /** A worker that the caller started; it is never restarted. */
  | { readonly kind: 'given'; readonly worker: WorkerLike }
  | { readonly kind: 'spawned'; readonly spawn: () => WorkerLike };
