// The provider as an HTTP server of Node, for the machine it runs on.
//
// Node's own parser refuses a request that carries both Transfer-Encoding and Content-Length before
// anyone can see what day it is. The lenient parser lets it through, chunks first, and the edge then
// declines it from its date on. Only this adapter can see the two: `fetch` hides them.
//
// Every request that Node can parse gets an answer; who may ask is decided by `Admission`.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ApiError, apiError, METHODS } from '../call/call.ts';
import { errorEntry } from '../call/error-codes.ts';
import { createManagementApi, type ManagementApi, type ManagementOptions } from '../edge/api.ts';
import { BODY_BYTES_MAX, bytesWithin, tooLong } from '../edge/body.ts';
import { failure } from '../edge/envelope.ts';
import { MovableClock } from '../schedule/movable-clock.ts';
import { Admission, type CorsHeaders, preflightHeaders } from './admission.ts';

export interface ServeOptions extends Omit<ManagementOptions, 'clock'> {
  /** 0 takes any free port. @default 0 */
  readonly port?: number;
  /** @default '127.0.0.1' */
  readonly host?: string;
  /** The day the clock starts on, `YYYY-MM-DD`; `api-version` then does not count. @default today */
  readonly at?: string;
  /** Hosts the server answers to beside `host` and the loopback ones, without ports. @default none */
  readonly allowedHosts?: readonly string[];
  /** Origins whose pages may call, such as `http://localhost:5173`. @default none */
  readonly cors?: readonly string[];
  readonly limits?: Partial<ServerLimits>;
}

export interface ServerLimits {
  /** How long the head of a request may take. @default 10 seconds */
  readonly headersTimeoutMs: number;
  /** How long a whole request may take to arrive. @default 30 seconds */
  readonly requestTimeoutMs: number;
  /** Connections beyond this are closed. @default 256 */
  readonly connectionsMax: number;
}

const LIMITS: ServerLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  connectionsMax: 256,
};
/** How often Node looks for requests that take too long. */
const TIMEOUT_CHECK_MS = 500;

export interface ManagementServer {
  readonly api: ManagementApi;
  readonly clock: MovableClock;
  /** What a client is given as its base URL. */
  readonly baseUrl: string;
  close(): Promise<void>;
}

/**
 * Resolves when the server listens.
 *
 * @throws RangeError for a date that is none; StorageError `INVALID_ARGUMENT` for a host or an origin
 */
export async function serveManagement(options: ServeOptions): Promise<ManagementServer> {
  const { port = 0, host = '127.0.0.1', at, basePath = '/client/v4', ...others } = options;
  const { allowedHosts = [], cors = [], limits, ...rest } = others;
  const admission = new Admission({ allowedHosts: [host, ...allowedHosts], cors });
  const clock = new MovableClock(at);
  const api = createManagementApi({ apiVersion: at === undefined, ...rest, basePath, clock });
  const server = createLimitedServer({ ...LIMITS, ...limits });
  const listener = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    answer(api, admission, incoming, outgoing).catch((error: unknown) =>
      outgoing.destroy(error as Error),
    );
  };
  server.on('request', listener).on('checkContinue', listener).on('connect', refuseTunnel);
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

function createLimitedServer(limits: ServerLimits): Server {
  const server = createServer({
    insecureHTTPParser: true,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    connectionsCheckingInterval: TIMEOUT_CHECK_MS,
  });
  server.maxConnections = limits.connectionsMax;
  return server;
}

async function answer(
  api: ManagementApi,
  admission: Admission,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const { 'transfer-encoding': encoding, 'content-length': length } = incoming.headers;
  const bothLengths = encoding !== undefined && length !== undefined;
  let cors: CorsHeaders = {};
  let response: Response;
  try {
    const { authorities, path } = targetOf(incoming);
    cors = admission.admit({ ...askedOf(incoming), authorities });
    response = isPreflight(incoming)
      ? new Response(null, { status: 204, headers: preflightFor(incoming) })
      : await api.fetch(await requestOf(incoming, outgoing, `http://${authorities[0]}${path}`), {
          bothLengths,
        });
  } catch (error) {
    response = failure(error);
  }
  // What follows on such a connection cannot be told apart from the body.
  if (bothLengths) outgoing.setHeader('connection', 'close');
  for (const [name, value] of Object.entries(cors)) outgoing.setHeader(name, value);
  outgoing.writeHead(response.status, [...response.headers].flat());
  outgoing.end(new Uint8Array(await response.arrayBuffer()));
}

/** The hosts a request names, the one that counts first, and its path with the query. */
function targetOf({ url = '', headersDistinct }: IncomingMessage) {
  const hosts = headersDistinct.host ?? [];
  if (hosts.length !== 1) throw invalid('The request must have one Host header.');
  if (url.startsWith('/')) return { authorities: hosts, path: url };
  const [, authority, path] = /^http:\/\/([^/?#]*)(.*)$/i.exec(url) ?? [];
  if (authority === undefined) throw invalid('The target of the request must be a path or a URL.');
  return { authorities: [authority, ...hosts], path: `/${path!.replace(/^\//, '')}` };
}

function askedOf({ method = 'GET', headers }: IncomingMessage) {
  const { 'transfer-encoding': encoding, 'content-length': length = '0' } = headers;
  const hasBody = encoding !== undefined || length !== '0';
  const origin = headers.origin;
  return { method, origin, ...(hasBody && { contentType: headers['content-type'] ?? '' }) };
}

function isPreflight({ method, headers }: IncomingMessage): boolean {
  const isAsked = 'access-control-request-method' in headers;
  return method === 'OPTIONS' && isAsked && headers.origin !== undefined;
}

function preflightFor({ headers }: IncomingMessage): HeadersInit {
  const names = headers['access-control-request-headers'];
  return { ...preflightHeaders(typeof names === 'string' ? names : undefined) };
}

async function requestOf(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  url: string,
): Promise<Request> {
  const { method = 'GET', headers } = incoming;
  if (UNSENDABLE.has(method)) throw methodUnknown(method);
  const carried = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !CONNECTION_HEADERS.has(name)) carried.set(name, String(value));
  }
  const hasBody = method !== 'GET' && method !== 'HEAD';
  const body = hasBody ? await bytesOf(incoming, outgoing) : new Uint8Array();
  return new Request(url, { method, headers: carried, ...(body.length > 0 && { body }) });
}

/** The body; what exceeds the bound is discarded by Node as it comes, so that the answer arrives. */
function bytesOf(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<Uint8Array<ArrayBuffer>> {
  const { 'content-length': length, 'transfer-encoding': encoding, expect } = incoming.headers;
  if (encoding === undefined && Number(length ?? 0) > BODY_BYTES_MAX) throw tooLong();
  if (/^100-continue$/i.test(expect ?? '')) outgoing.writeContinue();
  return bytesWithin(incoming.iterator({ destroyOnReturn: false }));
}

/** CONNECT reaches no request listener; Node would close the connection without a word. */
function refuseTunnel(_incoming: IncomingMessage, socket: NodeJS.WritableStream): void {
  socket.end('HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
}

function methodUnknown(method: string): ApiError {
  const methods = METHODS.join(', ');
  const { status, entry } = errorEntry('METHOD_UNKNOWN', `There is no ${method}, but ${methods}.`);
  return new ApiError(status, [entry], { allow: methods });
}

function invalid(message: string): ApiError {
  return apiError('REQUEST_INVALID', message);
}

/** Methods `fetch` has no requests for. */
const UNSENDABLE: ReadonlySet<string> = new Set(['CONNECT', 'TRACE', 'TRACK']);

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
