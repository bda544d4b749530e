// The HTTP server in front of a worker's entry point: requests, streams of bodies, WebSockets, and scheduled events.

import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type Duplex, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream as NodeStream } from 'node:stream/web';
import type { WebSocketServer, WebSocket as WireSocket } from 'ws';
import type { EntryHandle } from '../../shared/contract/service.ts';
import { inspectorHtml } from '../vite/inspector-route.ts';
import type { Assets } from './assets.ts';

/** Where the inspector's page is, and its socket. */
const INSPECTOR = '/__ctx-storage';
const INSPECTOR_SCRIPT = 'dev-inspector.js';

/** As wrangler has it. */
const SCHEDULED = '/cdn-cgi/handler/scheduled';

/** `request.cf`, which programs read without a check: the place is that of miniflare without a network. */
const CF = {
  asn: 395_747,
  asOrganization: '',
  colo: 'DFW',
  city: 'Austin',
  region: 'Texas',
  regionCode: 'TX',
  metroCode: '635',
  postalCode: '78701',
  country: 'US',
  continent: 'NA',
  timezone: 'America/Chicago',
  latitude: '30.27130',
  longitude: '-97.74260',
  clientTcpRtt: 0,
  httpProtocol: 'HTTP/1.1',
  tlsCipher: 'AEAD-AES128-GCM-SHA256',
  tlsVersion: 'TLSv1.3',
};

/** The socket in the response of an entry point. */
interface Accepted extends EventTarget {
  accept(): void;
  send(data: string | ArrayBuffer): void;
  close(code?: number, reason?: string): void;
}

export interface DevServer {
  readonly address: string;
  close(): Promise<void>;
}

/** What a page of the inspector sends, and its end. */
interface PageEvents {
  message(bytes: Uint8Array): void;
  closed(): void;
}

/** A running app. */
export interface RunningApp {
  readonly worker: EntryHandle;
  /** Serves the objects to a page of the inspector. */
  servePage(socket: { send(bytes: Uint8Array): void; close(): void }): PageEvents;
  close(): Promise<void>;
}

export interface ServerOptions {
  readonly port: number;
  readonly host: string;
  /** The app that runs now; it waits for one that starts. @throws the reason why none runs */
  readonly app: () => Promise<RunningApp>;
  /** Where this package's scripts are. */
  readonly scripts: string;
  /** They answer before the worker; undefined: it answers everything. */
  readonly assets: Assets | undefined;
}

/** @throws Error of the system, such as EADDRINUSE */
export async function serveHttp(options: ServerOptions): Promise<DevServer> {
  const { port, host, app } = options;
  const sockets = await socketServer();
  const isAllowed = hostCheck(host);
  const server = createServer((incoming, outgoing) => {
    if (!isAllowed(incoming)) {
      outgoing.writeHead(403).end('The name of this host is not allowed; start with --host.\n');
      return;
    }
    answer(incoming, outgoing, options).catch((error: unknown) => fail(outgoing, error));
  });
  server.on('upgrade', (incoming, duplex, head) => {
    if (!isAllowed(incoming)) {
      duplex.end('HTTP/1.1 403 Forbidden\r\n\r\n');
      return;
    }
    upgrade(incoming, duplex, head, sockets, app).catch((error: unknown) => {
      duplex.end(`HTTP/1.1 500 Internal Server Error\r\n\r\n${textOf(error)}`);
    });
  });
  server.listen(port, host);
  await once(server, 'listening');
  const { port: actual } = server.address() as AddressInfo;
  return {
    address: `http://${host.includes(':') ? `[${host}]` : host}:${actual}`,
    async close() {
      for (const client of sockets?.clients ?? []) client.terminate();
      server.close();
      server.closeAllConnections();
    },
  };
}

/** A stranger's name that leads here (DNS rebinding) would let its pages read the answers. */
function hostCheck(host: string): (incoming: IncomingMessage) => boolean {
  const isOfEveryName = host === '0.0.0.0' || host === '::';
  const names = new Set(['localhost', '127.0.0.1', '[::1]', host]);
  return ({ headers }) => isOfEveryName || names.has((headers.host ?? '').replace(/:\d+$/, ''));
}

async function socketServer(): Promise<WebSocketServer | undefined> {
  try {
    const { WebSocketServer } = await import('ws');
    return new WebSocketServer({ noServer: true });
  } catch {
    return undefined; // a request for a socket says so
  }
}

async function answer(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { app, assets, scripts }: ServerOptions,
): Promise<void> {
  const request = requestOf(incoming);
  const { pathname, searchParams } = new URL(request.url);
  if (pathname === SCHEDULED) {
    const { worker } = await app();
    const { outcome } = await worker.scheduled({ cron: searchParams.get('cron') ?? '' });
    outgoing.writeHead(outcome === 'ok' ? 200 : 500).end(outcome);
    return;
  }
  const file = inspectorFile(pathname, scripts) ?? (await assets?.before(request));
  await write(file ?? (await fetchFrom(app, request)), outgoing);
}

/**
 * The worker's answer. If new code replaces the app before it, a request without a body is made again, as wrangler does;
 * any other may have had its effect, and is the caller's to repeat.
 */
async function fetchFrom(app: ServerOptions['app'], request: Request): Promise<Response> {
  const running = await app();
  try {
    return await running.worker.fetch(request);
  } catch (error) {
    if ((await app()) === running) throw error;
    if (request.method === 'GET' || request.method === 'HEAD') return fetchFrom(app, request);
    const text = `The worker's code changed while it answered this ${request.method}; send it again.\n`;
    return new Response(text, { status: 503, headers: { 'retry-after': '0' } });
  }
}

/** The inspector's answer for a path; undefined if it is no path of it. `folder`: of this package's scripts. */
function inspectorFile(pathname: string, folder: string): Response | undefined {
  const answer = (body: string, type: string) =>
    new Response(body, { headers: { 'content-type': type, 'cache-control': 'no-store' } });
  if (pathname === INSPECTOR) {
    const html = inspectorHtml(`${INSPECTOR}/${INSPECTOR_SCRIPT}`);
    return answer(html, 'text/html; charset=utf-8');
  }
  const name = /^\/__ctx-storage\/([\w-]+\.js)$/.exec(pathname)?.[1];
  if (name === undefined || !existsSync(join(folder, name))) return undefined;
  return answer(readFileSync(join(folder, name), 'utf8'), 'text/javascript');
}

async function write(
  response: Pick<Response, 'status' | 'statusText' | 'headers' | 'body'>,
  outgoing: ServerResponse,
): Promise<void> {
  outgoing.statusCode = response.status;
  if (response.statusText) outgoing.statusMessage = response.statusText;
  for (const [name, value] of response.headers) {
    if (name !== 'set-cookie') outgoing.setHeader(name, value);
  }
  const cookies = response.headers.getSetCookie();
  if (cookies.length > 0) outgoing.setHeader('set-cookie', cookies);
  if (response.body === null) outgoing.end();
  else await pipeline(Readable.fromWeb(response.body as NodeStream), outgoing).catch(ended);
}

/** The caller has gone, or the body has failed after its first bytes: the connection tells it. */
function ended(): void {}

function requestOf(incoming: IncomingMessage): Request {
  const { method = 'GET', headers, url = '/' } = incoming;
  const pairs = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((text): [string, string] => [name, text]),
  );
  const hasBody = method !== 'GET' && method !== 'HEAD';
  const request = new Request(new URL(url, `http://${headers.host ?? 'localhost'}`), {
    method,
    headers: pairs,
    redirect: 'manual', // the caller follows
    ...(hasBody && { body: Readable.toWeb(incoming) as ReadableStream, duplex: 'half' }),
  });
  return Object.defineProperty(request, 'cf', { value: CF, enumerable: true });
}

async function upgrade(
  incoming: IncomingMessage,
  duplex: Duplex,
  head: Buffer,
  sockets: WebSocketServer | undefined,
  app: ServerOptions['app'],
): Promise<void> {
  if (sockets === undefined) throw new Error('WebSockets need the package ws: npm install -D ws');
  if (new URL(incoming.url ?? '/', 'http://localhost').pathname === INSPECTOR) {
    if (isOfOwnPage(incoming)) sockets.handleUpgrade(incoming, duplex, head, inspect(await app()));
    else duplex.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    return;
  }
  const response = (await fetchFrom(app, requestOf(incoming))) as unknown as {
    readonly status: number;
    readonly webSocket?: Accepted | null;
    text(): Promise<string>;
  };
  const { webSocket } = response;
  if (!webSocket) {
    duplex.end(`HTTP/1.1 ${response.status} No Socket\r\n\r\n${await response.text()}`);
    return;
  }
  sockets.handleUpgrade(incoming, duplex, head, (wire) => connect(wire, webSocket));
}

/** Any page may open a socket to this machine, and would read and change what the objects store. */
function isOfOwnPage({ headers }: IncomingMessage): boolean {
  return headers.origin === `http://${headers.host}`;
}

function inspect({ servePage }: RunningApp): (wire: WireSocket) => void {
  return (wire) => {
    const page = servePage({ send: (bytes) => wire.send(bytes), close: () => wire.close() });
    wire.on('message', (data: Buffer) => page.message(new Uint8Array(data)));
    wire.on('close', () => page.closed());
  };
}

/** Codes that a close frame may not carry mean that the connection was lost. */
const sendable = (code: number) => code === 1000 || (code >= 3000 && code <= 4999);

function connect(wire: WireSocket, socket: Accepted): void {
  socket.accept();
  socket.addEventListener('message', (event) => {
    wire.send((event as MessageEvent<string | ArrayBuffer>).data);
  });
  socket.addEventListener('close', (event) => {
    const { code, reason } = event as CloseEvent;
    if (code === 1006) wire.terminate();
    else wire.close(code === 1005 ? undefined : code, reason);
  });
  wire.on('message', (data: Buffer, isBinary: boolean) => {
    socket.send(isBinary ? (new Uint8Array(data).buffer as ArrayBuffer) : data.toString());
  });
  wire.on('close', (code: number, reason: Buffer) => {
    if (sendable(code)) socket.close(code, reason.toString());
    else socket.close();
  });
}

function fail(outgoing: ServerResponse, error: unknown): void {
  if (outgoing.headersSent) outgoing.destroy();
  else outgoing.writeHead(500, { 'content-type': 'text/plain; charset=utf-8' }).end(textOf(error));
}

function textOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
