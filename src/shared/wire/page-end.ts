// The page's end of a connection to the worker that leads. Invariant: every call settles.
//
// A connection fails once, for one reason. Calls under way reject with it, and so does every later
// call. Whoever notices that the worker has died calls fail(). A worker that closes the connection,
// and a message that cannot be read, are noticed here. Of a worker that is given up, the calls that
// it has not read reject with a reason of their own (worker-end.ts).

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
  /** Called when the worker steps down: it is asked for nothing new from then on. */
  onYield: () => void = () => {};
  /** Called before a call is posted. */
  onCall: () => void = () => {};
  /** Called when the worker asks for a ping. */
  onAsked: () => void = () => {};
  /** Called when the worker tells something unasked. */
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

  /** Why the connection failed, or null while it works. */
  get failure(): Error | null {
    return this.#pending.failure;
  }

  /** True once the worker steps down: sent calls are answered, and new work waits for the next worker. */
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

  /** How many messages the worker has sent. */
  get heardCount(): number {
    return this.#heardCount;
  }

  /** Asks the worker for a message, and sets later calls apart from earlier ones. */
  ping(ping: Omit<ConnectionMessage & { type: 'ping' }, 'type'>): void {
    if (this.failure !== null) return;
    this.#pending.mark();
    const message: ConnectionMessage = { type: 'ping', ...ping };
    this.#endpoint.postMessage(message);
  }

  /**
   * Calls back when the connection has failed, unless the returned function was called before. For
   * users that come and go: a callback on `lost` stays in memory as long as the connection does.
   */
  whenLost(lost: (reason: Error) => void): () => void {
    if (this.failure !== null) {
      void this.lost.then(lost);
      return () => {};
    }
    this.#users.add(lost);
    return () => this.#users.delete(lost);
  }

  /** Answers the worker's calls of values that this page passes by reference. */
  show(references: ReferencePeer): void {
    serveFunctions(PAGE_FUNCTIONS, references, this.#endpoint);
  }

  /** Ends the connection for this reason; later reasons change nothing. */
  fail(reason: Error): void {
    if (this.failure === null) this.#fail(reason);
  }

  // In this order: whoever hears that the connection is lost has heard before which calls were not read.
  #fail(reason: Error, unread?: Error): void {
    this.#endpoint.close();
    this.#pending.fail(reason, unread);
    this.#reportLost(reason);
  }

  /** Ends the connection and tells the worker, which closes its sessions. */
  leave(reason: Error): void {
    this.#leave({ type: 'closed' }, reason);
  }

  /** The same, for a worker that does not answer. Calls that it has not read, and never will, reject with `unread`. */
  giveUp(reason: Error, unread: Error): void {
    this.#leave({ type: 'closed', isGivenUp: true }, reason, unread);
  }

  #leave(closed: ConnectionMessage, reason: Error, unread?: Error): void {
    if (this.failure !== null) return;
    this.#endpoint.postMessage(closed);
    this.#fail(reason, unread);
  }

  // In this order: the users hold their work back before the worker hears that they do.
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

/** The unanswered calls of a page at one directory. `close` waits for them. */
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

  /** Resolves once nothing is under way. */
  async idle(): Promise<void> {
    if (this.#count === 0) return;
    await new Promise<void>((resolve) => {
      this.#tellIdle.push(resolve);
    });
  }
}
