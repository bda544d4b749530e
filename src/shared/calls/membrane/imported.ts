// Holds one reference to a thing of the other side, for one party. It counts its handles and requests.
//
// Invariant: the reference is released once, after its last handle was disposed of or garbage collected and its requests
// were answered. A handle made by `holdInUse` keeps its object in memory while the other side can be reached, no longer.

import type { Payload } from '../../wire/address.ts';
import { fromWire } from '../../wire/errors-on-wire.ts';
import type { ReferenceNumber, ReferenceRequest } from '../../wire/protocol.ts';
import type { Party } from '../stubs/party.ts';
import { remoteError } from '../stubs/remote-error.ts';
import { type Draft, discardDraft, type ReferenceChannel } from './channel.ts';

/**
 * The number of all stubs that were disposed of before they were passed. Their calls fail with the error for disposed
 * stubs, as in workerd.
 */
export const DISPOSED: ReferenceNumber = 0;

export class Imported {
  readonly party: Party;
  readonly #channel: ReferenceChannel;
  readonly #number: ReferenceNumber;
  #handles = 0;

  constructor(number: ReferenceNumber, channel: ReferenceChannel, party: Party) {
    this.#number = number;
    this.#channel = channel;
    this.party = party;
  }

  get isDisposed(): boolean {
    return this.#number === DISPOSED;
  }

  /** Sends a request at once. Rejects with the other side's error, or with the reason why the connection ended. */
  async ask(request: ReferenceRequest): Promise<Payload | null> {
    const outcome = await this.#channel.peer.ask(this.#number, request);
    if ('ok' in outcome) return outcome.ok;
    throw remoteError(fromWire(outcome.error));
  }

  /**
   * Sends a request of the party's code once the code's writes are durable. The answer comes through the party's input
   * gate.
   */
  send(request: ReferenceRequest): Promise<Payload | null> {
    return this.#send(() => this.ask(request));
  }

  /** Sends a request of the party's code that contains a serialized value. */
  async sendDraft(
    draft: Draft,
    request: (payload: Payload) => ReferenceRequest,
  ): Promise<Payload | null> {
    try {
      return await this.#send(() => this.ask(request(this.#channel.send(draft))));
    } catch (error) {
      discardDraft(draft);
      throw error;
    }
  }

  /** Keeps the reference until the request is answered, or until the party ends, after which no answer reaches it. */
  async #send(ask: () => Promise<Payload | null>): Promise<Payload | null> {
    const { io } = this.party;
    const releaseHandle = this.#keep();
    const forget = io.onEnd(releaseHandle);
    try {
      return await io.send(ask);
    } finally {
      forget();
      releaseHandle();
    }
  }

  /** Sends a request with a value at once. */
  askWith(
    value: unknown,
    request: (payload: Payload) => ReferenceRequest,
  ): Promise<Payload | null> {
    return this.ask(request(this.#channel.send(this.draft(value))));
  }

  /** Serializes a value for the other side. @throws DataCloneError */
  draft(value: unknown): Draft {
    return this.#channel.draft(value, this.party);
  }

  /** Deserializes a value that came in an answer. */
  read(payload: Payload): unknown {
    return this.#channel.receiveAnswer(payload, this.party);
  }

  /** Resolves to the reason when the reference breaks. Never resolves if this side releases the reference first. */
  watch(): Promise<unknown> {
    return new Promise((resolve) => {
      this.ask({ op: 'watch' }).catch(resolve);
    });
  }

  /**
   * Adds a handle that keeps the party in memory. The handle ends when `owner` is garbage collected, when the party or the
   * connection ends, or when the result is called.
   */
  holdInUse(owner: object): () => void {
    let undo: (() => void)[] | undefined = [];
    const end = this.hold(owner, () => {
      for (const release of undo ?? []) release();
      undo = undefined;
    });
    const { io } = this.party;
    for (const release of [io.retain(end), this.#channel.whenEnded(end)]) {
      if (undo === undefined) release();
      else undo.push(release);
    }
    return end;
  }

  /** Adds a handle that ends when `owner` is garbage collected, or when the result is called. */
  hold(owner: object, ended = () => {}): () => void {
    const releaseHandle = this.#keep();
    const end = () => {
      finalizers.unregister(end);
      ended();
      releaseHandle();
    };
    finalizers.register(owner, end, end);
    return end;
  }

  #keep(): () => void {
    this.#handles += 1;
    let isKept = true;
    return () => {
      if (!isKept) return;
      isKept = false;
      this.#handles -= 1;
      // The request fails only if the connection has ended, which has released everything.
      if (this.#handles === 0) this.#channel.peer.release([this.#number]).catch(() => {});
    };
  }
}

const finalizers = new FinalizationRegistry<() => void>((end) => end());
