// Which object's code is running: one answer for all hosts of this realm, known in one of two ways.
//
// Node, Bun and Deno follow a task through everything it awaits. Browsers do not, so there a task lasts until
// the next turn of the event loop, and code that belongs to no object must not share a turn with a task
// (`isTaskExact`). The browser itself does: code that has awaited a digest or a Blob goes on when its bytes are there,
// before or after that turn. So only the synchronous part of a task is sure to belong to its context. In a browser, a task begins without a store of AsyncLocalStorage; the code that it resumes
// has stores of its own.

import { leaveFrame, runWithoutFrame } from './async-frame.ts';
import type { IoContext } from './io-context.ts';

/** The part of Node's `process` that is used; other runtimes lack it. */
interface Runtime {
  readonly process?: {
    getBuiltinModule?(name: string): { AsyncLocalStorage: new <T>() => AsyncStore<T> } | undefined;
  };
}

interface TaskTracker {
  /** The context of the running task; undefined for code that belongs to no object. */
  readonly current: IoContext | undefined;
  /** False if the running code may belong to another context, or to none. */
  readonly isSure: boolean;
  /** True if code after an `await` is attributed to the task it belongs to. */
  readonly isExact: boolean;
  /** Runs a task of the context. */
  run(context: IoContext, task: () => void): void;
  /** Runs a task that belongs to no object. */
  runOutside(task: () => void): void;
}

/** The part of Node's AsyncLocalStorage that is used. */
interface AsyncStore<T> {
  getStore(): T | undefined;
  run(value: T, task: () => void): void;
}

/** In Node, Bun and Deno. */
class AsyncTasks implements TaskTracker {
  readonly isExact = true;
  readonly isSure = true;
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

/** In browsers. */
class TurnTasks implements TaskTracker {
  readonly isExact = false;
  #current: IoContext | undefined;
  #isSure = false;

  get isSure(): boolean {
    return this.#isSure;
  }

  get current(): IoContext | undefined {
    return this.#current;
  }

  run(context: IoContext, task: () => void): void {
    if (this.#current === undefined) context.host.beforeNextTurn(() => this.#leave());
    this.#current = context;
    this.#isSure = true;
    try {
      runWithoutFrame(task);
    } finally {
      this.#isSure = false;
    }
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

const tasks: TaskTracker = createTracker(globalThis as Runtime);

/** The context of the running task; undefined for code that belongs to no object. */
export function currentContext(): IoContext | undefined {
  return tasks.current;
}

/** False if the running code may belong to another context than the current one: in browsers, after an `await`. */
export function isContextSure(): boolean {
  return tasks.isSure;
}

/** Runs a task of the context. */
export function runTask(context: IoContext, task: () => void): void {
  tasks.run(context, task);
}

/** Runs a task that belongs to no object. */
export function runOutside(task: () => void): void {
  tasks.runOutside(task);
}

/** True if the runtime attributes code after an `await` to the task it belongs to. */
export const isTaskExact = tasks.isExact;

function createTracker({ process }: Runtime): TaskTracker {
  const hooks = process?.getBuiltinModule?.('node:async_hooks');
  return hooks === undefined ? new TurnTasks() : new AsyncTasks(new hooks.AsyncLocalStorage());
}
