// Turns of the event loop that a simulation runs one by one, in the order in which they were requested.
//
// Invariant: between two turns, all microtasks have run.

import type { Turns } from '@ctx-storage/worker/objects';
import { turnOfEventLoop } from './settle.ts';

export class DrivenTurns implements Turns {
  #tasks: (() => void)[] = [];
  /** The number of turns that have run. */
  count = 0;

  // This is a property and not a method, because it is passed on as a function.
  readonly nextTurn = (task: () => void): void => {
    this.#tasks.push(task);
  };

  /** Resolves in a turn of its own. */
  readonly turn = (): Promise<void> => new Promise((resolve) => this.nextTurn(resolve));

  /** Runs the next turn with its microtasks. Returns false if none was requested. */
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
