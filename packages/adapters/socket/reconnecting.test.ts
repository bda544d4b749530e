// Sockets that connect again: to objects in this process, and over connections and timers that the test controls.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { WebSocketPair } from '../../../src/shared/calls/sockets/web-socket.ts';
import { storageError } from '../../../src/shared/contract/errors.ts';
import type { ObjectResponse, ObjectWebSocket } from '../../../src/shared/contract/object.ts';
import { createObjects, DurableObject } from '../../../worker/start/entries/node-objects.ts';
import { reconnecting } from './reconnecting.ts';
import { ReconnectingSocket } from './reconnecting-socket.ts';

class Echo extends DurableObject {
  async fetch(request: Request) {
    if (request.headers.get('X-Refused')) return new Response('no', { status: 403 });
    const { 0: client, 1: server } = new WebSocketPair();
    this.ctx.acceptWebSocket(server as never);
    return new Response(null, { status: 101, webSocket: client } as ResponseInit);
  }

  webSocketMessage(socket: ObjectWebSocket, message: string) {
    if (message === 'end') socket.close(4001, 'enough');
    else socket.send(`heard ${message}`);
  }

  reset() {
    this.ctx.abort('in the middle');
  }
}

let objects: Awaited<ReturnType<typeof createObjects<{ Echo: typeof Echo }>>>;
beforeAll(async () => {
  objects = await createObjects({ Echo });
});
afterAll(() => objects.close());

/** Records the events of a socket as texts. */
function eventsOf(socket: ReconnectingSocket): string[] {
  const seen: string[] = [];
  socket.addEventListener('open', () => seen.push('open'));
  socket.addEventListener('message', ({ data }) => seen.push(String(data)));
  socket.addEventListener('error', () => seen.push(`error ${(socket.error as Error).message}`));
  socket.addEventListener('close', ({ code, reason, wasClean }) => {
    seen.push(['close', code, reason, wasClean, socket.readyState].join(' '));
  });
  return seen;
}

test('[SOCK1] [SOCK2] a socket connects again after a reset, sends messages that waited, and closes for good', async () => {
  const stubOf = () => objects.env.Echo.getByName('a');
  const socket = reconnecting(stubOf, 'http://echo/');
  const seen = eventsOf(socket);
  expect([socket.readyState, socket.bufferedAmount]).toEqual([0, 0]);
  socket.send('early');
  expect(socket.bufferedAmount).toBe(5);
  await expect.poll(() => seen).toEqual(['open', 'heard early']);
  expect([socket.readyState, socket.bufferedAmount]).toEqual([1, 0]);
  socket.addEventListener('close', () => socket.readyState === 0 && socket.send('between'));
  await stubOf()
    .reset()
    .catch(() => {});
  const again = ['close 1006  false 0', 'open', 'heard between'];
  await expect.poll(() => seen.slice(2)).toEqual(again);
  socket.send('end');
  await expect.poll(() => seen.slice(5)).toEqual(['close 4001 enough true 3']);
  expect(() => socket.send('late')).toThrow(TypeError);
  expect(socket.error).toBeNull();
});

test('[SOCK2] an object that refuses the socket is an error, and no other connection is made', async () => {
  const stubOf = () => objects.env.Echo.getByName('refusing');
  const socket = reconnecting(stubOf, 'http://echo/', { headers: { 'X-Refused': 'yes' } });
  const seen = eventsOf(socket);
  await expect.poll(() => seen).toHaveLength(2);
  expect(seen[0]).toContain('error reconnecting: the object answered 403 without a socket');
  expect(seen[1]).toBe('close 1006  false 3');
  expect(socket.error).toMatchObject({ code: 'INVALID_ARGUMENT' });
});

/** Makes a socket whose connections and timers the test controls. */
function controlledSocket() {
  const requests: { answer(): ObjectWebSocket; refuse(error: unknown): void }[] = [];
  const timers: { delayMs: number; task: () => void }[] = [];
  const socket = new ReconnectingSocket({
    request: () =>
      new Promise<ObjectResponse>((resolve, reject) => {
        requests.push({
          answer() {
            const [near, far] = new WebSocketPair() as unknown as [
              ObjectWebSocket,
              ObjectWebSocket,
            ];
            far.accept();
            resolve({ status: 101, webSocket: near } as unknown as ObjectResponse);
            return far;
          },
          refuse: reject,
        });
      }),
    after: (delayMs, task) => timers.push({ delayMs, task }),
  });
  return { socket, seen: eventsOf(socket), requests, timers };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));
const LOST = storageError('CONNECTION_CLOSED', 'lost');

test('[SOCK3] requests that fail follow each other at growing pauses, and after ten it gives up', async () => {
  const { socket, seen, requests, timers } = controlledSocket();
  for (let i = 0; i < 10; i++) {
    requests[i]!.refuse(LOST);
    await settled();
    timers[i]?.task();
  }
  expect(timers.map(({ delayMs }) => delayMs)).toEqual([
    ...[0, 100, 200, 400, 800],
    ...[1600, 3200, 5000, 5000],
  ]);
  expect(seen).toEqual(['error lost', 'close 1006  false 3']);
  expect([requests.length, socket.readyState]).toEqual([10, 3]);
});

/** The object's answer with a socket that the test ends. */
class FakeSocket extends EventTarget {
  accept() {}
  close() {}
  message() {
    this.dispatchEvent(new MessageEvent('message', { data: 'hello' }));
  }
  lose() {
    this.dispatchEvent(new CloseEvent('close', { code: 1006 }));
  }
}

test('[SOCK3] a message, and not a connection alone, begins the pauses again; a connection begins the count of failures again', async () => {
  const answers: (FakeSocket | null)[] = [];
  const sockets: FakeSocket[] = [];
  const timers: { delayMs: number; task: () => void }[] = [];
  const socket = new ReconnectingSocket({
    async request() {
      const answer = answers.shift() ?? null;
      if (answer === null) throw LOST;
      sockets.push(answer);
      return { status: 101, webSocket: answer } as unknown as ObjectResponse;
    },
    after: (delayMs, task) => timers.push({ delayMs, task }),
  });
  const next = async (...given: (FakeSocket | null)[]) => {
    for (const answer of given) {
      answers.push(answer);
      timers.at(-1)!.task();
      await settled();
    }
  };
  await settled(); // the first request fails
  await next(...Array<null>(8).fill(null), new FakeSocket());
  sockets[0]!.lose();
  await next(...Array<null>(9).fill(null), new FakeSocket());
  sockets[1]!.message();
  sockets[1]!.lose();
  await next(new FakeSocket());
  expect(timers.map(({ delayMs }) => delayMs)).toEqual([
    ...[0, 100, 200, 400, 800, 1600, 3200, 5000, 5000],
    ...Array<number>(10).fill(5000),
    0,
  ]);
  expect([socket.readyState, socket.error]).toEqual([1, null]);
});

test('[SOCK3] an error that is not `retryable` ends it at once', async () => {
  const { seen, requests, timers } = controlledSocket();
  requests[0]!.refuse(new Error('broken'));
  await settled();
  expect(seen).toEqual(['error broken', 'close 1006  false 3']);
  expect(timers).toEqual([]);
});

test('[SOCK2] messages that wait are copied and at most 1 MiB; then send() is CONNECTION_CLOSED', async () => {
  const { socket, requests } = controlledSocket();
  const bytes = new Uint8Array([1, 2]);
  socket.send(bytes);
  bytes[0] = 9;
  const large = Uint8Array.from({ length: 1_048_570 }, (_, i) => i % 251);
  socket.send(large.buffer);
  socket.send('1234');
  expect(socket.bufferedAmount).toBe(1_048_576);
  expect(() => socket.send('5')).toThrow(expect.objectContaining({ code: 'CONNECTION_CLOSED' }));
  const far = requests[0]!.answer();
  const heard: unknown[] = [];
  far.addEventListener('message', ({ data }) => heard.push(data));
  await expect.poll(() => heard.length).toBe(3);
  expect(new Uint8Array(heard[0] as ArrayBuffer)).toEqual(new Uint8Array([1, 2]));
  expect(Buffer.compare(Buffer.from(heard[1] as ArrayBuffer), large)).toBe(0);
  expect(heard[2]).toBe('1234');
  expect(socket.bufferedAmount).toBe(0);
});

test('[SOCK2] close() while it connects: nothing is sent, and a connection that comes is closed', async () => {
  const { socket, seen, requests, timers } = controlledSocket();
  socket.send('forgotten');
  expect(() => socket.close(1)).toThrow(expect.objectContaining({ name: 'InvalidAccessError' }));
  socket.close();
  socket.close();
  expect([socket.readyState, socket.bufferedAmount, timers.length]).toEqual([3, 0, 1]);
  const far = requests[0]!.answer();
  const heard: unknown[] = [];
  for (const type of ['message', 'close'] as const) {
    far.addEventListener(type, () => heard.push(type));
  }
  await expect.poll(() => heard).toEqual(['close']);
  timers[0]!.task();
  expect(seen).toEqual(['close 1006  false 3']);
});

test('[SOCK1] close() with a code reaches the object, and nothing connects again', async () => {
  const { socket, seen, requests, timers } = controlledSocket();
  const far = requests[0]!.answer();
  const codes: number[] = [];
  far.addEventListener('close', ({ code }) => codes.push(code));
  await expect.poll(() => seen).toEqual(['open']);
  socket.close(4000, 'done');
  expect(socket.readyState).toBe(2);
  await expect.poll(() => seen.slice(1)).toEqual(['close 4000 done true 3']);
  expect([codes, timers]).toEqual([[4000], []]);
});
