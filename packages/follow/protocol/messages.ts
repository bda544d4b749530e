// The messages between an object on a server and its followers, which hold copies of it, and the types that both sides
// share.
//
// `args`, `changes`, `value` and `error` are opaque here; the code that reads them checks them. `args` and `changes` are
// bytes (a serialized array, and changes/changes-bytes.ts), except in the model.
//
// This file does not know in which order messages may come: follower.ts and server.ts do.

/** The range of protocol versions that this code supports. Version 2 added marks of calls, and receipts of messages. */
export const FOLLOW_PROTOCOLS: ProtocolRange = { oldest: 2, newest: 2 };

/**
 * A client may have this many calls at the server whose outcomes the client has not recorded (our choice: this bounds
 * memory).
 */
export const CALLS_IN_FLIGHT_MAX = 64;

/** A follower sends no further call while the arguments of its unanswered calls have this many bytes (our choice). */
export const CALL_BYTES_IN_FLIGHT_MAX = 2 ** 20;

export interface ProtocolRange {
  readonly oldest: number;
  readonly newest: number;
}

/**
 * A point in an object's history. Each write adds a numbered *note*; `id` is the number of the last one, and `life` a
 * random number of the instance that wrote it. A restored object uses the same numbers again, with another `life`. An
 * object without notes is at id 0, life 0.
 */
export interface Position {
  readonly id: number;
  readonly life: number;
}

/**
 * The reasons for which a call fails though its method neither returned nor threw. CALL_INTERRUPTED: the instance ended
 * after the call's first turn; the writes of finished turns are kept. CALL_ABANDONED: every attempt ended the instance,
 * and nothing was written.
 */
export const CALL_FAILURES = ['CALL_INTERRUPTED', 'CALL_ABANDONED'] as const;
export type CallFailureCode = (typeof CALL_FAILURES)[number];

/** The server's answer to a call: the value that the method returned, the error that it threw, or a failure. */
export type FollowedOutcome =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'error'; readonly error: unknown }
  | { readonly kind: 'failed'; readonly code: CallFailureCode };

/**
 * A call's number, and the random number that its queue drew for the call. Two queues that were once one queue, because
 * files were copied or restored from a backup, give the same numbers with different marks. The mark is null for a call
 * of protocol 1.
 */
export interface MarkedNumber {
  readonly n: number;
  readonly mark: number | null;
}

export type NumberedOutcome = readonly [n: number, outcome: FollowedOutcome];

/** The progress of a snapshot. The server sends a snapshot in parts, and reads each part at its own time. */
export interface CopyMark {
  /** The object's position when the first part was read. Later writes come with the cut after the last part. */
  readonly from: Position;
  /**
   * The object's position when the newest part was read. If a restore went back before this position, the snapshot is
   * invalid.
   */
  readonly at: Position;
  /** How many parts the follower has received. */
  readonly parts: number;
  /** The place where the next part begins, which only the server reads; null if this was the last part. */
  readonly next: unknown;
}

/** A follower sends this message first on each connection. */
export interface HelloMessage {
  readonly kind: 'hello';
  readonly protocol: ProtocolRange;
  readonly client: string;
  /** The position of the follower's base (its copy of the object); null if it has none. */
  readonly position: Position | null;
  /** The parts of an unfinished snapshot that the follower has on its disk. */
  readonly copy: CopyMark | null;
  /** The client has recorded the outcomes of its calls up to this number, and will not send these calls again. */
  readonly ack: number;
}

export interface FollowedCallMessage {
  readonly kind: 'call';
  /** The call's number. A client numbers its calls in order, without gaps, and never reuses a number. */
  readonly n: number;
  readonly mark: number;
  readonly method: string;
  readonly args: unknown;
  /** True if the call may have been sent before, so that running it may have ended the server's instance. */
  readonly again: boolean;
  readonly ack: number;
}

/** Asks for the next part of a snapshot. The server sends one part for each request, and stores none. */
export interface NextPartMessage {
  readonly kind: 'next';
  readonly copy: CopyMark;
  /** The receipt of the part before the requested one, as in `AckMessage`. */
  readonly receipt: number | null;
}

/** Confirms a message that has asked for a receipt. */
export interface AckMessage {
  readonly kind: 'ack';
  readonly ack: number;
  /** The receipt of the newest message that the follower has read. */
  readonly receipt: number;
}

/**
 * A message that brings content. With a `receipt`, a random number, the message asks the follower to send this number
 * back once the follower has read the message. The receipts tell a server how much a follower has not read, on sockets
 * that do not tell.
 */
export interface Receipted {
  readonly receipt: number | null;
}

/** The server accepts a hello with this message. */
export interface WelcomeMessage {
  readonly kind: 'welcome';
  readonly protocol: number;
  /** The version of the object's class. A follower whose class has another version makes no forecasts. */
  readonly version: number;
  /** The newest call of this client that the server has received; number 0 if there is none. */
  readonly received: MarkedNumber;
}

/**
 * PROTOCOL: no common version. OBJECT_TOO_LARGE: the follower needs a snapshot, and the object is too large for one.
 * CLIENT_REMOVED: the server knows nothing of this client any more, so it could run a call of it twice.
 */
export const REJECT_REASONS = ['PROTOCOL', 'OBJECT_TOO_LARGE', 'CLIENT_REMOVED'] as const;
export type RejectReason = (typeof REJECT_REASONS)[number];

/** The server refuses a hello with this message, then closes the connection. */
export interface RejectedMessage {
  readonly kind: 'rejected';
  readonly reason: RejectReason;
  readonly protocol: ProtocolRange;
}

/**
 * Brings one part of a snapshot. `copy` counts this part. `progress` is the approximate fraction of the object, 0 to 1,
 * that was sent before this part.
 */
export interface PartMessage extends Receipted {
  readonly kind: 'part';
  readonly copy: CopyMark;
  readonly progress: number;
  readonly changes: unknown;
}

/** The content to which a follower applies a cut: its base at a position, or all received parts of a snapshot. */
export type CutBase =
  | { readonly kind: 'position'; readonly position: Position }
  | { readonly kind: 'parts'; readonly from: Position; readonly count: number };

/** `last` is the client's last answered call. The base contains the writes of all calls up to it when the message is applied. */
export interface CallAnswers {
  readonly last: number;
  readonly outcomes: readonly NumberedOutcome[];
}

/** Brings the object's changes from one position to the next, with the outcomes of this client's calls that caused some of them. */
export interface CutMessage extends CallAnswers, Receipted {
  readonly kind: 'cut';
  readonly onto: CutBase;
  readonly to: Position;
  readonly changes: unknown;
}

/** Brings outcomes alone, when the object has not changed since the last message. */
export interface EndedMessage extends CallAnswers, Receipted {
  readonly kind: 'ended';
}

export type MessageToServer = HelloMessage | NextPartMessage | FollowedCallMessage | AckMessage;
export type MessageToFollower =
  | WelcomeMessage
  | RejectedMessage
  | PartMessage
  | CutMessage
  | EndedMessage;

/** The result of an event: the next state, and the effects that the caller performs in order before the next event. */
export interface Transition<State, Effect> {
  readonly state: State;
  readonly effects: readonly Effect[];
}

/** Returns the newest version of the protocol that this code and a peer support; null if there is none. */
export function commonProtocol(peer: ProtocolRange): number | null {
  const newest = Math.min(peer.newest, FOLLOW_PROTOCOLS.newest);
  return newest < Math.max(peer.oldest, FOLLOW_PROTOCOLS.oldest) ? null : newest;
}

export function isSamePosition(a: Position, b: Position | null): boolean {
  return a.id === b?.id && a.life === b.life;
}
