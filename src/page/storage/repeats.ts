// Whether work without effect is done once more, because its worker or its object was lost on the way.
//
// Invariant: it is done until it succeeds, for REPEAT_MS from the first loss on. Tabs may close one after the other. The
// object's own code would end its work again, so this is done three times.

import { isStorageError } from '../../shared/contract/errors.ts';

/** As long as a search for a leader. */
export const REPEAT_MS = 30_000;

const ENDED_MAX = 3;

export class Repeats {
  readonly #now: () => number;
  #count = 0;
  #sinceMs: number | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The work was lost by this error. True: it has been for too long. */
  areOver(error: unknown): boolean {
    this.#count += 1;
    this.#sinceMs ??= this.#now();
    if (isStorageError(error) && error.retryable) return isTooLong(this.#sinceMs, this.#now());
    return this.#count >= ENDED_MAX;
  }
}

/** Whether work is done no more, if it was lost first at this time. */
export function isTooLong(sinceMs: number, nowMs: number): boolean {
  return nowMs - sinceMs >= REPEAT_MS;
}
