// The WebSockets of clients on the network. The other end belongs to the worker, or to the inspector.
//
// Invariant: if a client is lost or breaks the protocol, its own socket ends, and nothing else. Nothing is sent after a
// close, in either direction.

import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { SocketEnd } from '@ctx-storage/core/calls';
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

  /** Returns undefined if the package `ws` is not installed. */
  static async load(): Promise<ClientSockets | undefined> {
    try {
      const { WebSocketServer } = await import('ws');
      // `ws` chooses no subprotocol, because the worker's answer names it in a header.
      return new ClientSockets(
        new WebSocketServer({ noServer: true, handleProtocols: () => false }),
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
  wire.on('message', (data: Buffer, isBinary: boolean) => {
    const message = isBinary ? (new Uint8Array(data).buffer as ArrayBuffer) : data.toString();
    end.send({ type: 'message', data: message });
  });
  wire.on('close', (code: number, reason: Buffer) => end.send(closeEvent(code, reason.toString())));
  end.take((event) => {
    if (event.type === 'message') wire.send(event.data);
    else if (event.code === 1006) wire.terminate();
    else wire.close(isSendable(event.code) ? event.code : undefined, event.reason);
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
