// Tracks which calls were cancelled by their callers. A worker that is between two tasks learns of a cancellation by a
// message; a busy worker checks whether the call's flag still exists.
//
// Invariant: a flag is checked only where the check is worth a few milliseconds: in a statement that runs for long, and
// before a call that was made some time ago, whose caller may have cancelled it while the worker was busy. No assertion
// keeps this: whether a check is worth its time is not a question of true or false.
//
// Does not know how a flag is checked, nor how a call is stopped.

import type { CallFlag } from '../../../src/shared/contract/call-flag.ts';
import { type StorageError, storageError } from '../../../src/shared/contract/errors.ts';

/** Tells whether the caller still wants the result of a call. */
export interface Cancellation {
  /** True once the call was cancelled. Finding out may take a few milliseconds. */
  isCancelled(): boolean;
  /** Called before the call begins. @throws CANCELLED */
  check(): void;
}

export interface CancellationEnvironment {
  /** Milliseconds since the epoch, the only time that two threads share. */
  now(): number;
  /** Milliseconds of this thread that only go forward. */
  elapsed(): number;
  /** True when the page that made the flag has revoked it, or is gone. */
  isRevoked(url: string): boolean;
}

/**
 * How long the result of a check of a flag is valid. A check takes some milliseconds, and in a worker that is not busy
 * a message comes sooner.
 */
const LOOK_MS = 100;

/**
 * Firefox makes a blob URL known to the threads of other tabs a moment after the page has it. So a flag that
 * was never seen there counts as revoked only when it has been made this long ago.
 */
export const KNOWN_MS = 2000;

interface FlaggedCalls {
  isCancelled: boolean;
  /** True if the flag was seen once. */
  isKnown: boolean;
  /** When the first of the calls was made, by this thread's monotonic clock, and when the flag was there for certain. */
  readonly madeMs: number;
  lookMs: number;
  count: number;
}

export class Cancellations {
  readonly #environment: CancellationEnvironment;
  readonly #calls = new Map<string, FlaggedCalls>();

  constructor(environment: CancellationEnvironment) {
    this.#environment = environment;
  }

  /** Number of calls under way, for tests. */
  get size(): number {
    return this.#calls.size;
  }

  /** Registers a call with this flag as under way, until `end` is called. */
  begin({ url, madeMs }: CallFlag): Cancellation & { end(): void } {
    const { now, elapsed, isRevoked } = this.#environment;
    const callMs = elapsed() - Math.max(0, now() - madeMs);
    const calls = this.#calls.get(url) ?? this.#first(callMs);
    this.#calls.set(url, calls);
    calls.count += 1;
    calls.lookMs = Math.max(calls.lookMs, callMs);
    const isCancelled = () => {
      if (calls.isCancelled || elapsed() - calls.lookMs < LOOK_MS) return calls.isCancelled;
      const isGone = isRevoked(url);
      calls.lookMs = elapsed();
      calls.isKnown ||= !isGone;
      calls.isCancelled = isGone && (calls.isKnown || calls.lookMs - calls.madeMs >= KNOWN_MS);
      return calls.isCancelled;
    };
    return {
      isCancelled,
      check: () => {
        if (isCancelled()) throw cancelledError();
      },
      end: () => {
        calls.count -= 1;
        if (calls.count === 0) this.#calls.delete(url);
      },
    };
  }

  #first(madeMs: number): FlaggedCalls {
    return { isCancelled: false, isKnown: false, madeMs, lookMs: madeMs, count: 0 };
  }

  /** Cancels the calls with these flags that have not ended. */
  cancel(urls: readonly string[]): void {
    for (const url of urls) {
      const calls = this.#calls.get(url);
      if (calls !== undefined) calls.isCancelled = true;
    }
  }
}

/** Makes the cancellation of a caller in this thread. */
export function cancellationOf(signal: AbortSignal): Cancellation {
  return {
    isCancelled: () => signal.aborted,
    check() {
      if (signal.aborted) throw cancelledError();
    },
  };
}

function cancelledError(): StorageError {
  return storageError('CANCELLED', 'The caller cancelled the call by its signal; it was not made.');
}
