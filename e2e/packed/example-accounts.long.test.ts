// Who may follow the servers of the examples, and as whom: with the packed package and their own server in Node.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ClientOptions, WebSocket } from 'ws';
import {
  copyExample,
  type ExampleServer,
  removeExample,
  startFollowed,
} from '../package/copied-example.ts';
import { FollowClient, type FollowRoom } from '../workerd/follow/client.ts';

const REFUSED = [4013, 'NOT_AUTHORIZED'];
const PASSWORD = 'correct horse';

let folder: string;
let server: ExampleServer;
const origin = () => server.address.replace(/\/$/, '');

async function start(example: string): Promise<void> {
  folder = await copyExample(example);
  server = await startFollowed(folder);
}

async function stop(): Promise<void> {
  await server?.stop();
  removeExample(folder);
}

function post(path: string, content: unknown, headers: Record<string, string> = {}) {
  const body = JSON.stringify(content);
  const all = { Origin: origin(), ...headers };
  return fetch(`${origin()}${path}`, { method: 'POST', body, headers: all });
}

const signIn = (name: string, password = PASSWORD) => post('/sign-in', { name, password });

/** Signs in, and returns the cookie as a browser sends it. */
async function cookieOf(name: string): Promise<string> {
  const response = await signIn(name);
  expect(response.status).toBe(204);
  return response.headers.get('Set-Cookie')!.split(';')[0]!;
}

/** The object at a path, whose requests have these headers. */
function objectAt(path: string, headers: Record<string, string>): FollowRoom {
  return {
    async fetch() {
      const socket = new WebSocket(`${origin()}${path}`, 'ctx-storage-follow', { headers });
      await new Promise((resolve, reject) => {
        socket.on('open', resolve);
        socket.on('error', reject);
      });
      return { status: 101, webSocket: Object.assign(socket, { accept() {} }) };
    },
    call: () => Promise.reject(new Error('no other caller')),
  };
}

const follow = (path: string, headers: Record<string, string>) =>
  FollowClient.connect(objectAt(path, { Origin: origin(), ...headers }), crypto.randomUUID());

describe.each([
  ['todo', '/list/ann'],
  ['chat', '/room/lobby'],
])('[APP9] the server of %s', (example, path) => {
  beforeAll(() => start(example), 120_000);
  afterAll(stop);

  test('begins a session for the password of the account only, whose cookie pages and other origins cannot use', async () => {
    const first = await signIn('ann');
    const cookie =
      /^session=ann\.([0-9a-f]{64}); HttpOnly; SameSite=Strict; Path=\/; Max-Age=2592000$/;
    expect(first.status).toBe(204);
    const [, token] = cookie.exec(first.headers.get('Set-Cookie')!)!;
    const again = await signIn('ann');
    const [, other] = cookie.exec(again.headers.get('Set-Cookie')!)!;
    expect(other).not.toBe(token);
    const wrong = await signIn('ann', `${PASSWORD}!`);
    expect([wrong.status, wrong.headers.get('Set-Cookie')]).toEqual([401, null]);
    const content = { name: 'ann', password: PASSWORD };
    for (const from of ['null', 'https://evil.example', 'http://localhost:1']) {
      expect((await post('/sign-in', content, { Origin: from })).status).toBe(403);
      expect((await post('/sign-out', null, { Origin: from })).status).toBe(403);
    }
    expect((await fetch(`${origin()}/sign-in`, { method: 'POST', body: '{}' })).status).toBe(403);
  });

  test.each([
    [{ name: 'ann', password: 'short' }],
    [{ name: 'ann', password: 'x'.repeat(201) }],
    [{ name: 'Ann', password: PASSWORD }],
    [{ name: '', password: PASSWORD }],
    [{ name: 'a'.repeat(33), password: PASSWORD }],
    [{ name: 'an\u0430', password: PASSWORD }],
    [{ name: ['ann'], password: PASSWORD }],
    [{ name: 'ann' }],
    [null],
    [7],
  ])('takes no account of %j', async (given) => {
    expect((await post('/sign-in', given)).status).toBe(400);
  });

  test('makes one account of two first passwords, and lets ten be tried, also at the same time', async () => {
    const both = await Promise.all([signIn('new', 'password one'), signIn('new', 'password two')]);
    expect(both.map(({ status }) => status).toSorted()).toEqual([204, 401]);
    expect((await signIn('dan')).status).toBe(204);
    const guesses = Array.from({ length: 10 }, (_, i) => signIn('dan', `${PASSWORD} ${i}`));
    for (const { status } of await Promise.all(guesses)) expect(status).toBe(401);
    expect((await signIn('dan')).status, 'the right password, too late').toBe(401);
  });

  test('is followed in a session only, until the sign-out', async () => {
    const zeros = '0'.repeat(64);
    const cookie = await cookieOf('ann');
    for (const headers of [
      {},
      { Cookie: `session=ann.${zeros}` },
      { Cookie: `session=ben.${cookie.split('.')[1]}` },
      { 'X-Author': 'ann', user: 'ann' },
    ]) {
      const refused = await follow(
        `${path}?user=ann&author=ann`,
        headers as Record<string, string>,
      );
      expect(await refused.closed).toEqual(REFUSED);
    }
    const evil = await follow(path, { Cookie: cookie, Origin: 'http://localhost:1' });
    expect(await evil.closed).toEqual([4016, 'ORIGIN_REFUSED']);
    await (await follow(path, { Cookie: cookie })).hello();
    expect((await post('/sign-out', null, { Cookie: cookie })).status).toBe(204);
    expect(await (await follow(path, { Cookie: cookie })).closed).toEqual(REFUSED);
  });
});

describe('[APP9] the todo list of somebody', () => {
  beforeAll(() => start('todo'), 120_000);
  afterAll(stop);

  test('is followed by nobody else who has signed in', async () => {
    const [ann, ben] = [await cookieOf('ann'), await cookieOf('ben')];
    const list = await (await follow('/list/ann', { Cookie: ann })).hello();
    list.call(1, 'add', ['milk']);
    expect(await list.outcome(1)).toEqual({ kind: 'value', value: undefined });
    expect(await (await follow('/list/ann', { Cookie: ben })).closed).toEqual(REFUSED);
    const own = await (await follow('/list/ben', { Cookie: ben })).hello();
    expect([list.items, own.items]).toEqual([['milk'], []]);
  });
});

describe('[APP9] what somebody says in the chat', () => {
  beforeAll(() => start('chat'), 120_000);
  afterAll(stop);

  test('has the name of the session, whatever the call, the address or a header says', async () => {
    const [ann, ben] = [await cookieOf('ann'), await cookieOf('ben')];
    const heard: { author: string; text: string }[] = [];
    const headers = { Origin: origin(), Cookie: ben, 'X-Author': 'ann' };
    const socket = await enter('/room/lobby?author=ann', { headers });
    socket.on('message', (data) => heard.push(JSON.parse(String(data))));
    const follower = await (
      await follow('/room/lobby', { Cookie: ann, 'X-Author': 'ben' })
    ).hello();
    follower.call(1, 'say', ['hello']);
    follower.call(2, 'say', ['ben', 'not by ben']);
    follower.call(3, 'say', [{ author: 'ben' }]);
    await follower.outcome(2);
    expect(await follower.outcome(3)).toMatchObject({ kind: 'error' });
    socket.send('by a socket');
    await expect
      .poll(() => heard.map(({ author, text }) => [author, text]))
      .toEqual([
        ['ann', 'hello'],
        ['ann', 'ben'],
        ['ben', 'by a socket'],
      ]);
    socket.close();
  });

  test('needs a session, and a page of the server, by a socket as well', async () => {
    const Cookie = await cookieOf('ann');
    for (const headers of [
      { Origin: origin(), 'X-Author': 'ann' },
      { Cookie, Origin: 'http://localhost:1' },
      { Cookie },
    ]) {
      await expect(enter('/room/lobby?author=ann', { headers })).rejects.toThrow('401');
    }
  });
});

/** Enters a room by a plain WebSocket. */
function enter(path: string, options: ClientOptions): Promise<WebSocket> {
  const socket = new WebSocket(`${origin()}${path}`, options);
  return new Promise((resolve, reject) => {
    socket.on('open', () => resolve(socket));
    socket.on('error', reject);
  });
}
