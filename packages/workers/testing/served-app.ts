// Starts the server of `ctx-storage dev` for tests, with an app in this process, and sends it requests of any form.

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { serveHttp } from '../dev/http-server.ts';
import { startApp } from '../dev/node-dev-host.ts';

export interface ServedApp {
  readonly address: string;
  /** The errors of the worker that the server has reported. */
  readonly reported: readonly unknown[];
  /** Opens a connection and sends these lines of a request on it. */
  send(...lines: string[]): Socket;
  close(): Promise<void>;
}

/** Starts a server for a worker with these handlers and classes of objects. */
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
      // A connection that the test resets itself has an error event, which must have a listener.
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

/** The lines of a request for a WebSocket that follow its first line. */
export const HANDSHAKE = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  'Sec-WebSocket-Version: 13',
];

/** Waits until the connection closes, and returns all bytes that arrived, as Latin-1 text. */
export async function receivedText(socket: Socket): Promise<string> {
  let text = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk;
  });
  await once(socket, 'close');
  return text;
}
