// Which object's code is running: one answer for all hosts of this realm, known in one of two ways.
//
// Node, Bun and Deno follow a task through everything it awaits. Browsers do not, so there a task lasts until
// the next turn of the event loop, and code that belongs to no object must not share a turn with a task
// (`isTaskExact`). The browser itself does: code that has awaited a digest or a Blob goes on when its bytes are there,
// before or after that turn. So only the synchronous part of a task is sure to belong to its context. In a browser, a task begins without a store of AsyncLocalStorage; the code that it resumes
// has stores of its own. In Node only an event begins without one (`runEvent`): the platform hands them to everything else.

import { bindToFrame, leaveFrame, runWithoutFrame } from './async-frame.ts';
import type { IoContext } from './io-context.ts';

/** The part of Node's `process` that is used; other runtimes lack it. */
interface Runtime {
  readonly process?: {
    getBuiltinModule?(name: string): AsyncHooks | undefined;
  };
}

interface AsyncHooks {
  readonly AsyncLocalStorage: new <T>() => AsyncStore<T>;
  readonly AsyncResource: {
    new (type: string): { runInAsyncScope<T>(call: () => T): T };
    bind<Call extends Callable>(call: Call): Call;
  };
}

type Callable = (...args: never[]) => unknown;

interface TaskTracker {
  /** The context of the running task; undefined for code that belongs to no object. */
  readonly current: IoContext | undefined;
  /** False if the running code may belong to another context, or to none. */
  readonly isSure: boolean;
  /** True if code after an `await` is attributed to the task it belongs to. */
  readonly isExact: boolean;
  /** Runs a task of the context. */
  run(context: IoContext, task: () => void): void;
  /** Calls the function as an event of the context, whose task runs. */
  runEvent<T>(context: IoContext, event: () => T): T;
  /** Runs a task that belongs to no object. */
  runOutside(task: () => void): void;
  /** The store follows events. */
  carry(store: AsyncStore<unknown>): void;
  /** The function, called with the stores of the code that binds it. */
  bind<Call extends Callable>(call: Call): Call;
}

/** The part of Node's AsyncLocalStorage that is used. */
interface AsyncStore<T> {
  getStore(): T | undefined;
  run<Result>(value: T, task: () => Result): Result;
}

/** In Node, Bun and Deno. */
class AsyncTasks implements TaskTracker {
  readonly isExact = true;
  readonly isSure = true;
  readonly #hooks: AsyncHooks;
  readonly #store: AsyncStore<IoContext | undefined>;
  readonly #carried = new Set<AsyncStore<unknown>>();
  /** Made when this module is loaded, so that it has none of the stores of code that calls. */
  readonly #root: { runInAsyncScope<T>(call: () => T): T };

  constructor(hooks: AsyncHooks) {
    this.#hooks = hooks;
    this.#store = new hooks.AsyncLocalStorage();
    this.#root = new hooks.AsyncResource('ctx-storage');
  }

  get current(): IoContext | undefined {
    return this.#store.getStore();
  }

  run(context: IoContext, task: () => void): void {
    this.#store.run(context, task);
  }

  runEvent<T>(context: IoContext, event: () => T): T {
    let inside = () => this.#store.run(context, event);
    for (const store of this.#carried) {
      const value = store.getStore();
      const call = inside;
      inside = () => store.run(value, call);
    }
    return this.#root.runInAsyncScope(inside);
  }

  runOutside(task: () => void): void {
    this.#store.run(undefined, task);
  }

  carry(store: AsyncStore<unknown>): void {
    this.#carried.add(store);
  }

  bind<Call extends Callable>(call: Call): Call {
    return this.#hooks.AsyncResource.bind(call);
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

  runEvent<T>(_context: IoContext, event: () => T): T {
    return event(); // its task has no frame
  }

  runOutside(task: () => void): void {
    this.#leave();
    task();
  }

  carry(): void {} // only tools in Node have one

  bind<Call extends Callable>(call: Call): Call {
    return bindToFrame(call as never) as never as Call;
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

/**
 * Calls the function as an event of the context, whose task runs: like an event of another process, it has none of the
 * stores of the code that caused it.
 */
export function runEvent<T>(context: IoContext, event: () => T): T {
  return tasks.runEvent(context, event);
}

/** The store follows calls into their objects: a tool's own, which tells whose call it is. */
export function carryIntoEvents<T>(store: AsyncStore<T>): void {
  tasks.carry(store as AsyncStore<unknown>);
}

/** The function, called with the stores of the code that binds it. */
export function bindToStores<Call extends Callable>(call: Call): Call {
  return tasks.bind(call);
}

/** Runs a task that belongs to no object. */
export function runOutside(task: () => void): void {
  tasks.runOutside(task);
}

/** True if the runtime attributes code after an `await` to the task it belongs to. */
export const isTaskExact = tasks.isExact;

function createTracker({ process }: Runtime): TaskTracker {
  const hooks = process?.getBuiltinModule?.('node:async_hooks');
  return hooks === undefined ? new TurnTasks() : new AsyncTasks(hooks);
}
