// Tells whether the directory of a host still exists.
//
// A browser deletes it when the user clears site data, when a page does (Clear-Site-Data), and when
// it evicts a site to make room, and no event says so. Firefox closes the open handles. Chromium
// leaves them open: writes and flushes of a deleted file succeed, and `close()` of such a handle
// blocks the worker for good (Chromium 156). So a mark in it is looked up, which takes about 1 ms:
// while calls are under way once every CHECK_MS, and before a handle is closed.
//
// Invariant: no result of a call leaves when the last look is older than CHECK_MS. What was
// acknowledged between the deletion and the next look is lost, and nobody can know.

import { storageError } from '../../src/contract/errors.ts';

/** How long a look counts. */
export const CHECK_MS = 250;

export interface WatchEnvironment {
  /** Milliseconds that only go forward. */
  now(): number;
  /** Runs the task after the delay; the result cancels it. */
  after(delayMs: number, task: () => void): () => void;
}

export class ClearanceWatch {
  /** Resolves to the error of every later call when the directory is gone. */
  readonly cleared: Promise<Error>;
  readonly #exists: () => Promise<boolean>;
  readonly #environment: WatchEnvironment;
  #seenMs = Number.NEGATIVE_INFINITY;
  /** The look that is under way, unless something failed since it began. */
  #look: Promise<void> | undefined;
  #failures = 0;
  #error: Error | undefined;
  #underWay = 0;
  #cancelTimer: (() => void) | undefined;
  #reportCleared: (error: Error) => void = () => {};

  /** `exists` never rejects: what it cannot find out it takes for true. */
  constructor(exists: () => Promise<boolean>, environment: WatchEnvironment) {
    this.#exists = exists;
    this.#environment = environment;
    this.cleared = new Promise((resolve) => {
      this.#reportCleared = resolve;
    });
  }

  /** Does the work, looking meanwhile. @throws SITE_DATA_CLEARED in place of any outcome */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.#underWay += 1;
    this.#lookRegularly();
    try {
      return await work();
    } finally {
      this.#underWay -= 1;
      if (this.#underWay === 0) this.#cancelTimer?.();
      await this.#confirm();
    }
  }

  /** The last look counts no more: something failed that a deletion would explain. */
  expire(): void {
    this.#seenMs = Number.NEGATIVE_INFINITY;
    this.#look = undefined;
    this.#failures += 1;
  }

  /** Looks now. @throws SITE_DATA_CLEARED */
  look(): Promise<void> {
    if (this.#error !== undefined) return Promise.reject(this.#error);
    this.#look ??= this.#lookOnce();
    return this.#look;
  }

  async #confirm(): Promise<void> {
    if (this.#error !== undefined) throw this.#error;
    if (this.#environment.now() - this.#seenMs >= CHECK_MS) await this.look();
  }

  #lookRegularly(): void {
    if (this.#underWay > 1) return;
    const next = () => {
      this.#confirm().catch(() => {}); // told by `cleared`
      this.#cancelTimer = this.#environment.after(CHECK_MS, next);
    };
    next();
  }

  async #lookOnce(): Promise<void> {
    const startedMs = this.#environment.now();
    const failures = this.#failures;
    const isThere = await this.#exists();
    if (failures === this.#failures) this.#look = undefined;
    if (isThere) {
      if (failures === this.#failures) this.#seenMs = startedMs;
      return;
    }
    this.#error = siteDataCleared();
    this.#reportCleared(this.#error);
    throw this.#error;
  }
}

function siteDataCleared(): Error {
  return storageError(
    'SITE_DATA_CLEARED',
    'The data of this site was cleared, or evicted by the browser, while it was open: everything ' +
      'that was stored is gone. Reload the page to start anew.',
  );
}
