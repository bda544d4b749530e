// The sockets of an object's followers: hibernating WebSockets with a tag, which are hidden from the class.
//
// Each connection has a number. The attachment of its socket stores the number and the connection's protocol state, so
// both outlive the instance. The attachment of a closed connection says so, and its late messages are ignored.
//
// A connection has an end: the expiry of its authorization, and for one that has not said hello ten seconds. The
// attachment stores it, too, because no timer outlives an instance.
//
// Invariants:
//   the class finds neither the sockets of its followers nor their automatic answer to pings
//   nothing is sent to a follower whose authorization has expired
//
// This file does not know the messages.

import { storageError } from '@ctx-storage/core/errors';
import type { AutoResponse, DurableObjectState, ObjectWebSocket } from '@ctx-storage/core/object';
import {
  FOLLOW_PING,
  FOLLOW_PONG,
  FOLLOW_SUBPROTOCOL,
  FOLLOWER_CLOSE_CODES,
  type FollowerCloseReason,
} from '../protocol/connection.ts';
import type { FollowerConnection } from '../protocol/server-state.ts';
import type { Authorization } from './authorization.ts';

const FOLLOWER_TAG = '_follow';
const OPEN = 1;
const CLOSING = 2;
/** A connection that has not said hello within this time is closed (our choice: followers say it at once). */
const HELLO_MS = 10_000;
const NEVER = Number.POSITIVE_INFINITY;

/** The content of a socket's attachment, which outlives the instance. */
export type FollowerSocket =
  | (Accepted & { readonly kind: 'accepted'; readonly acceptedAtMs: number })
  | (Accepted & { readonly kind: 'greeted'; readonly connection: FollowerConnection })
  | { readonly kind: 'closed' };

interface Accepted extends Authorization {
  readonly number: number;
}

/** An open connection. A time is Infinity if the connection has no such end. */
interface Connected {
  readonly socket: ObjectWebSocket;
  readonly identity: string;
  readonly expiresAtMs: number;
  /** The connection ends at this time, unless the follower has said hello. */
  helloUntilMs: number;
}

/** A connection whose end has been reached, so that it must be closed. */
export interface Overdue {
  readonly number: number;
  readonly reason: 'NOT_AUTHORIZED' | 'HELLO_LATE';
}

/** Global classes of workerd. This package installs them on its own hosts. */
interface Scope {
  readonly WebSocketPair: new () => { readonly 0: ObjectWebSocket; readonly 1: ObjectWebSocket };
  readonly WebSocketRequestResponsePair: new (request: string, response: string) => AutoResponse;
}

/** The original methods of `ctx`, from before they are replaced for the class. */
type Sockets = Pick<DurableObjectState, 'acceptWebSocket' | 'getTags' | 'getWebSockets'>;

export class FollowerSockets {
  readonly #sockets: Sockets;
  readonly #now: () => number;
  readonly #byNumber = new Map<number, Connected>();
  #nextEndMs = NEVER;
  #lastNumber = 0;

  /** Replaces methods of `ctx`, so that the class does not see the sockets of followers. */
  constructor(ctx: DurableObjectState, now: () => number) {
    this.#now = now;
    const getWebSockets = ctx.getWebSockets.bind(ctx);
    const acceptWebSocket = ctx.acceptWebSocket.bind(ctx);
    this.#sockets = { acceptWebSocket, getWebSockets, getTags: ctx.getTags.bind(ctx) };
    overrideMembers(ctx, {
      getWebSockets: (...tag) => getWebSockets(...tag).filter((socket) => !this.isFollower(socket)),
      acceptWebSocket: (socket, tags) => {
        if (!tags?.includes(FOLLOWER_TAG)) return acceptWebSocket(socket, ...(tags ? [tags] : []));
        throw storageError(
          'INVALID_ARGUMENT',
          `acceptWebSocket(): the tag ${FOLLOWER_TAG} marks the followers of the object. Use another one.`,
        );
      },
    });
    keepAutoResponse(ctx);
    for (const socket of getWebSockets(FOLLOWER_TAG)) {
      const kept = stateOf(socket);
      if (kept.kind === 'closed') continue;
      // Attachments of earlier versions of this package have no times.
      const { number, identity, expiresAtMs = null } = kept;
      const acceptedAtMs = kept.kind === 'accepted' ? (kept.acceptedAtMs ?? 0) : NEVER;
      this.#add(number, { socket, identity, expiresAtMs, helloUntilMs: acceptedAtMs + HELLO_MS });
      this.#lastNumber = Math.max(this.#lastNumber, number);
      // A follower of protocol 1 learns that the server has dropped that protocol when it connects again.
      const isOfProtocol1 = kept.kind === 'greeted' && kept.connection.unread === undefined;
      if (isOfProtocol1) this.close(number, 'STALE');
    }
  }

  /** The number of open sockets of followers. */
  get count(): number {
    let count = 0;
    for (const { socket } of this.#byNumber.values()) if (socket.readyState === OPEN) count += 1;
    return count;
  }

  /** The numbers of the open connections of an identity. */
  numbersOf(identity: string): number[] {
    return [...this.#byNumber].flatMap(([number, { socket, identity: its }]) =>
      its === identity && socket.readyState === OPEN ? number : [],
    );
  }

  /** Returns the connections whose end has been reached, which must be closed. */
  overdue(): Overdue[] {
    const nowMs = this.#now();
    if (nowMs < this.#nextEndMs) return [];
    return [...this.#byNumber].flatMap(([number, { expiresAtMs, helloUntilMs }]): Overdue[] => {
      if (nowMs >= expiresAtMs) return [{ number, reason: 'NOT_AUTHORIZED' }];
      return nowMs >= helloUntilMs ? [{ number, reason: 'HELLO_LATE' }] : [];
    });
  }

  /** The time at which the next connection must be closed; Infinity if there is none. */
  get nextEndMs(): number {
    return this.#nextEndMs;
  }

  isFollower(socket: ObjectWebSocket): boolean {
    return this.#sockets.getTags(socket).includes(FOLLOWER_TAG);
  }

  /** Returns the connections of an earlier instance that have said hello, by number. */
  greeted(): Map<number, FollowerConnection> {
    const connections = new Map<number, FollowerConnection>();
    for (const [number, { socket }] of this.#byNumber) {
      const kept = stateOf(socket);
      if (kept.kind === 'greeted') connections.set(number, kept.connection);
    }
    return connections;
  }

  /** Answers a request to follow with a new connection. */
  accept({ identity, expiresAtMs }: Authorization): Response {
    const { 0: client, 1: socket } = newPair();
    this.#sockets.acceptWebSocket(socket, [FOLLOWER_TAG]);
    const number = ++this.#lastNumber;
    const acceptedAtMs = this.#now();
    this.#add(number, { socket, identity, expiresAtMs, helloUntilMs: acceptedAtMs + HELLO_MS });
    keep(socket, { kind: 'accepted', number, identity, expiresAtMs, acceptedAtMs });
    return upgradeTo(client);
  }

  /** Refuses a request with a socket that closes at once: browsers hide the status of a failed upgrade from pages. */
  refuse(reason: FollowerCloseReason): Response {
    const { 0: client, 1: socket } = newPair();
    socket.accept();
    socket.close(FOLLOWER_CLOSE_CODES[reason], reason);
    return upgradeTo(client);
  }

  stateOf(socket: ObjectWebSocket): FollowerSocket {
    return stateOf(socket);
  }

  /** Stores the state of a connection for the next instance. The follower must have said hello. */
  keep(number: number, connection: FollowerConnection): void {
    const connected = this.#byNumber.get(number);
    if (connected === undefined) return;
    const { socket, identity, expiresAtMs, helloUntilMs } = connected;
    keep(socket, {
      kind: 'greeted',
      number,
      identity,
      expiresAtMs: orNull(expiresAtMs),
      connection,
    });
    if (helloUntilMs === NEVER) return;
    connected.helloUntilMs = NEVER;
    this.#endWasRemoved(Math.min(helloUntilMs, expiresAtMs));
  }

  /** Sends a message, unless the socket is closed: then the follower connects again, and sends its position. */
  send(number: number, message: Uint8Array<ArrayBuffer> | string): void {
    const connected = this.#byNumber.get(number);
    if (connected === undefined || this.#now() >= connected.expiresAtMs) return;
    if (connected.socket.readyState === OPEN) connected.socket.send(message);
  }

  close(number: number, reason: FollowerCloseReason): void {
    const socket = this.#byNumber.get(number)?.socket;
    if (socket === undefined) return;
    this.#remove(number);
    keep(socket, { kind: 'closed' });
    if (socket.readyState === OPEN) socket.close(FOLLOWER_CLOSE_CODES[reason], reason);
  }

  /** Forgets a connection whose socket broke, or was closed by the follower. */
  socketEnded(socket: ObjectWebSocket): void {
    const kept = stateOf(socket);
    if (kept.kind !== 'closed') this.#remove(kept.number);
    keep(socket, { kind: 'closed' });
    if (socket.readyState === CLOSING) socket.close();
  }

  #add(
    number: number,
    {
      expiresAtMs,
      ...connected
    }: Omit<Connected, 'expiresAtMs'> & Pick<Authorization, 'expiresAtMs'>,
  ): void {
    const endMs = expiresAtMs ?? NEVER;
    this.#byNumber.set(number, { ...connected, expiresAtMs: endMs });
    this.#nextEndMs = Math.min(this.#nextEndMs, endMs, connected.helloUntilMs);
  }

  #remove(number: number): void {
    const removed = this.#byNumber.get(number);
    if (removed === undefined) return;
    this.#byNumber.delete(number);
    this.#endWasRemoved(Math.min(removed.expiresAtMs, removed.helloUntilMs));
  }

  /** Finds the next end again if the removed connection's end may have been the next. */
  #endWasRemoved(endMs: number): void {
    if (endMs > this.#nextEndMs) return;
    this.#nextEndMs = NEVER;
    for (const { expiresAtMs, helloUntilMs } of this.#byNumber.values()) {
      this.#nextEndMs = Math.min(this.#nextEndMs, expiresAtMs, helloUntilMs);
    }
  }
}

/** Returns null for Infinity, as attachments store it. */
function orNull(timeMs: number): number | null {
  return timeMs === NEVER ? null : timeMs;
}

function newPair(): InstanceType<Scope['WebSocketPair']> {
  return new (globalThis as unknown as Scope).WebSocketPair();
}

function upgradeTo(client: ObjectWebSocket): Response {
  const headers = { 'Sec-WebSocket-Protocol': FOLLOW_SUBPROTOCOL };
  return new Response(null, { status: 101, webSocket: client, headers } as ResponseInit);
}

/**
 * Sets the object's automatic answer to the pings of followers, so that pings do not wake the object. An object has
 * only one automatic answer for all sockets, so one that the class sets replaces this one.
 */
function keepAutoResponse(ctx: DurableObjectState): void {
  const scope = globalThis as unknown as Scope;
  const followAnswer = () => new scope.WebSocketRequestResponsePair(FOLLOW_PING, FOLLOW_PONG);
  const set = ctx.setWebSocketAutoResponse.bind(ctx);
  const get = ctx.getWebSocketAutoResponse.bind(ctx);
  if (get() === null) set(followAnswer());
  overrideMembers(ctx, {
    setWebSocketAutoResponse: (pair) => set(pair ?? followAnswer()),
    getWebSocketAutoResponse: () => {
      const pair = get();
      return pair?.request === FOLLOW_PING ? null : pair;
    },
  });
}

function overrideMembers<T extends object>(target: T, members: Partial<T>): void {
  for (const [name, value] of Object.entries(members)) {
    Object.defineProperty(target, name, { value, configurable: true, writable: true });
  }
}

function stateOf(socket: ObjectWebSocket): FollowerSocket {
  return socket.deserializeAttachment() as FollowerSocket;
}

function keep(socket: ObjectWebSocket, state: FollowerSocket): void {
  socket.serializeAttachment(state);
}
