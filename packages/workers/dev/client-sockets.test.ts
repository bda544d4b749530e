// WebSockets of clients at the server of `ctx-storage dev`: lost connections, broken frames, closes and handshakes.

import { once } from 'node:events';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { WebSocket as Client } from 'ws';
import { WebSocketPair } from '../../../src/shared/calls/sockets/web-socket.ts';
import { HANDSHAKE, receivedText, type ServedApp, serveApp } from '../testing/served-app.ts';

/** The messages, errors and closes that the worker's sockets have got. */
const workerEvents: unknown[] = [];
/** Lets the worker answer the pending request for a socket at `/slow`. */
let answerSlow: (() => void) | undefined;

async function answer(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
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

const LOST = [1006, 'WebSocket disconnected without sending Close frame.', false];

let app: ServedApp;
const uncaught: unknown[] = [];
const note = (error: unknown) => uncaught.push(error);
beforeAll(async () => {
  process.on('uncaughtExceptionMonitor', note);
  app = await serveApp({ fetch: answer });
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
