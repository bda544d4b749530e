// The events that the server's side of the protocol (server.ts) takes, and the effects that it returns.

import type {
  AckMessage,
  CopyMark,
  FollowedCallMessage,
  FollowedOutcome,
  HelloMessage,
  MessageToFollower,
  NextPartMessage,
  Position,
  RejectReason,
} from './messages.ts';
import type { ClientRecord } from './server-state.ts';

/**
 * The events of the server's side. Each event has `head`, the position of the object including the changes of the
 * event.
 */
export type FollowServerEvent = { readonly head: Position } & (
  | {
      readonly kind: 'hello';
      readonly connection: number;
      readonly message: HelloMessage;
      /** The client's stored record; null if the client is new. */
      readonly record: ClientRecord | null;
      /** The life of the note that the client's position names; null if there is no such note. */
      readonly lifeAtPosition: number | null;
      readonly copyLives: CopyLives | null;
      /** True if the object is small enough for a snapshot. */
      readonly canSnapshot: boolean;
    }
  /** The follower asks for the part after its mark. */
  | {
      readonly kind: 'next';
      readonly connection: number;
      readonly message: NextPartMessage;
      readonly copyLives: CopyLives | null;
    }
  /** The caller has sent the last part of a snapshot, after which a cut follows. */
  | { readonly kind: 'partsSent'; readonly connection: number; readonly copy: CopyMark }
  | {
      readonly kind: 'call';
      readonly connection: number;
      readonly message: FollowedCallMessage;
      readonly bytes: number;
    }
  | { readonly kind: 'ack'; readonly connection: number; readonly message: AckMessage }
  | { readonly kind: 'sent'; readonly messages: readonly CountedMessage[] }
  /** The changes of a cut were too large for one message, so nothing was sent: the follower gets a snapshot. */
  | { readonly kind: 'cutTooLarge'; readonly connection: number; readonly canSnapshot: boolean }
  | { readonly kind: 'attemptStored'; readonly client: string }
  /** `bytes` is the size of the stored outcome. */
  | {
      readonly kind: 'ended';
      readonly client: string;
      readonly outcome: FollowedOutcome;
      readonly bytes: number;
    }
  /** The first turn of a call has ended, but the call has not. */
  | { readonly kind: 'paused'; readonly client: string }
  /** A later turn of a call, an alarm, or another caller has changed the object. */
  | { readonly kind: 'changed' }
  | { readonly kind: 'closed'; readonly connection: number }
  /** The waiting calls of these clients may not run any more. */
  | { readonly kind: 'callsWithdrawn'; readonly clients: readonly string[] }
  /** All stored outcomes were deleted with the content of the object. */
  | { readonly kind: 'outcomesDeleted' }
);

/**
 * The lives of the notes that the positions `from` and `at` of an unfinished snapshot name; null for a note that does
 * not exist. The type itself is null if there is no snapshot to continue, or the tables have changed since the snapshot
 * began.
 */
export type CopyLives = Readonly<Record<'from' | 'at', number | null>>;

/** The facts of a message that was sent: its connection, its size, and the receipt that it asked for. */
export interface CountedMessage {
  readonly connection: number;
  readonly bytes: number;
  readonly receipt: number | null;
}

export type FollowServerEffect =
  /** Stores the client's record, and the outcome of call `last` if it has just ended; deletes acknowledged outcomes. */
  | {
      readonly kind: 'record';
      readonly client: string;
      readonly record: ClientRecord;
      readonly outcome: FollowedOutcome | null;
    }
  /** Makes the client's record durable in a transaction of its own, then delivers `attemptStored`. */
  | { readonly kind: 'storeAttempt'; readonly client: string }
  /** Calls the method. The caller then delivers `ended` or `paused`. */
  | { readonly kind: 'run'; readonly client: string; readonly call: FollowedCallMessage }
  | { readonly kind: 'send'; readonly connection: number; readonly message: MessageToFollower }
  /** Sends outcomes alone. The caller delivers `sent` after effects of this kind and of the next two kinds. */
  | ({ readonly kind: 'sendEnded'; readonly connection: number } & ClientAnswers)
  /**
   * Sends an update: the present content of everything that was written after `since`. The update applies to a base at
   * `since`, or, if `parts` is a number, to that many parts of a snapshot that began at `since`. If the update is too
   * large, the caller delivers `cutTooLarge` instead.
   */
  | ({
      readonly kind: 'sendCut';
      readonly connection: number;
      readonly since: Position;
      readonly parts: number | null;
      readonly to: Position;
    } & ClientAnswers)
  /**
   * Reads and sends the part of a snapshot after the first `parts` parts. After the last part, delivers `next` itself.
   */
  | {
      readonly kind: 'sendPart';
      readonly connection: number;
      readonly from: Position;
      readonly at: Position;
      readonly parts: number;
      /** The place where the part begins; null for the first part. */
      readonly after: unknown;
    }
  | { readonly kind: 'close'; readonly connection: number; readonly reason: CloseReason }
  /** Connections may lack changes. The caller delivers `changed` after this turn, and other events may come before it. */
  | { readonly kind: 'updateLater' };

/** The stored outcomes of a client's calls after number `told`, up to number `last`, which a message brings. */
export interface ClientAnswers {
  readonly client: string;
  readonly told: number;
  readonly last: number;
}

export type CloseReason =
  | RejectReason
  | 'HELLO_FIRST'
  | 'HELLO_TWICE'
  | 'CALL_GAP'
  | 'TOO_MANY_CALLS'
  | 'ACK_AHEAD'
  /** The follower asks for a part while no snapshot is being sent. */
  | 'NOT_COPYING'
  /** The follower does not read what it was sent, and the memory for such messages is full. */
  | 'NOT_READING'
  /** The client has a newer connection. */
  | 'REPLACED';
