// Turns of the event loop that a simulation takes one by one, in the order in which they were requested.
//
// Invariant: between two turns, all microtasks have run.

import type { Turns } from '@ctx-storage/worker/objects';
import { turnOfEventLoop } from './settle.ts';

export class DrivenTurns implements Turns {
  #tasks: (() => void)[] = [];
  /** How many turns were taken. */
  count = 0;

  // A function that is passed on as it is.
  readonly nextTurn = (task: () => void): void => {
    this.#tasks.push(task);
  };

  /** A turn of its own, as a promise. */
  readonly turn = (): Promise<void> => new Promise((resolve) => this.nextTurn(resolve));

  /** Takes the next turn, with its microtasks; false when none was requested. */
  async take(): Promise<boolean> {
    const task = this.#tasks.shift();
    if (task === undefined) return false;
    await turnOfEventLoop();
    this.count += 1;
    task();
    await turnOfEventLoop();
    return true;
  }
}
