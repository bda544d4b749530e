// An HTTP server that answers the requests of a connection one after the other, however many a client sends at once.
//
// HTTP/1.1 lets a client send requests before the earlier ones are answered. Node's parser makes an object of each as
// soon as its bytes arrive, so a few megabytes of requests become gigabytes in memory.
//
// Invariant: of each connection, at most `UNANSWERED_MAX` requests are parsed and unanswered, and at most one of them
// is being answered. All further bytes stay with the operating system, which slows the client down.
//
// The parser resumes its input stream whenever it likes, so each socket is wrapped in a `PacedConnection`, which gives
// the parser bytes only when it may have them.

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

/** While this many requests of a connection are unanswered, the parser gets no further bytes of the connection. */
const PAUSE_AT = 32;
/** The size of the shortest request that Node's lenient parser accepts: `GET /` and two line feeds. */
const REQUEST_BYTES_MIN = 7;
/** The parser gets the bytes of a connection in pieces of at most this size. */
const PIECE_BYTES = 32 * REQUEST_BYTES_MIN;

/**
 * The most requests of a connection that can be unanswered: those that wait when the bytes are held back, and those
 * that the last piece may contain.
 */
export const UNANSWERED_MAX = PAUSE_AT + PIECE_BYTES / REQUEST_BYTES_MIN;

/** Answers a request. If the promise rejects, the connection ends. */
type Answer = (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void>;

/**
 * Creates the server, which does not listen yet. `refuseTunnel` is the raw answer to CONNECT, after which the
 * connection ends.
 */
export function createPacedServer(
  options: ServerOptions,
  { answer, refuseTunnel }: { readonly answer: Answer; readonly refuseTunnel: string },
): Server {
  const server = createServer(options);
  const [accept] = server.listeners('connection') as ((connection: Duplex) => void)[];
  server.removeAllListeners('connection');
  server.on('connection', (socket) => accept!.call(server, new PacedConnection(socket)));
  const answerInTurn = (incoming: IncomingMessage, outgoing: ServerResponse) =>
    asPacedConnection(incoming.socket).answerInTurn(async () => {
      await answer(incoming, outgoing);
      // Discards the unread rest of a body, because the next request follows it.
      incoming.resume();
      // Waits until the answer is sent, so that a client that reads no answers gets no further ones.
      await finished(outgoing).catch(() => {});
    });
  // Node gives CONNECT to its own listener only, and closes the connection without an answer if there is none.
  return server
    .on('request', answerInTurn)
    .on('checkContinue', answerInTurn)
    .on('connect', (_incoming, connection) =>
      asPacedConnection(connection).answerInTurn(async () => void connection.end(refuseTunnel)),
    );
}

function asPacedConnection(connection: Duplex): PacedConnection {
  return connection as PacedConnection;
}

class PacedConnection extends Duplex {
  readonly #socket: Socket;
  #unansweredCount = 0;
  #parserWantsBytes = false;
  #lastTurn: Promise<void> = Promise.resolve();

  constructor(socket: Socket) {
    // Without a buffer of its own, this stream asks for bytes only when the parser has read the previous ones.
    super({ allowHalfOpen: true, readableHighWaterMark: 0 });
    this.#socket = socket;
    socket.on('readable', () => this.#passBytesToParser());
    socket.on('end', () => this.push(null));
    socket.on('error', (error) => this.destroy(error));
    socket.on('close', () => this.destroy());
    socket.on('timeout', () => this.emit('timeout'));
  }

  /** Calls `answer` once all earlier requests are answered, unless the connection has ended by then. */
  answerInTurn(answer: () => Promise<void>): void {
    this.#unansweredCount += 1;
    this.#lastTurn = this.#lastTurn
      .then(() => (this.destroyed ? undefined : answer()))
      .catch((error: Error) => void this.destroy(error))
      .then(() => {
        this.#unansweredCount -= 1;
        this.#passBytesToParser();
      });
  }

  /** Node calls this to limit idle connections. */
  setTimeout(ms: number): this {
    this.#socket.setTimeout(ms);
    return this;
  }

  /** Destroys the connection once all written bytes have been sent. Node calls this after the last answer. */
  destroySoon(): void {
    this.end(() => this.destroy());
  }

  #passBytesToParser(): void {
    if (!this.#parserWantsBytes || this.#unansweredCount >= PAUSE_AT) return;
    const piece = this.#socket.read(Math.min(PIECE_BYTES, this.#socket.readableLength));
    if (piece === null) return;
    this.#parserWantsBytes = false;
    this.push(piece);
  }

  override _read(): void {
    this.#parserWantsBytes = true;
    this.#passBytesToParser();
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
