// WebSockets of clients at the server of `ctx-storage dev`: lost connections, broken frames, closes and handshakes.

import { once } from 'node:events';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { WebSocket as Client } from 'ws';
import { WebSocketPair } from '../../../src/shared/calls/sockets/web-socket.ts';
import type { DurableObjectState } from '../../../src/shared/contract/object.ts';
import { DurableObject } from '../../../worker/realm/library/base-classes.ts';
import { HANDSHAKE, receivedText, type ServedApp, serveApp } from '../testing/served-app.ts';

/** The messages, errors and closes that the worker's sockets have got. */
const workerEvents: unknown[] = [];
const MIB = 2 ** 20;

/** Accepts sockets, and is busy until it is told to go on. */
class Busy extends DurableObject {
  declare readonly ctx: DurableObjectState;
  heard = 0;
  go = () => {};
  fetch(): Response {
    const [client, socket] = new WebSocketPair();
    this.ctx.acceptWebSocket(socket as never);
    return new Response(null, { status: 101, webSocket: client } as ResponseInit);
  }
  async block(): Promise<void> {
    await this.ctx.blockConcurrencyWhile(
      () => new Promise<void>((resolve) => (freeBusy = resolve)),
    );
  }
  webSocketMessage(): void {
    this.heard += 1;
  }
  count(): number {
    return this.heard;
  }
}
let freeBusy = () => {};

/** Lets the worker answer the pending request for a socket at `/slow`. */
let answerSlow: (() => void) | undefined;

async function answer(request: Request, env: { readonly Busy: BusyNamespace }): Promise<Response> {
  const { pathname } = new URL(request.url);
  const busy = env.Busy.getByName('a');
  if (pathname === '/busy') return busy.fetch(request);
  if (pathname === '/block') {
    void busy.block();
    return new Response('blocked');
  }
  if (pathname === '/count') return Response.json(await busy.count());
  if (pathname === '/alive') return new Response('alive');
  if (pathname === '/refused') {
    const headers = { 'www-authenticate': 'Basic', 'set-cookie': 'a=1' };
    return new Response('not you', { status: 401, statusText: 'Go away', headers });
  }
  if (pathname === '/slow') await new Promise<void>((resolve) => (answerSlow = resolve));
  const [client, socket] = new WebSocketPair();
  socket.accept();
  socket.addEventListener('message', (event) => {
    const { data } = event as MessageEvent<string>;
    workerEvents.push(data);
    if (data === 'close') socket.close(4001, 'bye');
    if (typeof data !== 'string') socket.send(data);
    if (data === 'throw') throw new Error('in a listener');
  });
  socket.addEventListener('error', (event) => workerEvents.push((event as ErrorEvent).message));
  socket.addEventListener('close', (event) => {
    const { code, reason, wasClean } = event as CloseEvent;
    workerEvents.push([code, reason, wasClean]);
  });
  const protocol = new URL(request.url).searchParams.get('protocol');
  const headers = new Headers({ 'x-of-worker': 'yes' });
  if (protocol !== null) headers.set('sec-websocket-protocol', protocol);
  for (const cookie of ['a=1', 'b=2']) headers.append('set-cookie', cookie);
  const init = { status: 101, webSocket: client, headers };
  return new Response(null, init);
}

interface BusyNamespace {
  getByName(name: string): Pick<Busy, 'block'> & {
    fetch(request: Request): Promise<Response>;
    count(): Promise<number>;
  };
}

const LOST = [1006, 'WebSocket disconnected without sending Close frame.', false];

let app: ServedApp;
const uncaught: unknown[] = [];
const note = (error: unknown) => uncaught.push(error);
beforeAll(async () => {
  process.on('uncaughtExceptionMonitor', note);
  app = await serveApp({ fetch: answer }, { Busy });
});
afterAll(async () => {
  process.off('uncaughtExceptionMonitor', note);
  await app.close();
});
beforeEach(() => {
  workerEvents.length = 0;
  uncaught.length = 0;
});

const alive = async () => (await fetch(`${app.address}/alive`)).text();

const expectEvents = (...events: unknown[]) =>
  vi.waitFor(() => expect(workerEvents).toEqual(events));

test.for<[fault: string, frame: readonly number[]]>([
  ['an unmasked frame', [0x81, 0x01, 0x61]],
  ['text that is not UTF-8', [0x81, 0x81, 0, 0, 0, 0, 0xff]],
])('[DEV14] %s ends its socket, and nothing else', async ([, frame]) => {
  const client = app.send('GET /socket HTTP/1.1', ...HANDSHAKE);
  await once(client, 'data');
  client.write(Uint8Array.from(frame));
  await expectEvents(LOST);
  expect([await alive(), uncaught]).toEqual(['alive', []]);
});

test('[DEV14] a client that is lost while its upgrade is decided, refused or open ends its socket only', async () => {
  const slow = app.send('GET /slow HTTP/1.1', ...HANDSHAKE);
  await vi.waitFor(() => expect(answerSlow).toBeDefined());
  slow.resetAndDestroy();
  expect(await alive()).toBe('alive');
  answerSlow!();
  await expectEvents(LOST);
  const stranger = app.send('GET / HTTP/1.1\r\nHost: stranger.example', ...HANDSHAKE);
  stranger.resetAndDestroy();
  const open = app.send('GET /socket HTTP/1.1', ...HANDSHAKE);
  await once(open, 'data');
  open.resetAndDestroy();
  await expectEvents(LOST, LOST);
  expect([await alive(), uncaught]).toEqual(['alive', []]);
});

test('[DEV14] a page of the inspector that breaks the protocol ends its socket only', async () => {
  const page = app.send('GET /__ctx-storage HTTP/1.1', ...HANDSHAKE, `Origin: ${app.address}`);
  await once(page, 'data');
  page.write(Uint8Array.from([0x81, 0x01, 0x61]));
  await receivedText(page);
  expect([await alive(), uncaught]).toEqual(['alive', []]);
});

/** Makes a frame as a client sends it, with a mask of zeros, which leaves the bytes as they are. */
function frame(opcode: number, ...bytes: readonly number[]): Uint8Array {
  return Uint8Array.of(0x80 | opcode, 0x80 | bytes.length, 0, 0, 0, 0, ...bytes);
}

test('[DEV15] messages that arrive after the worker has closed its socket reach it, until the client’s close', async () => {
  const client = app.send('GET /socket HTTP/1.1', ...HANDSHAKE);
  await once(client, 'data');
  client.write(frame(1, ...new TextEncoder().encode('close')));
  const [closed] = await once(client, 'data');
  expect([...closed]).toEqual([0x88, 5, 0x0f, 0xa1, ...new TextEncoder().encode('bye')]);
  client.write(frame(1, ...new TextEncoder().encode('late')));
  client.write(frame(8, 0x0f, 0xa1));
  await expectEvents('close', 'late', [4001, '', true]);
  expect(uncaught).toEqual([]);
});

const clientOf = (path: string, protocols: string[] = []) =>
  new Client(app.address.replace('http', 'ws') + path, protocols);

test.for<[code: number | undefined, reason: string]>([
  [1000, 'done'],
  [1001, 'away'],
  [1009, 'big'],
  [1011, 'failed'],
  [3000, 'own'],
  [undefined, ''],
])('[DEV16] the close of a client with code %s reaches the worker', async ([code, reason]) => {
  const client = clientOf('/socket');
  await once(client, 'open');
  client.close(code, reason);
  await expectEvents([code ?? 1005, reason, true]);
});

test('[DEV16] the client gets the worker’s subprotocol and headers, or its whole answer if it refuses the socket', async () => {
  const chosen = clientOf('/socket?protocol=two', ['one', 'two']);
  const [[{ headers }]] = await Promise.all([once(chosen, 'upgrade'), once(chosen, 'open')]);
  expect([headers['x-of-worker'], headers['set-cookie']]).toEqual(['yes', ['a=1', 'b=2']]);
  expect(chosen.protocol).toBe('two');
  chosen.close();
  const none = clientOf('/socket', ['one']);
  expect(String(await once(none, 'error'))).toContain('Server sent no subprotocol');
  const refused = await receivedText(app.send('GET /refused HTTP/1.1', ...HANDSHAKE));
  expect(refused).toMatch(/^HTTP\/1.1 401 Go away\r\n/);
  expect(refused).toMatch(/^www-authenticate: Basic\r$/im);
  expect(refused).toMatch(/^set-cookie: a=1\r$/im);
  expect(refused).toContain('not you');
});

test('[DEV17] a worker’s listener that throws ends its socket with 1006; the error is reported', async () => {
  const client = clientOf('/socket');
  await once(client, 'open');
  const others = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  try {
    for (const message of ['one', 'throw', 'two']) client.send(message);
    const [[error], [code]] = await Promise.all([
      once(process, 'uncaughtException'),
      once(client, 'close'),
    ]);
    expect([code, String(error)]).toEqual([1006, 'Error: in a listener']);
    expect([await alive(), workerEvents]).toEqual([
      'alive',
      ['one', 'throw', 'Uncaught Error: in a listener'],
    ]);
  } finally {
    for (const listener of others) process.on('uncaughtException', listener);
  }
});

/** Opens a socket, and sends so many messages of 1 MiB on it. */
async function sendMany(path: string, count: number): Promise<Client> {
  const client = new Client(`${app.address.replace('http', 'ws')}${path}`, {
    perMessageDeflate: false,
  });
  await once(client, 'open');
  if (path !== '/busy') client.pause();
  else await fetch(`${app.address}/block`);
  for (let i = 0; i < count; i++) client.send(new Uint8Array(MIB));
  return client;
}

/** Waits until the server takes no more of what the client sends, and returns how much the client has left. */
async function unsentAtRest(client: Client): Promise<number> {
  let before = client.bufferedAmount;
  // Turns of the event loop that server and client share: a busy machine makes them slower, and no fewer.
  for (let turns = 0; turns < 5000; turns++) {
    await new Promise((resolve) => setImmediate(resolve));
    if (client.bufferedAmount !== before) turns = 0;
    before = client.bufferedAmount;
  }
  return before;
}

test('[DEV43] a client is not read while its messages wait for a busy object, and none is lost', {
  tags: 'long',
}, async () => {
  const client = await sendMany('/busy', 40);
  expect(await unsentAtRest(client)).toBeGreaterThan(15 * MIB);
  freeBusy();
  const count = async () => (await fetch(`${app.address}/count`)).json();
  await vi.waitFor(async () => expect(await count()).toBe(40));
  client.terminate();
});

test('[DEV43] a client that does not read what it is sent is not read, and all of it comes once it reads', {
  tags: 'long',
}, async () => {
  const client = await sendMany('/echo', 40);
  expect(await unsentAtRest(client)).toBeGreaterThan(15 * MIB);
  let received = 0;
  client.on('message', () => (received += 1));
  client.resume();
  await vi.waitFor(() => expect(received).toBe(40));
  client.terminate();
});

test('[DEV43] a client that does not answer a close is cut off after two seconds', {
  tags: 'long',
}, async () => {
  const client = app.send('GET /socket HTTP/1.1', ...HANDSHAKE);
  await once(client, 'data');
  const startMs = performance.now();
  client.write(Uint8Array.from([0x81, 0x85, 0, 0, 0, 0, ...Buffer.from('close')]));
  client.resume();
  await once(client, 'close');
  const elapsedMs = performance.now() - startMs;
  expect(elapsedMs).toBeGreaterThan(1900);
  expect(elapsedMs).toBeLessThan(20_000); // `ws` itself waits for 30 s.
});

test('[DEV43] a message of more than 32 MiB closes its socket with 1009', {
  tags: 'long',
}, async () => {
  const client = new Client(`${app.address.replace('http', 'ws')}/socket`, {
    perMessageDeflate: false,
  });
  await once(client, 'open');
  client.send(new Uint8Array(32 * MIB + 1));
  expect((await once(client, 'close'))[0]).toBe(1009);
});
