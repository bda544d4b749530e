// The server's side of following: the same questions in workerd and here, the same answers.

import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import {
  FOLLOW_PING,
  FOLLOW_PONG,
  FOLLOW_SUBPROTOCOL,
  MESSAGE_BYTES_MAX,
} from '../../../packages/follow/protocol/connection.ts';
import { FOLLOW_PROTOCOLS } from '../../../packages/follow/protocol/messages.ts';
import { FollowClient, type FollowRoom, type TalkSocket } from './client.ts';
import { LIMITS } from './followed-room.ts';
import type { Rooms } from './rooms.ts';

const value = (of: unknown) => ({ kind: 'value', value: of });
const failed = (code: string) => ({ kind: 'failed', code });

const EMPTY = { id: 0, life: 0 };
const NOWHERE = { from: EMPTY, at: EMPTY };

/** Declares the tests. `start`: rooms for all of them. */
export function testFollowers(start: () => Promise<Rooms>): void {
  let rooms: Rooms;
  let count = 0;
  let room: FollowRoom;
  beforeAll(async () => {
    rooms = await start();
  });
  afterAll(() => rooms.close());
  beforeEach(() => {
    room = rooms.room(`room-${++count}`);
  });

  const follow = async (name: string, more?: Record<string, unknown>) =>
    (await FollowClient.connect(room, name)).hello(more);
  /** Connects the same replica again, after its connection was lost. */
  const again = async (client: FollowClient) => {
    const next = await FollowClient.connect(room, client.name);
    next.position = client.position;
    return next.hello();
  };
  /** Lets the action end the instance, and waits for the next one. */
  const ending = async (action: () => void) => {
    const before = await room.call('whichInstance');
    action();
    await vi.waitUntil(async () => {
      const now = await room.call('whichInstance').catch(() => before);
      return now !== before;
    });
  };

  test('[FOLS1] a request with the subprotocol follows; every other one reaches the class', async () => {
    const plain = { user: 'A', 'sec-websocket-protocol': FOLLOW_SUBPROTOCOL };
    expect((await room.fetch(plain)).status).toBe(200);
    const { status, webSocket } = await room.fetch({ upgrade: 'websocket' });
    expect(status).toBe(101);
    const socket = webSocket as TalkSocket;
    const heard = new Promise((resolve) => {
      socket.addEventListener('message', ({ data }: MessageEvent) => resolve(data));
    });
    socket.accept();
    socket.send('hi');
    expect(await heard).toBe('echo hi');
    const client = await follow('A');
    await client.untilItems('heard hi');
    socket.close();
  });

  test('[FOLS1] a follower gets a snapshot, then each change of other callers', async () => {
    await room.call('add', 'before');
    const client = await follow('A');
    await client.untilItems('before');
    await room.call('add', 'after');
    await client.untilItems('before', 'after');
  });

  test('[FOLS3] without an identity, the connection is closed with NOT_AUTHORIZED', async () => {
    const nobody = await FollowClient.connect(room, 'A', 'nobody');
    expect(await nobody.closed).toEqual([4013, 'NOT_AUTHORIZED']);
    await expect(follow('later')).resolves.toBeDefined();
  });

  test('[FOLS21] a request of a page of another origin is closed with ORIGIN_REFUSED, and authorize is not asked', async () => {
    const { host } = rooms;
    for (const origin of [`http://evil.${host}`, 'http://room:8080', 'https://evil', 'null']) {
      for (const user of ['A', 'nobody']) {
        const refused = await FollowClient.connect(room, 'A', user, { origin });
        expect(await refused.closed).toEqual([4016, 'ORIGIN_REFUSED']);
      }
    }
    for (const origin of [`http://${host}`, `https://${host}`]) {
      await (await FollowClient.connect(room, 'A', 'A', { origin })).hello();
    }
    const nobody = await FollowClient.connect(room, 'A', 'nobody', { origin: `http://${host}` });
    expect(await nobody.closed).toEqual([4013, 'NOT_AUTHORIZED']);
  });

  test('[FOLS19] nothing is sent to a follower whose authorization has expired, and its call is not run', async () => {
    const lifetime = { lifetime: '600000' };
    const expiring = [
      await (await FollowClient.connect(room, 'A', 'A', lifetime)).hello(),
      await (await FollowClient.connect(room, 'B', 'B', lifetime)).hello(),
    ];
    const other = await follow('C');
    for (const client of [...expiring, other]) await client.nextOf('cut');
    await room.call('advance', 400_000);
    await room.call('add', 'in time');
    for (const client of [...expiring, other]) await client.untilItems('in time');
    await room.call('advance', 200_000);
    expiring[0]!.call(1, 'add', ['of A']);
    await room.call('add', 'late');
    await other.untilItems('in time', 'late');
    for (const client of expiring) {
      expect(await client.closed).toEqual([4013, 'NOT_AUTHORIZED']);
      await expect(client.next()).rejects.toThrow(/NOT_AUTHORIZED/);
    }
    const returned = await FollowClient.connect(room, 'A', 'A', lifetime);
    await returned.hello();
    await returned.untilItems('in time', 'late');
    const before = await FollowClient.connect(room, 'B', 'B', { lifetime: '-1' });
    expect(await before.closed).toEqual([4013, 'NOT_AUTHORIZED']);
  });

  test('[FOLS20] a follower that has not said hello for ten seconds is closed with HELLO_LATE at the next request', async () => {
    const silent = await FollowClient.connect(room, 'A');
    await room.call('advance', 9_000);
    await follow('B');
    await room.call('advance', 1_100);
    await follow('C');
    expect(await silent.closed).toEqual([4017, 'HELLO_LATE']);
    const late = await FollowClient.connect(room, 'A');
    await room.call('advance', 10_100);
    void late.hello().catch(String);
    expect(await late.closed).toEqual([4017, 'HELLO_LATE']);
  });

  test('[FOLS20] one identity has at most its number of connections, and leaves the others to others', async () => {
    for (const name of ['a', 'b']) await (await FollowClient.connect(room, name, 'A')).hello();
    const third = await FollowClient.connect(room, 'c', 'A');
    expect(await third.closed).toEqual([4014, 'TOO_MANY_FOLLOWERS']);
    await follow('B');
  });

  test('[FOLS23] endFollowers ends the connections of an identity, which stays out until allowFollowers', async () => {
    const [ann, bob] = [await follow('A'), await follow('B')];
    await room.call('end', 'A');
    expect(await ann.closed).toEqual([4013, 'NOT_AUTHORIZED']);
    const refused = async () => (await FollowClient.connect(room, 'A')).closed;
    expect(await refused()).toEqual([4013, 'NOT_AUTHORIZED']);
    await room.call('clear');
    await ending(() => void room.call('crash', 'x').catch(() => {}));
    expect(await refused()).toEqual([4013, 'NOT_AUTHORIZED']);
    await again(bob);
    await room.call('allow', 'A');
    await follow('A');
    await expect(room.call('end', '')).rejects.toThrow(/ctx\.endFollowers\(\) has/);
  });

  test('[FOLS23] calls of an ended identity that have not begun wait until it is allowed, and run once', async () => {
    const [ann, bob] = [await follow('A'), await follow('B')];
    ann.call(1, 'addSlowly', ['slow']);
    ann.call(2, 'add', ['behind']);
    await bob.untilItems('slow 1');
    bob.call(1, 'end', ['A']);
    await bob.outcome(1);
    expect(await ann.closed).toEqual([4013, 'NOT_AUTHORIZED']);
    await room.call('go');
    await bob.untilItems('slow 1', 'slow 2');
    expect(await room.call('names')).toEqual(['slow 1', 'slow 2']);
    await room.call('allow', 'A');
    const next = await again(ann);
    expect((await next.nextOf('cut')).outcomes).toEqual([[1, value(2)]]);
    next.call(1, 'addSlowly', ['slow'], true);
    next.call(2, 'add', ['behind'], true);
    expect(await next.outcome(2)).toEqual(value(3));
  });

  test('[FOLS4] the name of a client belongs to the identity that used it first', async () => {
    await follow('A');
    const other = await FollowClient.connect(room, 'A', 'B');
    const said = other.hello().catch(String);
    expect(await other.closed).toEqual([4010, 'CLIENT_TAKEN']);
    expect(await said).toContain('CLIENT_TAKEN');
    const mine = await FollowClient.connect(room, 'A', 'A');
    await mine.hello();
  });

  test('[FOLS5] a call runs once, its cut has its outcome, and others get its changes', async () => {
    const [first, second] = [await follow('A'), await follow('B')];
    await first.nextOf('cut');
    first.call(1, 'add', ['one']);
    const { outcomes, last } = await first.nextOf('cut');
    expect([outcomes, last, first.items]).toEqual([[[1, value(1)]], 1, ['one']]);
    first.call(1, 'add', ['one'], true);
    first.call(2, 'add', ['two']);
    expect(await first.outcome(2)).toEqual(value(2));
    await second.untilItems('one', 'two');
  });

  test('[FOLS5] calls of two clients that are repeated run once, in the order of their numbers', async () => {
    const clients = [await follow('A'), await follow('B')];
    for (let n = 1; n <= 20; n++) {
      for (const client of clients) {
        client.call(n, 'add', [`${client.name}${n}`]);
        if (n % 3 === 0) client.call(n - 1, 'add', ['twice'], true);
      }
    }
    for (const client of clients) {
      await client.outcome(20);
      await vi.waitUntil(async () => client.items.length === 40 || !(await client.next()));
      const mine = client.items.filter((item) => item.startsWith(client.name));
      expect(mine).toEqual(Array.from({ length: 20 }, (_, i) => `${client.name}${i + 1}`));
      expect(client.items).not.toContain('twice');
    }
  });

  test('[FOLS5] a recorded outcome is told to the next connection, until it is acknowledged', async () => {
    const client = await follow('A');
    client.call(1, 'add', ['one']);
    await client.outcome(1);
    const next = await again(client);
    expect((await next.nextOf('ended')).outcomes).toEqual([[1, value(1)]]);
    expect(await client.closed).toEqual([4006, 'REPLACED']);
    next.acknowledge(1);
    next.call(2, 'give', ['nothing']);
    expect(await next.outcome(2)).toEqual(value(undefined));
    const last = await again(next);
    expect((await last.nextOf('ended')).outcomes).toEqual([[2, value(undefined)]]);
  });

  test('[FOLS5] a call that ended the instance left nothing, and is abandoned after four attempts', async () => {
    // Here a handler that fails is reported.
    const reported = vi.spyOn(console, 'error').mockImplementation(() => {});
    onTestFinished(() => reported.mockRestore());
    let client = await follow('A');
    await ending(() => client.call(1, 'crash', ['x']));
    for (let attempt = 1; attempt <= 3; attempt++) {
      client = await again(client);
      await ending(() => client.call(1, 'crash', ['x'], true));
    }
    client = await again(client);
    client.call(1, 'crash', ['x'], true);
    client.call(2, 'add', ['y'], true);
    expect(await client.outcome(1)).toEqual(failed('CALL_ABANDONED'));
    await client.untilItems('y');
  });

  test('[FOLS5] a call of two turns that was interrupted between them is not run again', async () => {
    const client = await follow('A');
    client.call(1, 'addSlowly', ['slow']);
    await client.untilItems('slow 1');
    await ending(() => void room.call('crash', 'x').catch(() => {}));
    const next = await again(client);
    next.call(1, 'addSlowly', ['slow'], true);
    expect(await next.outcome(1)).toEqual(failed('CALL_INTERRUPTED'));
    expect(await room.call('names')).toEqual(['slow 1']);
  });

  test('[FOLS5] calls of others run while one waits between its turns', async () => {
    const [slow, other] = [await follow('A'), await follow('B')];
    slow.call(1, 'addSlowly', ['slow']);
    slow.call(2, 'add', ['behind']);
    await other.untilItems('slow 1');
    other.call(1, 'add', ['between']);
    await other.outcome(1);
    await room.call('go');
    expect(await slow.outcome(1)).toEqual(value(3));
    expect(await slow.outcome(2)).toEqual(value(4));
    await other.untilItems('slow 1', 'between', 'slow 2', 'behind');
  });

  test('[FOLS6] methods that are not listed are refused, as is all that is no array', async () => {
    const client = await follow('A');
    for (const [i, method] of ['names', 'constructor', 'mine', 'fetch', 'toString'].entries()) {
      client.call(i + 1, method, []);
      const error = expect.objectContaining({ name: 'TypeError', code: 'UNKNOWN_METHOD' });
      expect(await client.outcome(i + 1)).toEqual({ kind: 'error', error });
    }
    const holes: unknown[] = [];
    holes.length = 10_000_000;
    for (const [i, args] of [{ length: 1 }, holes].entries()) {
      client.call(i + 6, 'add', args);
      const error = expect.objectContaining({ code: 'INVALID_ARGUMENT' });
      expect(await client.outcome(i + 6)).toEqual({ kind: 'error', error });
    }
  });

  test('[FOLS7] results are copied by value; functions, streams and instances are errors', async () => {
    const client = await follow('A');
    client.call(1, 'give', ['map']);
    expect(await client.outcome(1)).toEqual(value(new Map([['at', new Date(0)]])));
    for (const [i, what] of ['function', 'stream', 'instance'].entries()) {
      client.call(i + 2, 'give', [what]);
      const error = expect.objectContaining({ name: 'DataCloneError' });
      expect(await client.outcome(i + 2)).toEqual({ kind: 'error', error });
    }
    client.call(5, 'give', ['much']);
    const error = expect.objectContaining({ code: 'MESSAGE_TOO_LARGE' });
    expect(await client.outcome(5)).toEqual({ kind: 'error', error });
  });

  test('[FOLS7] an error has its class, message and simple properties, and no frames', async () => {
    const client = await follow('A');
    client.call(1, 'refuse', ['x']);
    const outcome = await client.outcome(1);
    const error = (outcome as { error: RangeError & { code: string } }).error;
    expect(error).toBeInstanceOf(RangeError);
    expect([error.message, error.code, error.stack]).toEqual(['no x', 'NO', 'RangeError: no x']);
    expect(error).not.toHaveProperty('hint');
    expect(client.items).toEqual(['x']);
  });

  test('[FOLS8] writes of a timer, of an alarm and of deleteAll reach the followers', async () => {
    const client = await follow('A');
    await room.call('addLater', 'by a timer');
    await client.untilItems('by a timer');
    await room.call('addByAlarm');
    await client.untilItems('by a timer', 'by an alarm');
    await room.call('clear');
    await client.untilItems();
  });

  test('[FOLS9] no cut has half of an implicit transaction', async () => {
    const [client, other] = [await follow('A'), await follow('B')];
    for (const each of [client, other]) await each.nextOf('cut');
    client.call(1, 'addTwice', ['x']);
    await room.call('addTwice', 'y');
    for (const each of [client, other]) {
      while (each.items.length < 4) {
        await each.next();
        expect(each.items.length % 2).toBe(0);
      }
    }
  });

  test('[FOLS9] no cut has writes of a transaction that is open', async () => {
    const [client, other] = [await follow('A'), await follow('B')];
    client.call(1, 'undo', ['x']);
    expect(await client.outcome(1)).toEqual(value('undone'));
    expect(await room.call('undo', 'y')).toBe('undone');
    await room.call('add', 'z');
    for (const each of [client, other]) {
      while (each.items.length === 0) await each.next();
      expect(each.items).toEqual(['z']);
    }
  });

  test.each([
    ['text', 4007, 'MALFORMED', (client: FollowClient) => client.send('text')],
    ['bytes', 4007, 'MALFORMED', (client: FollowClient) => client.send(new Uint8Array([1, 2]))],
    ['another shape', 4007, 'MALFORMED', (client: FollowClient) => client.say({ kind: 'cut' })],
    [
      'many bytes',
      4008,
      'MESSAGE_TOO_LARGE',
      (client: FollowClient) => client.send(new Uint8Array(MESSAGE_BYTES_MAX + 1)),
    ],
    [
      'a flood',
      4009,
      'TOO_FAST',
      // The number is high, because a slow machine takes longer than a second for the messages of two seconds.
      (client: FollowClient) => {
        for (let i = 0; i < 20 * LIMITS.messagesPerSecond; i++) client.call(1, 'add', ['x']);
      },
    ],
    ['a gap', 4003, 'CALL_GAP', (client: FollowClient) => client.call(7, 'add', ['x'])],
    [
      'a second hello',
      4002,
      'HELLO_TWICE',
      (client: FollowClient) => void client.hello().catch(String),
    ],
    [
      'more calls than may wait',
      4004,
      'TOO_MANY_CALLS',
      (client: FollowClient) => {
        client.call(1, 'addSlowly', ['x']);
        for (let n = 2; n <= 65; n++) client.call(n, 'add', ['y']);
      },
    ],
    [
      'an acknowledgement of calls that run',
      4005,
      'ACK_AHEAD',
      (client: FollowClient) => {
        client.call(1, 'addSlowly', ['x']);
        client.acknowledge(9);
        client.call(2, 'add', ['y']);
      },
    ],
  ])('[FOLS10] %s closes the connection with %i %s', async (_, code, reason, act) => {
    const client = await follow('A');
    act(client);
    expect(await client.closed).toEqual([code, reason]);
    expect(await room.call('sockets')).toEqual([0, null]);
  });

  test('[FOLS10] a call before hello and a hello without a common version close the connection', async () => {
    const silent = await FollowClient.connect(room, 'A');
    silent.call(1, 'add', ['x']);
    expect(await silent.closed).toEqual([4001, 'HELLO_FIRST']);
    const newer = await FollowClient.connect(room, 'A');
    void newer.hello({ protocol: { oldest: 8, newest: 9 } }).catch(String);
    expect(await newer.closed).toEqual([4000, 'PROTOCOL']);
  });

  test('[FOLS10] a follower more than the limit is closed with TOO_MANY_FOLLOWERS, until another one leaves', async () => {
    const clients = [await follow('A'), await follow('B'), await follow('C')];
    expect(clients).toHaveLength(LIMITS.followers);
    const fourth = await FollowClient.connect(room, 'D');
    expect(await fourth.closed).toEqual([4014, 'TOO_MANY_FOLLOWERS']);
    clients[0]!.close();
    await vi.waitUntil(() => follow('D').catch(() => false));
  });

  test('[FOLS11] the class sees neither sockets, nor messages, nor the automatic answer', async () => {
    const client = await follow('A');
    client.send(FOLLOW_PING);
    while (client.texts.length === 0) await client.next();
    expect(client.texts).toEqual([FOLLOW_PONG]);
    expect(await room.call('sockets')).toEqual([0, null]);
    expect(await room.call('names')).toEqual([]);
  });

  test('[FOLS11] pings are answered beside an automatic answer of the class', async () => {
    await room.call('answerAutomatically', 'mine');
    expect(await room.call('sockets')).toEqual([0, 'mine']);
    const client = await follow('A');
    client.send(FOLLOW_PING);
    while (client.texts.length === 0) await client.next();
    expect(client.texts).toEqual([FOLLOW_PONG]);
  });

  test('[FOLS13] deleteAll keeps the numbers of clients: a repeated call is not run again, and its result is lost', async () => {
    const client = await (await FollowClient.connect(room, 'device', 'ann@example.org')).hello();
    client.call(1, 'add', ['secret']);
    client.call(2, 'clear', []);
    await client.outcome(2);
    client.call(2, 'clear', [], true);
    const next = await FollowClient.connect(room, 'device', 'ann@example.org');
    await next.hello();
    expect(await next.nextOf('cut')).toMatchObject({ last: 2, outcomes: [[2, value(undefined)]] });
    next.call(1, 'add', ['secret'], true);
    next.call(3, 'add', ['y']);
    expect(await next.outcome(3)).toEqual(value(1));
    expect(await room.call('names')).toEqual(['y']);
  });

  test('[FOLS13] deleteAll leaves no identity and no result in the storage, and the client stays that of its identity', async () => {
    const client = await (await FollowClient.connect(room, 'device', 'ann@example.org')).hello();
    client.call(1, 'add', ['secret']);
    await client.outcome(1);
    const mark = expect.stringMatching(/^_follow_mark:[\da-f]{64}$/);
    expect(await room.call('kept')).toEqual([[mark, 1, 1, 0], [1]]);
    await room.call('clear');
    expect(await room.call('kept')).toEqual([[mark, 1, 1, 0]]);
    await ending(() => void room.call('crash', 'x').catch(() => {}));
    const other = await FollowClient.connect(room, 'device', 'bob@example.org');
    const said = other.hello().catch(String);
    expect(await other.closed).toEqual([4010, 'CLIENT_TAKEN']);
    await said;
    const next = await FollowClient.connect(room, 'device', 'ann@example.org');
    await next.hello();
    expect(await next.nextOf('cut')).toMatchObject({ last: 1, outcomes: [] });
  });

  test('[FOLS25] the newest clients of an identity are stored; one that comes back is refused, as its call could run twice', async () => {
    for (const device of ['d1', 'd2', 'd3', 'd4', 'd5']) {
      const client = await (await FollowClient.connect(room, device, 'ann')).hello();
      client.call(1, 'add', [device]);
      await client.outcome(1);
      client.close();
      await client.closed;
    }
    const mark = expect.stringMatching(/^_follow_mark:/);
    const clients = [mark, 1, 1, 0];
    expect(await room.call('kept')).toEqual([clients, clients, clients, [1], [1], [1]]);
    const removed = await FollowClient.connect(room, 'd1', 'ann');
    const said = removed.hello({ position: { id: 1, life: 1 } }).catch(String);
    expect(await removed.closed).toEqual([4019, 'CLIENT_REMOVED']);
    await said;
    expect(await room.call('names')).toEqual(['d1', 'd2', 'd3', 'd4', 'd5']);
    const other = await FollowClient.connect(room, 'd1', 'bob');
    await other.hello({ position: { id: 1, life: 1 } });
  });

  test('[FOLS13] a call that deletes everything and ends the instance deletes neither records nor data', async () => {
    const reported = vi.spyOn(console, 'error').mockImplementation(() => {});
    onTestFinished(() => reported.mockRestore());
    const client = await follow('A');
    client.call(1, 'add', ['x']);
    await client.outcome(1);
    await ending(() => client.call(2, 'clearAndCrash', []));
    const next = await again(client);
    next.call(1, 'add', ['x'], true);
    next.call(2, 'add', ['y'], true);
    expect(await next.outcome(2)).toEqual(value(2));
    expect(await room.call('names')).toEqual(['x', 'y']);
  });

  test('[FOLS18] no snapshot is made of an object beyond the limit; who has a position gets its changes', async () => {
    const client = await follow('A');
    await client.nextOf('cut');
    await room.call('add', 'x'.repeat(LIMITS.objectBytes));
    await client.untilItems('x'.repeat(LIMITS.objectBytes));
    const late = await FollowClient.connect(room, 'B');
    const hello = { kind: 'hello', protocol: FOLLOW_PROTOCOLS, client: 'B', position: null };
    late.say({ ...hello, copy: null, ack: 0 });
    expect(await late.next()).toMatchObject({ kind: 'rejected', reason: 'OBJECT_TOO_LARGE' });
    expect(await late.closed).toEqual([4012, 'OBJECT_TOO_LARGE']);
    expect(await (await again(client)).next()).toMatchObject({ kind: 'ended' });
  });

  test('[FOLW17] a snapshot goes on over another connection, with what was written since it began', async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) await room.call('add', name.repeat(120_000));
    const first = await follow('A');
    const { copy } = await first.nextOf('part');
    expect(copy).toMatchObject({ parts: 1, next: { table: 'item' } });
    first.close();
    await room.call('rename', 'a'.repeat(120_000), 'renamed');
    await room.call('add', 'late');
    const second = await follow('A', { copy });
    second.take(first);
    expect(await second.nextOf('part')).toMatchObject({ copy: { parts: 2, next: null } });
    const { onto } = await second.nextOf('cut');
    expect(onto).toEqual({ kind: 'parts', from: copy.from, count: 2 });
    expect(second.items).toEqual(['renamed', ...[...'bcde'].map((n) => n.repeat(120_000)), 'late']);
  });

  test('[FOLC9] a table with as many columns as a table may have is copied', async () => {
    await room.call('addColumns', 97);
    await room.call('add', 'wide');
    const client = await follow('A');
    await client.nextOf('cut');
    expect(client.items).toEqual(['wide']);
    await room.call('add', 'changed');
    await client.untilItems('wide', 'changed');
  });

  test('[FOLS10] a part that is not due closes the connection with 4015 NOT_COPYING', async () => {
    const client = await follow('A');
    await client.nextOf('cut');
    client.say({ kind: 'next', copy: { ...NOWHERE, parts: 1, next: null }, receipt: null });
    expect(await client.closed).toEqual([4015, 'NOT_COPYING']);
  });

  test('[FOLS14] a position of another life, or of a number that never was, gets a snapshot', async () => {
    await room.call('add', 'x');
    const client = await follow('A');
    const { id } = (await client.nextOf('cut')).to;
    for (const position of [
      { id, life: 1 },
      { id: 999, life: client.position!.life },
    ]) {
      const forged = await follow('A', { position });
      expect((await forged.next()) as object).toMatchObject({ kind: 'part', copy: { parts: 1 } });
    }
    const known = await again(client);
    expect(await known.next()).toMatchObject({ kind: 'ended', last: 0 });
  });

  test('[FOLP15] a copy that goes on after a key longer than keys may be does not end the object', async () => {
    await room.call('add', 'x');
    const client = await follow('A');
    const { to } = await client.nextOf('cut');
    const next = { table: null, after: ['k'.repeat(5000)], sentBytes: 0 };
    const forged = await follow('B', { copy: { from: to, at: to, parts: 1, next } });
    // In workerd, it is a key like any other.
    await forged.nextOf('part');
    expect((await forged.nextOf('cut')).to).toEqual(to);
    await room.call('add', 'y');
    await client.untilItems('x', 'y');
  });
}
