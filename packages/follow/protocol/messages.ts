// The messages between an object on a server and the followers that replicate it, and the facts that both sides share.
//
// `args`, `changes`, `value` and `error` are opaque here; whoever reads them checks them. `changes` are bytes
// (changes/changes-bytes.ts), except in the model.
//
// Does not know in which order messages may come: follower.ts and server.ts do.

/** The versions of this protocol that this code speaks. */
export const FOLLOW_PROTOCOLS: ProtocolRange = { oldest: 1, newest: 1 };

/** Most calls of a client that the server has received and not answered (our choice: bounds the server's memory). */
export const CALLS_IN_FLIGHT_MAX = 64;

export interface ProtocolRange {
  readonly oldest: number;
  readonly newest: number;
}

/**
 * A point in an object's history: the number of its last note, and the random number of the instance that wrote the
 * note. A restored object writes the same numbers again, in another life. The empty history is 0 in life 0.
 */
export interface Position {
  readonly id: number;
  readonly life: number;
}

/**
 * Why a call failed without an answer of its method. CALL_INTERRUPTED: the instance ended after the first of several
 * turns, whose writes are kept. CALL_ABANDONED: each attempt ended the instance; nothing was written.
 */
export const CALL_FAILURES = ['CALL_INTERRUPTED', 'CALL_ABANDONED'] as const;
export type CallFailureCode = (typeof CALL_FAILURES)[number];

/** The server's answer to a call. `error` was thrown by the method. */
export type FollowedOutcome =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'error'; readonly error: unknown }
  | { readonly kind: 'failed'; readonly code: CallFailureCode };

export type NumberedOutcome = readonly [n: number, outcome: FollowedOutcome];

/** How far a copy of the object has come that is sent in parts, each read at its own time. */
export interface CopyMark {
  /** The object when the first part was read. What was written since comes with the cut after the last part. */
  readonly from: Position;
  /** The object when the last of them was read: a restore may have taken back what it has. */
  readonly at: Position;
  /** Parts that have come. */
  readonly parts: number;
  /** Where the next part begins, for the server alone; null: there are no more. */
  readonly next: unknown;
}

/** The first message of a connection. */
export interface HelloMessage {
  readonly kind: 'hello';
  readonly protocol: ProtocolRange;
  readonly client: string;
  /** Of the base; null: there is none. */
  readonly position: Position | null;
  /** The parts that are on its disk already. */
  readonly copy: CopyMark | null;
  /** The client will never send calls up to this number again, and needs none of their outcomes. */
  readonly ack: number;
}

export interface FollowedCallMessage {
  readonly kind: 'call';
  /** Numbers of a client ascend by one and are never used again. */
  readonly n: number;
  readonly method: string;
  readonly args: unknown;
  /** It may have been sent before, so it may have ended the server. */
  readonly again: boolean;
  readonly ack: number;
}

/** Asks for the part after those that have come: the server sends one at a time, and keeps none. */
export interface NextPartMessage {
  readonly kind: 'next';
  readonly copy: CopyMark;
}

/** The answer to hello. */
export interface WelcomeMessage {
  readonly kind: 'welcome';
  readonly protocol: number;
  /** The version of the class; a follower with another one makes no forecasts. */
  readonly version: number;
}

/** PROTOCOL: no common version. OBJECT_TOO_LARGE: the follower needs a snapshot, and the server makes none of this size. */
export const REJECT_REASONS = ['PROTOCOL', 'OBJECT_TOO_LARGE'] as const;
export type RejectReason = (typeof REJECT_REASONS)[number];

/** The other answer to hello, before the server closes the connection. */
export interface RejectedMessage {
  readonly kind: 'rejected';
  readonly reason: RejectReason;
  readonly protocol: ProtocolRange;
}

/** A part of a snapshot. `copy` counts it. `progress`: how much of the object was sent before it, about, from 0 to 1. */
export interface PartMessage {
  readonly kind: 'part';
  readonly copy: CopyMark;
  readonly progress: number;
  readonly changes: unknown;
}

/** The state to which a cut is applied: that of a position, or all parts of a snapshot and nothing else. */
export type CutBase =
  | { readonly kind: 'position'; readonly position: Position }
  | { readonly kind: 'parts'; readonly from: Position; readonly count: number };

/** `last`: the last call of this client that the server has answered. Everything sent contains the writes up to it. */
export interface CallAnswers {
  readonly last: number;
  readonly outcomes: readonly NumberedOutcome[];
}

/** The changes of the object since the last message, with the outcomes of the calls among their causes. */
export interface CutMessage extends CallAnswers {
  readonly kind: 'cut';
  readonly onto: CutBase;
  readonly to: Position;
  readonly changes: unknown;
}

/** Outcomes without a cut: the object has not changed since the last message. */
export interface EndedMessage extends CallAnswers {
  readonly kind: 'ended';
}

export type MessageToServer = HelloMessage | NextPartMessage | FollowedCallMessage;
export type MessageToFollower =
  | WelcomeMessage
  | RejectedMessage
  | PartMessage
  | CutMessage
  | EndedMessage;

/** The state after an event, and the effects to perform, in order, before the next event. */
export interface Transition<State, Effect> {
  readonly state: State;
  readonly effects: readonly Effect[];
}

export function isSamePosition(a: Position, b: Position | null): boolean {
  return a.id === b?.id && a.life === b.life;
}
