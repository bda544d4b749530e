// Ends everything a run has opened: connections before workers, because a connection starts another worker when it
// loses one.

export class Ends {
  readonly #ends: (() => void)[] = [];
  #hasEnded = false;

  /** Adds a function to call at the end; calls it at once if the run has ended already. */
  add(end: () => void): void {
    if (this.#hasEnded) end();
    else this.#ends.push(end);
  }

  worker(worker: Worker): Worker {
    this.add(() => worker.terminate());
    return worker;
  }

  /** Calls all added functions, the last one first. */
  end(): void {
    this.#hasEnded = true;
    for (const end of this.#ends.reverse()) end();
  }
}
