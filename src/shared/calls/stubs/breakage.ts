// Who is told when a stub breaks: the callbacks of its `onRpcBroken`.
//
// Invariant: each callback is called at most once, as code of the party that gave it, with the reason. The
// other side is asked while a callback waits, once for all of them.

import { storageError } from '../../contract/errors.ts';
import type { Enter } from '../io/io-context.ts';

/** Called with the reason, which later calls of a broken stub reject with. */
export type BrokenCallback = (error: unknown) => void;

interface Waiting {
  readonly callback: BrokenCallback;
  readonly enter: Enter;
}

export class Breakage {
  /** Resolves to the reason when the stub breaks. */
  readonly #ask: () => Promise<unknown>;
  #waiting: Waiting[] | null = null;

  constructor(ask: () => Promise<unknown>) {
    this.#ask = ask;
  }

  /** `enter` runs the callback as an event of its party. @throws INVALID_ARGUMENT */
  onBroken(callback: unknown, enter: Enter): void {
    if (typeof callback !== 'function') {
      throw storageError(
        'INVALID_ARGUMENT',
        `onRpcBroken: takes a function, which is called with the error, not ${typeof callback}.`,
      );
    }
    const waiting = { callback: callback as BrokenCallback, enter };
    if (this.#waiting !== null) {
      this.#waiting.push(waiting);
      return;
    }
    this.#waiting = [waiting];
    void this.#ask().then((reason) => {
      const told = this.#waiting ?? [];
      this.#waiting = null;
      for (const { callback, enter } of told) call(callback, reason, enter);
    });
  }
}

function call(callback: BrokenCallback, reason: unknown, enter: Enter): void {
  const task = async () => {
    try {
      await callback(reason);
    } catch (error) {
      report(error);
    }
  };
  enter(task).catch(() => {}); // an object that has ended is not told
}

/** Nobody waits for a callback, so its error is reported as that of a listener. */
function report(error: unknown): void {
  if (typeof globalThis.reportError === 'function') globalThis.reportError(error);
  else console.error(error);
}
