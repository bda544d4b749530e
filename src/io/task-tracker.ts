// Tells whose task is running, by one of two ways to know it.
//
// Node, Bun and Deno follow a task through everything it awaits. A browser does not tell which
// promise an engine goes on with, so there a task is taken to last until the next turn of the event
// loop: code that belongs to no object must not share a turn with a task (`isExact`).

import type { IoContext } from './io-context.ts';

export interface TaskTracker {
  /** The context of the running task; undefined for code that belongs to no object. */
  readonly current: IoContext | undefined;
  /** True when code after an `await` is told apart from the task that ran in between. */
  readonly isExact: boolean;
  /** Runs a task of the context. */
  run(context: IoContext, task: () => void): void;
  /** Runs what belongs to no object. */
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
    task();
  }

  runOutside(task: () => void): void {
    this.#leave();
    task();
  }

  #leave(): void {
    this.#current = undefined;
  }
}
