// The page's end of a connection to the worker that leads. Invariant: every call settles.
//
// A connection fails once, for one reason. Calls under way reject with it, and so does every later
// call. Whoever notices that the worker has died calls fail(). A worker that closes the connection,
// and a message that cannot be read, are noticed here.

import type { ChannelEndpoint } from './channel-endpoint.ts';
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
  readonly #pending = new PendingCalls(() => this.onWaiting());
  readonly #users = new Set<(reason: Error) => void>();
  #reportLost: (reason: Error) => void = () => {};
  #heardCount = 0;
  #isYielding = false;
  /** Called when the worker steps down: it is asked for nothing new from then on. */
  onYield: () => void = () => {};
  /** Called when a call begins to wait for its answer. */
  onWaiting: () => void = () => {};
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
      if (message?.type === 'closed') this.fail(closingReason(message.error));
      if (message?.type === 'yields') this.#pause();
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

  /** How many messages the worker has sent. */
  get heardCount(): number {
    return this.#heardCount;
  }

  /** Asks the worker for a message. */
  ping(): void {
    const ping: ConnectionMessage = { type: 'ping' };
    this.#endpoint.postMessage(ping);
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
    if (this.failure !== null) return;
    this.#endpoint.close();
    this.#pending.fail(reason);
    this.#reportLost(reason);
  }

  /** Ends the connection and tells the worker, which closes its sessions. */
  leave(reason: Error): void {
    if (this.failure !== null) return;
    const closed: ConnectionMessage = { type: 'closed' };
    this.#endpoint.postMessage(closed);
    this.fail(reason);
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
