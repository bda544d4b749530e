// Defines the interfaces for values that cross a connection: the channel, drafts, and things that are passed by reference.

import { storageError } from '../../contract/errors.ts';
import type { Payload } from '../../wire/address.ts';
import type { ReferenceNumber, ReferencePeer, ReferenceRequest } from '../../wire/protocol.ts';
import type { Party } from '../stubs/party.ts';

export interface ReferenceChannel {
  /** Reaches the other side, which answers requests for its references. */
  readonly peer: ReferencePeer;
  /**
   * Serializes a value. References in it are registered only when the draft is sent.
   *
   * @throws DataCloneError, and TypeError if a stream or socket in it is in use
   */
  draft(value: unknown, party: Party, ownership?: Ownership): Draft;
  /** Registers the references of the draft and returns its bytes. Post them now: the other side may ask for the references. */
  send(draft: Draft): Payload;
  /** Deserializes the value of a request for the code of this party. @throws INVALID_ARGUMENT if it would hold the code */
  receive(payload: Payload, party: Party): unknown;
  /** Deserializes the value of an answer. */
  receiveAnswer(payload: Payload, party: Party): unknown;
  /** Calls `told` when the connection ends. Call the result to unsubscribe. */
  whenEnded(told: () => void): () => void;
}

/** A serialized value that can be sent once. It holds resources of user code, so it must be sent or discarded. */
export interface Draft {
  readonly payload: Payload;
  /** The things passed by reference; empty once the draft was sent. */
  readonly exports: Map<ReferenceNumber, Exported>;
}

/** Releases the references of a draft that is not sent: targets are disposed of, as in workerd, and streams cancelled. */
export function discardDraft({ exports }: Pick<Draft, 'exports'>): void {
  const reason = storageError('CONNECTION_CLOSED', 'The message was not sent.');
  for (const exported of exports.values()) exported.release(reason);
  exports.clear();
}

/**
 * Says which side disposes of the stubs in a message. Arguments are lent: the sender keeps its own handle. Results are
 * given: the sender's handle ends when the receiver disposes of its own handle.
 */
export type Ownership = 'lent' | 'given';

/**
 * A thing that this side passes by reference. It is held from the moment of the call, because code may dispose of a stub
 * while the message waits for earlier writes. Its code runs only as an event of its party.
 */
export interface Exported {
  /** Keeps the object or event behind the reference in memory. Call the result to stop. */
  retain(): () => void;
  /** Answers a request of the other side; null if the answer has no content. */
  ask(request: ReferenceRequest, channel: ReferenceChannel): Promise<Payload | null>;
  /** Releases the thing when the other side no longer needs it: cancels a stream, answers waiting requests. Called once. */
  release(reason: unknown): void;
}
