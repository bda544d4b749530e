// Work that flushes files, written once for synchronous and asynchronous flushes.
//
// Invariant: on a medium with synchronous flushes, such work ends inside the call that starts it, so
// an object that awaits only storage is never interleaved. Otherwise it continues in later turns.

/** What a flush returns: nothing if it is done, or a promise on a medium that flushes later. */
export type Flush = void | Promise<void>;

/** Steps that yield every flush they depend on. A flush that fails throws at its `yield`. */
export type Flushing<T> = Generator<Flush, T, void>;

/** Runs the steps to their end. Returns a promise as soon as one flush is asynchronous. */
export function runFlushing<T>(steps: Flushing<T>): T | Promise<T> {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (step.value instanceof Promise) return runLater(steps, step.value);
  }
}

async function runLater<T>(steps: Flushing<T>, first: Promise<void>): Promise<T> {
  for (let flush = first; ; ) {
    const step = await flush.then(
      () => steps.next(),
      (error: unknown) => steps.throw(error),
    );
    if (step.done === true) return step.value;
    flush = Promise.resolve(step.value);
  }
}
