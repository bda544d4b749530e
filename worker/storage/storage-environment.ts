// What an object's storage asks of the instance it belongs to.

import type { StorageRead } from '../../src/contract/live.ts';
import type { LiveSource } from '../../src/live/live-value.ts';

export interface StorageEnvironment {
  now(): number;
  /** Runs the task in the next turn of the event loop, in order of the calls. */
  nextTurn(task: () => void): void;
  /** Runs the task after the delay, in real time. Without it, no flush is put off. */
  afterRealTime?(delayMs: number, task: () => void): void;
  /** Runs the closure as a critical section: other events of the object wait until it settles. */
  section<T>(closure: () => T | PromiseLike<T>): Promise<T>;
  /** Remembers the running event; the result delivers the continuation of I/O to that event. */
  continuation(): (task: () => void) => void;
  /** The storage is no longer reliable: the object must be reset. */
  onBroken(error: unknown): void;
  /** A flush has ended. */
  onFlushed?(): void;
  /** A change of the alarm was committed: its time in milliseconds, or null. */
  onAlarm(timeMs: number | null): void;
  /** Throws if the object cannot handle an alarm. */
  checkAlarm(): void;
  /** True if the caller for whom the object's code runs now has cancelled the call. */
  isCancelled?(): boolean;
  /** A live read for the object's own code. */
  live(read: StorageRead): LiveSource;
}
