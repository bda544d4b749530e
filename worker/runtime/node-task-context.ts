// Whose task is running, in Node: what a task awaits belongs to it, whatever it is, and to nobody else.

import { AsyncLocalStorage } from 'node:async_hooks';
import type { ObjectInstance } from './object-instance.ts';
import type { TaskContext } from './task-context.ts';

export class AsyncTaskContext implements TaskContext {
  readonly #storage = new AsyncLocalStorage<ObjectInstance>();

  get current(): ObjectInstance | undefined {
    return this.#storage.getStore();
  }

  run(instance: ObjectInstance, task: () => void): void {
    this.#storage.run(instance, task);
  }

  leave(): void {}
}
