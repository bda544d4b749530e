// Tests the paced server over raw sockets: how many requests of a connection wait at most, and that other connections
// are not delayed.

import type { IncomingMessage, Server, ServerOptions, ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, expect, test } from 'vitest';
import { createPacedServer } from './paced-server.ts';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

type Answer = (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void>;

/** Starts a server, and records how many requests it has begun and how many of a connection were unanswered at once. */
async function started(answer: Answer, options: ServerOptions = {}) {
  const server = createPacedServer(
    { insecureHTTPParser: true, ...options },
    { answer, refuseTunnel: 'HTTP/1.1 405 No\r\nConnection: close\r\n\r\n' },
  );
  servers.push(server);
  const outstanding = new Map<object, number>();
  const seen = { most: 0, begun: 0 };
  server.prependListener('request', ({ socket }: IncomingMessage, outgoing: ServerResponse) => {
    const now = (outstanding.get(socket) ?? 0) + 1;
    outstanding.set(socket, now);
    seen.begun += 1;
    seen.most = Math.max(seen.most, now);
    outgoing.once('finish', () => outstanding.set(socket, outstanding.get(socket)! - 1));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { server, seen, open: () => connect(port, '127.0.0.1').on('error', () => {}) };
}

/** Resolves with everything that has arrived, once it contains the mark `times` times. */
function arrived(socket: Socket, mark: string, times: number): Promise<string> {
  return new Promise((resolve) => {
    const chunks: string[] = [];
    let count = 0;
    let tail = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      chunks.push(chunk);
      count += (tail + chunk).split(mark).length - 1;
      tail = (tail + chunk).slice(1 - mark.length);
      if (count >= times) resolve(chunks.join(''));
    });
  });
}

function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
const END = '\nend\n';

test('[MG48] while a connection has 60,000 requests, at most the bound waits, and another is answered', {
  tags: 'long',
}, async () => {
  const first = gate();
  const { seen, open } = await started(async ({ url }, outgoing) => {
    if (url === '/held/0') await first.opened;
    outgoing.end(`${url}${END}`);
  });
  const many = open();
  const all = arrived(many, END, 60_000);
  many.write(Array.from({ length: 60_000 }, (_, index) => get(`/held/${index}`)).join(''));
  for (let i = 0; i < 20; i++) {
    const other = open();
    other.write(get('/other'));
    expect(await arrived(other, END, 1)).toContain('/other\n');
    other.destroy();
  }
  first.open();
  const paths = [...(await all).matchAll(/^(\/held\/\d+)$/gm)].map(([path]) => path);
  expect(paths).toEqual(Array.from({ length: 60_000 }, (_, index) => `/held/${index}`));
  expect(seen.most).toBeGreaterThan(1);
  expect(seen.most).toBeLessThanOrEqual(64);
});

test('[MG48] the shortest requests do not exceed the bound either', async () => {
  const first = gate();
  const { seen, open } = await started(async ({ url }, outgoing) => {
    if (url === '/held') await first.opened;
    outgoing.end(END);
  });
  const many = open();
  const all = arrived(many, END, 2);
  many.write(get('/held') + 'GET /\n\n'.repeat(5000));
  for (let i = 0; i < 100; i++) {
    const other = open();
    other.write(get('/other'));
    await arrived(other, END, 1);
    other.destroy();
  }
  first.open();
  await all;
  expect(seen.most).toBeGreaterThan(32);
  expect(seen.most).toBeLessThanOrEqual(64);
});

test('[MG48] a client that reads no answers gets few, and the rest once it reads', {
  tags: 'long',
}, async () => {
  const answer = 'x'.repeat(10_000) + END;
  const { seen, open } = await started(async (_, outgoing) => void outgoing.end(answer));
  const silent = open().pause();
  silent.write(get('/').repeat(5000));
  for (let i = 0; i < 100; i++) {
    const other = open();
    other.write(get('/'));
    await arrived(other, END, 1);
    other.destroy();
  }
  expect(seen.begun).toBeLessThan(5000);
  await arrived(silent.resume(), END, 5000);
  expect(seen.most).toBeLessThanOrEqual(64);
});

test('[MG48] bodies between pipelined requests are read in turn', { tags: 'long' }, async () => {
  const { open } = await started(async (incoming, outgoing) => {
    const body = await text(incoming);
    outgoing.end(`${incoming.url} ${body.length} ${new Set(body).size}${END}`);
  });
  const socket = open();
  const sizes = [0, 1, 255, 256, 257, 100_000, 3];
  const all = arrived(socket, END, 50 * sizes.length);
  for (let round = 0; round < 50; round++) {
    for (const size of sizes) {
      const head = `POST /${size} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${size}\r\n\r\n`;
      socket.write(head + String(size % 10).repeat(size));
    }
  }
  const lines = [...(await all).matchAll(/^\/(\d+) (\d+) ([01])$/gm)].map(([line]) => line);
  const wanted = sizes.map((size) => `/${size} ${size} ${size === 0 ? 0 : 1}`);
  expect(lines).toEqual(Array.from({ length: 50 }, () => wanted).flat());
});

test('[MG48] requests that wait are not performed once their connection has ended', async () => {
  const [begun, held] = [gate(), gate()];
  const performed: string[] = [];
  const { server, open } = await started(async ({ url }, outgoing) => {
    performed.push(url!);
    if (url !== '/other') {
      begun.open();
      await new Promise<void>((resolve) => outgoing.once('close', resolve));
      held.open();
    }
    outgoing.end(END);
  });
  const socket = open();
  socket.write(get('/1') + get('/2') + get('/3'));
  await begun.opened;
  socket.resetAndDestroy();
  await held.opened;
  const other = open();
  other.write(get('/other'));
  await arrived(other, END, 1);
  expect(performed).toEqual(['/1', '/other']);
  expect(server.listening).toBe(true);
});

test('[MG48] an answer that fails ends its connection alone', async () => {
  const { open } = await started(async ({ url }, outgoing) => {
    if (url === '/bad') throw new Error('It fails.');
    outgoing.end(END);
  });
  const [bad, good] = [open(), open()];
  bad.write(get('/bad') + get('/'));
  await new Promise((resolve) => bad.once('close', resolve));
  good.write(get('/'));
  await arrived(good, END, 1);
});

test('[MG49] CONNECT after other requests is answered after them', async () => {
  const { open } = await started(async (_, outgoing) => void outgoing.end(`ok${END}`));
  const socket = open();
  const closed = new Promise((resolve) => socket.once('close', resolve));
  const answers = arrived(socket, 'HTTP/1.1 405 No', 1);
  socket.write(`${get('/')}${get('/')}CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n`);
  expect((await answers).match(/^HTTP\/1\.1 \d+|ok$/gm)).toEqual([
    'HTTP/1.1 200',
    'ok',
    'HTTP/1.1 200',
    'ok',
    'HTTP/1.1 405',
  ]);
  socket.end();
  await closed;
});

test('[MG48] a connection that sends nothing is ended, before its first request and after it', {
  tags: 'long',
}, async () => {
  const { open } = await started(async (_, outgoing) => void outgoing.end(END), {
    headersTimeout: 100,
    requestTimeout: 100,
    keepAliveTimeout: 100,
    connectionsCheckingInterval: 20,
  });
  const [silent, idle] = [open(), open()];
  const ended = [silent, idle].map(
    (socket) => new Promise((resolve) => socket.resume().once('close', resolve)),
  );
  idle.write(get('/'));
  await Promise.all(ended);
});
