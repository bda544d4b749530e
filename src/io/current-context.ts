// Whose code is running now: one answer for all hosts of this realm.

import type { IoContext } from './io-context.ts';
import { type AsyncStore, AsyncTasks, type TaskTracker, TurnTasks } from './task-tracker.ts';

/** Node's modules, where there are some: as `process.getBuiltinModule` gives them. */
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

/** Runs what belongs to no object. */
export function runOutside(task: () => void): void {
  tasks.runOutside(task);
}

/** True when code after an `await` is told apart from the task that ran in between. */
export const isTaskExact = tasks.isExact;

function createTracker({ process }: Runtime): TaskTracker {
  const hooks = process?.getBuiltinModule?.('node:async_hooks');
  return hooks === undefined ? new TurnTasks() : new AsyncTasks(new hooks.AsyncLocalStorage());
}
