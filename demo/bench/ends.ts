// Ends everything a run has opened: connections before workers, because a connection starts another worker when it
// loses one.

export class Ends {
  readonly #ends: (() => void)[] = [];
  #hasEnded = false;

  /** Called at the end; at once if that is over. */
  add(end: () => void): void {
    if (this.#hasEnded) end();
    else this.#ends.push(end);
  }

  worker(worker: Worker): Worker {
    this.add(() => worker.terminate());
    return worker;
  }

  /** The last that was added ends first. */
  end(): void {
    this.#hasEnded = true;
    for (const end of this.#ends.reverse()) end();
  }
}
