// The HTTP server in front of a worker's entry point: requests, streams of bodies, requests for sockets, and scheduled
// events.

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
import { ClientSockets, closes, type ServePage, type Upgrade } from './client-sockets.ts';
import { requestOf, urlOf } from './incoming-request.ts';
import { write } from './outgoing-response.ts';

/** Where the inspector's page is, and its socket. */
const INSPECTOR = '/__ctx-storage';
const INSPECTOR_SCRIPT = 'dev-inspector.js';

/** As versions of wrangler have it. */
const SCHEDULED: ReadonlySet<string> = new Set([
  '/cdn-cgi/handler/scheduled',
  '/cdn-cgi/local/scheduled',
]);

/** How often a server that ends looks whether work goes on, in milliseconds. */
const LOOK_MS = 20;

export interface DevServer {
  readonly address: string;
  /** Takes no more requests. Requests and work of the app that go on may end, within `closeMs`. */
  close(): Promise<void>;
}

/** A running app. */
export interface RunningApp {
  readonly worker: EntryHandle;
  /** False while an event goes on, or anything that it waits for, such as `waitUntil`. */
  readonly isIdle: boolean;
  readonly servePage: ServePage;
  close(): Promise<void>;
}

export interface ServerOptions {
  readonly port: number;
  readonly host: string;
  /** How long work under way may go on when the server ends. */
  readonly closeMs: number;
  /** The app that runs now; it waits for one that starts. @throws the reason why none runs */
  readonly app: () => Promise<RunningApp>;
  /** Reports an error of the worker that its caller gets as a 500, or as a broken connection. */
  readonly report: (error: unknown) => void;
  /** Where this package's scripts are. */
  readonly scripts: string;
  /** They answer before the worker; undefined: it answers everything. */
  readonly assets: Assets | undefined;
}

/** @throws Error of the system, such as EADDRINUSE */
export async function serveHttp(options: ServerOptions): Promise<DevServer> {
  const { port, host, app, closeMs } = options;
  const sockets = await ClientSockets.load();
  const refusalOf = refusals(host);
  const underWay = new Set<ServerResponse>();
  const server = createServer((incoming, outgoing) => {
    const response = refusalOf(incoming) ?? answer(incoming, options);
    underWay.add(outgoing);
    outgoing.once('close', () => underWay.delete(outgoing));
    void send(response, () => outgoing, options);
  });
  server.on('upgrade', (incoming, duplex, head) => {
    duplex.on('error', closes);
    const asked = { incoming, duplex, head };
    if (incoming.headers.upgrade?.toLowerCase() !== 'websocket') {
      parseAgain(server, asked);
      return;
    }
    const response = refusalOf(incoming) ?? upgrade(asked, sockets, options);
    void send(response, () => responseOn(asked), options);
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
      // Code that is still being loaded has no work under way, and may never run.
      const running = await Promise.race([app().catch(() => undefined), setTimeout(0)]);
      const isDone = () => underWay.size === 0 && running?.isIdle !== false;
      const late = AbortSignal.timeout(closeMs);
      while (!isDone() && !late.aborted) await setTimeout(LOOK_MS);
      server.closeAllConnections();
    },
  };
}

/** Answers requests that do not reach the worker: to no address, or to a host that is not this one. */
function refusals(host: string): (incoming: IncomingMessage) => Promise<Response> | undefined {
  const isOfEveryName = host === '0.0.0.0' || host === '::';
  const names = new Set(['localhost', '127.0.0.1', '[::1]', host]);
  const refusal = async (status: number, text: string) => new Response(text, { status });
  return (incoming) => {
    // A stranger's name that leads here (DNS rebinding) would let its pages read the answers.
    const name = nameOf(incoming.headers.host ?? '');
    if (!isOfEveryName && !names.has(name) && !isLocalhost(name))
      return refusal(403, 'The name of this host is not allowed; start with --host.\n');
    if (urlOf(incoming) === null) return refusal(400, 'The address of the request is no URL.\n');
    return undefined;
  };
}

/**
 * Node takes each request with an `Upgrade` out of its parser. A request for another protocol is plain: it is parsed
 * again, without this header.
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

/** Sends the answer, also of an error. A socket is connected already. */
async function send(
  answering: Promise<Response | 'connected'>,
  connection: () => ServerResponse,
  { report }: ServerOptions,
): Promise<void> {
  const response = await answering.catch(failure);
  if (response === 'connected') return;
  const outgoing = connection();
  try {
    await write(response, outgoing);
  } catch (error) {
    report(error);
    if (outgoing.headersSent) outgoing.destroy();
    else await write(failure(error), outgoing);
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
  if (SCHEDULED.has(pathname)) {
    if (!isOfNoOtherPage(incoming)) return new Response(OTHER_PAGE, { status: 403 });
    return scheduled((await app()).worker, searchParams);
  }
  const file = inspectorFile(pathname, scripts) ?? (await assets?.before(request));
  return file ?? fetchFrom(options, request);
}

const OTHER_PAGE =
  'A page of another origin may not run a scheduled event. Use curl, or a page of this server.\n';

/** Runs the event of the parameters `cron` and `time`, in milliseconds. */
async function scheduled(worker: EntryHandle, parameters: URLSearchParams): Promise<Response> {
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
 * A browser says of each request to this machine which page made it, and no page can hide that. To an address elsewhere it
 * says nothing, so there a browser is refused.
 */
function isOfNoOtherPage({ headers }: IncomingMessage): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin' || site === 'none';
  const { host = '', origin, 'user-agent': program = '' } = headers;
  if (origin !== undefined && origin !== `http://${host}`) return false;
  const name = nameOf(host);
  return isLocalhost(name) || isLoopback(name) || !program.startsWith('Mozilla/');
}

/**
 * The worker's answer. If new code replaces the app before it, a request without a body is made again, as wrangler does;
 * any other may have had its effect, and is the caller's to repeat.
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

/** The inspector's answer for a path; undefined if it is no path of it. `folder`: of this package's scripts. */
function inspectorFile(pathname: string, folder: string): Response | undefined {
  const answer = (body: string, type: string, others?: Record<string, string>) =>
    new Response(body, {
      headers: { 'content-type': type, 'cache-control': 'no-store', ...others },
    });
  if (pathname === INSPECTOR) {
    const html = inspectorHtml(`${INSPECTOR}/${INSPECTOR_SCRIPT}`);
    // A stranger's page that frames it could lead clicks to its buttons.
    const policy = { 'content-security-policy': "frame-ancestors 'self'" };
    return answer(html, 'text/html; charset=utf-8', policy);
  }
  const name = /^\/__ctx-storage\/([\w-]+\.js)$/.exec(pathname)?.[1];
  if (name === undefined || !existsSync(join(folder, name))) return undefined;
  return answer(readFileSync(join(folder, name), 'utf8'), 'text/javascript');
}

/** Connects a socket, or gives the answer that refuses it. */
async function upgrade(
  asked: Upgrade,
  sockets: ClientSockets | undefined,
  options: ServerOptions,
): Promise<Response | 'connected'> {
  const { incoming } = asked;
  if (sockets === undefined) throw new Error('WebSockets need the package ws: npm install -D ws');
  if (urlOf(incoming)?.pathname === INSPECTOR) {
    if (!isOfOwnPage(incoming, options.host)) return new Response(null, { status: 403 });
    sockets.inspect(asked, (await options.app()).servePage);
    return 'connected';
  }
  const response = await fetchFrom(options, requestOf(incoming));
  const { end } = socketParts((response as { webSocket?: unknown }).webSocket) ?? {};
  if (end === undefined) return response;
  sockets.connect(asked, end, response.headers);
  return 'connected';
}

/** Answers on a connection that was to become a socket, and ends it. */
function responseOn({ incoming, duplex }: Upgrade): ServerResponse {
  const outgoing = new ServerResponse(incoming);
  outgoing.shouldKeepAlive = false;
  outgoing.assignSocket(duplex as Socket);
  return outgoing.once('finish', () => duplex.end());
}

/**
 * Any page may open a socket to this machine, and would read and change what the objects store. So would one whose own
 * name leads here (DNS rebinding), where the server answers to every name.
 */
function isOfOwnPage({ headers }: IncomingMessage, listening: string): boolean {
  const { host = '', origin } = headers;
  const name = nameOf(host);
  return origin === `http://${host}` && (name === listening || isNoStrangers(name));
}

/** An address, or a name that no stranger can own. */
function isNoStrangers(name: string): boolean {
  if (name.startsWith('[') || isIP(name) !== 0 || !name.includes('.')) return true;
  return name.endsWith('.localhost') || name.endsWith('.local');
}

/** No other machine can have this name. */
function isLocalhost(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost');
}

function isLoopback(name: string): boolean {
  return name === '[::1]' || (isIP(name) === 4 && name.startsWith('127.'));
}

/** Of a header `Host`, without the port. */
function nameOf(host: string): string {
  return host.replace(/:\d+$/, '');
}

function failure(error: unknown): Response {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return new Response(text, { status: 500 });
}
