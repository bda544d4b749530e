// The worker that this page started: whether it runs, leads, or has ended.
//
// A worker that cannot be loaded fires `error` before its first message. A terminated worker fires
// nothing, so its lock is watched. An uncaught error after the first message comes from the user's code
// in the worker, and does not end it.
//
// A worker whose script has run but does not serve says so in answer to each start message; the page
// repeats the message until it serves, or has said so too often. One whose script still loads is silent,
// so a slow network is not mistaken for a script that never serves.
//
// Invariant: the page's own worker serves within START_WAIT_MS of its start, or is ended. Its script may never arrive. The
// browser may have ended it before it held its lock. No assertion keeps this: it is about time, and a worker that is
// late is no defect.

import { storageError } from '../../shared/contract/errors.ts';
import { mediumIn, type StorageMedium } from '../../shared/contract/medium.ts';
import type { WireChannel } from '../../shared/wire/channel-endpoint.ts';
import { OwnChannel } from '../../shared/wire/channel-endpoint.ts';
import {
  type namesOf,
  type OtherLeader,
  type StartMessage,
  type Versions,
  versionsIn,
  type WorkerMessage,
  whenReleased,
} from '../../shared/wire/control.ts';
import { connectionClosed, fromWire } from '../../shared/wire/errors-on-wire.ts';
import type { PageEnvironment, WorkerLike } from './environment.ts';
import { deniedFunctionError, late, START_WAIT_MS } from './leader-search.ts';

/** How long a worker whose script has run may take until it serves: a script may await something first. */
export const SERVE_WAIT_MS = 3000;

const SERVE_POLL_MS = 250;

/** Time within which a page that was suspended receives the messages that its worker has sent meanwhile. */
const MESSAGES_MS = 1000;

/**
 * Number of times that a worker which other tabs cannot reach is asked before it is ended, and the time for each
 * answer.
 */
export const SILENT_ASKS = 3;
export const SILENT_ASK_MS = 1000;

/** Reports to the page. */
export interface OwnWorkerEvents {
  /** Called when the worker has reported that it runs. */
  started(): void;
  /** Called when the worker leads, and serves this page over the channel. May be called again, with a new channel. */
  leads(channel: WireChannel, versions: Versions, medium: StorageMedium): void;
  /** Called when the worker has heard that another worker leads. */
  heard(leader: OtherLeader): void;
  /**
   * Called when the worker obtained the leader's lock but could not open the storage, or does not serve, or does not
   * start.
   */
  failed(error: Error): void;
  /** Called when the worker has ended, could not be loaded, or did not start in time. */
  gone(error: Error): void;
}

export class OwnWorker {
  readonly id: string;
  readonly #worker: WorkerLike;
  readonly #isOwn: boolean;
  readonly #events: OwnWorkerEvents;
  readonly #operation: string;
  readonly #after: PageEnvironment['after'];
  readonly #watch = new AbortController();
  #hasStarted = false;
  #isGone = false;
  #startMessage: StartMessage | null = null;
  /** Number of answers in which the worker said that it does not serve, since the present search began. */
  #answerCount = 0;
  #cancelPoll = () => {};
  #cancelStart: (() => void) | undefined;
  #heardCount = 0;
  #isAsked = false;

  /** `isOwn`: this page can start the worker again, and may end it. */
  constructor(
    worker: WorkerLike,
    id: string,
    isOwn: boolean,
    operation: string,
    names: ReturnType<typeof namesOf>,
    { locks, after, scriptFault }: Pick<PageEnvironment, 'locks' | 'after' | 'scriptFault'>,
    events: OwnWorkerEvents,
  ) {
    this.id = id;
    this.#worker = worker;
    this.#isOwn = isOwn;
    this.#operation = operation;
    this.#after = after;
    this.#events = events;
    worker.addEventListener('message', (event) => {
      if (this.#isGone) return;
      this.#heardCount += 1;
      const message = (event as MessageEvent<WorkerMessage>).data;
      switch (message?.type) {
        case 'loaded':
          return this.#hearLoaded();
        case 'standing':
          if (this.#hasStarted) return;
          this.#hasStarted = true;
          this.#cancelTimers();
          events.started();
          whenReleased(locks, names.workerLock(id), this.#watch.signal, () => {
            this.#end(connectionClosed('the worker of this page was terminated'));
          });
          return;
        case 'leads': {
          const channel = message.port ?? new OwnChannel(worker, `${message.connection}`);
          return events.leads(channel, versionsIn(message), mediumIn(message.medium));
        }
        case 'heard':
          return events.heard(message);
        case 'failed':
          return events.failed(deniedFunctionError(operation, fromWire(message.error)) as Error);
      }
    });
    worker.addEventListener('error', async (event) => {
      if (this.#hasStarted) return;
      const fault = isSilent(event) ? await scriptFault(worker) : null;
      this.#end(loadError(operation, event, fault));
    });
  }

  /** True once the worker has sent its first message. */
  get hasStarted(): boolean {
    return this.#hasStarted;
  }

  /** True once the worker has ended or was abandoned: it reports nothing more. */
  get isGone(): boolean {
    return this.#isGone;
  }

  /** Makes the worker a candidate, or asks it for a connection if it leads. */
  start(options: Omit<StartMessage, 'type' | 'worker'>): void {
    this.#startMessage = { type: 'start', worker: this.id, ...options };
    this.#answerCount = 0;
    this.#worker.postMessage(this.#startMessage);
    if (!this.#hasStarted) this.#limitStart();
  }

  // Limits the time until the worker starts. For the page's own worker, the time counts from its first start; a given
  // worker is only reported as late, to each search.
  #limitStart(): void {
    if (this.#isOwn && this.#cancelStart !== undefined) return;
    this.#cancelStart?.();
    this.#cancelStart = this.#after(START_WAIT_MS - MESSAGES_MS, () => {
      this.#cancelStart = this.#after(MESSAGES_MS, () => this.#giveUp());
    });
  }

  #giveUp(): void {
    const error = late(this.#operation, START_WAIT_MS, false);
    if (!this.#isOwn) {
      this.#events.failed(error);
      return;
    }
    this.terminate();
    this.#end(error);
  }

  /** Abandons the worker, which reports nothing more. Ends it if this page started it. */
  abandon(): void {
    this.#isGone = true;
    this.#watch.abort();
    this.#cancelTimers();
    if (this.#isOwn) this.terminate();
  }

  /** Called when a page hears nothing from the worker: ends the worker unless it answers. */
  endIfSilent(): void {
    if (this.#isAsked || this.#isGone || !this.#hasStarted) return;
    this.#isAsked = true;
    this.#ask(this.#heardCount, 0);
  }

  // Counts unanswered requests, like the heartbeat, so that a page which was suspended does not take its worker for
  // dead.
  #ask(heardCount: number, askCount: number): void {
    if (this.#isGone || this.#heardCount !== heardCount) {
      this.#isAsked = false;
      return;
    }
    if (askCount === SILENT_ASKS) {
      this.terminate();
      return;
    }
    this.#worker.postMessage(this.#startMessage);
    this.#after(SILENT_ASK_MS, () => this.#ask(heardCount, askCount + 1));
  }

  /** Ends the worker, if it can be ended. */
  terminate(): void {
    this.#worker.terminate?.();
  }

  // Counts answers of a worker that does not serve, not time, so that neither a page nor a worker that was suspended is
  // blamed.
  #hearLoaded(): void {
    if (this.#hasStarted) return;
    this.#cancelPoll();
    this.#answerCount += 1;
    if (this.#answerCount > SERVE_WAIT_MS / SERVE_POLL_MS) {
      this.#events.failed(notServing(this.#operation));
      return;
    }
    this.#cancelPoll = this.#after(SERVE_POLL_MS, () => {
      this.#worker.postMessage(this.#startMessage);
    });
  }

  #end(error: Error): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#cancelTimers();
    this.#watch.abort();
    this.#events.gone(error);
  }

  #cancelTimers(): void {
    this.#cancelPoll();
    this.#cancelStart?.();
  }
}

function notServing(operation: string): Error {
  return storageError(
    'WORKER_FAILED',
    `${operation}: the worker's script has run and has not called serve() within ` +
      `${SERVE_WAIT_MS / 1000} s. Call serve({ … }) of ctx-storage/worker in it, with the classes.`,
  );
}

/** True if the browser refused the script. The event of a script that throws has a message. */
function isSilent(event: Event): boolean {
  return !(event as Partial<ErrorEvent>).message;
}

/**
 * Makes the error of a worker that could not be loaded. `fault` is the reason why the browser refuses the script, if
 * known.
 */
function loadError(operation: string, event: Event, fault: string | null): Error {
  const { message, error: cause } = event as Partial<ErrorEvent>;
  if (fault !== null) {
    return storageError('WORKER_FAILED', `${operation}: the worker could not be loaded: ${fault}.`);
  }
  return storageError(
    'WORKER_FAILED',
    message
      ? `${operation}: the worker failed while it was loaded: ${message}`
      : `${operation}: the worker could not be loaded. Check its address ` +
          `(${operation === 'connect' ? 'the argument of new Worker()' : 'workerUrl'}), ` +
          'its MIME type and the Content-Security-Policy (worker-src). Rollup and esbuild follow no workers, and Vite 7 ' +
          'finds none of a package above its root: docs/bundlers.md of ctx-storage has the settings.',
    cause === undefined ? undefined : { cause },
  );
}
