// The provider as an HTTP server of Node.
//
// Node's own parser refuses a request that carries both Transfer-Encoding and Content-Length before
// anyone can see what day it is. The lenient parser lets it through, chunks first, and the edge then
// declines it from its date on. Only this adapter can see the two: `fetch` hides them.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createManagementApi, type ManagementApi, type ManagementOptions } from '../api.ts';
import { MovableClock } from '../movable-clock.ts';

export interface ServeOptions extends Omit<ManagementOptions, 'clock'> {
  /** 0 takes any free port. @default 0 */
  readonly port?: number;
  /** @default '127.0.0.1' */
  readonly host?: string;
  /** The day the clock starts on, `YYYY-MM-DD`; `api-version` then does not count. @default today */
  readonly at?: string;
}

export interface ManagementServer {
  readonly api: ManagementApi;
  readonly clock: MovableClock;
  /** What a client is given as its base URL. */
  readonly baseUrl: string;
  close(): Promise<void>;
}

/** Resolves when the server listens. @throws RangeError for a date that is none */
export async function serveManagement(options: ServeOptions): Promise<ManagementServer> {
  const { port = 0, host = '127.0.0.1', at, basePath = '/client/v4', ...rest } = options;
  const clock = new MovableClock(at);
  const api = createManagementApi({ apiVersion: at === undefined, ...rest, basePath, clock });
  const server = createServer({ insecureHTTPParser: true }, (incoming, outgoing) => {
    answer(api, incoming, outgoing).catch((error: unknown) => outgoing.destroy(error as Error));
  });
  await listening(server, port, host);
  const { port: taken } = server.address() as AddressInfo;
  const name = host.includes(':') ? `[${host}]` : host;
  return {
    api,
    clock,
    baseUrl: `http://${name}:${taken}${basePath}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(
  api: ManagementApi,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Uint8Array);
  const { 'transfer-encoding': encoding, 'content-length': length, host } = incoming.headers;
  const bothLengths = encoding !== undefined && length !== undefined;
  const response = await api.fetch(requestOf(incoming, host ?? 'localhost', chunks), {
    bothLengths,
  });
  // What follows on such a connection cannot be told apart from the body.
  if (bothLengths) outgoing.setHeader('connection', 'close');
  outgoing.writeHead(response.status, [...response.headers].flat());
  outgoing.end(new Uint8Array(await response.arrayBuffer()));
}

function requestOf(
  { method = 'GET', url = '/', headers }: IncomingMessage,
  host: string,
  chunks: Uint8Array[],
): Request {
  const carried = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !CONNECTION_HEADERS.has(name)) carried.set(name, String(value));
  }
  const hasBody = chunks.length > 0 && method !== 'GET' && method !== 'HEAD';
  return new Request(new URL(url, `http://${host}`), {
    method,
    headers: carried,
    ...(hasBody && { body: new Uint8Array(Buffer.concat(chunks)) }),
  });
}

const CONNECTION_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
]);

function listening(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve());
  });
}
