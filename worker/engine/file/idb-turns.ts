// Runs the transactions on one IndexedDB database one after the other, and reports a browser that does not answer.
//
// Invariants: two transactions of a connection are never under way together, and no code calls `commit()` of a
// transaction. If WebKit ends a worker during either of these (2.50; WebKit bug 324094), it keeps the worker's locks,
// and every later transaction on that database, of any tab, waits for good. A step resolves when its transaction is
// done, not when its requests are. Every turn ends: a browser that answers nothing for SILENT_BEATS_MAX beats is
// reported, and the next turn begins.
//
// Silence is counted in beats of a timer, not by a clock, so that a suspended worker does not blame the browser.

import { storageError } from '../../../src/shared/contract/errors.ts';

// The original timers, before a host replaces those of the realm.
const { setTimeout, clearTimeout } = globalThis;

const BEAT_MS = 2000;
const SILENT_BEATS_MAX = 10;

/** Describes the silence, for messages. */
export const SILENCE = `the browser has not answered for ${(BEAT_MS * SILENT_BEATS_MAX) / 1000} s`;

/** Runs the task after the delay; the result cancels it. */
type After = (delayMs: number, task: () => void) => () => void;

const realTime: After = (delayMs, task) => {
  const timer = setTimeout(task, delayMs);
  return () => clearTimeout(timer);
};

/** The error of a step that the browser does not answer; the step may still take effect. */
export class SilentDatabase extends Error {
  override name = 'SilentDatabase';

  constructor() {
    super(SILENCE);
  }
}

/** Makes the error of an opening that the browser does not answer. */
export function lockedError(what: string, cause: SilentDatabase): Error {
  return storageError(
    'STORAGE_LOCKED',
    `${what} could not be opened: ${cause.message}. It is busy, or still has locks of a worker that ended. ` +
      'Try again later; if that does not help, restart the browser. Stored data is kept.',
    { cause },
  );
}

/** Called when the browser has answered a part of the step. */
export type Heard = () => void;

/** Runs one step and watches whether the browser answers. @throws SilentDatabase, or whatever the step throws */
export function whileAnswering<T>(
  step: (heard: Heard) => Promise<T>,
  after = realTime,
): Promise<T> {
  return new Promise((resolve, reject) => {
    let silentBeats = 0;
    let cancel = () => {};
    const beat = () => {
      silentBeats += 1;
      if (silentBeats > SILENT_BEATS_MAX) reject(new SilentDatabase());
      else cancel = after(BEAT_MS, beat);
    };
    const heard = () => {
      silentBeats = 0;
    };
    beat();
    step(heard)
      .then(resolve, reject)
      .finally(() => cancel());
  });
}

/** The queue of steps of one connection. */
export class IdbTurns {
  readonly #after: After;
  #last: Promise<unknown> = Promise.resolve();

  constructor(after = realTime) {
    this.#after = after;
  }

  /** Runs the step after all earlier ones. @throws SilentDatabase, or whatever the step throws */
  take<T>(step: (heard: Heard) => Promise<T>): Promise<T> {
    const turn = this.#last.then(() => whileAnswering(step, this.#after));
    this.#last = turn.catch(() => {});
    return turn;
  }
}
