// Implements the page's end of a connection to the worker that leads.
//
// Invariant: every call settles. A connection fails once, with one reason; pending and later calls reject with it. The code
// that notices the worker's death calls fail(). This file notices that the worker closes the connection, and messages that
// cannot be read. If the page gives up a worker, calls that the worker has not read reject with another reason
// (worker-end.ts). No assertion keeps this: a call settles in its own time; `PendingCalls` has each one until then.

import { type ChannelEndpoint, isAnswer } from './channel-endpoint.ts';
import { type ConnectionMessage, checkNotice, type Notice } from './control.ts';
import { connectionClosed, fromWire, type WireError } from './errors-on-wire.ts';
import {
  PAGE_FUNCTIONS,
  type ReferencePeer,
  WORKER_FUNCTIONS,
  type WorkerPeer,
} from './protocol.ts';
import { PendingCalls, remoteFunctions, serveFunctions } from './remote-functions.ts';

export class PageEnd {
  /** Resolves to the reason when the connection has failed. */
  readonly lost: Promise<Error>;
  /** The worker's functions. Their promises reject only when the connection fails. */
  readonly worker: WorkerPeer;
  readonly #endpoint: ChannelEndpoint;
  readonly #pending = new PendingCalls(() => this.onCall());
  readonly #users = new Set<(reason: Error) => void>();
  #reportLost: (reason: Error) => void = () => {};
  #heardCount = 0;
  #hasServed = false;
  #isYielding = false;
  /** Called when the worker steps down. It gets no new calls from then on. */
  onYield: () => void = () => {};
  /** Called before a call is posted. */
  onCall: () => void = () => {};
  /** Called when the worker asks for a ping. */
  onAsked: () => void = () => {};
  /** Called for each notice, which the worker sends without a request. */
  onNotice: (notice: Notice) => void = () => {};

  constructor(endpoint: ChannelEndpoint) {
    this.#endpoint = endpoint;
    this.worker = remoteFunctions(WORKER_FUNCTIONS, endpoint, this.#pending);
    this.lost = new Promise((resolve) => {
      this.#reportLost = resolve;
    });
    void this.lost.then((reason) => {
      for (const lost of this.#users) lost(reason);
    });
    endpoint.addEventListener('message', (event) => {
      const message = (event as MessageEvent<ConnectionMessage | null>).data;
      this.#heardCount += 1;
      if (isAnswer(message)) this.#hasServed = true;
      if (message?.type === 'closed') this.fail(closingReason(message.error));
      if (message?.type === 'yields') this.#pause();
      if (message?.type === 'pong') this.#pending.passMark();
      if (message?.type === 'asks') this.onAsked();
      const notice = message?.type === 'notice' ? checkNotice(message.notice) : null;
      if (notice !== null) this.onNotice(notice);
    });
    endpoint.addEventListener('messageerror', () => {
      this.leave(connectionClosed('a message from the worker could not be read'));
    });
  }

  /** The reason why the connection failed; null while it works. */
  get failure(): Error | null {
    return this.#pending.failure;
  }

  /** True once the worker steps down: it still answers sent calls, and new work waits for the next worker. */
  get isYielding(): boolean {
    return this.#isYielding;
  }

  /** True while a call waits for its answer. */
  get isWaiting(): boolean {
    return this.#pending.isWaiting;
  }

  /** True once the worker has answered a call. */
  get hasServed(): boolean {
    return this.#hasServed;
  }

  /** The number of messages that the worker has sent. */
  get heardCount(): number {
    return this.#heardCount;
  }

  /** Sends a ping. Its answer shows that the worker has read the calls before it. */
  ping(ping: Omit<ConnectionMessage & { type: 'ping' }, 'type'>): void {
    if (this.failure !== null) return;
    this.#pending.mark();
    const message: ConnectionMessage = { type: 'ping', ...ping };
    this.#endpoint.postMessage(message);
  }

  /**
   * Calls back when the connection fails. Call the result to unsubscribe. Use it instead of `lost` for short-lived users,
   * because a callback on a promise stays in memory as long as the connection.
   */
  whenLost(lost: (reason: Error) => void): () => void {
    if (this.failure !== null) {
      void this.lost.then(lost);
      return () => {};
    }
    this.#users.add(lost);
    return () => this.#users.delete(lost);
  }

  /** Answers the worker's requests for things that this page has passed by reference. */
  show(references: ReferencePeer): void {
    serveFunctions(PAGE_FUNCTIONS, references, this.#endpoint);
  }

  /** Ends the connection with this reason. Later calls have no effect. */
  fail(reason: Error): void {
    if (this.failure === null) this.#fail(reason);
  }

  // Calls are rejected first, so that listeners of the loss already know which calls the worker has not read.
  #fail(reason: Error, unread?: Error): void {
    this.#endpoint.close();
    this.#pending.fail(reason, unread);
    this.#reportLost(reason);
  }

  /** Ends the connection and informs the worker, which closes the sessions. */
  leave(reason: Error): void {
    this.#leave({ type: 'closed' }, reason);
  }

  /**
   * Ends the connection to a worker that does not answer. Calls that the worker has not read, and never will, reject
   * with `unread`.
   */
  giveUp(reason: Error, unread: Error): void {
    this.#leave({ type: 'closed', isGivenUp: true }, reason, unread);
  }

  #leave(closed: ConnectionMessage, reason: Error, unread?: Error): void {
    if (this.failure !== null) return;
    this.#endpoint.postMessage(closed);
    this.#fail(reason, unread);
  }

  // `onYield` is called first, so that users stop sending work before the worker is told that they have stopped.
  #pause(): void {
    if (this.failure !== null || this.#isYielding) return;
    this.#isYielding = true;
    this.onYield();
    const paused: ConnectionMessage = { type: 'paused' };
    this.#endpoint.postMessage(paused);
  }
}

function closingReason(error: WireError | undefined): Error {
  if (error === undefined) return connectionClosed('the worker dropped it');
  return fromWire(error) as Error;
}

/** Counts the unanswered calls of a page in one directory. `close` waits for them. */
export class Work {
  #count = 0;
  #tellIdle: (() => void)[] = [];

  begin(): void {
    this.#count += 1;
  }

  end(): void {
    this.#count -= 1;
    if (this.#count > 0) return;
    const told = this.#tellIdle;
    this.#tellIdle = [];
    for (const tell of told) tell();
  }

  get isUnderWay(): boolean {
    return this.#count > 0;
  }

  /** Resolves once no call is pending. */
  async idle(): Promise<void> {
    if (this.#count === 0) return;
    await new Promise<void>((resolve) => {
      this.#tellIdle.push(resolve);
    });
  }
}
