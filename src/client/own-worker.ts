// The worker that this page started: whether it runs, leads, or has ended.
//
// A worker that cannot be loaded fires `error` before its first message. One that is terminated
// fires nothing, so its lock is watched. An uncaught error after the first message comes from the
// user's code in the worker, and does not end it.

import { storageError } from '../contract/errors.ts';
import { connectionClosed } from '../rpc/connection-closed.ts';
import type { namesOf, StartMessage, WorkerMessage } from '../rpc/control.ts';
import { fromWire } from '../rpc/errors-on-wire.ts';
import { type Locks, whenReleased } from '../rpc/locks.ts';
import type { WorkerLike } from './environment.ts';

/** Reports to the page. */
export interface OwnWorkerEvents {
  /** It leads, and serves this page over the port. May be called again, with a new port. */
  leads(port: MessagePort): void;
  /** It obtained the leader's lock, but could not open the storage. */
  failed(error: Error): void;
  /** It has ended, or could not be loaded. */
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

  /** Makes it a candidate, or asks for a port if it leads. */
  start(options: Pick<StartMessage, 'directory' | 'wasmUrl'>): void {
    const message: StartMessage = { type: 'start', worker: this.id, ...options };
    this.#worker.postMessage(message);
  }

  /** Ends it, if it can be ended. */
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

// The event has a message if the script throws, and none if it cannot be fetched.
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
