// Classes of other shapes than the room of the other tests: with every handler, with none, with sockets of their own.

import { expect, onTestFinished, test, vi } from 'vitest';
import {
  FOLLOW_PING,
  FOLLOW_PONG,
  FOLLOW_SUBPROTOCOL,
} from '../../../packages/follow/protocol/connection.ts';
import { followable } from '../../../packages/follow/server/index.ts';
import type { DurableObjectState, ObjectWebSocket } from '../../../src/shared/contract/object.ts';
import { DurableObject } from '../../../worker/realm/library/base-classes.ts';
import { createObjects, evictDurableObject } from '../../../worker/start/entries/node-objects.ts';
import { FollowClient, type FollowRoom, type TalkSocket } from './client.ts';

type ObjectClass = new (ctx: never, env: never) => object;

/** Makes a followed object of the class. Its methods are called as another object would call them. */
async function roomOf(Class: ObjectClass, options: Record<string, unknown> = {}) {
  const Followed = followable(
    Class as never,
    {
      authorize: (request: Request) => request.headers.get('user') ?? 'somebody',
      methods: [],
      version: 3,
      ...options,
    } as never,
  );
  const { env, storage, close } = await createObjects({ Room: Followed as never });
  onTestFinished(() => close());
  const stub = (env as { Room: { getByName(name: string): unknown } }).Room.getByName(
    'a',
  ) as Record<string, (...args: unknown[]) => Promise<never>>;
  const room: FollowRoom & { evict(): Promise<void> } = {
    fetch: (headers) => stub.fetch!('https://room/', { headers }),
    call: async (method, ...args) => await stub[method]!(...args),
    evict: () => evictDurableObject(stub as never),
  };
  const follow = async (name: string) => (await FollowClient.connect(room, name)).hello();
  const handle = () => storage(stub as never);
  return { room, follow, storage: handle, Followed: Followed as Function };
}

const value = (of: unknown) => ({ kind: 'value', value: of });
const errorOf = (code: string, text: RegExp) => ({
  kind: 'error',
  error: expect.objectContaining({ code, message: expect.stringMatching(text) }),
});

/** Has every handler, and remembers which were called. */
class Hub extends DurableObject {
  declare readonly ctx: DurableObjectState;
  readonly heard: unknown[][] = [];
  fetch(request: Request): Response {
    if (request.headers.get('upgrade') === null) return new Response('own');
    const { 0: client, 1: server } = new (
      globalThis as unknown as { WebSocketPair: new () => ObjectWebSocket[] }
    ).WebSocketPair() as unknown as [ObjectWebSocket, ObjectWebSocket];
    const tags = request.headers.get('tags');
    if (tags === null) this.ctx.acceptWebSocket(server);
    else this.ctx.acceptWebSocket(server, tags.split(','));
    return new Response(null, { status: 101, webSocket: client } as ResponseInit);
  }
  webSocketMessage(_: ObjectWebSocket, message: unknown) {
    this.heard.push(['message', message]);
  }
  webSocketClose(_: ObjectWebSocket, ...rest: unknown[]) {
    this.heard.push(['close', ...rest]);
  }
  webSocketError(_: ObjectWebSocket, error: unknown) {
    this.heard.push(['error', String(error)]);
  }
  told() {
    return this.heard;
  }
  sockets(tag?: string) {
    return this.ctx.getWebSockets(...(tag === undefined ? [] : [tag])).length;
  }
  add(name: string) {
    this.ctx.storage.sql.exec('CREATE TABLE IF NOT EXISTS item (name)');
    this.ctx.storage.sql.exec('INSERT INTO item VALUES (?)', name);
  }
  names() {
    return [...this.ctx.storage.sql.exec('SELECT name FROM item').raw()].flat();
  }
  /** Lists sockets through the runtime, which includes those of followers. */
  breakAll() {
    const sockets: ObjectWebSocket[] = Object.getPrototypeOf(this.ctx).getWebSockets.call(this.ctx);
    for (const socket of sockets) this.webSocketError(socket, new Error('broken'));
    return sockets.length;
  }
  automatic() {
    return this.ctx.getWebSocketAutoResponse()?.request ?? null;
  }
  answer(request: string | null) {
    const Pair = (globalThis as unknown as Record<string, new (...pair: string[]) => never>)
      .WebSocketRequestResponsePair!;
    if (request === null) this.ctx.setWebSocketAutoResponse();
    else this.ctx.setWebSocketAutoResponse(new Pair(request, `${request}!`));
  }
}

test('[FOLS1] [FOLS11] sockets of the class reach all its handlers, and those of followers none', async () => {
  const { room, follow } = await roomOf(Hub);
  const follower = await follow('A');
  const { webSocket } = await room.fetch({ upgrade: 'websocket' });
  const own = webSocket as TalkSocket & { close(code: number, reason: string): void };
  own.accept();
  own.send('hi');
  await vi.waitUntil(async () => ((await room.call('told')) as unknown[]).length === 1);
  expect(await room.call('breakAll')).toBe(2);
  follower.close();
  own.close(4321, 'over');
  await vi.waitUntil(async () => ((await room.call('told')) as unknown[]).length === 3);
  expect(await room.call('told')).toEqual([
    ['message', 'hi'],
    ['error', 'Error: broken'],
    ['close', 4321, 'over', true],
  ]);
});

test('[FOLS12] a connection that broke is told nothing more, and the others are', async () => {
  const { room, follow } = await roomOf(Hub, { methods: ['add'] });
  const follower = await follow('A');
  await follower.nextOf('cut');
  await room.call('breakAll');
  const other = await follow('B');
  await room.call('add', 'y');
  await other.untilItems('y');
  follower.call(1, 'add', ['x']);
  other.call(1, 'add', ['z']);
  await other.untilItems('y', 'z');
  expect(follower.items).toEqual([]);
});

test('[FOLP27] a handle of an object that has followers does not write', async () => {
  const { storage } = await roomOf(Hub);
  const handle = await storage();
  await expect(handle.put('key', 1)).rejects.toMatchObject({ code: 'READ_ONLY' });
  expect(await handle.get('key')).toBeUndefined();
});

test('[FOLS1] a class without handlers takes no harm from sockets of its own', async () => {
  class Plain extends DurableObject {
    declare readonly ctx: DurableObjectState;
    socket: TalkSocket | null = null;
    open() {
      const { 0: client, 1: server } = new (
        globalThis as unknown as { WebSocketPair: new () => ObjectWebSocket[] }
      ).WebSocketPair() as unknown as [TalkSocket, ObjectWebSocket];
      this.ctx.acceptWebSocket(server);
      this.socket = client;
      client.accept();
      client.send('hi');
    }
    tell() {
      const [socket] = this.ctx.getWebSockets();
      (this as unknown as Hub).webSocketMessage(socket!, 'hi');
      (this as unknown as Hub).webSocketError(socket!, new Error('broken'));
      (this as unknown as Hub).webSocketClose(socket!, 1000, '', true);
      return 'well';
    }
  }
  const reported = vi.spyOn(console, 'error').mockImplementation(() => {});
  onTestFinished(() => reported.mockRestore());
  const { room, Followed } = await roomOf(Plain);
  await room.call('open');
  expect(await room.call('tell')).toBe('well');
  expect(reported).not.toHaveBeenCalled();
  expect(Followed.name).toBe('Plain');
  await expect(room.fetch({})).rejects.toMatchObject({
    code: 'UNKNOWN_METHOD',
    message: expect.stringMatching(/class Plain has no method fetch\(\)/),
  });
});

test.each([
  ['WebSocket', `a-token , ${FOLLOW_SUBPROTOCOL}`, true],
  ['websocket', FOLLOW_SUBPROTOCOL, true],
  ['websocket', `${FOLLOW_SUBPROTOCOL}er`, false],
  ['websocket', null, false],
  [null, FOLLOW_SUBPROTOCOL, false],
])(
  '[FOLS1] a request with Upgrade %s and the protocols %s follows: %s',
  async (upgrade, protocols, follows) => {
    const { room } = await roomOf(Hub);
    const headers = {
      ...(upgrade !== null && { upgrade }),
      ...(protocols !== null && { 'sec-websocket-protocol': protocols }),
    };
    const answer = (await room.fetch(headers)) as unknown as Response;
    const chosen = answer.headers.get('sec-websocket-protocol');
    expect(chosen).toBe(follows ? FOLLOW_SUBPROTOCOL : null);
    expect(await room.call('sockets')).toBe(follows || upgrade === null ? 0 : 1);
  },
);

test('[FOLS3] authorize gets the request, the bindings and the id, and its fault is that of the request', async () => {
  const asked: unknown[] = [];
  const answers: unknown[] = ['somebody', false, '', 7];
  const authorize = (request: Request, { env, id }: { env: object; id: object }) => {
    asked.push([request.headers.get('user'), Object.keys(env), String(id).length]);
    if (answers.length === 0) throw new Error('no session');
    return answers.shift();
  };
  const { room } = await roomOf(Hub, { authorize });
  await FollowClient.connect(room, 'A');
  const refused = await FollowClient.connect(room, 'A');
  expect(await refused.closed).toEqual([4013, 'NOT_AUTHORIZED']);
  for (const _ of ['an empty text', 'a number']) {
    await expect(FollowClient.connect(room, 'A')).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  }
  await expect(FollowClient.connect(room, 'A')).rejects.toThrow('no session');
  expect(asked).toEqual(Array.from({ length: 5 }, () => ['A', ['Room'], 64]));
});

test('[FOLS3] [FOLS6] whoever follows one object neither follows nor changes another one', async () => {
  const options = {
    authorize: (_: Request, { id }: { id: object }) => (String(id) === String(own) ? 'ann' : null),
    methods: ['add'],
    version: 1,
  };
  const { env, close } = await createObjects({ Room: followable(Hub, options as never) as never });
  onTestFinished(() => close());
  const rooms = (env as unknown as { Room: RoomNamespace }).Room;
  const own = rooms.idFromName('a');
  const at = (name: string) => rooms.getByName(name);
  const object = (name: string): FollowRoom => ({
    fetch: (headers) => at(name).fetch!(`https://room/?user=ann&name=a`, { headers }),
    call: (method, ...args) => at(name)[method]!(...args),
  });
  const other = await FollowClient.connect(object('b'), 'A', 'ann');
  expect(await other.closed).toEqual([4013, 'NOT_AUTHORIZED']);
  const ann = await (await FollowClient.connect(object('a'), 'A', 'ann')).hello();
  ann.call(1, 'add', ['mine']);
  await ann.outcome(1);
  ann.call(2, 'b.add', ['theirs']);
  expect(await ann.outcome(2)).toMatchObject({ kind: 'error' });
  await at('b').add!('its own');
  expect(await at('b').names!()).toEqual(['its own']);
});

interface RoomNamespace {
  idFromName(name: string): object;
  getByName(name: string): Record<string, (...args: unknown[]) => Promise<never>>;
}

test('[FOLS11] the tag of followers is not for the class; its own tags are', async () => {
  const { room, follow } = await roomOf(Hub);
  await follow('A');
  const own = { upgrade: 'websocket' };
  await expect(room.fetch({ ...own, tags: 'mine,_follow' })).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: expect.stringMatching(/acceptWebSocket\(\).* _follow .*another/),
  });
  await room.fetch({ ...own, tags: 'mine,other' });
  await room.fetch(own);
  const counts = [undefined, 'mine', 'other', '_follow', 'none'].map((tag) =>
    room.call('sockets', ...(tag === undefined ? [] : [tag])),
  );
  expect(await Promise.all(counts)).toEqual([2, 1, 1, 0, 0]);
});

test('[FOLS11] an automatic answer that the class takes back is that of the followers again', async () => {
  const { room, follow } = await roomOf(Hub);
  expect(await room.call('automatic')).toBeNull();
  await room.call('answer', 'mine');
  expect(await room.call('automatic')).toBe('mine');
  await room.evict();
  // The automatic response outlives the instance.
  expect(await room.call('automatic')).toBe('mine');
  await room.call('answer', null);
  expect(await room.call('automatic')).toBeNull();
  const client = await follow('A');
  client.send(FOLLOW_PING);
  while (client.texts.length === 0) await client.next();
  expect(client.texts).toEqual([FOLLOW_PONG]);
});

test.each(['fetch', 'webSocketMessage', 'webSocketClose', 'webSocketError'])(
  '[FOLS17] a field %s is refused by its name',
  async (name) => {
    class Fields extends DurableObject {
      constructor(ctx: never, env: never) {
        super(ctx, env);
        Object.assign(this, { [name]: () => {} });
      }
      names() {}
    }
    const { room } = await roomOf(Fields);
    await expect(room.call('names')).rejects.toMatchObject({
      code: 'CLASS_INVALID',
      message: expect.stringMatching(
        new RegExp(`followable\\(Fields\\): ${name} is a field.*method`),
      ),
    });
  },
);

/** Methods of several turns, of transactions that nobody awaits, and of storage alone. */
class Slow extends DurableObject {
  declare readonly ctx: DurableObjectState;
  release = () => {};
  constructor(ctx: never, env: never) {
    super(ctx, env);
    this.add('made');
  }
  add(name: string) {
    this.ctx.storage.sql.exec('CREATE TABLE IF NOT EXISTS item (name)');
    this.ctx.storage.sql.exec('INSERT INTO item VALUES (?)', name);
  }
  /** The first turn of the method writes nothing. */
  async wait() {
    await new Promise<void>((resolve) => {
      this.release = resolve;
    });
    return 'gone on';
  }
  go() {
    this.release();
  }
  async addTwice(name: string) {
    this.add(`${name} 1`);
    await this.ctx.storage.get('key');
    this.add(`${name} 2`);
    return 'twice';
  }
  /** Returns while its transaction, which fails later, is open. */
  leaveOpen(name: string) {
    const failing = this.ctx.storage.transaction(async () => {
      this.add(name);
      await new Promise((resolve) => setTimeout(resolve, 5));
      throw new Error('undone');
    });
    failing.catch(() => {});
    return 'left';
  }
}
const SLOW_METHODS = ['add', 'wait', 'addTwice', 'leaveOpen'];

test.each([false, true])(
  '[FOLS5] calls that wait behind an attempt begin when it goes on in a later turn; another call too: %s',
  async (hasMore) => {
    const { room, follow } = await roomOf(Slow, { methods: SLOW_METHODS });
    const [slow, other] = [await follow('A'), await follow('B')];
    slow.call(1, 'wait', [], true);
    other.call(1, 'add', ['b'], true);
    if (hasMore) other.call(2, 'add', ['c']);
    await other.untilItems('made', ...(hasMore ? ['b', 'c'] : ['b']));
    await room.call('go');
    expect(await slow.outcome(1)).toEqual(value('gone on'));
  },
);

test('[FOLW5] the cut that has the writes of a call that awaits storage alone has its outcome', async () => {
  const { follow } = await roomOf(Slow, { methods: SLOW_METHODS });
  const [client, other] = [await follow('A'), await follow('B')];
  for (const each of [client, other]) await each.untilItems('made');
  client.call(1, 'addTwice', ['x']);
  while (client.items.length === 1) {
    const { last } = await client.nextOf('cut');
    expect(last).toBe(client.items.length === 1 ? 0 : 1);
  }
  expect(client.items).toEqual(['made', 'x 1', 'x 2']);
  await other.untilItems('made', 'x 1', 'x 2');
});

test('[FOLS9] a call that returns while its transaction is open is answered when that has ended', async () => {
  const { room, follow } = await roomOf(Slow, { methods: SLOW_METHODS });
  const [client, other] = [await follow('A'), await follow('B')];
  for (const each of [client, other]) await each.untilItems('made');
  client.call(1, 'leaveOpen', ['never']);
  expect(await client.outcome(1)).toEqual(value('left'));
  expect(client.items).toEqual(['made']);
  await room.call('add', 'later');
  for (const each of [client, other]) {
    while (each.items.length === 1) await each.next();
    expect(each.items).toEqual(['made', 'later']);
  }
});

class Answers extends DurableObject {
  declare readonly ctx: DurableObjectState;
  readonly instance = Math.random();
  constructor(ctx: never, env: never) {
    super(ctx, env);
    Object.assign(this, { shadowed: () => 'of the object' });
  }
  count(...args: unknown[]) {
    return args.length;
  }
  shadowed() {
    return 'of the class';
  }
  /** The runtime awaits this answer, although it is no promise. */
  thenable() {
    // biome-ignore lint/suspicious/noThenProperty: the test returns a thenable
    return { then: (resolve: (value: unknown) => void) => resolve('awaited') };
  }
  refusing() {
    // biome-ignore lint/suspicious/noThenProperty: the test returns a thenable
    return { then: (_: unknown, reject: (error: unknown) => void) => reject(new RangeError('no')) };
  }
  nothing() {
    return null;
  }
  which() {
    return this.instance;
  }
  rows(query: string) {
    return [...this.ctx.storage.sql.exec(query).raw()].flat();
  }
  change(query: string) {
    this.ctx.storage.sql.exec(query);
  }
}
const METHODS = ['count', 'shadowed', 'thenable', 'refusing', 'nothing'];

test('[FOLS6] a call has at most 1,000 arguments, in an array, of a method that is listed', async () => {
  const { follow } = await roomOf(Answers, { methods: METHODS });
  const client = await follow('A');
  client.call(
    1,
    'count',
    Array.from({ length: 1000 }, () => 1),
  );
  expect(await client.outcome(1)).toEqual(value(1000));
  client.call(
    2,
    'count',
    Array.from({ length: 1001 }, () => 1),
  );
  expect(await client.outcome(2)).toEqual(
    errorOf('INVALID_ARGUMENT', /count\(\): 1001 arguments, at most 1000.*array instead/),
  );
  client.call(3, 'count', 'one');
  expect(await client.outcome(3)).toEqual(errorOf('INVALID_ARGUMENT', /count\(\).*not an array/));
  client.call(4, 'rows', []);
  expect(await client.outcome(4)).toEqual(errorOf('UNKNOWN_METHOD', /call "rows".*option methods/));
});

test('[FOLS7] the answer is that of the method of the class, awaited', async () => {
  const { follow } = await roomOf(Answers, { methods: METHODS });
  const client = await follow('A');
  for (const [i, name] of ['shadowed', 'thenable', 'nothing', 'refusing'].entries()) {
    client.call(i + 1, name, []);
  }
  expect(await client.outcome(1)).toEqual(value('of the class'));
  expect(await client.outcome(2)).toEqual(value('awaited'));
  expect(await client.outcome(3)).toEqual(value(null));
  const error = expect.objectContaining({ name: 'RangeError', message: 'no' });
  expect(await client.outcome(4)).toEqual({ kind: 'error', error });
});

test('[FOLS5] outcomes are stored until their own client acknowledges them', async () => {
  const { room, follow } = await roomOf(Answers, { methods: METHODS });
  const stored = () => room.call('rows', 'SELECT client || n FROM _follow_outcome ORDER BY 1');
  const [first, second] = [await follow('A'), await follow('B')];
  for (const client of [first, second]) {
    for (const n of [1, 2, 3]) client.call(n, 'count', []);
    await client.outcome(3);
  }
  expect(await stored()).toEqual(['A1', 'A2', 'A3', 'B1', 'B2', 'B3']);
  first.acknowledge(2);
  first.call(4, 'count', []);
  await first.outcome(4);
  expect(await stored()).toEqual(['A3', 'A4', 'B1', 'B2', 'B3']);
  second.close();
  const again = await FollowClient.connect(room, 'B');
  again.acknowledge(2);
  await again.hello();
  expect(await stored()).toEqual(['A3', 'A4', 'B3']);
  const columns = 'SELECT name, identity, started, last, acked, attempts FROM _follow_client';
  const mark = expect.stringMatching(/^_follow_mark:/);
  expect(await room.call('rows', columns)).toEqual([
    ...['A', mark, 4, 4, 2, 0],
    ...['B', mark, 3, 3, 2, 0],
  ]);
});

test('[FOLS5] a call that was begun and not answered is answered by the next instance, without its connection', async () => {
  const { room, follow } = await roomOf(Answers, { methods: METHODS });
  const client = await follow('A');
  client.call(1, 'count', []);
  await client.outcome(1);
  client.close();
  await room.call('change', "UPDATE _follow_client SET started = 2 WHERE name = 'A'");
  await room.evict();
  await room.call('rows', 'SELECT 1');
  await vi.waitUntil(async () => {
    const [last] = (await room.call('rows', 'SELECT last FROM _follow_client')) as [number];
    return last === 2;
  });
  const next = await follow('A');
  const outcomes = [
    [1, value(0)],
    [2, { kind: 'failed', code: 'CALL_INTERRUPTED' }],
  ];
  expect((await next.nextOf('cut')) as object).toMatchObject({ last: 2, outcomes });
});

test.each([
  ['its record is gone', "DELETE FROM _follow_client WHERE name = 'A'"],
  [
    'its record has fewer answers',
    "UPDATE _follow_client SET started = 0, last = 0 WHERE name = 'A'",
  ],
])('[FOLS12] a connection is closed if %s, and no other', async (_, change) => {
  const { room, follow } = await roomOf(Answers, { methods: METHODS });
  const [client, other] = [await follow('A'), await follow('B')];
  client.call(1, 'count', []);
  await client.outcome(1);
  await other.nextOf('cut');
  await room.call('change', change);
  await room.evict();
  await room.call('change', 'CREATE TABLE item (name); INSERT INTO item VALUES (1)');
  expect(await client.closed).toEqual([4011, 'STALE']);
  await other.untilItems('1');
});

test('[FOLS12] a new connection takes the place of none that outlived an instance', async () => {
  const { room, follow } = await roomOf(Answers, { methods: METHODS });
  await room.call('change', 'CREATE TABLE item (name)');
  const old = [await follow('A'), await follow('B')];
  await room.evict();
  const fresh = await follow('C');
  for (const [i, client] of [...old, fresh].entries()) {
    client.call(
      1,
      'count',
      Array.from({ length: i }, () => 1),
    );
  }
  for (const [i, client] of [...old, fresh].entries()) {
    expect(await client.outcome(1)).toEqual(value(i));
  }
  await room.call('change', 'INSERT INTO item VALUES (7)');
  for (const client of [...old, fresh]) await client.untilItems('7');
});

test('[FOLS10] a message of exactly 1 MiB is read; that of a closed connection is not', async () => {
  const { room, follow } = await roomOf(Answers, { methods: METHODS });
  const client = await follow('A');
  client.call(1, 'count', []);
  const instance = await room.call('which');
  client.send(new Uint8Array(1_048_576));
  client.call(2, 'count', []);
  void client.hello({ client: 'another' }).catch(String);
  expect(await client.closed).toEqual([4007, 'MALFORMED']);
  const clients = 'SELECT name, started FROM _follow_client';
  expect(await room.call('rows', clients)).toEqual(['A', 1]);
  expect(await room.call('which')).toBe(instance);
});

test('[FOLW7] the welcome has the version of the class', async () => {
  const { room } = await roomOf(Answers);
  const client = await FollowClient.connect(room, 'A');
  const protocol = { oldest: 2, newest: 2 };
  client.say({ kind: 'hello', protocol, client: 'A', position: null, copy: null, ack: 0 });
  expect(await client.next()).toEqual({
    ...{ kind: 'welcome', protocol: 2, version: 3 },
    received: { n: 0, mark: null },
  });
});
