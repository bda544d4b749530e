// Tells which object's code is running, for all hosts of this thread. There are two implementations.
//
// Node, Bun and Deno track a task through everything that it awaits (AsyncTasks). Browsers do not, so there a task lasts
// until the next turn of the event loop (TurnTasks), and code outside of objects must not run in the turn of a task
// (`isTaskExact`). Native promises break this rule: code that has awaited a digest or a Blob continues in an arbitrary
// turn. Only the synchronous part of a task therefore belongs to its context for sure.
//
// In a browser, a task begins without stores of AsyncLocalStorage, and resumed code gets its own stores back. In Node,
// only an event begins without stores (`runEvent`), because the platform passes them on to everything else.

import { bindToFrame, leaveFrame, runWithoutFrame } from './async-frame.ts';
import type { IoContext } from './io-context.ts';

/** The members of the global scope that this file uses. Browsers have no `process`. */
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
  /** Calls the function as an event of the context, without the caller's stores. Its task must be running. */
  runEvent<T>(context: IoContext, event: () => T): T;
  /** Runs a task that belongs to no object. */
  runOutside(task: () => void): void;
  /** Passes the value of this store into events, unlike other stores. */
  carry(store: AsyncStore<unknown>): void;
  /** Returns a function that runs with the current stores, whenever it is called. */
  bind<Call extends Callable>(call: Call): Call;
}

/** The members of Node's AsyncLocalStorage that this file uses. */
interface AsyncStore<T> {
  getStore(): T | undefined;
  run<Result>(value: T, task: () => Result): Result;
}

/** Tracks tasks with Node's AsyncLocalStorage, which Bun and Deno have, too. */
class AsyncTasks implements TaskTracker {
  readonly isExact = true;
  readonly isSure = true;
  readonly #hooks: AsyncHooks;
  readonly #store: AsyncStore<IoContext | undefined>;
  readonly #carried = new Set<AsyncStore<unknown>>();
  /** A resource made when this module is loaded. Code that runs in it has none of the caller's stores. */
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

/** Tracks tasks by turns of the event loop, in browsers. */
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
    return event(); // The task began without stores.
  }

  runOutside(task: () => void): void {
    this.#leave();
    task();
  }

  carry(): void {} // Does nothing: only tools in Node carry a store.

  bind<Call extends Callable>(call: Call): Call {
    return bindToFrame(call as never) as never as Call;
  }

  #leave(): void {
    this.#current = undefined;
    leaveFrame();
  }
}

const tasks: TaskTracker = createTracker(globalThis as Runtime);

/** Returns the context of the running task; undefined for code that belongs to no object. */
export function currentContext(): IoContext | undefined {
  return tasks.current;
}

/** Returns false if the running code may belong to another context than the current one: after an `await` in a browser. */
export function isContextSure(): boolean {
  return tasks.isSure;
}

/** Runs a task of the context. */
export function runTask(context: IoContext, task: () => void): void {
  tasks.run(context, task);
}

/**
 * Calls the function as an event of the context, whose task must be running. Like an event that comes from another
 * process, it sees no store of the code that caused it.
 */
export function runEvent<T>(context: IoContext, event: () => T): T {
  return tasks.runEvent(context, event);
}

/** Lets events see the caller's value of this store. Tools use it to tell whose call an object performs. */
export function carryIntoEvents<T>(store: AsyncStore<T>): void {
  tasks.carry(store as AsyncStore<unknown>);
}

/** Returns a function that runs with the current stores, whenever it is called. */
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
