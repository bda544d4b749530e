// A reference of the other side, as one party holds it: any number of handles, released together.
//
// Invariant: it is released once, when its last handle was disposed or collected and its requests were answered.
// A handle that counts as use keeps an object in memory for as long as the other side can be reached, and no longer.

import type { Payload } from '../../wire/address.ts';
import { fromWire } from '../../wire/errors-on-wire.ts';
import type { ReferenceNumber, ReferenceRequest } from '../../wire/protocol.ts';
import type { Party } from '../stubs/party.ts';
import { remoteError } from '../stubs/remote-error.ts';
import { type Draft, discardDraft, type ReferenceChannel } from './channel.ts';

/** The number of every stub that was disposed of before it was passed: as on workerd, its calls tell so. */
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

  /** Asks at once. Rejects with the other side's error, or the reason that the connection ended. */
  async ask(request: ReferenceRequest): Promise<Payload | null> {
    const outcome = await this.#channel.peer.ask(this.#number, request);
    if ('ok' in outcome) return outcome.ok;
    throw remoteError(fromWire(outcome.error));
  }

  /** Asks as the party's code: after its writes are durable, and answered through its input gate. */
  send(request: ReferenceRequest): Promise<Payload | null> {
    return this.#send(() => this.ask(request));
  }

  /** Asks as the party's code, with a value that was written before. */
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

  /** A request keeps the reference until it is answered, or the party ends, whose calls are never answered. */
  async #send(ask: () => Promise<Payload | null>): Promise<Payload | null> {
    const { io } = this.party;
    const letGo = this.#keep();
    const forget = io.onEnd(letGo);
    try {
      return await io.send(ask);
    } finally {
      forget();
      letGo();
    }
  }

  /** Asks at once, with a value. */
  askWith(
    value: unknown,
    request: (payload: Payload) => ReferenceRequest,
  ): Promise<Payload | null> {
    return this.ask(request(this.#channel.send(this.draft(value))));
  }

  /** @throws DataCloneError */
  draft(value: unknown): Draft {
    return this.#channel.draft(value, this.party);
  }

  /** A value that came in an answer. */
  read(payload: Payload): unknown {
    return this.#channel.receive(payload, this.party);
  }

  /** Resolves to the reason when the other side can answer no more; never, if this side has let go. */
  watch(): Promise<unknown> {
    return new Promise((resolve) => {
      this.ask({ op: 'watch' }).catch(resolve);
    });
  }

  /**
   * A handle that keeps the party in memory. It ends when its owner is collected, or the party or the
   * connection ends; the result ends it earlier.
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

  /** A handle that ends when its owner is collected; the result ends it earlier. */
  hold(owner: object, ended = () => {}): () => void {
    const letGo = this.#keep();
    const end = () => {
      collected.unregister(end);
      ended();
      letGo();
    };
    collected.register(owner, end, end);
    return end;
  }

  #keep(): () => void {
    this.#handles += 1;
    let isKept = true;
    return () => {
      if (!isKept) return;
      isKept = false;
      this.#handles -= 1;
      // A connection that has ended has released everything.
      if (this.#handles === 0) this.#channel.peer.release([this.#number]).catch(() => {});
    };
  }
}

const collected = new FinalizationRegistry<() => void>((end) => end());
