// Starts workers before the page's client is loaded, so that both load at the same time.
//
// Invariant: a worker is given to the client once, as if the client had just started it: errors that occurred meanwhile
// are fired again. A worker that the client does not request is terminated. No assertion keeps this: this code loads
// before any call and has no room for the text; `take` removes what it gives.

import type { WorkerLike } from '../leader/environment.ts';
import { noteScript, scriptOf, startWorker } from '../leader/worker-start.ts';

type Start = () => WorkerLike;

export class FirstWorkers {
  readonly #started = new Map<unknown, Start>();

  /** Starts the worker of this key, unless one waits already. */
  start(key: unknown, start: Start): void {
    if (!this.#started.has(key))
      this.#started.set(
        key,
        startNow(() => startWorker(start)),
      );
  }

  /** Returns the worker that was started early, or starts one. @throws the error of starting it */
  take(key: unknown, start: Start): WorkerLike {
    const started = this.#started.get(key) ?? (() => startWorker(start));
    this.#started.delete(key);
    return started();
  }

  /** Terminates the worker of this key, unless the client has taken it. */
  end(key: unknown): void {
    const started = this.#started.get(key);
    if (started === undefined) return;
    this.#started.delete(key);
    try {
      started().terminate?.();
    } catch {
      // Starting the worker has failed, and it is no longer needed.
    }
  }
}

function startNow(start: Start): Start {
  try {
    const worker = start();
    // A value that is not a worker, such as a SharedWorker, is passed on unchanged, because the client refuses it.
    const isWorker =
      typeof worker?.postMessage === 'function' && typeof worker.addEventListener === 'function';
    return isWorker ? recordErrors(worker) : () => worker;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

/** Records an error of the worker, because it may be fired before the client listens. */
function recordErrors(worker: WorkerLike): Start {
  let failure: Event | undefined;
  worker.addEventListener('error', (event) => {
    failure ??= event;
  });
  const used: WorkerLike = {
    postMessage: (...message) => worker.postMessage(...message),
    terminate: () => worker.terminate?.(),
    removeEventListener: (type, listener) => worker.removeEventListener(type, listener),
    addEventListener(type, listener) {
      worker.addEventListener(type, listener);
      const missed = failure;
      if (type === 'error' && missed !== undefined) queueMicrotask(() => listener(missed));
    },
  };
  noteScript(used, scriptOf(worker));
  return () => used;
}
