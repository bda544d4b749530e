// One side of a connection, as the values that cross it see it.

import { storageError } from '../../contract/errors.ts';
import type { Payload } from '../../wire/address.ts';
import type { ReferenceNumber, ReferencePeer, ReferenceRequest } from '../../wire/protocol.ts';
import type { Party } from '../stubs/party.ts';

export interface ReferenceChannel {
  /** Answers for the references of the other side. */
  readonly peer: ReferencePeer;
  /**
   * Writes a value. Nothing is registered before the draft is sent.
   *
   * @throws DataCloneError, and TypeError if a stream or socket in it is in use
   */
  draft(value: unknown, party: Party, ownership?: Ownership): Draft;
  /** The bytes, which must be posted now: the other side may ask for their references. */
  send(draft: Draft): Payload;
  /** Reads a value, for the code of this party. */
  receive(payload: Payload, party: Party): unknown;
  /** Calls `told` when the other side is gone; the result cancels this. */
  whenEnded(told: () => void): () => void;
}

/** A value that is ready to be sent once. Its exports hold things of code, so it is sent or discarded. */
export interface Draft {
  readonly payload: Payload;
  /** Those that were not sent. */
  readonly exports: Map<ReferenceNumber, Exported>;
}

/** Ends the exports that were not sent: targets are disposed of, as on workerd, and streams are cancelled. */
export function discardDraft({ exports }: Pick<Draft, 'exports'>): void {
  const reason = storageError('CONNECTION_CLOSED', 'The message was not sent.');
  for (const exported of exports.values()) exported.release(reason);
  exports.clear();
}

/**
 * Who disposes of the stubs in a message. Arguments are lent: the sender keeps its own handle. Results
 * are given: the handle ends with the receiver's.
 */
export type Ownership = 'lent' | 'given';

/**
 * Something that this side passes by reference: from the call on, because code may dispose of a stub while
 * the message waits for earlier writes. Its code runs only as an event of its party.
 */
export interface Exported {
  /** Keeps the needs of the reference in memory, until the result is called. */
  retain(): () => void;
  /** Answers the other side; null: nothing to tell. */
  ask(request: ReferenceRequest, channel: ReferenceChannel): Promise<Payload | null>;
  /** The other side does not need it any more: streams are cancelled, waits answered. Called once. */
  release(reason: unknown): void;
}
