// The sockets of an object's followers: hibernating WebSockets with a tag, which the class does not see.
//
// A connection has a number, which is kept with the state of the protocol in the socket's attachment: both outlive the
// instance. A closed one keeps a mark there, so that its late messages change nothing.
//
// Invariant: the class finds neither sockets nor the automatic answer of its followers.
//
// Does not know the messages.

import { storageError } from '@ctx-storage/core/errors';
import type { AutoResponse, DurableObjectState, ObjectWebSocket } from '@ctx-storage/core/object';
import {
  FOLLOW_PING,
  FOLLOW_PONG,
  FOLLOW_SUBPROTOCOL,
  FOLLOWER_CLOSE_CODES,
  type FollowerCloseReason,
} from '../protocol/connection.ts';
import type { FollowerConnection } from '../protocol/server.ts';

const TAG = '_follow';
const OPEN = 1;
const CLOSING = 2;

/** Stays with a socket. */
export type FollowerSocket =
  | { readonly kind: 'accepted'; readonly number: number; readonly identity: string }
  | {
      readonly kind: 'greeted';
      readonly number: number;
      readonly identity: string;
      readonly connection: FollowerConnection;
    }
  | { readonly kind: 'closed' };

/** Classes of workerd, which this package installs elsewhere. */
interface Scope {
  readonly WebSocketPair: new () => { readonly 0: ObjectWebSocket; readonly 1: ObjectWebSocket };
  readonly WebSocketRequestResponsePair: new (request: string, response: string) => AutoResponse;
}

/** The methods of `ctx`, as they are before the class gets it. */
type Sockets = Pick<DurableObjectState, 'acceptWebSocket' | 'getTags' | 'getWebSockets'>;

export class FollowerSockets {
  readonly #sockets: Sockets;
  readonly #byNumber = new Map<number, ObjectWebSocket>();
  #last = 0;

  /** Hides the followers of `ctx` from the class. */
  constructor(ctx: DurableObjectState) {
    const getWebSockets = ctx.getWebSockets.bind(ctx);
    const acceptWebSocket = ctx.acceptWebSocket.bind(ctx);
    this.#sockets = { acceptWebSocket, getWebSockets, getTags: ctx.getTags.bind(ctx) };
    replace(ctx, {
      getWebSockets: (...tag) => getWebSockets(...tag).filter((socket) => !this.isOne(socket)),
      acceptWebSocket: (socket, tags) => {
        if (!tags?.includes(TAG)) return acceptWebSocket(socket, ...(tags ? [tags] : []));
        throw storageError(
          'INVALID_ARGUMENT',
          `acceptWebSocket(): the tag ${TAG} marks the followers of the object. Use another one.`,
        );
      },
    });
    keepAutoResponse(ctx);
    for (const socket of getWebSockets(TAG)) {
      const kept = stateOf(socket);
      if (kept.kind === 'closed') continue;
      this.#byNumber.set(kept.number, socket);
      this.#last = Math.max(this.#last, kept.number);
    }
  }

  /** Of the sockets that are open. */
  get count(): number {
    return this.#sockets.getWebSockets(TAG).filter(({ readyState }) => readyState === OPEN).length;
  }

  isOne(socket: ObjectWebSocket): boolean {
    return this.#sockets.getTags(socket).includes(TAG);
  }

  /** The connections of an earlier instance that have said hello. */
  greeted(): Map<number, FollowerConnection> {
    const connections = new Map<number, FollowerConnection>();
    for (const [number, socket] of this.#byNumber) {
      const kept = stateOf(socket);
      if (kept.kind === 'greeted') connections.set(number, kept.connection);
    }
    return connections;
  }

  /** Answers a request to follow. */
  accept(identity: string): Response {
    const { 0: client, 1: socket } = newPair();
    this.#sockets.acceptWebSocket(socket, [TAG]);
    const number = ++this.#last;
    this.#byNumber.set(number, socket);
    keep(socket, { kind: 'accepted', number, identity });
    return upgradeTo(client);
  }

  /** Refuses a request to follow, by a socket: browsers show no page the status of an upgrade that failed. */
  refuse(reason: FollowerCloseReason): Response {
    const { 0: client, 1: socket } = newPair();
    socket.accept();
    socket.close(FOLLOWER_CLOSE_CODES[reason], reason);
    return upgradeTo(client);
  }

  stateOf(socket: ObjectWebSocket): FollowerSocket {
    return stateOf(socket);
  }

  /** Keeps the state of a connection for the next instance. */
  keep(number: number, connection: FollowerConnection): void {
    const socket = this.#byNumber.get(number);
    const kept = socket === undefined ? undefined : stateOf(socket);
    if (kept === undefined || kept.kind === 'closed') return;
    keep(socket!, { kind: 'greeted', number, identity: kept.identity, connection });
  }

  /** A socket whose other end has gone gets nothing: the follower connects again, and says where it was. */
  send(number: number, message: Uint8Array<ArrayBuffer> | string): void {
    const socket = this.#byNumber.get(number);
    if (socket?.readyState === OPEN) socket.send(message);
  }

  close(number: number, reason: FollowerCloseReason): void {
    const socket = this.#byNumber.get(number);
    if (socket === undefined) return;
    this.#byNumber.delete(number);
    keep(socket, { kind: 'closed' });
    if (socket.readyState === OPEN) socket.close(FOLLOWER_CLOSE_CODES[reason], reason);
  }

  /** The other end has closed the socket, or it broke. */
  ended(socket: ObjectWebSocket): void {
    const kept = stateOf(socket);
    if (kept.kind !== 'closed') this.#byNumber.delete(kept.number);
    keep(socket, { kind: 'closed' });
    if (socket.readyState === CLOSING) socket.close();
  }
}

function newPair(): InstanceType<Scope['WebSocketPair']> {
  return new (globalThis as unknown as Scope).WebSocketPair();
}

function upgradeTo(client: ObjectWebSocket): Response {
  const headers = { 'Sec-WebSocket-Protocol': FOLLOW_SUBPROTOCOL };
  return new Response(null, { status: 101, webSocket: client, headers } as ResponseInit);
}

/**
 * An object has one automatic answer for all its sockets. Until the class sets its own, it is that of the followers,
 * whose pings then do not wake the object.
 */
function keepAutoResponse(ctx: DurableObjectState): void {
  const scope = globalThis as unknown as Scope;
  const own = () => new scope.WebSocketRequestResponsePair(FOLLOW_PING, FOLLOW_PONG);
  const set = ctx.setWebSocketAutoResponse.bind(ctx);
  const get = ctx.getWebSocketAutoResponse.bind(ctx);
  if (get() === null) set(own());
  replace(ctx, {
    setWebSocketAutoResponse: (pair) => set(pair ?? own()),
    getWebSocketAutoResponse: () => {
      const pair = get();
      return pair?.request === FOLLOW_PING ? null : pair;
    },
  });
}

function replace<T extends object>(target: T, members: Partial<T>): void {
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
