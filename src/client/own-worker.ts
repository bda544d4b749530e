// The worker that this page started: whether it runs, leads, or is gone.
//
// A worker that could not be loaded fires `error` before it said anything. One that was terminated
// fires nothing, which is why its lock is watched. An uncaught error later is the caller's own code
// in the worker, and ends nothing.

import { storageError } from '../contract/errors.ts';
import { connectionClosed } from '../rpc/connection-closed.ts';
import type { namesOf, StartMessage, WorkerMessage } from '../rpc/control.ts';
import { fromWire } from '../rpc/errors-on-wire.ts';
import { type Locks, whenReleased } from '../rpc/locks.ts';
import type { WorkerLike } from './environment.ts';

/** What the page is told of it. */
export interface OwnWorkerEvents {
  /** It leads, and serves this page over the port. May come again, with a new port. */
  leads(port: MessagePort): void;
  /** It had its turn, and could not open the storage. */
  failed(error: Error): void;
  /** It is gone, or never came. */
  gone(error: Error): void;
}

export class OwnWorker {
  readonly id: string;
  readonly #worker: WorkerLike;
  readonly #events: OwnWorkerEvents;
  readonly #watch = new AbortController();
  #isStanding = false;
  #isGone = false;

  constructor(
    worker: WorkerLike,
    id: string,
    operation: string,
    names: ReturnType<typeof namesOf>,
    locks: Locks,
    events: OwnWorkerEvents,
  ) {
    this.id = id;
    this.#worker = worker;
    this.#events = events;
    worker.addEventListener('message', (event) => {
      const message = (event as MessageEvent<WorkerMessage>).data;
      switch (message?.type) {
        case 'standing':
          if (this.#isStanding) return;
          this.#isStanding = true;
          whenReleased(locks, names.workerLock(id), this.#watch.signal, () => {
            this.#end(connectionClosed('the worker of this page was terminated'));
          });
          return;
        case 'leads':
          return events.leads(message.port);
        case 'failed':
          return events.failed(fromWire(message.error) as Error);
      }
    });
    worker.addEventListener('error', (event) => {
      if (!this.#isStanding) this.#end(loadError(operation, event));
    });
  }

  /** True from its first message on. */
  get isStanding(): boolean {
    return this.#isStanding;
  }

  /** Asks it to stand for leader, or for a port when it leads. */
  start(options: Pick<StartMessage, 'directory' | 'wasmUrl'>): void {
    const message: StartMessage = { type: 'start', worker: this.id, ...options };
    this.#worker.postMessage(message);
  }

  /** Ends it, when it can be ended. */
  terminate(): void {
    this.#worker.terminate?.();
  }

  #end(error: Error): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#watch.abort();
    this.#events.gone(error);
  }
}

// The event of a script that cannot be fetched has no message; one that throws at once has.
function loadError(operation: string, event: Event): Error {
  const { message, error: cause } = event as Partial<ErrorEvent>;
  return storageError(
    'WORKER_FAILED',
    message
      ? `${operation}: the worker failed while it was loaded: ${message}`
      : `${operation}: the worker could not be loaded. Check its address (workerUrl), its MIME type ` +
          'and the Content-Security-Policy (worker-src).',
    cause === undefined ? undefined : { cause },
  );
}
