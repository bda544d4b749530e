// Work that flushes files, written once for media that flush at once and for media that flush later.
//
// Keeps true: on a medium that flushes at once, such work ends inside the call that starts it, so an
// object that awaits only storage is never interleaved. On the other kind it goes on in later turns.

/** What a flush returns: nothing when it is done, or the promise of a medium that flushes later. */
export type Flush = void | Promise<void>;

/** Steps that yield every flush they depend on. A flush that fails throws at its `yield`. */
export type Flushing<T> = Generator<Flush, T, void>;

/** Runs the steps: to their end, or to the first flush that comes later, and then a promise. */
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
