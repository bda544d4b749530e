// Workers that are started before the page's client is loaded, so that both load at the same time.
//
// Invariant: a worker is given to the client once, as if the client had just started it: its errors meanwhile
// are fired again. A worker that the client does not ask for is ended.

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

  /** The worker that was started, or a new one. @throws the error of starting it */
  take(key: unknown, start: Start): WorkerLike {
    const started = this.#started.get(key) ?? (() => startWorker(start));
    this.#started.delete(key);
    return started();
  }

  /** Ends the worker of this key if nobody has taken it. */
  end(key: unknown): void {
    const started = this.#started.get(key);
    if (started === undefined) return;
    this.#started.delete(key);
    try {
      started().terminate?.();
    } catch {
      // It never ran, and nobody wants it any more.
    }
  }
}

function startNow(start: Start): Start {
  try {
    const worker = start();
    // The client refuses a value that is not a worker, such as a SharedWorker, and has to see the value itself.
    const isWorker =
      typeof worker?.postMessage === 'function' && typeof worker.addEventListener === 'function';
    return isWorker ? kept(worker) : () => worker;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

/** A worker that cannot be loaded says so once, perhaps before the client listens. */
function kept(worker: WorkerLike): Start {
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
