// The sockets of one object that outlive its instance (hibernation): a message to an object that was
// evicted wakes it, and the new instance finds the same sockets, with tags and attachments.
//
// Keeps true: events of one socket reach the object in order; a reset of the object ends all of its
// sockets.

import type { WebSocketRequestResponsePair } from '../../src/sockets/install.ts';
import type { SocketEnd, SocketEvent } from '../../src/sockets/socket-end.ts';
import type { Attachment, WebSocket } from '../../src/sockets/web-socket.ts';
import type { Handlers } from './handlers.ts';
import type { ObjectInstance } from './object-instance.ts';

/** A socket that the object has taken over. */
export interface Connection {
  readonly end: SocketEnd;
  readonly attachment: Attachment;
  readonly tags: readonly string[];
  /** When it was answered automatically. */
  answeredAt: Date | null;
}

/** Delivers an event to the object, making its instance when there is none. */
export type Deliver = (event: (instance: ObjectInstance) => unknown) => Promise<unknown>;

export class ObjectSockets {
  readonly #deliver: Deliver;
  readonly #now: () => number;
  readonly #connections = new Set<Connection>();
  /** What is answered without waking the object. */
  autoResponse: WebSocketRequestResponsePair | null = null;
  /** Kept for programs that set it; handlers have no limit of time here. */
  eventTimeoutMs: number | null = null;

  /** `now`: milliseconds since the epoch, by the host's clock. */
  constructor(deliver: Deliver, now: () => number) {
    this.#deliver = deliver;
    this.#now = now;
  }

  /** True when nothing would be lost without this. */
  get isEmpty(): boolean {
    return this.#connections.size === 0 && this.autoResponse === null;
  }

  /** Those that are open, in the order they were taken. */
  get connections(): Iterable<Connection> {
    return this.#connections;
  }

  /** From now on what arrives is an event of the object. */
  add(connection: Connection): void {
    this.#connections.add(connection);
    connection.end.take((event) => this.#receive(connection, event));
  }

  /** The object was reset: nobody is there any more. */
  reset(): void {
    const connections = [...this.#connections];
    this.#connections.clear();
    this.autoResponse = null;
    for (const { end } of connections) end.break();
  }

  #receive(connection: Connection, event: SocketEvent): void {
    if (!this.#connections.has(connection)) return;
    if (event.type === 'message') {
      const { data } = event;
      if (data === this.autoResponse?.request) {
        connection.answeredAt = new Date(this.#now());
        connection.end.send({ type: 'message', data: this.autoResponse.response });
        return;
      }
      void this.#event(connection, (handlers, socket) => handlers.webSocketMessage?.(socket, data));
      return;
    }
    const { code, reason, wasClean } = event;
    const handled = this.#event(connection, (handlers, socket) =>
      handlers.webSocketClose?.(socket, code, reason, wasClean),
    );
    void handled.then(() => {
      this.#connections.delete(connection);
      // A goodbye is answered, by the handler or else here.
      if (!connection.end.isClosing) {
        connection.end.send({ type: 'close', code, reason, wasClean: true });
      }
    });
  }

  async #event(
    connection: Connection,
    handle: (handlers: Handlers, socket: WebSocket) => unknown,
  ): Promise<void> {
    try {
      await this.#deliver(({ handlers, sockets }) =>
        handle(handlers, sockets.socketOf(connection)),
      );
    } catch (error) {
      // Nobody waits for the handler, and the socket stays; its author is told.
      console.error('A WebSocket handler failed:', error);
    }
  }
}
