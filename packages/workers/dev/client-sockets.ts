// The WebSockets of clients on the network. The other end belongs to the worker, or to the inspector.
//
// Invariant: if a client is lost or breaks the protocol, its own socket ends, and nothing else. Nothing is sent after a
// close, in either direction.

import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { SocketEnd, SocketEvent } from '@ctx-storage/core/calls';
import type { WebSocketServer, WebSocket as WireSocket } from 'ws';

/** Takes the messages of an inspector's page, and the end of its connection. */
export interface PageEvents {
  message(bytes: Uint8Array): void;
  closed(): void;
}

/** Serves the objects to a page of the inspector. */
export type ServePage = (socket: { send(bytes: Uint8Array): void; close(): void }) => PageEvents;

/** A request for a WebSocket, and the connection on which it came. */
export interface Upgrade {
  readonly incoming: IncomingMessage;
  readonly duplex: Duplex;
  /** The first bytes after the request. */
  readonly head: Buffer;
}

/** Headers that the handshake sets itself, so that those of the worker's answer are dropped. */
const HANDSHAKE_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'sec-websocket-accept',
  'sec-websocket-extensions',
  'transfer-encoding',
  'upgrade',
]);

/** The most bytes of a client's message, as on workerd. */
const MESSAGE_BYTES_MAX = 32 * 2 ** 20;
/** Nothing is read from a client that has not taken this many bytes (our choice). */
const UNSENT_BYTES_MAX = 2 ** 20;
/**
 * How long a client may take to answer a close before it is cut off (our choice). Its unsent messages take memory until
 * then.
 */
const CLOSE_MS_MAX = 2000;

/** The reason that workerd gives to a close with code 1006, which means that the connection was lost. */
const LOST_REASON = 'WebSocket disconnected without sending Close frame.';

export class ClientSockets {
  readonly #server: WebSocketServer;
  readonly #answerHeaders = new WeakMap<IncomingMessage, Headers>();

  private constructor(server: WebSocketServer) {
    this.#server = server;
    server.on('headers', (lines, incoming) => {
      for (const [name, value] of this.#answerHeaders.get(incoming) ?? []) {
        if (!HANDSHAKE_HEADERS.has(name)) lines.push(`${name}: ${value}`);
      }
    });
  }

  /** Loads the package `ws`. Returns undefined if it is not installed. */
  static async load(): Promise<ClientSockets | undefined> {
    try {
      const { WebSocketServer } = await import('ws');
      // `ws` chooses no subprotocol, because the worker's answer names it in a header.
      return new ClientSockets(
        new WebSocketServer({
          noServer: true,
          handleProtocols: () => false,
          maxPayload: MESSAGE_BYTES_MAX,
        }),
      );
    } catch {
      return undefined; // the error is reported when a client asks for a socket
    }
  }

  /** Connects the client with the end of a socket; `headers` are those of the worker's answer. */
  connect(upgrade: Upgrade, end: SocketEnd, headers: Headers): void {
    this.#answerHeaders.set(upgrade.incoming, headers);
    const isConnected = this.#open(upgrade, (wire) => forwardEvents(wire, end));
    if (!isConnected) end.send(closeEvent(1006, ''));
  }

  /** Serves the objects to the inspector's page. */
  inspect(upgrade: Upgrade, servePage: ServePage): void {
    this.#open(upgrade, (wire) => {
      const page = servePage({ send: (bytes) => wire.send(bytes), close: () => wire.close() });
      wire.on('message', (data: Buffer) => page.message(new Uint8Array(data)));
      wire.on('close', () => page.closed());
    });
  }

  close(): void {
    for (const client of this.#server.clients) client.terminate();
  }

  /** Makes the handshake. Returns false if the client is gone, or if its handshake is refused. */
  #open({ incoming, duplex, head }: Upgrade, opened: (wire: WireSocket) => void): boolean {
    let isOpen = false;
    this.#server.handleUpgrade(incoming, duplex, head, (wire) => {
      isOpen = true;
      wire.on('error', ignoreError);
      opened(wire);
    });
    return isOpen;
  }
}

/** Handles an error of a connection by doing nothing: the close that follows it ends the socket. */
export function ignoreError(): void {}

function forwardEvents(wire: WireSocket, end: SocketEnd): void {
  // `ws` delivers all messages of one read at once. In this list they take less memory than on their way to the object.
  const arrived: SocketEvent[] = [];
  const regulate = () => {
    while (arrived.length > 0 && !end.isHeld) end.send(arrived.shift()!);
    // The server answers what a client sends, including pings, so a client that does not take the answers is not read.
    const mustPause = end.isHeld || wire.bufferedAmount > UNSENT_BYTES_MAX;
    if (mustPause === wire.isPaused) return;
    if (mustPause) wire.pause();
    else wire.resume();
  };
  const pass = (event: SocketEvent) => {
    arrived.push(event);
    regulate();
  };
  end.whenHeld(regulate);
  wire.on('ping', regulate);
  wire.on('message', (data: Buffer, isBinary: boolean) => {
    const message = isBinary ? (new Uint8Array(data).buffer as ArrayBuffer) : data.toString();
    pass({ type: 'message', data: message });
  });
  wire.on('close', (code: number, reason: Buffer) => pass(closeEvent(code, reason.toString())));
  end.take((event) => {
    if (event.type === 'message') {
      wire.send(event.data, regulate);
      regulate();
    } else if (event.code === 1006) wire.terminate();
    else {
      wire.close(isSendable(event.code) ? event.code : undefined, event.reason);
      wire.resume(); // to read the client's close
      const cutOff = setTimeout(() => wire.terminate(), CLOSE_MS_MAX).unref();
      wire.on('close', () => clearTimeout(cutOff));
    }
  });
}

function closeEvent(code: number, reason: string) {
  const wasClean = code !== 1006;
  return { type: 'close', code, reason: wasClean ? reason : LOST_REASON, wasClean } as const;
}

/** Returns whether `ws` can send the code in a close frame. */
function isSendable(code: number): boolean {
  return code >= 3000 || (code <= 1014 && ![1004, 1005, 1006].includes(code));
}
