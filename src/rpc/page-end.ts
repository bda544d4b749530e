// The page's end of a connection to a host: every call settles.
//
// A connection fails once, for one reason: what is pending rejects with it, and so does every later
// call. Who finds out that the peer died is told by fail(); a peer that says goodbye, and a message
// that could not be read, are noticed here.

import { type Remote, wrap } from 'comlink';
import { storageError } from '../contract/errors.ts';
import type { Call } from '../contract/operations.ts';
import { answerCalls } from './answer-calls.ts';
import type { ChannelEndpoint } from './channel-endpoint.ts';
import { checkReference, checkReferenceRequest, checkReferences } from './check-objects.ts';
import { checkOutcome, checkOutcomes } from './check-outcomes.ts';
import type { ConnectionMessage } from './control.ts';
import { fromWire, type Outcome, type WireError } from './errors-on-wire.ts';
import type {
  ClassList,
  ObjectsPeer,
  Payload,
  ReferencePeer,
  WireAddress,
} from './object-protocol.ts';
import { PendingCalls } from './pending-calls.ts';
import type { SessionId, StoragePeer } from './protocol.ts';

/** What the worker shows. */
type Surface = StoragePeer & ObjectsPeer & ReferencePeer;

export class PageEnd implements StoragePeer {
  /** Resolves to the reason when the connection has failed. */
  readonly lost: Promise<Error>;
  /** Calls of objects, and of what they passed by reference. */
  readonly objects: ObjectsPeer & ReferencePeer;
  readonly #endpoint: ChannelEndpoint;
  readonly #pending = new PendingCalls();
  // Kept for the life of the connection: comlink releases a remote whose proxies were collected.
  readonly #remote: Remote<Surface>;
  readonly #open: Remote<StoragePeer['open']>;
  readonly #execute: Remote<StoragePeer['execute']>;
  readonly #close: Remote<StoragePeer['close']>;
  readonly #users = new Set<(reason: Error) => void>();
  #reportLost: (reason: Error) => void = () => {};
  #heardCount = 0;
  /** Called when a call begins to wait for its answer. */
  onWaiting: () => void = () => {};

  constructor(endpoint: ChannelEndpoint) {
    this.#endpoint = endpoint;
    this.#remote = wrap<Surface>(endpoint);
    this.#open = this.#remote.open;
    this.#execute = this.#remote.execute;
    this.#close = this.#remote.close;
    this.objects = this.#settlingObjects();
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
    });
    endpoint.addEventListener('messageerror', () => {
      this.leave(connectionClosed('a message from the worker could not be read'));
    });
  }

  /** Why the connection failed, or null while it stands. */
  get failure(): Error | null {
    return this.#pending.failure;
  }

  /** True while a call is not answered. */
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
   * Calls back when the connection has failed, unless the result was called before. For users that
   * come and go: what waits for `lost` is kept in memory for as long as the connection stands.
   */
  whenLost(lost: (reason: Error) => void): () => void {
    if (this.failure !== null) {
      void this.lost.then(lost);
      return () => {};
    }
    this.#users.add(lost);
    return () => this.#users.delete(lost);
  }

  open(target: string | WireAddress): Promise<Outcome<SessionId>> {
    return this.#make<unknown>(() => this.#open(target)).then(checkOutcome<SessionId>);
  }

  execute(session: SessionId, calls: readonly Call[]): Promise<Outcome[]> {
    return this.#make<unknown>(() => this.#execute(session, calls)).then((answer) =>
      checkOutcomes(answer, calls.length),
    );
  }

  close(session: SessionId): Promise<void> {
    return this.#make(() => this.#close(session));
  }

  /** Lets the worker ask for what this page passes by reference. */
  show(references: ReferencePeer): void {
    answerCalls(
      {
        ask: (reference, request) =>
          references.ask(checkReference(reference), checkReferenceRequest(request)),
        release: (numbers) => references.release(checkReferences(numbers)),
      },
      this.#endpoint,
    );
  }

  /** Ends the connection for this reason; later reasons change nothing. */
  fail(reason: Error): void {
    if (this.failure !== null) return;
    this.#endpoint.close();
    this.#pending.fail(reason);
    this.#reportLost(reason);
  }

  /** Ends the connection and tells the worker, which closes what belongs to it. */
  leave(reason: Error): void {
    if (this.failure !== null) return;
    const goodbye: ConnectionMessage = { type: 'closed' };
    this.#endpoint.postMessage(goodbye);
    this.fail(reason);
  }

  #make<T>(send: () => Promise<T>): Promise<T> {
    const answer = this.#pending.make(send);
    this.onWaiting();
    return answer;
  }

  #settlingObjects(): ObjectsPeer & ReferencePeer {
    // comlink splits the union of an outcome, which its types need not.
    const remote = this.#remote as unknown as ObjectsPeer & ReferencePeer;
    const { classes, call, manage, ask, release } = remote;
    return {
      classes: () => this.#make(() => classes()).then(checkOutcome<ClassList>),
      call: (address, request) =>
        this.#make(() => call(address, request)).then(checkOutcome<Payload>),
      manage: (request) => this.#make(() => manage(request)).then(checkOutcome),
      ask: (reference, request) =>
        this.#make(() => ask(reference, request)).then(checkOutcome<Payload | null>),
      release: (numbers) => this.#make(() => release(numbers)),
    };
  }
}

function closingReason(error: WireError | undefined): Error {
  if (error === undefined) return connectionClosed('the worker dropped it');
  return fromWire(error) as Error;
}

/** The error of calls whose worker is gone. */
export function connectionClosed(fact: string): Error {
  return storageError(
    'CONNECTION_CLOSED',
    `The connection to the worker ended: ${fact}. A write under way may or may not have taken ` +
      'effect; read before making it again.',
  );
}
