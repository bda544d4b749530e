// A follower's connection: a WebSocket with a subprotocol, its heartbeat, and why the server closes it.
//
// Codes from 4000 on are free for applications. Each reason has one code, which does not change.

import type { CloseReason } from './server.ts';

/** The core has some of these reasons; others are found before a message reaches it. */
export type FollowerCloseReason =
  | CloseReason
  /** The message is not one of the protocol. */
  | 'MALFORMED'
  | 'MESSAGE_TOO_LARGE'
  /** More messages a second than the limit. */
  | 'TOO_FAST'
  /** The name of the client belongs to another identity. */
  | 'CLIENT_TAKEN'
  /** `authorize` knows nobody who may follow. */
  | 'NOT_AUTHORIZED'
  /** The object has as many followers as it may. */
  | 'TOO_MANY_FOLLOWERS'
  /** The connection has outlived an instance whose last writes were lost, or the object was restored. */
  | 'STALE';

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
};

/** The subprotocol of the WebSocket, by which a server tells followers from other sockets. */
export const FOLLOW_SUBPROTOCOL = 'ctx-storage-follow';

/** Most bytes of a follower's message (our choice). A longer one closes its connection, so it is not made. */
export const MESSAGE_BYTES_MAX = 2 ** 20;

/** A text message, answered with `FOLLOW_PONG` without waking the object where that is possible. */
export const FOLLOW_PING = '_follow_ping';
export const FOLLOW_PONG = '_follow_pong';
