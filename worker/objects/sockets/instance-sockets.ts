// The sockets of an object as one instance sees them: the sockets that outlive the instance, for `ctx`.

import type { IoContext } from '../../../src/shared/calls/io/io-context.ts';
import type { WebSocketRequestResponsePair } from '../../../src/shared/calls/sockets/install.ts';
import {
  hibernateSocket,
  socketParts,
  WebSocket,
} from '../../../src/shared/calls/sockets/web-socket.ts';
import type { HibernatingSocket, HibernatingSockets } from './hibernating-sockets.ts';

const TAGS_MAX = 10;
const TAG_CHARACTERS_MAX = 256;

export class InstanceSockets {
  readonly #context: IoContext;
  readonly #object: HibernatingSockets;
  /**
   * The socket that the object's code sees for each accepted connection. A closed connection is forgotten with its
   * socket, however long the instance lives.
   */
  readonly #known = new WeakMap<HibernatingSocket, WebSocket>();

  constructor(context: IoContext, object: HibernatingSockets) {
    this.#context = context;
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

  /** Accepts the socket: its messages are events of the object. */
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
    const connection = { ...parts, tags: checkTags(tags), answeredAt: null, waiting: 0 };
    hibernateSocket(socket as WebSocket, this.#context);
    this.#known.set(connection, socket as WebSocket);
    this.#object.add(connection);
  }

  /**
   * Lists the open sockets, newest first; with a tag, the sockets that have the tag, oldest first. Both orders are
   * workerd's.
   */
  list(tag: string | undefined): WebSocket[] {
    const open = [...this.#object.open];
    const listed =
      tag === undefined ? open.reverse() : open.filter(({ tags }) => tags.includes(tag));
    return listed.map((connection) => this.socketOf(connection));
  }

  tags(socket: unknown): string[] {
    return [...this.#find(socket).tags];
  }

  /** Returns when the socket was last answered automatically. */
  answeredAt(socket: unknown): Date | null {
    return this.#find(socket).answeredAt;
  }

  /** Returns the socket of the connection, which is always the same one in this instance. */
  socketOf(connection: HibernatingSocket): WebSocket {
    const known = this.#known.get(connection);
    if (known !== undefined) return known;
    const socket = new WebSocket(connection.end, connection.attachment);
    hibernateSocket(socket, this.#context);
    this.#known.set(connection, socket);
    return socket;
  }

  /** Called when the object was reset. */
  reset(): void {
    this.#object.reset();
  }

  #find(socket: unknown): HibernatingSocket {
    const end = socketParts(socket)?.end;
    const connection = end && this.#object.withEnd(end);
    if (connection !== undefined) return connection;
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
