// A page's storage needs this of the browser. It is a parameter, so that tests can control it;
// browser.ts creates it from the globals.

import type { Locks } from '../../shared/wire/control.ts';
import type { Flags } from './flags.ts';
import type { Persistence } from './status.ts';

export interface PageEnvironment {
  readonly locks: Locks;
  readonly openChannel: (name: string) => BroadcastChannel;
  readonly randomId: () => string;
  /** `sqlite3.wasm` beside the page's code; null if this code has no address. */
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
  /** When the page was opened, in milliseconds since the epoch. */
  readonly startedMs: number;
  /** Runs the task after the delay; the result cancels it. */
  readonly after: (delayMs: number, task: () => void) => () => void;
  /** Runs the task when the page goes away, or before it stands still; the result cancels it. */
  readonly onPageHide: (task: () => void) => () => void;
  /** Runs the task before the browser freezes the page and its workers; the result cancels it. */
  readonly onFreeze: (task: () => void) => () => void;
  /**
   * Keeps the page for a moment as it goes away, if something is under way then: the browser ends the page's worker
   * with it. The result cancels it.
   */
  readonly stayFor: (isUnderWay: () => boolean) => () => void;
  /** Resolves in a later task, soon: whatever waits for the page's thread gets its turn before. */
  readonly nextTask: () => Promise<void>;
  /** Flags of calls that can be cancelled. */
  readonly flags: Flags;
  /** Abandons the rest of the owner, which must not refer to it, some time after the owner is collected. */
  readonly whenCollected: (owner: object, left: Abandoned) => void;
  readonly persistence: Persistence;
  /** The site's IndexedDB, which some browsers refuse with an error. */
  readonly indexedDB: () => IDBFactory | undefined;
}

/**
 * The rest of a collected object. No function, because a function refers to everything that the functions of its
 * scope use together, and a minifier chooses the scope.
 */
export interface Abandoned {
  abandon(): void;
}

/** The part of a Worker that is used. */
export interface WorkerLike {
  postMessage(message: unknown): void;
  addEventListener(type: string, listener: (event: Event) => void): void;
  removeEventListener(type: string, listener: (event: Event) => void): void;
  terminate?(): void;
}

/** Where the page's worker comes from. */
export type WorkerSource =
  /** A worker that the caller started; it is never restarted. */
  | { readonly kind: 'given'; readonly worker: WorkerLike }
  | { readonly kind: 'spawned'; readonly spawn: () => WorkerLike };
