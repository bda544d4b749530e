// Which object's code is running: one answer for all hosts of this realm.

import type { IoContext } from './io-context.ts';
import { type AsyncStore, AsyncTasks, type TaskTracker, TurnTasks } from './task-tracker.ts';

/** The part of Node's `process` that is used; other runtimes lack it. */
interface Runtime {
  readonly process?: {
    getBuiltinModule?(name: string): { AsyncLocalStorage: new <T>() => AsyncStore<T> } | undefined;
  };
}

const tasks: TaskTracker = createTracker(globalThis as Runtime);

/** The context of the running task; undefined for code that belongs to no object. */
export function currentContext(): IoContext | undefined {
  return tasks.current;
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
