// The values that one side of a connection has passed to the other by reference, by number, and its
// access to the values that the other side has passed. Two of them face each other.

import { storageError } from '../../contract/errors.ts';
import type { Payload } from '../../wire/address.ts';
import { type Outcome, toWire } from '../../wire/errors-on-wire.ts';
import type { ReferenceNumber, ReferencePeer, ReferenceRequest } from '../../wire/protocol.ts';
import type { Party } from '../stubs/party.ts';
import type { Draft, Exported, Ownership, ReferenceChannel } from './channel.ts';
import { readPayload, writeDraft } from './payload.ts';

interface Live {
  readonly exported: Exported;
  readonly forget: () => void;
}

export class References implements ReferenceChannel, ReferencePeer {
  readonly peer: ReferencePeer;
  readonly #live = new Map<ReferenceNumber, Live>();
  readonly #told = new Set<() => void>();
  #ended = false;

  constructor(peer: ReferencePeer) {
    this.peer = peer;
  }

  /** How many things the other side holds. */
  get size(): number {
    return this.#live.size;
  }

  draft(value: unknown, party: Party, ownership?: Ownership): Draft {
    return writeDraft(value, party, ownership);
  }

  send({ payload, exports }: Draft): Payload {
    for (const [number, exported] of exports) {
      this.#live.set(number, { exported, forget: exported.retain() });
    }
    exports.clear();
    if (this.#ended) this.end(storageError('CONNECTION_CLOSED', 'The connection has ended.'));
    return payload;
  }

  receive(payload: Payload, party: Party): unknown {
    return readPayload(payload, this, party);
  }

  whenEnded(told: () => void): () => void {
    if (this.#ended) told();
    else this.#told.add(told);
    return () => void this.#told.delete(told);
  }

  /** Answers the other side. */
  async ask(
    reference: ReferenceNumber,
    request: ReferenceRequest,
  ): Promise<Outcome<Payload | null>> {
    try {
      const live = this.#live.get(reference);
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

  /** The other side is gone: everything that either side held is released. Idempotent. */
  end(reason: unknown): void {
    this.#ended = true;
    for (const reference of [...this.#live.keys()]) this.#release(reference, reason);
    for (const told of this.#told) told();
    this.#told.clear();
  }

  #release(reference: ReferenceNumber, reason: unknown): void {
    const live = this.#live.get(reference);
    if (live === undefined) return;
    this.#live.delete(reference);
    live.exported.release(reason);
    live.forget();
  }
}

/** Two sides in one thread, which reach each other directly. */
export function pairOfReferences(): readonly [References, References] {
  const first = new References({
    ask: (reference, request) => second.ask(reference, request),
    release: (references) => second.release(references),
  });
  const second = new References(first);
  return [first, second];
}
