// The constants of a follower's WebSocket: its subprotocol, its ping, and the codes with which the server closes it.
//
// WebSocket leaves close codes from 4000 on to applications. Each reason keeps its code for ever.

import type { CloseReason } from './server-events.ts';

/**
 * server.ts finds the reasons of `CloseReason`; the layer of the sockets finds the other reasons before a message
 * reaches server.ts.
 */
export type FollowerCloseReason =
  | CloseReason
  /** The message cannot be decoded as a message of the protocol. */
  | 'MALFORMED'
  | 'MESSAGE_TOO_LARGE'
  /** The follower sends more messages a second than `limits.messagesPerSecond`. */
  | 'TOO_FAST'
  /** Another identity has used this client's name first. */
  | 'CLIENT_TAKEN'
  /** `authorize` has returned null or false. */
  | 'NOT_AUTHORIZED'
  /** The object has `limits.followers` connections already. */
  | 'TOO_MANY_FOLLOWERS'
  /** The storage lacks the position that the connection was sent: writes were lost, or the object was restored. */
  | 'STALE'
  /** The request came from a page of an origin that the option `origins` does not allow. */
  | 'ORIGIN_REFUSED'
  /** The follower has not said hello in time. */
  | 'HELLO_LATE';

export const FOLLOWER_CLOSE_CODES: Readonly<Record<FollowerCloseReason, number>> = {
  PROTOCOL: 4000,
  HELLO_FIRST: 4001,
  HELLO_TWICE: 4002,
  CALL_GAP: 4003,
  TOO_MANY_CALLS: 4004,
  ACK_AHEAD: 4005,
  REPLACED: 4006,
  MALFORMED: 4007,
  MESSAGE_TOO_LARGE: 4008,
  TOO_FAST: 4009,
  CLIENT_TAKEN: 4010,
  STALE: 4011,
  OBJECT_TOO_LARGE: 4012,
  NOT_AUTHORIZED: 4013,
  TOO_MANY_FOLLOWERS: 4014,
  NOT_COPYING: 4015,
  ORIGIN_REFUSED: 4016,
  HELLO_LATE: 4017,
  NOT_READING: 4018,
  CLIENT_REMOVED: 4019,
};

/** The WebSocket subprotocol that marks a socket as a follower's. */
export const FOLLOW_SUBPROTOCOL = 'ctx-storage-follow';

/** The largest message that a follower may send (our choice). The server closes the connection of a longer one. */
export const MESSAGE_BYTES_MAX = 2 ** 20;

/** A follower sends this text to test its connection. The platform answers with `FOLLOW_PONG`, if it can without waking the object. */
export const FOLLOW_PING = '_follow_ping';
export const FOLLOW_PONG = '_follow_pong';
