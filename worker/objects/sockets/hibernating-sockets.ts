// The sockets of one object that outlive its instance (hibernation): a message to an evicted object
// wakes it, and the new instance finds the same sockets, with tags and attachments.
//
// Invariant: events of one socket reach the object in order; a reset of the object ends all of its
// sockets. No assertion keeps this: events carry no number that shows their order.
//
// An object that is busy holds back the sockets whose messages wait for it, so that no client fills its memory, nor
// delays the messages of others by more than a few of its own.

import type { WebSocketRequestResponsePair } from '../../../src/shared/calls/sockets/install.ts';
import type { SocketEnd, SocketEvent } from '../../../src/shared/calls/sockets/socket-end.ts';
import type { Attachment, WebSocket } from '../../../src/shared/calls/sockets/web-socket.ts';
import { isStorageError } from '../../../src/shared/contract/errors.ts';

/** A socket is held back while this many of its messages wait for the object, as on workerd. */
const WAITING_MAX = 1;

/** A socket that the object has accepted. */
export interface HibernatingSocket {
  readonly end: SocketEnd;
  readonly attachment: Attachment;
  readonly tags: readonly string[];
  /** The time at which the socket was last answered automatically. */
  answeredAt: Date | null;
  /** Number of the socket's messages that wait for the object. */
  waiting: number;
}

/** The object's handlers of socket events. Each is called on its object. */
export interface SocketHandlers {
  readonly webSocketMessage?: (socket: unknown, message: string | ArrayBuffer) => unknown;
  readonly webSocketClose?: (
    socket: unknown,
    code: number,
    reason: string,
    wasClean: boolean,
  ) => unknown;
}

/** The instance that receives a socket event. */
export interface SocketReceiver {
  readonly handlers: SocketHandlers;
  readonly sockets: { socketOf(socket: HibernatingSocket): WebSocket };
}

/** Delivers an event to the object, which gets an instance if it has none. */
export type Deliver = (event: (receiver: SocketReceiver) => unknown) => Promise<unknown>;

export class HibernatingSockets {
  readonly #deliver: Deliver;
  readonly #now: () => number;
  readonly #sockets = new Map<SocketEnd, HibernatingSocket>();
  #isClosing = false;
  /** The message that is answered without waking the object, and its answer. */
  autoResponse: WebSocketRequestResponsePair | null = null;
  /** The timeout that a program has set and may read back; handlers have no time limit here. */
  eventTimeoutMs: number | null = null;

  /** `now` returns milliseconds since the epoch, by the host's clock. */
  constructor(deliver: Deliver, now: () => number) {
    this.#deliver = deliver;
    this.#now = now;
  }

  /** True if nothing would be lost by dropping this object: it has no sockets, and no automatic response. */
  get isEmpty(): boolean {
    return this.#sockets.size === 0 && this.autoResponse === null;
  }

  /** The open sockets, in the order in which they were accepted. */
  get open(): Iterable<HibernatingSocket> {
    return this.#sockets.values();
  }

  /** Returns the open socket that has this end. */
  withEnd(end: SocketEnd): HibernatingSocket | undefined {
    return this.#sockets.get(end);
  }

  /** Adds a socket, whose messages are events of the object from now on. */
  add(socket: HibernatingSocket): void {
    this.#sockets.set(socket.end, socket);
    socket.end.take((event) => this.#receive(socket, event));
  }

  /** Called when the host ends: an event that the host refuses or cuts off is not a failure of its handler. */
  close(): void {
    this.#isClosing = true;
  }

  /** Called when the object was reset: its sockets break. */
  reset(): void {
    const sockets = [...this.#sockets.values()];
    this.#sockets.clear();
    this.autoResponse = null;
    this.eventTimeoutMs = null;
    for (const { end } of sockets) end.break();
  }

  #receive(socket: HibernatingSocket, event: SocketEvent): void {
    if (!this.#sockets.has(socket.end)) return;
    if (event.type === 'message') {
      const { data } = event;
      if (data === this.autoResponse?.request) {
        socket.answeredAt = new Date(this.#now());
        socket.end.send({ type: 'message', data: this.autoResponse.response });
        return;
      }
      this.#countWaiting(socket, 1);
      let isTaken = false;
      const take = () => {
        if (!isTaken) this.#countWaiting(socket, -1);
        isTaken = true;
      };
      void this.#event(socket, (handlers, shown) => {
        take();
        return handlers.webSocketMessage?.(shown, data);
      }).then(take);
      return;
    }
    const { code, reason, wasClean } = event;
    const handled = this.#event(socket, (handlers, shown) => {
      socket.end.hearClose();
      return handlers.webSocketClose?.(shown, code, reason, wasClean);
    });
    void handled.then(() => {
      this.#sockets.delete(socket.end);
      // A close is answered by the handler, or otherwise here.
      if (!socket.end.isClosing) {
        socket.end.send({ type: 'close', code, reason, wasClean: true });
      }
    });
  }

  #countWaiting(socket: HibernatingSocket, change: 1 | -1): void {
    socket.waiting += change;
    socket.end.hold(socket.waiting >= WAITING_MAX);
  }

  async #event(
    socket: HibernatingSocket,
    handle: (handlers: SocketHandlers, socket: WebSocket) => unknown,
  ): Promise<void> {
    try {
      await this.#deliver(({ handlers, sockets }) => handle(handlers, sockets.socketOf(socket)));
    } catch (error) {
      if (this.#isClosing && isStorageError(error)) return;
      // Nobody waits for the handler, and the socket stays open; its author finds the error here.
      console.error('A WebSocket handler failed:', error);
    }
  }
}
