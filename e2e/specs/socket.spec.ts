// `ctx-storage/socket`: sockets in tabs whose leader closes, and a page whose front end asks its worker.

import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';
import type { ReconnectingSocket } from '../../packages/adapters/socket/reconnecting.ts';
import { openBlank } from '../browsers/blank-page.ts';
import { expect, test } from '../browsers/fixtures.ts';
import { LONG } from '../browsers/tags.ts';

declare global {
  interface Window {
    socket?: ReconnectingSocket;
  }
}

/** In a page: the events and errors of sockets at this address, the browser’s or routed ones. */
async function useSockets(base: string): Promise<unknown[]> {
  const seen: unknown[] = [];
  const listen = (socket: WebSocket) => {
    const arrived: unknown[] = [];
    const note = (...facts: unknown[]) => seen.push([...facts, socket.readyState]);
    socket.onmessage = () => note('replaced');
    socket.onmessage = ({ data }) => {
      note('message', typeof data === 'string' ? data : data.constructor.name);
      arrived.push(data);
    };
    socket.addEventListener('error', () => note('error'));
    const opened = new Promise<void>((resolve) => {
      socket.onopen = function (this: unknown, { type }) {
        note(type, this === socket, socket.protocol);
        resolve();
      };
    });
    const closed = new Promise<void>((resolve) => {
      socket.addEventListener('close', ({ code, reason, wasClean }) => {
        note('close', code, reason, wasClean);
        resolve();
      });
    });
    const heard = async (count: number) => {
      while (arrived.length < count) {
        await new Promise((resolve) => socket.addEventListener('message', resolve, { once: true }));
      }
    };
    return { opened, closed, heard };
  };
  const attempt = (act: () => void) => {
    try {
      act();
      seen.push('done');
    } catch (error) {
      seen.push((error as DOMException).name);
    }
  };
  const socket = new WebSocket(`${base}/api/echo?a=1`, ['chat', 'other']);
  seen.push([
    socket.readyState,
    socket.binaryType,
    new URL(socket.url).protocol,
    socket.OPEN,
    WebSocket.CLOSED,
  ]);
  seen.push([socket.url.endsWith('/api/echo?a=1'), String(socket), socket.extensions]);
  attempt(() => socket.send('early'));
  const { opened, closed, heard } = listen(socket);
  await opened;
  socket.send('text');
  socket.send(new Uint8Array([1]));
  await heard(2);
  socket.binaryType = 'arraybuffer';
  socket.send(new Blob(['x']));
  socket.send('after the blob');
  await heard(4);
  attempt(() => socket.close(999));
  socket.close(3000, 'done');
  seen.push(socket.readyState);
  attempt(() => socket.send('late'));
  await closed;
  attempt(() => socket.close());
  const ended = new WebSocket(`${base}/api/echo`, 'chat');
  const endedEvents = listen(ended);
  await endedEvents.opened;
  ended.send('end');
  await endedEvents.closed;
  const refused = listen(new WebSocket(`${base}/api/refused`));
  await refused.closed;
  const early = new WebSocket(`${base}/api/echo`, 'chat');
  const earlyEvents = listen(early);
  early.close();
  seen.push(early.readyState);
  await earlyEvents.closed;
  return seen;
}

test('[SOCK5] [SOCK6] a front end asks the page’s worker by fetch and WebSocket; its sockets behave as the browser’s', async ({
  page,
  server,
}) => {
  const network = new WebSocketServer({
    port: 0,
    host: '127.0.0.1',
    verifyClient: ({ req }: { req: IncomingMessage }) => req.url !== '/api/refused',
  });
  network.on('connection', (socket) => {
    socket.on('message', (data, isBinary) => {
      if (String(data) === 'end') socket.close(4001, 'enough');
      else socket.send(data, { binary: isBinary });
    });
  });
  try {
    await openBlank(page, server);
    const { port } = network.address() as AddressInfo;
    const ofBrowser = await page.evaluate(useSockets, `ws://127.0.0.1:${port}`);
    expect(ofBrowser).toHaveLength(20);
    const asked = await page.evaluate(async () => {
      const start = () => new Worker('/e2e/specs/pages/routed-worker.ts', { type: 'module' });
      const connected = window.api.connect<object>(start, { directory: 'routed' });
      const worker = connected.then((objects) => objects.worker);
      window.api.routeToWorker(worker, ({ pathname }) => pathname.startsWith('/api/'));
      const answered = await fetch('/api/a?b', { method: 'POST' });
      const request = await fetch(new Request(new URL('/api/c', location.href)));
      const page = await fetch(location.href);
      return [await answered.text(), await request.text(), (await page.text()).includes('<title>')];
    });
    expect(asked).toEqual(['["POST","/api/a?b"]', '["GET","/api/c"]', true]);
    const ofWorker = await page.evaluate(useSockets, server.origin.replace('http', 'ws'));
    expect(ofWorker).toEqual(ofBrowser);
  } finally {
    for (const socket of network.clients) socket.terminate();
    network.close();
  }
});

test('[SOCK4] a socket goes on when the leading tab closes; a message of the time between arrives', {
  tag: LONG,
}, async ({ context, server }) => {
  const leader = await openBlank(await context.newPage(), server);
  await leader.evaluate(async () => {
    const { env } = await window.api.connectRooms();
    await env.Room.getByName('reconnecting').add(1);
  });
  const follower = await openBlank(await context.newPage(), server);
  await follower.evaluate(async () => {
    const { env } = await window.api.connectRooms();
    const stubOf = () => env.Room.getByName('reconnecting');
    const socket = window.api.reconnecting(stubOf, 'http://room/socket');
    window.socket = socket;
    const seen: string[] = [];
    const show = (text: string) => {
      document.title = [...seen, text].join(', ');
      seen.push(text);
    };
    socket.addEventListener('open', () => show('open'));
    socket.addEventListener('message', ({ data }) => show(String(data)));
    socket.addEventListener('close', ({ code }) => {
      show(`close ${code}`);
      if (socket.readyState === 0) socket.send('between');
    });
    socket.send('one');
  });
  await expect(follower).toHaveTitle('open, heard one');
  await leader.close();
  const through = 'open, heard one, close 1006, open, heard between';
  await expect(follower).toHaveTitle(through);
  await follower.evaluate(() => window.socket!.send('two'));
  await expect(follower).toHaveTitle(`${through}, heard two`);
  await follower.evaluate(() => window.socket!.close(4000, 'done'));
  await expect(follower).toHaveTitle(`${through}, heard two, close 4000`);
});
