// Implements one side of a connection between two parties: it holds the things that this side has passed by reference,
// answers requests for them by number, and reads payloads that refer to things of the other side.

import { storageError } from '../../contract/errors.ts';
import { deserializeWith } from '../../values/decode.ts';
import { passedValue } from '../../values/passed-value.ts';
import type { Payload } from '../../wire/address.ts';
import { type Outcome, toWire } from '../../wire/errors-on-wire.ts';
import type { ReferenceNumber, ReferencePeer, ReferenceRequest } from '../../wire/protocol.ts';
import type { Party } from '../stubs/party.ts';
import type { Draft, Exported, Ownership, ReferenceChannel } from './channel.ts';
import { readPayload, writeDraft } from './payload.ts';

interface HeldExport {
  readonly exported: Exported;
  readonly forget: () => void;
}

export class References implements ReferenceChannel, ReferencePeer {
  readonly peer: ReferencePeer;
  readonly #decode: typeof deserializeWith;
  readonly #exports = new Map<ReferenceNumber, HeldExport>();
  readonly #endListeners = new Set<() => void>();
  #ended = false;

  /** `decode` may refuse the values of requests. */
  constructor(peer: ReferencePeer, decode: typeof deserializeWith = deserializeWith) {
    this.peer = peer;
    this.#decode = decode;
  }

  /** The number of things of this side that the other side holds. */
  get size(): number {
    return this.#exports.size;
  }

  draft(value: unknown, party: Party, ownership?: Ownership): Draft {
    return writeDraft(value, party, ownership);
  }

  send({ payload, exports }: Draft): Payload {
    for (const [number, exported] of exports) {
      this.#exports.set(number, { exported, forget: exported.retain() });
    }
    exports.clear();
    if (this.#ended) this.end(storageError('CONNECTION_CLOSED', 'The connection has ended.'));
    return payload;
  }

  receive(payload: Payload, party: Party): unknown {
    return readPayload(payload, this, party, this.#decode);
  }

  receiveAnswer(payload: Payload, party: Party): unknown {
    return readPayload(payload, this, party, deserializeWith);
  }

  whenEnded(told: () => void): () => void {
    if (this.#ended) told();
    else this.#endListeners.add(told);
    return () => void this.#endListeners.delete(told);
  }

  /** Answers a request of the other side. */
  async ask(
    reference: ReferenceNumber,
    request: ReferenceRequest,
  ): Promise<Outcome<Payload | null>> {
    try {
      const live = this.#exports.get(reference);
      if (live === undefined) {
        throw storageError('CONNECTION_CLOSED', 'The reference was released.');
      }
      return { ok: await live.exported.ask(request, this) };
    } catch (error) {
      return { error: toWire(error) };
    }
  }

  async release(references: readonly ReferenceNumber[]): Promise<void> {
    const reason = storageError('CONNECTION_CLOSED', 'The other side released the reference.');
    for (const reference of references) this.#release(reference, reason);
  }

  /** Ends the connection, and releases everything that either side held. Idempotent. */
  end(reason: unknown): void {
    this.#ended = true;
    for (const reference of [...this.#exports.keys()]) this.#release(reference, reason);
    for (const told of this.#endListeners) told();
    this.#endListeners.clear();
  }

  #release(reference: ReferenceNumber, reason: unknown): void {
    const live = this.#exports.get(reference);
    if (live === undefined) return;
    this.#exports.delete(reference);
    live.exported.release(reason);
    live.forget();
  }
}

/** Makes two connected sides in one thread. */
export function pairOfReferences(): readonly [References, References] {
  const peer: ReferencePeer = {
    ask: (reference, request) => second.ask(reference, request),
    release: (references) => second.release(references),
  };
  const first = new References(peer, passedValue);
  const second = new References(first, passedValue);
  return [first, second];
}
