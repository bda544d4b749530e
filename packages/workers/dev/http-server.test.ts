// Requests and answers of the server of `ctx-storage dev`, which behaves as workerd does.

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { ExecutionContext } from '../../../src/shared/contract/service.ts';
import { HANDSHAKE, receivedText, type ServedApp, serveApp } from '../testing/served-app.ts';

const LONG = 'x'.repeat(20_000);

let app: ServedApp;
/** A server that the worker fetches from. It answers with a compressed body, or describes the request that it got. */
let upstreamServer: Server;
let origin: string;
beforeAll(async () => {
  upstreamServer = createServer(async (incoming, outgoing) => {
    if (incoming.url === '/packed') {
      const packed = gzipSync('unpacked');
      const length = packed.length;
      outgoing.writeHead(200, { 'content-encoding': 'gzip', 'content-length': length }).end(packed);
      return;
    }
    let body = '';
    for await (const chunk of incoming) body += chunk;
    const { host, te = 'none', 'keep-alive': alive = 'none' } = incoming.headers;
    outgoing.end(`${incoming.method} ${host} ${body}, te ${te}, keep-alive ${alive}`);
  });
  await new Promise<void>((resolve) => upstreamServer.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(upstreamServer.address() as AddressInfo).port}`;
  app = await serveApp({ fetch: answer });
});
afterAll(async () => {
  await app.close();
  upstreamServer.close();
});

const textStream = (...chunks: unknown[]) =>
  new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });

async function answer(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  const packed = { 'content-encoding': 'gzip' };
  switch (pathname) {
    case '/upstream':
      return fetch(`${origin}/packed`);
    case '/packed':
      return new Response('packed', { headers: packed });
    case '/by-hand': {
      const init = { headers: packed, encodeBody: 'manual' };
      return new Response(gzipSync('by hand'), init);
    }
    case '/short':
      return new Response('short');
    case '/long':
      return new Response(LONG);
    case '/wrong':
      return new Response('eleven here', { headers: { 'content-length': '5' } });
    case '/wrong-stream':
      return new Response(textStream('abc'), { headers: { 'content-length': '50' } });
    case '/passed-on':
      return fetch(new Request(`${origin}/`, request));
    case '/made-again': {
      const { method, headers, body } = request;
      return fetch(`${origin}/`, { method, headers, body });
    }
    case '/throw':
      throw new Error('thrown by the worker');
    case '/error':
      return Response.error();
    case '/text-chunks':
      return new Response(textStream('Grü', 'ße'));
    default: {
      const text = request.body === null ? 'no body' : await request.text();
      return new Response(`${request.method} ${request.url} ${text}`);
    }
  }
}

/** Sends the lines of a request and returns its answer; the connection is closed after it. */
async function ask(first: string, ...lines: string[]) {
  const text = await receivedText(app.send(first, 'Connection: close', ...lines));
  const [head, ...rest] = text.split('\r\n\r\n') as [string, ...string[]];
  return { head: head.toLowerCase(), body: Buffer.from(rest.join('\r\n\r\n'), 'latin1') };
}

/** Joins the chunks of a body with the transfer encoding `chunked`. */
function joinChunks(body: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; ; ) {
    const end = body.indexOf('\r\n', at);
    const size = Number.parseInt(body.toString('latin1', at, end), 16);
    if (size === 0) return Buffer.concat(parts);
    parts.push(body.subarray(end + 2, end + 2 + size));
    at = end + 2 + size + 2;
  }
}

test.for(['/upstream', '/packed'])(
  '[DEV18] the body of %s is sent in the content encoding of its header, or in another that the caller accepts',
  async (path) => {
    const text = path === '/upstream' ? 'unpacked' : 'packed';
    const plain = await ask(`GET ${path} HTTP/1.1`);
    expect(plain.head).toContain('content-encoding: gzip');
    expect(gunzipSync(joinChunks(plain.body)).toString()).toBe(text);
    const brotli = await ask(`GET ${path} HTTP/1.1`, 'Accept-Encoding: gzip;q=0, br');
    expect(brotli.head).toContain('content-encoding: br');
    expect(brotliDecompressSync(joinChunks(brotli.body)).toString()).toBe(text);
    const none = await ask(`GET ${path} HTTP/1.1`, 'Accept-Encoding: identity');
    expect(none.head).not.toContain('content-encoding');
    expect(none.body.toString()).toContain(text);
  },
);

test('[DEV18] a body that the worker has encoded itself is sent as it is', async () => {
  expect(await (await fetch(`${app.address}/by-hand`)).text()).toBe('by hand');
});

test('[DEV19] a body of known length has its content-length; a wrong one of the worker is not sent', async () => {
  const lengthOf = async (path: string) => {
    const response = await fetch(app.address + path);
    const { length } = await response.text();
    return [response.headers.get('content-length'), length];
  };
  expect(await lengthOf('/short')).toEqual(['5', 5]);
  expect(await lengthOf('/long')).toEqual(['20000', 20_000]);
  expect(await lengthOf('/wrong')).toEqual(['11', 11]);
  expect(await lengthOf('/wrong-stream')).toEqual([null, 3]);
  const head = await ask('HEAD /long HTTP/1.1');
  expect(head.body.toString()).toBe('');
});

test.for(['/passed-on', '/made-again'])(
  '[DEV20] a request passed on by %s loses the headers of its connection',
  async (path) => {
    const chunked = await ask(
      `POST ${path} HTTP/1.1`,
      'Transfer-Encoding: chunked',
      'Keep-Alive: timeout=5',
      'TE: trailers',
      '\r\n3\r\nabc\r\n0',
    );
    const { host } = new URL(origin);
    expect(chunked.body.toString()).toContain(`POST ${host} abc, te none, keep-alive none`);
  },
);

test('[DEV21] a path may begin with two slashes', async () => {
  for (const path of ['//', '//stranger.example/a?b', '///a']) {
    expect(await (await fetch(app.address + path)).text()).toBe(
      `GET ${app.address}${path} no body`,
    );
  }
});

test.for(['http://[::1', 'http://x:port/', 'http://'])(
  '[DEV33] the address %s is a 400',
  async (address) => {
    const line = `GET ${address} HTTP/1.1`;
    expect((await ask(line, 'Host: localhost')).head).toContain('400 bad request');
    expect((await ask(line, 'Host: localhost', ...HANDSHAKE)).head).toContain('400 bad request');
  },
);

test('[DEV22] a request has a body if its headers tell of one; TRACE is refused', async () => {
  for (const method of ['DELETE', 'OPTIONS', 'PUT']) {
    const { body } = await ask(`${method} / HTTP/1.1`);
    expect(body.toString()).toContain(`${method} ${app.address}/ no body`);
  }
  const empty = await ask('POST / HTTP/1.1', 'Content-Length: 0');
  expect(empty.body.toString()).toBe(`POST ${app.address}/ `);
  expect((await ask('TRACE / HTTP/1.1')).head).toContain('405 method not allowed');
});

test('[DEV23] an exception of the handler is reported with its stack', async () => {
  const response = await fetch(`${app.address}/throw`);
  expect([response.status, await response.text()]).toEqual([
    500,
    expect.stringContaining('thrown by the worker'),
  ]);
  expect((app.reported.at(-1) as Error).stack).toMatch(/thrown by the worker\n.*http-server/s);
});

test('[DEV24] a request that asks for another protocol than WebSocket is answered as a plain one', async () => {
  const client = app.send(
    'POST /a HTTP/1.1',
    'Connection: Upgrade, HTTP2-Settings',
    'Upgrade: h2c',
    'HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA',
    'Content-Length: 4',
  );
  client.write('BO');
  await setTimeout(20);
  client.write('DYGET /last HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
  const text = await receivedText(client);
  expect(text).toContain(`POST ${app.address}/a BODY`);
  expect(text).toContain('GET http://localhost/last no body');
});

test('[DEV25] Response.error() is a 500 that says so; chunks of text are sent as UTF-8', async () => {
  const failed = await fetch(`${app.address}/error`);
  expect([failed.status, await failed.text()]).toEqual([
    500,
    expect.stringContaining('Response.error()'),
  ]);
  expect(await (await fetch(`${app.address}/text-chunks`)).text()).toBe('Grüße');
});

test('[DEV31] pages of other origins cannot frame the inspector', async () => {
  const { headers } = await fetch(`${app.address}/__ctx-storage`);
  expect(headers.get('content-security-policy')).toBe("frame-ancestors 'self'");
  // The answers of the worker get no such header.
  expect((await fetch(`${app.address}/x`)).headers.has('content-security-policy')).toBe(false);
});

test('[DEV32] a server for every host connects the inspector only under names that no stranger can own', async () => {
  const open = await serveApp({ fetch: answer }, {}, 5000, '0.0.0.0');
  const port = Number(new URL(open.address).port);
  const statusFor = async (host: string) => {
    const lines = [`Host: ${host}`, `Origin: http://${host}`, ...HANDSHAKE];
    const socket = connect(port, '127.0.0.1');
    socket.write(['GET /__ctx-storage HTTP/1.1', ...lines, '', ''].join('\r\n'));
    const [head] = (await once(socket, 'data')) as [Buffer];
    socket.destroy();
    return head.toString('latin1').slice(9, 12);
  };
  for (const host of ['localhost', '127.0.0.1', '192.168.0.7', '[::1]', 'web', 'box.local']) {
    expect([host, await statusFor(`${host}:${port}`)]).toEqual([host, '101']);
  }
  for (const host of ['stranger.example', '127.0.0.1.stranger.example', 'local.example']) {
    expect([host, await statusFor(`${host}:${port}`)]).toEqual([host, '403']);
  }
  await open.close();
});

/** Starts a server whose handler `scheduled` fails for the cron `bad`; `events` lists the events that it got. */
async function serveCrons(host?: string) {
  const events: (string | number)[][] = [];
  const scheduled = (controller: { cron: string; scheduledTime: number; noRetry(): void }) => {
    events.push([controller.cron, controller.scheduledTime]);
    if (controller.cron === 'final') controller.noRetry();
    if (controller.cron === 'bad') throw new Error('bad');
  };
  const handlers = { scheduled, fetch: () => new Response('fetched') };
  const served = await serveApp(handlers, {}, 5000, host);
  return { served, events, port: Number(new URL(served.address).port) };
}

/** Sends a GET with exactly these headers and returns the status of the answer. */
async function statusOf(port: number, path: string, headers: Record<string, string>) {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const socket = connect(port, '127.0.0.1');
  socket.write([`GET ${path} HTTP/1.1`, 'Connection: close', ...lines, '', ''].join('\r\n'));
  return Number((await receivedText(socket)).slice(9, 12));
}

test.each(['/cdn-cgi/handler/scheduled', '/cdn-cgi/local/scheduled'])(
  '[DEV34] %s runs the event of its cron and time, and answers with the outcome, as text or as JSON',
  async (path) => {
    const { served, events } = await serveCrons();
    const ask = async (query: string) => {
      const response = await fetch(served.address + path + query);
      return [response.status, response.headers.get('content-type'), await response.text()];
    };
    const [text, json] = ['text/plain;charset=UTF-8', 'application/json'];
    expect(await ask('?cron=a&time=1000')).toEqual([200, text, 'ok']);
    const final = '{"outcome":"ok","noRetry":true}';
    expect(await ask('?cron=final&time=-5&format=json')).toEqual([200, json, final]);
    const bad = '{"outcome":"exception","noRetry":false}';
    expect(await ask('?cron=bad&time=7&format=json')).toEqual([500, json, bad]);
    expect(await ask('?time=soon')).toEqual([400, text, expect.stringContaining('time is "soon"')]);
    expect(events).toEqual([
      ['a', 1000],
      ['final', -5],
      ['bad', 7],
    ]);
    const before = Date.now();
    await ask('');
    expect(events[3]![0]).toBe('');
    expect(events[3]![1]).toBeGreaterThanOrEqual(before);
    await served.close();
  },
);

test('[DEV35] a page of another origin cannot run a scheduled event; curl, the address bar and pages of the server can', async () => {
  const { served, events, port } = await serveCrons('0.0.0.0');
  const path = '/cdn-cgi/handler/scheduled';
  const host = `localhost:${port}`;
  const browser = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0' };
  const refused = [
    // These come from images, links, forms and frames of another site, or of another port of this machine.
    { host, ...browser, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' },
    { host, ...browser, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' },
    { host, ...browser, 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors' },
    { host, ...browser, origin: 'http://stranger.example' },
    // To these addresses, a browser sends no header that names the page.
    { host: `192.168.0.7:${port}`, ...browser },
    { host: `stranger.example:${port}`, ...browser },
    { host: `127.0.0.1.stranger.example:${port}`, ...browser },
  ];
  for (const headers of refused) {
    expect([headers, await statusOf(port, path, headers)]).toEqual([headers, 403]);
  }
  expect(events).toEqual([]);
  const allowed = [
    { host, 'user-agent': 'curl/8.5.0' },
    { host: `192.168.0.7:${port}`, 'user-agent': 'curl/8.5.0' },
    { host, ...browser, 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' },
    { host, ...browser, 'sec-fetch-site': 'same-origin' },
    // A program, such as a test's client, may send the user-agent of a browser.
    { host: `127.0.0.1:${port}`, ...browser },
    { host, ...browser, origin: `http://${host}` },
  ];
  for (const headers of allowed) {
    expect([headers, await statusOf(port, path, headers)]).toEqual([headers, 200]);
  }
  expect(events).toHaveLength(allowed.length);
  // Requests of all other paths reach the worker.
  expect(await statusOf(port, '/x', refused[0]!)).toBe(200);
  await served.close();
});

test('[DEV36] names under .localhost reach the server, and names that only contain it do not', async () => {
  const { served, port } = await serveCrons();
  const status = (name: string) => statusOf(port, '/', { host: `${name}:${port}` });
  for (const name of ['localhost', 'shop.localhost', 'a.b.localhost']) {
    expect([name, await status(name)]).toEqual([name, 200]);
  }
  for (const name of ['localhost.example', 'xlocalhost', 'shop.localhost.example']) {
    expect([name, await status(name)]).toEqual([name, 403]);
  }
  await served.close();
});

test('[DEV26] a closing server lets requests and waitUntil end, but waits no longer than closeMs', async () => {
  const ended: string[] = [];
  let begun = 0;
  const handlers = (delayMs: number) => ({
    async fetch(_request: Request, _env: object, ctx: ExecutionContext) {
      begun += 1;
      const work = async (name: string) => {
        await setTimeout(delayMs);
        ended.push(name);
      };
      ctx.waitUntil(work('request').then(() => work('waitUntil')));
      await setTimeout(delayMs);
      return new Response('answered');
    },
  });
  const patient = await serveApp(handlers(100));
  const answered = fetch(patient.address);
  await vi.waitFor(() => expect(begun).toBe(1));
  await patient.close();
  expect([await (await answered).text(), ended]).toEqual(['answered', ['request', 'waitUntil']]);
  const hasty = await serveApp(handlers(60_000), {}, 50);
  const cut = expect(fetch(hasty.address)).rejects.toThrow('fetch failed');
  await vi.waitFor(() => expect(begun).toBe(2));
  await hasty.close();
  await cut;
});
