// The state of the server's side of the protocol (server.ts): its clients and their calls, and its connections.
//
// Invariant: this is plain, immutable data.

import type { FollowedCallMessage, Position } from './messages.ts';
import type { Unread } from './unread.ts';

/** The stored progress of one client's calls. Invariant: acked <= last <= started. */
export interface ClientRecord {
  /** The last call whose first turn was committed. */
  readonly started: number;
  /** The mark of the call with the number `started`; null if the mark is not known. */
  readonly mark: number | null;
  /** The last call that was answered. */
  readonly last: number;
  /** The last call whose outcome the client has recorded. */
  readonly acked: number;
  /** How often the call after `started` was retried because an instance may have ended by running it. */
  readonly attempts: number;
  /** The sizes of the stored outcomes, in bytes: those of the calls after `acked`, up to `last`. */
  readonly outcomeBytes: readonly number[];
}

/** A call that was received and has not begun, and the size of its message. */
export interface WaitingCall {
  readonly message: FollowedCallMessage;
  readonly bytes: number;
}

export type CallRun =
  | { readonly kind: 'idle' }
  /**
   * The call's raised count of attempts is being stored, so that the next instance knows the count. Then the call runs.
   */
  | { readonly kind: 'attempting'; readonly call: FollowedCallMessage }
  | { readonly kind: 'running' };

export interface FollowClient {
  readonly record: ClientRecord;
  readonly run: CallRun;
  readonly waiting: readonly WaitingCall[];
}

/** The state of one connection. It is plain data: hibernation stores it in the attachment of the socket. */
export interface FollowerConnection {
  readonly client: string;
  /**
   * The position up to which the follower was sent the object's changes; null while the follower receives the parts of
   * a snapshot.
   */
  readonly sent: Position | null;
  /** The number of the last call whose outcome the follower was sent. */
  readonly told: number;
  readonly unread: Unread;
}

export interface FollowServer {
  /** The version of the object's class. */
  readonly version: number;
  /** The clients that have a connection or an unfinished call. */
  readonly clients: ReadonlyMap<string, FollowClient>;
  readonly connections: ReadonlyMap<number, FollowerConnection>;
  /** The total of the bytes that all followers have not read. */
  readonly unreadBytes: number;
  /** The total of the bytes of all clients' waiting calls. */
  readonly waitingBytes: number;
}

/** A state whose maps have one owner, who may change them in place. */
export interface OwnedFollowServer extends FollowServer {
  readonly clients: Map<string, FollowClient>;
  readonly connections: Map<number, FollowerConnection>;
}

/** The state from which an instance starts. Its connections are those that outlived an idle instance. */
export interface StoredFollowServer extends Pick<FollowServer, 'version' | 'connections'> {
  readonly head: Position;
  /** The records of the clients that have a connection, or a call that an earlier instance began and did not end. */
  readonly records: ReadonlyMap<string, ClientRecord>;
}
