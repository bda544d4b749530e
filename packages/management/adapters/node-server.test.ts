// Tests the HTTP server over raw sockets: its answers, the requests that it refuses, and when it stops reading.

import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createObjects } from '../../../worker/start/entries/node-objects.ts';
import { ACCOUNT_ID } from '../e2e/provider.ts';
import { ManagementObject } from '../objects/management-object.ts';
import { type ManagementServer, type ServeOptions, serveManagement } from './node-server.ts';

const PAGE_ORIGIN = 'http://localhost:5173';
const MIB = 1_048_576;

async function started(options: Partial<ServeOptions> = {}) {
  const objects = await createObjects({ ManagementObject });
  const namespace = objects.env.ManagementObject;
  const accounts = [{ id: ACCOUNT_ID, name: 'First' }];
  const server = await serveManagement({ namespace, accounts, ...options });
  const close = async () => {
    await server.close();
    await objects.close();
  };
  return { server, close };
}

let server: ManagementServer;
let close: () => Promise<void>;
beforeAll(async () => {
  ({ server, close } = await started({ allowedHosts: ['emulator.test'], cors: [PAGE_ORIGIN] }));
});
afterAll(() => close());

function opened(to: ManagementServer = server): Socket {
  const { hostname, port } = new URL(to.baseUrl);
  return connect(Number(port), hostname);
}

/** Returns everything that the server sends until it closes the connection. */
function untilClosed(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = '';
    socket.setEncoding('utf8');
    socket.on('data', (chunk) => (answer += chunk));
    socket.on('end', () => resolve(answer));
    socket.on('error', reject);
  });
}

/** Sends a request exactly as these lines spell it, and returns the answer. */
function raw(...lines: string[]): Promise<string> {
  const socket = opened();
  socket.write([...lines, 'Connection: close', '', ''].join('\r\n'));
  return untilClosed(socket);
}

function rawPost(headers: readonly string[], body: string): Promise<string> {
  const socket = opened();
  const head = ['POST /client/v4/accounts HTTP/1.1', 'Host: localhost', 'Connection: close'];
  const length = `Content-Length: ${Buffer.byteLength(body)}`;
  socket.write([...head, ...headers, length, '', body].join('\r\n'));
  return untilClosed(socket);
}

function statusOf(answer: string): number {
  return Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]);
}

async function accountNames(): Promise<string[]> {
  const response = await fetch(`${server.baseUrl}/accounts`);
  return (await response.json()).result.map(({ name }: { name: string }) => name);
}

const PATH = '/client/v4/zones';

describe('hosts', () => {
  test.each([
    'localhost',
    'LOCALHOST:8787',
    '127.0.0.1',
    '127.0.0.1:1',
    '127.9.9.9',
    '[::1]',
    '[::1]:8787',
    '[0:0:0:0:0:0:0:1]',
    'emulator.test:8787',
  ])('[MG44] the server answers to the host %s', async (host) => {
    expect(statusOf(await raw(`GET ${PATH} HTTP/1.1`, `Host: ${host}`))).toBe(200);
  });

  test.each([
    'evil.example',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    '127.evil.example',
    '10.0.0.1',
    '[::2]',
    'sub.emulator.test',
  ])('[MG44] the host %s is refused on every path, and not repeated in a link', async (host) => {
    for (const path of [PATH, '/client/v4/user/billing/profile', '/emulator/schedule']) {
      const answer = await raw(`GET ${path} HTTP/1.1`, `Host: ${host}`);
      expect(statusOf(answer)).toBe(403);
      expect(answer).toContain('"code":1421');
      expect(answer).not.toMatch(/^link:/im);
      expect(answer).not.toContain(`http://${host}`);
    }
  });

  test('[MG44] a target with a host of its own counts as that host', async () => {
    const absolute = (host: string) => raw(`GET http://${host}${PATH} HTTP/1.1`, 'Host: localhost');
    expect(statusOf(await absolute('localhost'))).toBe(200);
    expect(statusOf(await absolute('evil.example'))).toBe(403);
  });

  test('[MG44] an invalid host is refused at the start', async () => {
    const namespace = { getByName: () => never() };
    for (const allowedHosts of [['a b'], ['http://x'], ['']]) {
      await expect(serveManagement({ namespace, allowedHosts })).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
    }
  });
});

describe('raw faults', () => {
  test.each(['Host: a b', 'Host:', 'Host: user@localhost', 'Host: localhost:x', 'X: no host'])(
    '[MG49] a request with the header “%s” is 400',
    async (header) => {
      expect(statusOf(await raw(`GET ${PATH} HTTP/1.1`, header))).toBe(400);
    },
  );

  test('[MG2] HEAD has the head of the answer to GET, and no body', async () => {
    const gone = '/client/v4/user/billing/profile';
    const answer = await raw(`HEAD ${gone} HTTP/1.1`, 'Host: localhost');
    expect(statusOf(answer)).toBe(410);
    expect(answer).toMatch(/\r\n\r\n$/);
    const headOf = (text: string) =>
      text
        .slice(0, text.indexOf('\r\n\r\n'))
        .split('\r\n')
        .filter((line) => !/^(?:date|content-length|transfer-encoding):/i.test(line));
    const get = await raw(`GET ${gone} HTTP/1.1`, 'Host: localhost');
    expect(headOf(get).join('\n')).toMatch(/^sunset: Tue, 06 Jun 2023/im);
    expect(headOf(answer)).toEqual(headOf(get));
  });

  test('[MG49] bytes that are not a request are 400, and end the connection', async () => {
    const socket = opened();
    const answer = untilClosed(socket);
    socket.write('\0\x01 not HTTP\r\n\r\n');
    expect(statusOf(await answer)).toBe(400);
  });

  test('[MG50] a head of more than 16 KiB is 431', async () => {
    const long = `${PATH}?name=${'x'.repeat(16_384)}`;
    expect(statusOf(await raw(`GET ${long} HTTP/1.1`, 'Host: localhost'))).toBe(431);
    const statusWith = async (bytes: number) =>
      statusOf(await raw(`GET ${PATH} HTTP/1.1`, 'Host: localhost', `X: ${'x'.repeat(bytes)}`));
    expect([await statusWith(16_000), await statusWith(16_384)]).toEqual([200, 431]);
  });

  test('[MG49] two Host headers are 400', async () => {
    const answer = await raw(`GET ${PATH} HTTP/1.1`, 'Host: localhost', 'Host: evil.example');
    expect(statusOf(answer)).toBe(400);
  });

  test.each([
    ['GET //', 404],
    ['GET //evil.example/x', 404],
    ['GET /%', 404],
    ['GET http://[', 400],
    ['GET client', 400],
    ['OPTIONS *', 400],
    [`TRACE ${PATH}`, 405],
    ['CONNECT localhost:80', 405],
    [`PROPFIND ${PATH}`, 405],
  ])('[MG49] %s is answered with %i', async (request, status) => {
    expect(statusOf(await raw(`${request} HTTP/1.1`, 'Host: localhost'))).toBe(status);
  });
});

describe('origins', () => {
  const MADE = JSON.stringify({ name: 'By a page' });
  const JSON_TYPE = 'Content-Type: application/json';

  test.each(['https://evil.example', 'http://localhost:5174', 'null', 'http://localhost:5173/'])(
    '[MG44] the foreign origin %s is refused and changes nothing',
    async (origin) => {
      const answer = await rawPost([JSON_TYPE, `Origin: ${origin}`], MADE);
      expect(statusOf(answer)).toBe(403);
      expect(answer).toContain('"code":1403');
      expect(answer).not.toMatch(/^access-control-/im);
      expect(await accountNames()).not.toContain('By a page');
    },
  );

  test("[MG44] the server's own origin and a named one may write; the named one may read", async () => {
    const own = await rawPost([JSON_TYPE, 'Origin: http://localhost'], '{"name":"By its own"}');
    expect(statusOf(own)).toBe(200);
    expect(own).not.toMatch(/^access-control-/im);
    const named = await rawPost([JSON_TYPE, `Origin: ${PAGE_ORIGIN}`], '{"name":"By a friend"}');
    expect(statusOf(named)).toBe(200);
    expect(named).toMatch(/^access-control-allow-origin: http:\/\/localhost:5173\r$/im);
    expect(named).toMatch(/^vary: origin\r$/im);
    expect(named).toMatch(/^access-control-expose-headers: .*Deprecation, Link, Sunset\r$/im);
  });

  test('[MG44] a preflight of a named origin is granted, of another refused', async () => {
    const ask = (origin: string) =>
      raw(
        `OPTIONS ${PATH} HTTP/1.1`,
        'Host: localhost',
        `Origin: ${origin}`,
        'Access-Control-Request-Method: PATCH',
        'Access-Control-Request-Headers: authorization,content-type',
      );
    const granted = await ask(PAGE_ORIGIN);
    expect(statusOf(granted)).toBe(204);
    expect(granted).toMatch(/^access-control-allow-origin: http:\/\/localhost:5173\r$/im);
    expect(granted).toMatch(/^access-control-allow-methods: .*PATCH/im);
    expect(granted).toMatch(/^access-control-allow-headers: authorization,content-type\r$/im);
    const refused = await ask('https://evil.example');
    expect(statusOf(refused)).toBe(403);
    expect(refused).not.toMatch(/^access-control-/im);
  });

  test('[MG44] an invalid origin is refused at the start', async () => {
    const namespace = { getByName: () => never() };
    for (const cors of [['*'], ['localhost:5173'], ['http://localhost:5173/'], ['null']]) {
      await expect(serveManagement({ namespace, cors })).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
    }
  });
});

describe('bodies', () => {
  const BODY = JSON.stringify({ name: 'Of a kind' });

  test.each(['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', ''])(
    '[MG4] a body of type "%s" is 415 and changes nothing',
    async (type) => {
      const answer = await rawPost(type === '' ? [] : [`Content-Type: ${type}`], BODY);
      expect(statusOf(answer)).toBe(415);
      expect(answer).toContain('"code":1415');
      expect(await accountNames()).not.toContain('Of a kind');
    },
  );

  test('[MG4] JSON in any spelling and multipart forms are read', async () => {
    const types = ['application/json', 'Application/JSON; charset=utf-8', 'application/x+json'];
    for (const type of types) {
      expect(statusOf(await rawPost([`Content-Type: ${type}`], BODY))).toBe(200);
    }
    const form = new FormData();
    form.set('requireSignedURLs', 'true');
    const path = `/accounts/${ACCOUNT_ID}/images/v2/direct_upload`;
    const sent = await fetch(`${server.baseUrl}${path}`, { method: 'POST', body: form });
    expect(sent.status).toBe(200);
  });

  test('[MG4] a body announced as too long is 413 before a byte of it arrives', async () => {
    const socket = opened();
    const head = ['POST /client/v4/accounts HTTP/1.1', 'Host: localhost', 'Connection: close'];
    const type = 'Content-Type: application/json';
    socket.write([...head, type, `Content-Length: ${700 * MIB}`, '', ''].join('\r\n'));
    const answer = await untilClosed(socket);
    expect(statusOf(answer)).toBe(413);
    expect(answer).toContain('"code":1416');
  });

  test('[MG4] a body that grows too long is 413 while it still arrives', async () => {
    const socket = opened();
    const head = ['POST /client/v4/accounts HTTP/1.1', 'Host: localhost', 'Connection: close'];
    const chunked = ['Content-Type: application/json', 'Transfer-Encoding: chunked'];
    const answer = untilClosed(socket);
    socket.write([...head, ...chunked, '', ''].join('\r\n'));
    for (let sentMib = 0; sentMib < 2; sentMib++) {
      socket.write(`${MIB.toString(16)}\r\n${' '.repeat(MIB)}\r\n`);
    }
    expect(statusOf(await answer)).toBe(413);
  });

  test.each([
    ['announced', `Content-Length: ${3 * MIB}\r\n\r\n`, ' '.repeat(3 * MIB)],
    [
      'that grows',
      'Transfer-Encoding: chunked\r\n\r\n',
      `${`${MIB.toString(16)}\r\n${' '.repeat(MIB)}\r\n`.repeat(3)}0\r\n\r\n`,
    ],
  ])(
    '[MG4] the rest of a long body %s is discarded: the next request is answered',
    async (_, type, body) => {
      const socket = opened();
      const answers = untilClosed(socket);
      socket.write('POST /client/v4/accounts HTTP/1.1\r\nHost: localhost\r\n');
      socket.write(`Content-Type: application/json\r\n${type}${body}`);
      socket.write(`GET ${PATH} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
      expect((await answers).match(/^HTTP\/1\.1 \d+/gm)).toEqual(['HTTP/1.1 413', 'HTTP/1.1 200']);
    },
  );

  test('[MG4] a client that waits to be told to go on learns that its body is too long', async () => {
    const ask = async (bytes: number) => {
      const socket = opened();
      const head = ['POST /client/v4/accounts HTTP/1.1', 'Host: localhost', 'Connection: close'];
      const expects = ['Content-Type: application/json', 'Expect: 100-continue'];
      socket.write([...head, ...expects, `Content-Length: ${bytes}`, '', ''].join('\r\n'));
      const [first] = (await new Promise<Buffer>((resolve) => socket.once('data', resolve)))
        .toString()
        .split('\r\n');
      socket.destroy();
      return first;
    };
    expect(await ask(100)).toMatch(/^HTTP\/1\.1 100 /);
    expect(await ask(2 * MIB)).toMatch(/^HTTP\/1\.1 413 /);
  });
});

describe('time', () => {
  test('[MG48] half a request is ended, its head or its body', { tags: 'long' }, async () => {
    const limits = { headersTimeoutMs: 200, requestTimeoutMs: 400 };
    const slow = await started({ limits });
    const head = 'POST /client/v4/accounts HTTP/1.1\r\nHost: localhost\r\n';
    const halves = [head, `${head}Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{`];
    for (const half of halves) {
      const socket = opened(slow.server);
      socket.write(half);
      expect(statusOf(await untilClosed(socket))).toBe(408);
    }
    await slow.close();
  });

  test('[MG48] connections beyond the bound are closed, those within it are answered', async () => {
    const few = await started({ limits: { connectionsMax: 1 } });
    const held = opened(few.server);
    held.write(`GET ${PATH} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    await new Promise((resolve) => held.once('data', resolve));
    const more = opened(few.server);
    more.on('error', () => {});
    await new Promise((resolve) => more.once('close', resolve));
    held.destroy();
    await few.close();
  });
});

function never(): never {
  throw new Error('No object is called.');
}
