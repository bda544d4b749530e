// For tests: the server of `ctx-storage dev` in front of an app of this process, and clients that keep to no protocol.

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { serveHttp } from '../dev/http-server.ts';
import { startApp } from '../dev/node-dev-host.ts';

export interface ServedApp {
  readonly address: string;
  /** Errors of the worker. */
  readonly reported: readonly unknown[];
  /** A connection on which these lines of a request were sent. */
  send(...lines: string[]): Socket;
  close(): Promise<void>;
}

/** The handlers of a worker, and the classes of its objects. */
export async function serveApp(
  handlers: object,
  classes: object = {},
  closeMs = 5000,
  host = '127.0.0.1',
): Promise<ServedApp> {
  const running = await startApp(classes, { exports: { default: handlers } });
  const reported: unknown[] = [];
  const server = await serveHttp({
    port: 0,
    host,
    closeMs,
    app: async () => running,
    report: (error) => reported.push(error),
    scripts: '',
    assets: undefined,
  });
  const { host: authority, hostname, port } = new URL(server.address);
  return {
    address: server.address,
    reported,
    send(first, ...lines) {
      const socket = connect(Number(port), hostname);
      // A test that resets the connection hears of it, too.
      socket.on('error', () => {});
      socket.write([first, `Host: ${authority}`, ...lines, '', ''].join('\r\n'));
      return socket;
    },
    async close() {
      await server.close();
      await running.close();
    },
  };
}

/** Lines of a request for a WebSocket, after its first. */
export const HANDSHAKE = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  'Sec-WebSocket-Version: 13',
];

/** All that arrives, as bytes. */
export async function received(socket: Socket): Promise<string> {
  let text = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk;
  });
  await once(socket, 'close');
  return text;
}
