// The HTTP server of `ctx-storage dev`. It passes requests, bodies, WebSockets and scheduled events to the worker, and
// serves the assets and the inspector.

import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, ServerResponse } from 'node:http';
import { type AddressInfo, isIP, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { socketParts } from '@ctx-storage/core/calls';
import type { EntryHandle } from '@ctx-storage/core/object';
import { inspectorHtml } from '@ctx-storage/vite/project';
import type { Assets } from './assets.ts';
import { ClientSockets, ignoreError, type ServePage, type Upgrade } from './client-sockets.ts';
import { requestOf, urlOf } from './incoming-request.ts';
import { writeWorkerResponse } from './outgoing-response.ts';

/** The path of the inspector's page and of its WebSocket. */
const INSPECTOR_PATH = '/__ctx-storage';
const INSPECTOR_SCRIPT = 'dev-inspector.js';

/** The paths that run a scheduled event in the versions of wrangler. */
const SCHEDULED_PATHS: ReadonlySet<string> = new Set([
  '/cdn-cgi/handler/scheduled',
  '/cdn-cgi/local/scheduled',
]);

/** How often a closing server checks whether work is still under way. */
const IDLE_CHECK_MS = 20;

export interface DevServer {
  readonly address: string;
  /** Accepts no more requests, and waits up to `closeMs` for the requests and events that are under way. */
  close(): Promise<void>;
}

/** A running app. */
export interface RunningApp {
  readonly worker: EntryHandle;
  /** False while an event, or its `waitUntil`, is under way. */
  readonly isIdle: boolean;
  readonly servePage: ServePage;
  close(): Promise<void>;
}

export interface ServerOptions {
  readonly port: number;
  readonly host: string;
  /** How long a closing server waits for work that is under way. */
  readonly closeMs: number;
  /** Returns the running app, and waits for one that is starting. @throws the reason why none runs */
  readonly app: () => Promise<RunningApp>;
  /** Reports an error of the worker; the caller gets a 500, or a broken connection. */
  readonly report: (error: unknown) => void;
  /** The folder of this package's scripts, among which is the inspector's. */
  readonly scripts: string;
  /** The assets that answer before the worker, or undefined if the worker answers everything. */
  readonly assets: Assets | undefined;
}

/** Starts the server. @throws Error of the system, such as EADDRINUSE */
export async function serveHttp(options: ServerOptions): Promise<DevServer> {
  const { port, host, app, closeMs } = options;
  const sockets = await ClientSockets.load();
  const refusalOf = refusalFor(host);
  const pendingResponses = new Set<ServerResponse>();
  const server = createServer((incoming, outgoing) => {
    const response = refusalOf(incoming) ?? answer(incoming, options);
    pendingResponses.add(outgoing);
    outgoing.once('close', () => pendingResponses.delete(outgoing));
    void send(response, () => outgoing, options);
  });
  server.on('upgrade', (incoming, duplex, head) => {
    duplex.on('error', ignoreError);
    const request = { incoming, duplex, head };
    if (incoming.headers.upgrade?.toLowerCase() !== 'websocket') {
      parseAgain(server, request);
      return;
    }
    const response = refusalOf(incoming) ?? upgrade(request, sockets, options);
    void send(response, () => responseOn(request), options);
  });
  server.listen(port, host);
  await once(server, 'listening');
  const { port: actual } = server.address() as AddressInfo;
  return {
    address: `http://${host.includes(':') ? `[${host}]` : host}:${actual}`,
    async close() {
      server.close();
      server.closeIdleConnections();
      sockets?.close();
      // If the code is still being loaded, there is no app to wait for, and it may never run.
      const running = await Promise.race([app().catch(() => undefined), setTimeout(0)]);
      const isDone = () => pendingResponses.size === 0 && running?.isIdle !== false;
      const deadline = AbortSignal.timeout(closeMs);
      while (!isDone() && !deadline.aborted) await setTimeout(IDLE_CHECK_MS);
      server.closeAllConnections();
    },
  };
}

/** Returns a function that refuses requests whose address is not valid, or whose host is not this server. */
function refusalFor(host: string): (incoming: IncomingMessage) => Promise<Response> | undefined {
  const listensOnEveryName = host === '0.0.0.0' || host === '::';
  const names = new Set(['localhost', '127.0.0.1', '[::1]', host]);
  const refusal = async (status: number, text: string) => new Response(text, { status });
  return (incoming) => {
    // If a stranger's name resolved to this machine (DNS rebinding), the stranger's pages could read the answers.
    const name = hostName(incoming.headers.host ?? '');
    if (!listensOnEveryName && !names.has(name) && !isLocalhost(name))
      return refusal(403, 'The name of this host is not allowed; start with --host.\n');
    if (urlOf(incoming) === null) return refusal(400, 'The address of the request is no URL.\n');
    return undefined;
  };
}

/**
 * Answers a request for a protocol other than WebSocket as a plain request. Node took it out of its parser because of
 * the header `Upgrade`, so the server parses it again without this header.
 */
function parseAgain(server: Server, { incoming, duplex, head }: Upgrade): void {
  const { method, url, httpVersion, rawHeaders } = incoming;
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [name, value] = [rawHeaders[at]!, rawHeaders[at + 1]!];
    if (name.toLowerCase() !== 'upgrade') lines.push(`${name}: ${value}`);
  }
  const text = [...lines, '', ''].join('\r\n');
  duplex.unshift(Buffer.concat([Buffer.from(text, 'latin1'), head]));
  server.emit('connection', duplex);
}

/** Sends the answer once it is there, or the error in its place. For a connected socket, there is nothing to send. */
async function send(
  answering: Promise<Response | 'connected'>,
  connection: () => ServerResponse,
  { report }: ServerOptions,
): Promise<void> {
  const response = await answering.catch(errorResponse);
  if (response === 'connected') return;
  const outgoing = connection();
  try {
    await writeWorkerResponse(response, outgoing);
  } catch (error) {
    report(error);
    if (outgoing.headersSent) outgoing.destroy();
    else await writeWorkerResponse(errorResponse(error), outgoing);
  }
}

async function answer(incoming: IncomingMessage, options: ServerOptions): Promise<Response> {
  const { app, assets, scripts } = options;
  if (incoming.method === 'TRACE') {
    const text = 'Node.js has no Request with the method TRACE; send another method.\n';
    return new Response(text, { status: 405 });
  }
  const request = requestOf(incoming);
  const { pathname, searchParams } = new URL(request.url);
  if (SCHEDULED_PATHS.has(pathname)) {
    if (!isNotFromOtherOrigin(incoming)) return new Response(OTHER_ORIGIN_TEXT, { status: 403 });
    return runScheduled((await app()).worker, searchParams);
  }
  const file = inspectorFile(pathname, scripts) ?? (await assets?.before(request));
  return file ?? fetchFrom(options, request);
}

const OTHER_ORIGIN_TEXT =
  'A page of another origin may not run a scheduled event. Use curl, or a page of this server.\n';

/** Runs the scheduled event of the parameters `cron` and `time`, which is in milliseconds since the epoch. */
async function runScheduled(worker: EntryHandle, parameters: URLSearchParams): Promise<Response> {
  const [cron, time] = [parameters.get('cron'), parameters.get('time')];
  if (time && Number.isNaN(Number.parseInt(time, 10))) {
    return new Response(`time is "${time}"; give milliseconds since 1970.\n`, { status: 400 });
  }
  const result = await worker.scheduled({
    ...(cron !== null && { cron }),
    ...(time && { scheduledTime: Number.parseInt(time, 10) }),
  });
  const status = result.outcome === 'ok' ? 200 : 500;
  return parameters.get('format') === 'json'
    ? Response.json(result, { status })
    : new Response(result.outcome, { status });
}

/**
 * Returns whether the request was not made by a page of another origin. A browser names the page in each request to
 * this machine. In requests to other addresses it does not, so that requests of browsers to those are refused.
 */
function isNotFromOtherOrigin({ headers }: IncomingMessage): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin' || site === 'none';
  const { host = '', origin, 'user-agent': program = '' } = headers;
  if (origin !== undefined && origin !== `http://${host}`) return false;
  const name = hostName(host);
  return isLocalhost(name) || isLoopback(name) || !program.startsWith('Mozilla/');
}

/**
 * Returns the worker's answer. If new code replaces the app before that, a GET or HEAD is made again, as wrangler does.
 * Any other request may have had its effect, so that only the caller can decide to repeat it.
 */
async function fetchFrom(options: ServerOptions, request: Request): Promise<Response> {
  const { app, report } = options;
  const running = await app();
  try {
    return await running.worker.fetch(request);
  } catch (error) {
    if ((await app()) === running) {
      report(error);
      throw error;
    }
    if (request.method === 'GET' || request.method === 'HEAD') return fetchFrom(options, request);
    const text = `The worker's code changed while it answered this ${request.method}; send it again.\n`;
    return new Response(text, { status: 503, headers: { 'retry-after': '0' } });
  }
}

/**
 * Returns the page or a script of the inspector, or undefined for other paths. `folder` is that of this package's
 * scripts.
 */
function inspectorFile(pathname: string, folder: string): Response | undefined {
  const answer = (body: string, type: string, others?: Record<string, string>) =>
    new Response(body, {
      headers: { 'content-type': type, 'cache-control': 'no-store', ...others },
    });
  if (pathname === INSPECTOR_PATH) {
    const html = inspectorHtml(`${INSPECTOR_PATH}/${INSPECTOR_SCRIPT}`);
    // A stranger's page that shows the inspector in a frame could make the user click its buttons.
    const policy = { 'content-security-policy': "frame-ancestors 'self'" };
    return answer(html, 'text/html; charset=utf-8', policy);
  }
  const name = /^\/__ctx-storage\/([\w-]+\.js)$/.exec(pathname)?.[1];
  if (name === undefined || !existsSync(join(folder, name))) return undefined;
  return answer(readFileSync(join(folder, name), 'utf8'), 'text/javascript');
}

/** Connects the WebSocket, or returns the answer that refuses it. */
async function upgrade(
  request: Upgrade,
  sockets: ClientSockets | undefined,
  options: ServerOptions,
): Promise<Response | 'connected'> {
  const { incoming } = request;
  if (sockets === undefined) throw new Error('WebSockets need the package ws: npm install -D ws');
  if (urlOf(incoming)?.pathname === INSPECTOR_PATH) {
    if (!isFromOwnPage(incoming, options.host)) return new Response(null, { status: 403 });
    sockets.inspect(request, (await options.app()).servePage);
    return 'connected';
  }
  const response = await fetchFrom(options, requestOf(incoming));
  const { end } = socketParts((response as { webSocket?: unknown }).webSocket) ?? {};
  if (end === undefined) return response;
  sockets.connect(request, end, response.headers);
  return 'connected';
}

/** Makes an answer on a connection that asked for a WebSocket. The connection ends after it. */
function responseOn({ incoming, duplex }: Upgrade): ServerResponse {
  const outgoing = new ServerResponse(incoming);
  outgoing.shouldKeepAlive = false;
  outgoing.assignSocket(duplex as Socket);
  return outgoing.once('finish', () => duplex.end());
}

/**
 * Returns whether the request comes from a page of this server. Any page can open a WebSocket to this machine, and
 * could then read and change the data of the objects. So could a page whose own name resolves to this machine (DNS
 * rebinding).
 */
function isFromOwnPage({ headers }: IncomingMessage, listening: string): boolean {
  const { host = '', origin } = headers;
  const name = hostName(host);
  return origin === `http://${host}` && (name === listening || cannotBelongToStranger(name));
}

/** Returns whether the name is an IP address, or a name that no stranger can register. */
function cannotBelongToStranger(name: string): boolean {
  if (name.startsWith('[') || isIP(name) !== 0 || !name.includes('.')) return true;
  return name.endsWith('.localhost') || name.endsWith('.local');
}

/** Returns whether the name always means this machine. */
function isLocalhost(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost');
}

function isLoopback(name: string): boolean {
  return name === '[::1]' || (isIP(name) === 4 && name.startsWith('127.'));
}

/** Returns the name in a header `Host`, without the port. */
function hostName(host: string): string {
  return host.replace(/:\d+$/, '');
}

function errorResponse(error: unknown): Response {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return new Response(text, { status: 500 });
}
