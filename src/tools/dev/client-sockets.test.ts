// Sockets of clients that are lost, break the protocol, or are closed early, at the server of `ctx-storage dev`.

import { once } from 'node:events';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import {
  HANDSHAKE,
  received,
  type ServedApp,
  serveApp,
} from '../../../worker/testing/served-app.ts';

/** Everything that the worker's sockets hear. */
const heard: unknown[] = [];
let decide = () => {};

async function answer(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  if (pathname === '/alive') return new Response('alive');
  if (pathname === '/slow') await new Promise<void>((resolve) => (decide = resolve));
  const [client, socket] = new WebSocketPair();
  socket.accept();
  socket.addEventListener('message', ({ data }) => {
    heard.push(data);
    if (data === 'close') socket.close(4001, 'bye');
  });
  socket.addEventListener('close', ({ code, reason, wasClean }) => {
    heard.push([code, reason, wasClean]);
  });
  return new Response(null, { status: 101, webSocket: client });
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
  heard.length = 0;
  uncaught.length = 0;
});

const alive = async () => (await fetch(`${app.address}/alive`)).text();

const hears = (...events: unknown[]) => vi.waitFor(() => expect(heard).toEqual(events));

test.for<[fault: string, frame: readonly number[]]>([
  ['an unmasked frame', [0x81, 0x01, 0x61]],
  ['text that is not UTF-8', [0x81, 0x81, 0, 0, 0, 0, 0xff]],
])('[DEV14] %s ends its socket, and nothing else', async ([, frame]) => {
  const client = app.send('GET /socket HTTP/1.1', ...HANDSHAKE);
  await once(client, 'data');
  client.write(Uint8Array.from(frame));
  await hears(LOST);
  expect([await alive(), uncaught]).toEqual(['alive', []]);
});

test('[DEV14] a client that is lost while its upgrade is decided, refused or open ends its socket only', async () => {
  const slow = app.send('GET /slow HTTP/1.1', ...HANDSHAKE);
  await vi.waitFor(() => expect(decide).not.toHaveLength(1));
  await once(slow, 'connect');
  slow.resetAndDestroy();
  expect(await alive()).toBe('alive');
  decide();
  await hears(LOST);
  const stranger = app.send('GET / HTTP/1.1\r\nHost: stranger.example', ...HANDSHAKE);
  stranger.resetAndDestroy();
  const open = app.send('GET /socket HTTP/1.1', ...HANDSHAKE);
  await once(open, 'data');
  open.resetAndDestroy();
  await hears(LOST, LOST);
  expect([await alive(), uncaught]).toEqual(['alive', []]);
});

test('[DEV14] a page of the inspector that breaks the protocol ends its socket only', async () => {
  const page = app.send('GET /__ctx-storage HTTP/1.1', ...HANDSHAKE, `Origin: ${app.address}`);
  await once(page, 'data');
  page.write(Uint8Array.from([0x81, 0x01, 0x61]));
  await received(page);
  expect([await alive(), uncaught]).toEqual(['alive', []]);
});

/** A frame of a client, whose mask changes nothing. */
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
  await hears('close', 'late', [4001, '', true]);
  expect(uncaught).toEqual([]);
});
