// The sockets of an object as one instance of it has them: what `ctx` does with sockets, and the
// instance as the owner of those it accepts by `accept()`, which end with it.

import type { WebSocketRequestResponsePair } from '../../src/sockets/install.ts';
import type { SocketEnd } from '../../src/sockets/socket-end.ts';
import type { BinaryType, SocketOwner } from '../../src/sockets/socket-owner.ts';
import { hibernateSocket, socketParts, WebSocket } from '../../src/sockets/web-socket.ts';
import type { ObjectInstance } from './object-instance.ts';
import type { Connection, ObjectSockets } from './object-sockets.ts';

/** From this date on binary messages arrive as Blobs, at sockets with listeners (workerd). */
const BLOB_DATE = '2026-03-17';

const TAGS_MAX = 10;
const TAG_CHARACTERS_MAX = 256;

/** What is asked of the instance. */
type Owner = Pick<ObjectInstance, 'deliver' | 'io' | 'retain' | 'hasEnded' | 'storage'>;

export class InstanceSockets implements SocketOwner {
  readonly #owner: Owner;
  readonly #object: ObjectSockets;
  readonly #known = new Map<Connection, WebSocket>();
  /** Accepted by `accept()`, and open. */
  readonly #held = new Set<SocketEnd>();

  constructor(owner: Owner, object: ObjectSockets) {
    this.#owner = owner;
    this.#object = object;
  }

  get autoResponse(): WebSocketRequestResponsePair | null {
    return this.#object.autoResponse;
  }

  set autoResponse(pair: WebSocketRequestResponsePair | null) {
    this.#object.autoResponse = pair;
  }

  get eventTimeoutMs(): number | null {
    return this.#object.eventTimeoutMs;
  }

  set eventTimeoutMs(timeoutMs: number | null) {
    this.#object.eventTimeoutMs = timeoutMs;
  }

  /** Takes the socket over: its messages are events of the object. */
  accept(socket: unknown, tags: unknown = []): void {
    const parts = socketParts(socket);
    if (parts === undefined) {
      throw new TypeError(
        "Failed to execute 'acceptWebSocket' on 'DurableObjectState': parameter 1 is not of type " +
          "'WebSocket'.",
      );
    }
    if (parts.end.isTaken) {
      throw new Error(
        'Cannot call `acceptWebSocket()` if the WebSocket was already accepted via `accept()`',
      );
    }
    if (parts.end.isHeard) {
      throw new Error(
        'Cannot call `acceptWebSocket()` on this WebSocket because its pair has already been ' +
          'accepted or used in a Response.',
      );
    }
    const connection = { ...parts, tags: checkTags(tags), answeredAt: null };
    hibernateSocket(socket as WebSocket, this);
    this.#known.set(connection, socket as WebSocket);
    this.#object.add(connection);
  }

  /** Those that are open, of a tag when one is given. */
  list(tag: string | undefined): WebSocket[] {
    return [...this.#object.connections]
      .filter(({ tags }) => tag === undefined || tags.includes(tag))
      .map((connection) => this.socketOf(connection));
  }

  tags(socket: unknown): string[] {
    return [...this.#find(socket).tags];
  }

  /** When the socket was answered automatically last. */
  answeredAt(socket: unknown): Date | null {
    return this.#find(socket).answeredAt;
  }

  /** The connection as this instance knows it: always the same socket. */
  socketOf(connection: Connection): WebSocket {
    const known = this.#known.get(connection);
    if (known !== undefined) return known;
    const socket = new WebSocket(connection.end, connection.attachment);
    hibernateSocket(socket, this);
    this.#known.set(connection, socket);
    return socket;
  }

  get binaryType(): BinaryType {
    const date = this.#owner.storage.options.compatibilityDate;
    return date !== undefined && date >= BLOB_DATE ? 'blob' : 'arraybuffer';
  }

  enter(task: () => void): void {
    this.#owner.deliver(task).catch(() => {}); // a reset has ended the socket already
  }

  leave(send: () => void): void {
    if (!this.#owner.hasEnded) void this.#owner.io(send);
  }

  hold(end: SocketEnd): () => void {
    this.#held.add(end);
    const release = this.#owner.retain();
    return () => {
      this.#held.delete(end);
      release();
    };
  }

  /** The object was reset. */
  reset(): void {
    for (const end of this.#held) end.break();
    this.#object.reset();
  }

  #find(socket: unknown): Connection {
    const end = socketParts(socket)?.end;
    for (const connection of this.#object.connections) {
      if (connection.end === end) return connection;
    }
    throw new Error(
      "you must call 'acceptWebSocket()' before attempting to access the tags of a WebSocket.",
    );
  }
}

function checkTags(tags: unknown): string[] {
  if (!Array.isArray(tags)) {
    throw new TypeError('acceptWebSocket: the tags are an array of strings.');
  }
  const unique = [...new Set(tags.map(String))];
  if (unique.length > TAGS_MAX) {
    throw new Error(`a Hibernatable WebSocket cannot have more than ${TAGS_MAX} tags`);
  }
  for (const tag of unique) {
    if (tag.length > TAG_CHARACTERS_MAX) {
      throw new Error(
        `"${tag}" is longer than the max tag length (${TAG_CHARACTERS_MAX} characters).`,
      );
    }
  }
  return unique;
}
