// Detects that the browser has deleted the directory of a host.
//
// A browser does so when the user clears site data, when a page does (Clear-Site-Data), and when it
// evicts a site to free space. No event reports it. Firefox closes the open handles. Chromium leaves
// them open: writes and flushes of a deleted file succeed, and `close()` of such a handle blocks the
// worker for good (Chromium 156). So this class checks whether a marker file still exists, which takes
// about 1 ms: every CHECK_MS during calls, and before a handle is closed.
//
// Invariant: no call returns a result if the last check is older than CHECK_MS. Writes acknowledged between the
// deletion and the next check are lost; this cannot be detected.

import { storageError } from '../../../src/shared/contract/errors.ts';

/** Milliseconds for which a check is valid. */
export const CHECK_MS = 250;

export interface WatchEnvironment {
  /** Milliseconds of a monotonic clock. */
  now(): number;
  /** Runs the task after the delay; the result cancels it. */
  after(delayMs: number, task: () => void): () => void;
}

export class ClearanceWatch {
  /** Resolves once the directory is gone, to the error that every later call throws. */
  readonly cleared: Promise<Error>;
  readonly #exists: () => Promise<boolean>;
  readonly #environment: WatchEnvironment;
  #checkedMs = Number.NEGATIVE_INFINITY;
  /** The check in progress; undefined if a call has failed since that check began. */
  #runningCheck: Promise<void> | undefined;
  #failures = 0;
  #error: Error | undefined;
  #underWay = 0;
  /**
   * True while a timer for the next regular check is set. The timer is kept between calls, because setting one can cost
   * more than a call.
   */
  #checksRegularly = false;
  #reportCleared: (error: Error) => void = () => {};

  /** `exists` checks the marker; it must not reject, and returns true if it cannot tell. */
  constructor(exists: () => Promise<boolean>, environment: WatchEnvironment) {
    this.#exists = exists;
    this.#environment = environment;
    this.cleared = new Promise((resolve) => {
      this.#reportCleared = resolve;
    });
  }

  /**
   * Runs the work with regular checks. Returns its result directly if the work is synchronous and the last check is
   * valid.
   *
   * @throws SITE_DATA_CLEARED, as a rejection, in place of any outcome
   */
  during<T>(work: () => T | Promise<T>): T | Promise<T> {
    this.#underWay += 1;
    this.#checkRegularly();
    let result: T | Promise<T>;
    try {
      result = work();
    } catch (error) {
      result = Promise.reject(error);
    }
    if (result instanceof Promise || !this.#isCheckRecent) return this.#confirmAfter(result);
    this.#underWay -= 1;
    return result;
  }

  /** Invalidates the last check after a failure, which a deletion would explain. */
  expire(): void {
    this.#checkedMs = Number.NEGATIVE_INFINITY;
    this.#runningCheck = undefined;
    this.#failures += 1;
  }

  /** Checks now whether the marker still exists. @throws SITE_DATA_CLEARED */
  look(): Promise<void> {
    if (this.#error !== undefined) return Promise.reject(this.#error);
    this.#runningCheck ??= this.#checkOnce();
    return this.#runningCheck;
  }

  async #confirmAfter<T>(result: T | Promise<T>): Promise<T> {
    try {
      return await result;
    } finally {
      this.#underWay -= 1;
      if (!this.#isCheckRecent) await this.#confirm();
    }
  }

  async #confirm(): Promise<void> {
    if (this.#error !== undefined) throw this.#error;
    if (!this.#isCheckRecent) await this.look();
  }

  get #isCheckRecent(): boolean {
    return this.#error === undefined && this.#environment.now() - this.#checkedMs < CHECK_MS;
  }

  /** Checks regularly, until no call is running when a check is due. */
  #checkRegularly(): void {
    if (this.#checksRegularly) return;
    const next = () => {
      this.#checksRegularly = this.#underWay > 0;
      if (!this.#checksRegularly) return;
      this.#confirm().catch(() => {}); // `cleared` reports the error.
      this.#environment.after(CHECK_MS, next);
    };
    next();
  }

  async #checkOnce(): Promise<void> {
    const startedMs = this.#environment.now();
    const failures = this.#failures;
    const isThere = await this.#exists();
    if (failures === this.#failures) this.#runningCheck = undefined;
    if (isThere) {
      if (failures === this.#failures) this.#checkedMs = startedMs;
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
      'stored is gone. Reload the page to start again.',
  );
}
