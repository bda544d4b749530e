// An HTTP server that answers the requests of a connection one after the other, however many a client sends at once.
//
// HTTP/1.1 lets a client send requests before the earlier ones are answered. Node's parser makes an object of each as
// soon as its bytes arrive, so a few megabytes of requests become gigabytes in memory.
//
// Invariant: at most `OUTSTANDING_MAX` requests of a connection have arrived and are not yet answered; at most one of
// them is being answered. The bytes of all others stay with the operating system, which slows the client down.
//
// The parser resumes the stream it reads whenever it likes, so a stream of ours sits before it.

import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { finished } from 'node:stream/promises';

/** No further bytes reach the parser while this many requests wait. */
const HELD_AT = 32;
/** The shortest request that Node's lenient parser accepts: `GET /` and two line feeds. */
const REQUEST_BYTES_MIN = 7;
/** Bytes reach the parser in pieces of at most this size. */
const PIECE_BYTES = 32 * REQUEST_BYTES_MIN;

/** The requests that wait when bytes are held back, and the requests that the last piece may contain. */
export const OUTSTANDING_MAX = HELD_AT + PIECE_BYTES / REQUEST_BYTES_MIN;

/** Answers a request. Resolves or rejects; a rejection ends the connection. */
type Answer = (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void>;

/** The server does not listen yet. `refuseTunnel` is the answer to CONNECT, after which the connection ends. */
export function createPacedServer(
  options: ServerOptions,
  { answer, refuseTunnel }: { readonly answer: Answer; readonly refuseTunnel: string },
): Server {
  const server = createServer(options);
  const [accept] = server.listeners('connection') as ((connection: Duplex) => void)[];
  server.removeAllListeners('connection');
  server.on('connection', (socket) => accept!.call(server, new PacedConnection(socket)));
  const inTurn = (incoming: IncomingMessage, outgoing: ServerResponse) =>
    pacedOf(incoming.socket).inTurn(async () => {
      await answer(incoming, outgoing);
      // Discards the rest of a body that was not read to its end; the next request follows it.
      incoming.resume();
      // A client that does not read its answers gets no further ones.
      await finished(outgoing).catch(() => {});
    });
  // Request listeners do not get CONNECT; without a listener of its own, Node closes the connection without an answer.
  return server
    .on('request', inTurn)
    .on('checkContinue', inTurn)
    .on('connect', (_incoming, connection) =>
      pacedOf(connection).inTurn(async () => void connection.end(refuseTunnel)),
    );
}

function pacedOf(connection: Duplex): PacedConnection {
  return connection as PacedConnection;
}

class PacedConnection extends Duplex {
  readonly #socket: Socket;
  #outstanding = 0;
  #isWanted = false;
  #lastTurn: Promise<void> = Promise.resolve();

  constructor(socket: Socket) {
    // Without a buffer of its own, the stream asks for a piece only when the parser has read the one before.
    super({ allowHalfOpen: true, readableHighWaterMark: 0 });
    this.#socket = socket;
    socket.on('readable', () => this.#feed());
    socket.on('end', () => this.push(null));
    socket.on('error', (error) => this.destroy(error));
    socket.on('close', () => this.destroy());
    socket.on('timeout', () => this.emit('timeout'));
  }

  /**
   * Calls `answer` once all earlier requests are answered. Requests of a connection that has ended are not
   * answered, and neither performed.
   */
  inTurn(answer: () => Promise<void>): void {
    this.#outstanding += 1;
    this.#lastTurn = this.#lastTurn
      .then(() => (this.destroyed ? undefined : answer()))
      .catch((error: Error) => void this.destroy(error))
      .then(() => {
        this.#outstanding -= 1;
        this.#feed();
      });
  }

  /** For Node's limits on idle connections. */
  setTimeout(ms: number): this {
    this.#socket.setTimeout(ms);
    return this;
  }

  /** Destroys the connection once everything that was written has left; Node calls it after the last answer. */
  destroySoon(): void {
    this.end(() => this.destroy());
  }

  #feed(): void {
    if (!this.#isWanted || this.#outstanding >= HELD_AT) return;
    const piece = this.#socket.read(Math.min(PIECE_BYTES, this.#socket.readableLength));
    if (piece === null) return;
    this.#isWanted = false;
    this.push(piece);
  }

  override _read(): void {
    this.#isWanted = true;
    this.#feed();
  }

  override _write(
    chunk: Uint8Array,
    _encoding: BufferEncoding,
    done: (error?: Error | null) => void,
  ): void {
    this.#socket.write(chunk, done);
  }

  override _final(done: () => void): void {
    this.#socket.end(done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }
}
