// How many files a host has open at once, and who waits until one may be opened.
//
// Browsers limit synchronous access handles (Safari to about 252 for all tabs together), and a process has
// a limit of open files. Invariant: no more than `limit` are taken. What waits is served in order, except
// that holders of files come before those that hold none: they let go only when they are done.
//
// Does not know objects: `onShort` asks for files to be closed.

import { storageError } from '../../src/contract/errors.ts';

/** How long nothing may be closed before those that wait are refused, in milliseconds. */
export const OPEN_WAIT_MS = 10_000;

interface Waiting {
  readonly count: number;
  readonly granted: () => void;
  readonly refused: (reason: Error) => void;
}

export interface OpenFilesEnvironment {
  /** Runs the task after the delay, in real time; the result cancels it. */
  after(delayMs: number, task: () => void): () => void;
}

export class OpenFiles {
  readonly #limit: number;
  readonly #environment: OpenFilesEnvironment;
  readonly #waiting: Waiting[] = [];
  #taken = 0;
  /** Counts what was given back. */
  #returns = 0;
  /** Somebody who does not wait would open one more. */
  #isWished = false;
  #ended: Error | undefined;
  /** Called when a file is wanted and none is left, and again while that lasts and something changes. */
  onShort: () => void = () => {};

  constructor(limit: number, environment: OpenFilesEnvironment) {
    this.#limit = limit;
    this.#environment = environment;
  }

  /** How many are open, or about to be. */
  get taken(): number {
    return this.#taken;
  }

  /** How many files are wanted beyond those that are left. */
  get shortage(): number {
    const waiting = this.#waiting.reduce((sum, { count }) => sum + count, 0);
    const wanted = waiting + (this.#isWished ? 1 : 0);
    return wanted === 0 ? 0 : Math.max(0, this.#taken + wanted - this.#limit);
  }

  /** Takes files, if they are left and nobody waits. */
  tryTake(count: number): boolean {
    if (this.#waiting.length > 0 || this.#taken + count > this.#limit) return false;
    this.#taken += count;
    return true;
  }

  /**
   * Takes files, as soon as they are left. `holds`: the caller holds others already.
   *
   * @throws TOO_MANY_OPEN when nothing was closed for `OPEN_WAIT_MS`; the error of `end` after that
   */
  take(count: number, holds: boolean): Promise<void> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    if (this.tryTake(count)) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const settle = (action: () => void) => () => {
        cancel();
        action();
      };
      const waiting: Waiting = {
        count,
        granted: settle(resolve),
        refused: (reason) => settle(() => reject(reason))(),
      };
      let cancel = this.#watch(waiting, (next) => {
        cancel = next;
      });
      if (holds) this.#waiting.unshift(waiting);
      else this.#waiting.push(waiting);
      this.#grant(); // it may fit although others, behind it, do not
      if (this.#waiting.length > 0) this.onShort();
    });
  }

  /** Asks for a file to be left, for somebody who tries again later. */
  wish(): void {
    this.#isWished = true;
    this.onShort();
  }

  /** Gives files back, which were closed or not opened. */
  give(count: number): void {
    if (count === 0) return;
    this.#taken -= count;
    this.#returns += 1;
    this.#isWished = false;
    this.#grant();
    if (this.#waiting.length > 0) this.onShort();
  }

  /** Nothing is opened any more: those that wait are refused for this reason. */
  end(reason: Error): void {
    this.#ended ??= reason;
    for (const { refused } of this.#waiting.splice(0)) refused(reason);
  }

  #grant(): void {
    for (;;) {
      const first = this.#waiting[0];
      if (first === undefined || this.#taken + first.count > this.#limit) return;
      this.#waiting.shift();
      this.#taken += first.count;
      first.granted();
    }
  }

  /** Refuses one that waits when nothing was given back for too long; the result cancels this. */
  #watch(waiting: Waiting, rearmed: (cancel: () => void) => void): () => void {
    const returns = this.#returns;
    return this.#environment.after(OPEN_WAIT_MS, () => {
      if (this.#returns !== returns) {
        rearmed(this.#watch(waiting, rearmed));
        return;
      }
      this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
      waiting.refused(tooManyOpen(this.#limit));
      this.#grant();
    });
  }
}

function tooManyOpen(limit: number): Error {
  return storageError(
    'TOO_MANY_OPEN',
    `All ${limit} files that may be open at once (limits.openFiles) belong to objects in use, and none ` +
      `was closed for ${OPEN_WAIT_MS / 1000} s, so no other object can be opened. Objects are in use while ` +
      'a call, transaction, cursor, live read, timer or accepted WebSocket of them is open: end some, or ' +
      'raise the limit.',
  );
}
