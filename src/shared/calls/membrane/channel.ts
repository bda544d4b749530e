// One side of a connection, as the values that cross it see it.

import type { Payload } from '../../wire/address.ts';
import type { ReferenceNumber, ReferencePeer, ReferenceRequest } from '../../wire/protocol.ts';
import type { Party } from '../stubs/party.ts';

export interface ReferenceChannel {
  /** Answers for the references of the other side. */
  readonly peer: ReferencePeer;
  /** Writes a value. Nothing is registered before the draft is sent. @throws DataCloneError */
  draft(value: unknown, party: Party, ownership?: Ownership): Draft;
  /**
   * The bytes, which must be posted now: the other side may ask for their references.
   *
   * @throws TypeError if a stream or socket among them is in use
   */
  send(draft: Draft): Payload;
  /** Reads a value, for the code of this party. */
  receive(payload: Payload, party: Party): unknown;
  /** Calls `told` when the other side is gone; the result cancels this. */
  whenEnded(told: () => void): () => void;
}

/** A value that is ready to be sent once. */
export interface Draft {
  readonly payload: Payload;
  readonly exports: ReadonlyMap<ReferenceNumber, Exported>;
}

/**
 * Who disposes of the stubs in a message. Arguments are lent: the sender keeps its own handle. Results
 * are given: the handle ends with the receiver's.
 */
export type Ownership = 'lent' | 'given';

/** Something that this side has passed by reference. Its code runs only as an event of its party. */
export interface Exported {
  /** It is sent: from now on the other side uses it. @throws TypeError if it is in use */
  begin(): void;
  /** Keeps the needs of the reference in memory, until the result is called. */
  retain(): () => void;
  /** Answers the other side; null: nothing to tell. */
  ask(request: ReferenceRequest, channel: ReferenceChannel): Promise<Payload | null>;
  /** The other side does not need it any more: streams are cancelled, waits answered. Called once. */
  release(reason: unknown): void;
}
