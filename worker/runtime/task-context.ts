// Whose task is running: what it starts (timers, requests, sockets) belongs to that object.
//
// A browser does not tell which promise an engine goes on with, so a task is taken to last until the
// next turn of the event loop. In Node it is known exactly (node-task-context).

import type { ObjectInstance } from './object-instance.ts';

export interface TaskContext {
  /** The instance whose task is running; undefined for code beside the objects. */
  readonly current: ObjectInstance | undefined;
  /** Runs a task of the instance. */
  run(instance: ObjectInstance, task: () => void): void;
  /** A turn of the host begins, which is no object's yet. */
  leave(): void;
}

export class TurnContext implements TaskContext {
  readonly #beforeNextTurn: (task: () => void) => void;
  #current: ObjectInstance | undefined;

  constructor(beforeNextTurn: (task: () => void) => void) {
    this.#beforeNextTurn = beforeNextTurn;
  }

  get current(): ObjectInstance | undefined {
    return this.#current;
  }

  run(instance: ObjectInstance, task: () => void): void {
    if (this.#current === undefined) this.#beforeNextTurn(() => this.leave());
    this.#current = instance;
    task();
  }

  leave(): void {
    this.#current = undefined;
  }
}
