// Knows which object's task is running, in one of two ways.
//
// Node, Bun and Deno follow a task through everything it awaits. Browsers do not, so there a task lasts until
// the next turn of the event loop, and code that belongs to no object must not share a turn with a task
// (`isExact`). In a browser, a task begins without a store of AsyncLocalStorage; what it resumes has
// stores of its own.

import { leaveFrame, runWithoutFrame } from './async-frame.ts';
import type { IoContext } from './io-context.ts';

export interface TaskTracker {
  /** The context of the running task; undefined for code that belongs to no object. */
  readonly current: IoContext | undefined;
  /** True if code after an `await` is attributed to the task it belongs to. */
  readonly isExact: boolean;
  /** Runs a task of the context. */
  run(context: IoContext, task: () => void): void;
  /** Runs a task that belongs to no object. */
  runOutside(task: () => void): void;
}

/** The part of Node's AsyncLocalStorage that is used. */
export interface AsyncStore<T> {
  getStore(): T | undefined;
  run(value: T, task: () => void): void;
}

export class AsyncTasks implements TaskTracker {
  readonly isExact = true;
  readonly #store: AsyncStore<IoContext | undefined>;

  constructor(store: AsyncStore<IoContext | undefined>) {
    this.#store = store;
  }

  get current(): IoContext | undefined {
    return this.#store.getStore();
  }

  run(context: IoContext, task: () => void): void {
    this.#store.run(context, task);
  }

  runOutside(task: () => void): void {
    this.#store.run(undefined, task);
  }
}

export class TurnTasks implements TaskTracker {
  readonly isExact = false;
  #current: IoContext | undefined;

  get current(): IoContext | undefined {
    return this.#current;
  }

  run(context: IoContext, task: () => void): void {
    if (this.#current === undefined) context.host.beforeNextTurn(() => this.#leave());
    this.#current = context;
    runWithoutFrame(task);
  }

  runOutside(task: () => void): void {
    this.#leave();
    task();
  }

  #leave(): void {
    this.#current = undefined;
    leaveFrame();
  }
}
