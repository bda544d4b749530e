// The sockets of clients: one end is the worker's or the inspector's, the other is on the network.
//
// Invariant: a client that is lost, or that breaks the protocol, ends its own socket and nothing else. Nothing is sent
// after a close, in either direction.

import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { SocketEnd } from '@ctx-storage/core/calls';
import type { WebSocketServer, WebSocket as WireSocket } from 'ws';

/** What a page of the inspector sends, and its end. */
export interface PageEvents {
  message(bytes: Uint8Array): void;
  closed(): void;
}

/** Serves the objects to a page of the inspector. */
export type ServePage = (socket: { send(bytes: Uint8Array): void; close(): void }) => PageEvents;

/** A request for a socket, and its connection. */
export interface Upgrade {
  readonly incoming: IncomingMessage;
  readonly duplex: Duplex;
  /** The first bytes after the request. */
  readonly head: Buffer;
}

/** Headers of an answer that the handshake itself sets. */
const OF_HANDSHAKE: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'sec-websocket-accept',
  'sec-websocket-extensions',
  'transfer-encoding',
  'upgrade',
]);

/** The reason of workerd, which sees a lost connection as code 1006. */
const LOST = 'WebSocket disconnected without sending Close frame.';

export class ClientSockets {
  readonly #server: WebSocketServer;
  readonly #answers = new WeakMap<IncomingMessage, Headers>();

  private constructor(server: WebSocketServer) {
    this.#server = server;
    server.on('headers', (lines, incoming) => {
      for (const [name, value] of this.#answers.get(incoming) ?? []) {
        if (!OF_HANDSHAKE.has(name)) lines.push(`${name}: ${value}`);
      }
    });
  }

  /** Undefined: the package ws is not installed. */
  static async load(): Promise<ClientSockets | undefined> {
    try {
      const { WebSocketServer } = await import('ws');
      // The subprotocol is a header of the worker's answer.
      return new ClientSockets(
        new WebSocketServer({ noServer: true, handleProtocols: () => false }),
      );
    } catch {
      return undefined; // a request for a socket says so
    }
  }

  /** Connects the client with the end of a socket; `headers` are those of the worker's answer. */
  connect(upgrade: Upgrade, end: SocketEnd, headers: Headers): void {
    this.#answers.set(upgrade.incoming, headers);
    const isConnected = this.#open(upgrade, (wire) => connect(wire, end));
    if (!isConnected) end.send(closeOf(1006, ''));
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

  /** False: the client has gone, or its handshake is refused. */
  #open({ incoming, duplex, head }: Upgrade, opened: (wire: WireSocket) => void): boolean {
    let isOpen = false;
    this.#server.handleUpgrade(incoming, duplex, head, (wire) => {
      isOpen = true;
      wire.on('error', closes);
      opened(wire);
    });
    return isOpen;
  }
}

/** An error of a connection is followed by its close, which ends its socket. */
export function closes(): void {}

function connect(wire: WireSocket, end: SocketEnd): void {
  wire.on('message', (data: Buffer, isBinary: boolean) => {
    const message = isBinary ? (new Uint8Array(data).buffer as ArrayBuffer) : data.toString();
    end.send({ type: 'message', data: message });
  });
  wire.on('close', (code: number, reason: Buffer) => end.send(closeOf(code, reason.toString())));
  end.take((event) => {
    if (event.type === 'message') wire.send(event.data);
    else if (event.code === 1006) wire.terminate();
    else wire.close(isSendable(event.code) ? event.code : undefined, event.reason);
  });
}

function closeOf(code: number, reason: string) {
  const wasClean = code !== 1006;
  return { type: 'close', code, reason: wasClean ? reason : LOST, wasClean } as const;
}

/** Whether ws sends the code in a close frame. */
function isSendable(code: number): boolean {
  return code >= 3000 || (code <= 1014 && ![1004, 1005, 1006].includes(code));
}
