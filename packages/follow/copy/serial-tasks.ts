// Runs asynchronous tasks one after the other, in the order in which they were given.

export class SerialTasks {
  #last: Promise<void> = Promise.resolve();
  #count = 0;

  /** The number of tasks that run or wait. */
  get count(): number {
    return this.#count;
  }

  /** Resolves when all tasks that were given so far have ended, whether they failed or not. */
  get settled(): Promise<void> {
    return this.#last;
  }

  /** Runs the task after the earlier ones, even if these fail. */
  run<T>(task: () => Promise<T>): Promise<T> {
    this.#count += 1;
    const result = this.#last.then(task);
    const end = () => {
      this.#count -= 1;
    };
    this.#last = result.then(end, end);
    return result;
  }
}
