// Calls the `onRpcBroken` callbacks of a stub when it breaks.
//
// Invariant: each callback is called at most once, with the reason, as code of the party that registered it. One request
// to the other side is pending while callbacks wait, however many there are.

import { storageError } from '../../contract/errors.ts';
import type { Enter } from '../io/io-context.ts';

/** Receives the reason for which the stub broke. Later calls of the stub reject with the same reason. */
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

  /** Registers a callback, which `enter` will run as an event of its party. @throws INVALID_ARGUMENT */
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
      const callbacks = this.#waiting ?? [];
      this.#waiting = null;
      for (const { callback, enter } of callbacks) call(callback, reason, enter);
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
  enter(task).catch(() => {}); // The object of the callback has ended.
}

/** Reports an error of a callback like that of a listener, because nothing waits for a callback. */
function report(error: unknown): void {
  if (typeof globalThis.reportError === 'function') globalThis.reportError(error);
  else console.error(error);
}
