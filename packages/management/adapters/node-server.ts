// Runs the emulated provider as an HTTP server in Node, for clients on the same machine.
//
// Node's strict parser would refuse a request with both Transfer-Encoding and Content-Length, although the provider
// accepts it until a certain date. So the server uses the lenient parser, which reads the chunks, and the edge refuses
// the request from that date on. Only this adapter sees both headers, because `fetch` hides them.
//
// Invariant: every request that Node can parse gets an answer. `Admission` decides which requests are accepted.

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ApiError, apiError, METHODS } from '../call/call.ts';
import { errorEntry } from '../call/error-codes.ts';
import { createManagementApi, type ManagementApi, type ManagementOptions } from '../edge/api.ts';
import { BODY_BYTES_MAX, bytesWithin, tooLong } from '../edge/body.ts';
import { failure } from '../edge/envelope.ts';
import { MovableClock } from '../schedule/movable-clock.ts';
import { Admission, type CorsHeaders, preflightHeaders } from './admission.ts';
import { createPacedServer } from './paced-server.ts';

export interface ServeOptions extends Omit<ManagementOptions, 'clock'> {
  /** The port to listen on; 0 means any free port. @default 0 */
  readonly port?: number;
  /** The address to listen on. @default '127.0.0.1' */
  readonly host?: string;
  /** The day on which the clock starts, `YYYY-MM-DD`. @default today */
  readonly at?: string;
  /** Hosts, without ports, that the server answers besides `host` and the loopback hosts. @default none */
  readonly allowedHosts?: readonly string[];
  /** Origins whose web pages may call the server, such as `http://localhost:5173`. @default none */
  readonly cors?: readonly string[];
  readonly limits?: Partial<ServerLimits>;
}

export interface ServerLimits {
  /** The longest time that the head of a request may take to arrive. @default 10 seconds */
  readonly headersTimeoutMs: number;
  /** The longest time that a whole request may take to arrive. @default 30 seconds */
  readonly requestTimeoutMs: number;
  /** The longest time that a connection may stay open between two requests. @default 5 seconds */
  readonly idleTimeoutMs: number;
  /** The number of connections that may be open; further connections are closed. @default 256 */
  readonly connectionsMax: number;
}

const LIMITS: ServerLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  idleTimeoutMs: 5_000,
  connectionsMax: 256,
};
/** The largest size of a request's line and headers together. */
const HEAD_BYTES_MAX = 16_384;
/** The interval at which Node looks for requests that have exceeded their time. */
const TIMEOUT_CHECK_MS = 500;

export interface ManagementServer {
  readonly api: ManagementApi;
  readonly clock: MovableClock;
  /** The base URL to configure in a client. */
  readonly baseUrl: string;
  close(): Promise<void>;
}

/**
 * Starts the server, and resolves once it listens.
 *
 * @throws RangeError for an invalid date, StorageError `INVALID_ARGUMENT` for an invalid host or origin
 */
export async function serveManagement(options: ServeOptions): Promise<ManagementServer> {
  const { port = 0, host = '127.0.0.1', at, basePath = '/client/v4', ...others } = options;
  const { allowedHosts = [], cors = [], limits, ...rest } = others;
  const admission = new Admission({ allowedHosts: [host, ...allowedHosts], cors });
  const clock = new MovableClock(at);
  const api = createManagementApi({ ...rest, basePath, clock });
  const server = createLimitedServer({ ...LIMITS, ...limits }, (incoming, outgoing) =>
    answer(api, admission, incoming, outgoing),
  );
  await listen(server, port, host);
  const { port: actualPort } = server.address() as AddressInfo;
  const name = host.includes(':') ? `[${host}]` : host;
  return {
    api,
    clock,
    baseUrl: `http://${name}:${actualPort}${basePath}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function createLimitedServer(
  limits: ServerLimits,
  answer: (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void>,
): Server {
  const options = {
    insecureHTTPParser: true,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.idleTimeoutMs,
    maxHeaderSize: HEAD_BYTES_MAX,
    connectionsCheckingInterval: TIMEOUT_CHECK_MS,
  };
  const server = createPacedServer(options, { answer, refuseTunnel: TUNNEL_REFUSED });
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
    const { contentType, ...requestHead } = requestHeadOf(incoming);
    // No web page can send both headers, so the type of such a body is checked later, once the date of the call is
    // known.
    const type = contentType !== undefined && !bothLengths && { contentType };
    cors = admission.admit({ ...requestHead, ...type, authorities });
    if (isPreflight(incoming)) {
      response = new Response(null, { status: 204, headers: preflightFor(incoming) });
    } else {
      const url = `http://${authorities[0]}${path}`;
      const request = await requestOf(incoming, outgoing, url);
      const admitBody = () => {
        if (bothLengths && request.body !== null) admission.admitContentType(contentType ?? '');
      };
      response = await api.fetch(request, { bothLengths, admitBody });
    }
  } catch (error) {
    response = failure(error);
  }
  // With both lengths, the end of the body is ambiguous, so nothing that follows on this connection can be trusted.
  if (bothLengths) outgoing.setHeader('connection', 'close');
  for (const [name, value] of Object.entries(cors)) outgoing.setHeader(name, value);
  outgoing.writeHead(response.status, [...response.headers].flat());
  outgoing.end(new Uint8Array(await response.arrayBuffer()));
}

/** Returns the hosts that the request names, the effective one first, and its path with the query. */
function targetOf({ url = '', headersDistinct }: IncomingMessage) {
  const hosts = headersDistinct.host ?? [];
  if (hosts.length !== 1) throw invalidRequest('The request must have one Host header.');
  if (url.startsWith('/')) return { authorities: hosts, path: url };
  const [origin = '', authority] = /^http:\/\/([^/?#]*)/i.exec(url) ?? [];
  if (authority === undefined)
    throw invalidRequest('The target of the request must be a path or a URL.');
  return {
    authorities: [authority, ...hosts],
    path: `/${url.slice(origin.length).replace(/^\//, '')}`,
  };
}

function requestHeadOf({ method = 'GET', headers }: IncomingMessage) {
  const { 'transfer-encoding': encoding, 'content-length': length = '0' } = headers;
  const hasBody = encoding !== undefined || length !== '0';
  const origin = headers.origin;
  return { method, origin, ...(hasBody && { contentType: headers['content-type'] ?? '' }) };
}

function isPreflight({ method, headers }: IncomingMessage): boolean {
  const asksForMethod = 'access-control-request-method' in headers;
  return method === 'OPTIONS' && asksForMethod && headers.origin !== undefined;
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
  if (METHODS_WITHOUT_REQUEST.has(method)) throw methodUnknown(method);
  const forwarded = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !CONNECTION_HEADERS.has(name)) forwarded.set(name, String(value));
  }
  const hasBody = method !== 'GET' && method !== 'HEAD';
  const body = hasBody ? await bytesOf(incoming, outgoing) : new Uint8Array();
  return new Request(url, { method, headers: forwarded, ...(body.length > 0 && { body }) });
}

/** Reads the body. Node discards everything over the limit as it arrives, so that the client can read the answer. */
function bytesOf(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<Uint8Array<ArrayBuffer>> {
  const { 'content-length': length, 'transfer-encoding': encoding, expect } = incoming.headers;
  if (encoding === undefined && Number(length ?? 0) > BODY_BYTES_MAX) throw tooLong();
  if (/^100-continue$/i.test(expect ?? '')) outgoing.writeContinue();
  return bytesWithin(incoming.iterator({ destroyOnReturn: false }));
}

const TUNNEL_REFUSED =
  'HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\nConnection: close\r\n\r\n';

function methodUnknown(method: string): ApiError {
  const methods = METHODS.join(', ');
  const { status, entry } = errorEntry(
    'METHOD_UNKNOWN',
    `The method ${method} is not supported; use ${methods}.`,
  );
  return new ApiError(status, [entry], { allow: methods });
}

function invalidRequest(message: string): ApiError {
  return apiError('REQUEST_INVALID', message);
}

/** Methods that the class `Request` refuses. */
const METHODS_WITHOUT_REQUEST: ReadonlySet<string> = new Set(['CONNECT', 'TRACE', 'TRACK']);

const CONNECTION_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
]);

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve());
  });
}
