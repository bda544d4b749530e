// The parameters of an object's storage: the options of its class (backend, compatibility date), and the functions of
// the instance to which it belongs.

import type { HistoryLimits } from '../../../src/shared/contract/history-limits.ts';
import type { StorageRead } from '../../../src/shared/contract/live.ts';
import type { LiveSource } from '../../../src/shared/live/live-value.ts';
import type { Annotation } from '../log/annotation.ts';
import type { AccessPolicy } from './access-policy.ts';

/**
 * A stretch of an object's code that no other code of the object interrupts: a turn with its microtasks, or one
 * operation of a page. All its writes are in one commit.
 */
export interface CommitScope {
  /** The author of the commits; compared by identity. Undefined if the commits name no author. */
  readonly author: Annotation | undefined;
  /** The policy of the code, which says what the code may do to the storage. */
  readonly policy: AccessPolicy;
  /** True after the first write. */
  hasWritten: boolean;
}

export interface StorageEnvironment {
  /** Returns the scope of the calling code. Without this function, all code is one scope without an author. */
  scope?(): CommitScope;
  now(): number;
  /** Runs the task in the next turn of the event loop, in order of the calls. */
  nextTurn(task: () => void): void;
  /** Runs the task after the delay, in real time. Without this function, no flush is delayed. */
  afterRealTime?(delayMs: number, task: () => void): void;
  /** Runs the closure as a critical section: other events of the object wait until it settles. */
  section<T>(closure: () => T | PromiseLike<T>): Promise<T>;
  /** Remembers the running event; the result runs a continuation of I/O in that event. */
  continuation(): (task: () => void) => void;
  /** Called when the storage is no longer reliable; the object must be reset. */
  onBroken(error: unknown): void;
  /** Called when everything was deleted, and when another state replaces or will replace the current one. */
  onReplaced?(): void;
  /** Called after each flush. */
  onFlushed?(): void;
  /** Called after a change of the alarm was committed, with its time in milliseconds or null. */
  onAlarm(timeMs: number | null): void;
  /** Throws if the object cannot handle an alarm. */
  checkAlarm(): void;
  /** True if the caller for whom the object's code runs now has cancelled the call. */
  isCancelled?(): boolean;
  /** Starts a live read for the object's own code. */
  live(read: StorageRead): LiveSource;
}

/** The backend: `sql` has keys, SQL and recovery; `kv` has keys only, as classes on workerd's default backend. */
export type Backend = 'sql' | 'kv';

export interface StorageOptions {
  /** @default 'sql' */
  readonly backend?: Backend;
  /**
   * `YYYY-MM-DD`: changes that workerd made up to this date apply. Without it, the written
   * interface applies.
   */
  readonly compatibilityDate?: string;
  /** Limits of the history that replace the host's. */
  readonly history?: HistoryLimits;
}

/** From this date on, `deleteAll` also deletes the alarm (workerd: delete_all_deletes_alarm). */
const DELETE_ALL_DELETES_ALARM = '2026-02-24';

/** True if `deleteAll` deletes the alarm. */
export function deleteAllDeletesAlarm({ compatibilityDate }: StorageOptions): boolean {
  return compatibilityDate !== undefined && compatibilityDate >= DELETE_ALL_DELETES_ALARM;
}
