// Decides whether a read is repeated after its worker or object was lost.
//
// Invariant: a read is repeated until it succeeds, for REPEAT_MS after the first loss, because tabs may be closed one after
// the other. If the object's own code has caused the reset, the read is made three times only, because it may cause the
// next one. No assertion keeps this: it is about time, and about errors of the object's code.

import { isStorageError } from '../../shared/contract/errors.ts';

/** The time after the first loss in which reads are repeated. It is as long as a search for a leader. */
export const REPEAT_MS = 30_000;

const ENDED_MAX = 3;

export class Repeats {
  readonly #now: () => number;
  #count = 0;
  #sinceMs: number | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Counts a loss with this error. Returns true if the read must not be repeated again. */
  areOver(error: unknown): boolean {
    this.#count += 1;
    this.#sinceMs ??= this.#now();
    if (isStorageError(error) && error.retryable) return isTooLong(this.#sinceMs, this.#now());
    return this.#count >= ENDED_MAX;
  }
}

/** Returns true if a read that was first lost at `sinceMs` must not be repeated any more. */
export function isTooLong(sinceMs: number, nowMs: number): boolean {
  return nowMs - sinceMs >= REPEAT_MS;
}
