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
  readonly #nextTurn: (task: () => void) => void;
  #current: ObjectInstance | undefined;

  constructor(nextTurn: (task: () => void) => void) {
    this.#nextTurn = nextTurn;
  }

  get current(): ObjectInstance | undefined {
    return this.#current;
  }

  run(instance: ObjectInstance, task: () => void): void {
    if (this.#current === undefined) this.#nextTurn(() => this.leave());
    this.#current = instance;
    task();
  }

  leave(): void {
    this.#current = undefined;
  }
}
