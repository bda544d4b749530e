// Tests the sockets of followers on a fake platform, which records each message and each close.

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { DurableObjectState, ObjectWebSocket } from '../../../src/shared/contract/object.ts';
import type { FollowerConnection } from '../protocol/server-state.ts';
import { NOTHING_UNREAD } from '../protocol/unread.ts';
import { FollowerSockets } from './follower-sockets.ts';

/** A fake socket of the object. Like the platform, it copies its attachment. */
class Socket {
  readyState = 1;
  readonly sent: unknown[] = [];
  readonly closes: unknown[] = [];
  #attachment: unknown;

  send(message: unknown): void {
    if (this.readyState !== 1) throw new Error('not open');
    this.sent.push(message);
  }
  accept(): void {}
  close(code?: number, reason?: string): void {
    this.closes.push([code, reason]);
    this.readyState = 3;
  }
  serializeAttachment(value: unknown): void {
    this.#attachment = structuredClone(value);
  }
  deserializeAttachment(): unknown {
    return structuredClone(this.#attachment);
  }
}

interface Answer {
  readonly request: string;
  readonly response: string;
}

/** A fake platform with the sockets and the automatic answer of one object, which outlive its instances. */
class Platform {
  readonly tags = new Map<Socket, readonly string[]>();
  answer: Answer | null = null;

  /** Returns the `ctx` that a new instance gets. */
  context(): DurableObjectState {
    return {
      acceptWebSocket: (socket: Socket, tags: readonly string[] = []) => {
        this.tags.set(socket, tags);
      },
      getWebSockets: (tag?: string) =>
        [...this.tags].flatMap(([socket, tags]) =>
          tag === undefined || tags.includes(tag) ? socket : [],
        ),
      getTags: (socket: Socket) => [...this.tags.get(socket)!],
      setWebSocketAutoResponse: (answer?: Answer) => {
        this.answer = answer ?? null;
      },
      getWebSocketAutoResponse: () => this.answer,
    } as unknown as DurableObjectState;
  }

  /** The sockets of followers, in the order of their acceptance. */
  get followers(): Socket[] {
    return [...this.tags].flatMap(([socket, tags]) => (tags.includes('_follow') ? socket : []));
  }
}

const CONNECTION: FollowerConnection = { client: 'a', sent: null, told: 7, unread: NOTHING_UNREAD };
const FURTHER: FollowerConnection = { client: 'a', sent: null, told: 8, unread: NOTHING_UNREAD };
const PING = { request: '_follow_ping', response: '_follow_pong' };

let platform: Platform;
let ctx: DurableObjectState;
let sockets: FollowerSockets;
let nowMs: number;
/** The object's sockets of all pairs that were made. */
let pairs: Socket[];

beforeEach(() => {
  pairs = [];
  vi.stubGlobal(
    'WebSocketPair',
    class {
      readonly 0 = new Socket();
      readonly 1 = new Socket();
      constructor() {
        pairs.push(this[1]);
      }
    },
  );
  vi.stubGlobal(
    'WebSocketRequestResponsePair',
    class {
      readonly request: string;
      readonly response: string;
      constructor(request: string, response: string) {
        this.request = request;
        this.response = response;
      }
    },
  );
  // Node's Response refuses the status 101.
  vi.stubGlobal(
    'Response',
    class {
      constructor(_body: null, init: object) {
        Object.assign(this, init);
      }
    },
  );
  platform = new Platform();
  nowMs = 0;
  restart();
});
afterEach(() => {
  vi.unstubAllGlobals();
});

/** Starts another instance, which finds the sockets and the automatic answer of the one before. */
function restart(): void {
  ctx = platform.context();
  sockets = new FollowerSockets(ctx, () => nowMs);
}

const accept = (identity: string, expiresAtMs: number | null = null) =>
  sockets.accept({ identity, expiresAtMs });
const asOne = (socket: Socket) => socket as unknown as ObjectWebSocket;

test('[FOLS1] [FOLS12] a request is answered by an upgrade, whose socket keeps number and identity', () => {
  expect(accept('ann')).toMatchObject({
    status: 101,
    headers: { 'Sec-WebSocket-Protocol': 'ctx-storage-follow' },
    webSocket: expect.any(Socket),
  });
  accept('bob');
  const kept = () => platform.followers.map((socket) => sockets.stateOf(asOne(socket)));
  expect(kept()).toEqual([
    { kind: 'accepted', number: 1, identity: 'ann', expiresAtMs: null, acceptedAtMs: 0 },
    { kind: 'accepted', number: 2, identity: 'bob', expiresAtMs: null, acceptedAtMs: 0 },
  ]);
  sockets.keep(2, CONNECTION);
  expect(kept()).toEqual([
    { kind: 'accepted', number: 1, identity: 'ann', expiresAtMs: null, acceptedAtMs: 0 },
    { kind: 'greeted', number: 2, identity: 'bob', expiresAtMs: null, connection: CONNECTION },
  ]);
});

test('[FOLS12] the next instance has the open connections that have said hello, and gives further numbers', () => {
  for (const identity of ['ann', 'bob', 'eve']) accept(identity);
  sockets.keep(1, CONNECTION);
  sockets.keep(3, FURTHER);
  sockets.close(1, 'MALFORMED');
  restart();
  expect(sockets.greeted()).toEqual(new Map([[3, FURTHER]]));
  accept('joe');
  expect(sockets.stateOf(asOne(platform.followers[3]!))).toMatchObject({ number: 4 });
  sockets.send(3, 'to eve');
  expect(platform.followers.map(({ sent }) => sent)).toEqual([[], [], ['to eve'], []]);
});

test('[FOLS10] a connection is closed once, with the code and the name of the reason, and nothing is kept or sent after it', () => {
  accept('ann');
  accept('bob');
  const [closed, other] = platform.followers as [Socket, Socket];
  sockets.close(1, 'MALFORMED');
  sockets.close(1, 'TOO_FAST');
  sockets.close(9, 'MALFORMED');
  sockets.send(1, 'late');
  sockets.keep(1, CONNECTION);
  expect(closed.closes).toEqual([[4007, 'MALFORMED']]);
  expect(closed.sent).toEqual([]);
  expect(sockets.stateOf(asOne(closed))).toEqual({ kind: 'closed' });
  expect(other.closes).toEqual([]);
});

test('[FOLS12] a socket that has ended gets no messages, and the next instance does not have its connection', () => {
  accept('ann');
  accept('bob');
  sockets.keep(1, CONNECTION);
  const [ended, other] = platform.followers as [Socket, Socket];
  ended.readyState = 3;
  sockets.socketEnded(asOne(ended));
  sockets.socketEnded(asOne(ended)); // an error comes after the close
  sockets.keep(1, FURTHER);
  sockets.send(2, 'to bob');
  expect([ended.sent, ended.closes, other.sent]).toEqual([[], [], ['to bob']]);
  expect(sockets.stateOf(asOne(ended))).toEqual({ kind: 'closed' });
  expect(sockets.greeted()).toEqual(new Map());
  restart();
  expect(sockets.greeted()).toEqual(new Map());
});

test('[FOLS10] a closing socket gets no message and no reason; its close is answered by a close', () => {
  accept('ann');
  accept('bob');
  const [closing, other] = platform.followers as [Socket, Socket];
  closing.readyState = 2;
  sockets.send(1, 'late');
  sockets.socketEnded(asOne(closing));
  expect(closing.closes).toEqual([[undefined, undefined]]);
  other.readyState = 2;
  sockets.close(2, 'TOO_FAST');
  expect(other.closes).toEqual([]);
});

test('[FOLS10] only open sockets of followers are counted', () => {
  for (const identity of ['ann', 'bob', 'eve']) accept(identity);
  ctx.acceptWebSocket(asOne(new Socket()), ['mine']);
  platform.followers[1]!.readyState = 2;
  expect(sockets.count).toBe(2);
});

test('[FOLS10] a refused request gets a socket that closes with the reason, and adds no follower', () => {
  expect(sockets.refuse('NOT_AUTHORIZED')).toMatchObject({ status: 101 });
  expect(pairs.map(({ closes }) => closes)).toEqual([[[4013, 'NOT_AUTHORIZED']]]);
  expect(platform.followers).toEqual([]);
});

test('[FOLS19] nothing is sent to a follower from the moment on at which its authorization expires', () => {
  accept('ann', 5_000);
  accept('bob');
  for (const number of [1, 2]) sockets.keep(number, CONNECTION);
  nowMs = 4_999;
  for (const number of [1, 2]) sockets.send(number, 'in time');
  expect([sockets.overdue(), sockets.nextEndMs]).toEqual([[], 5_000]);
  nowMs = 5_000;
  for (const number of [1, 2]) sockets.send(number, 'late');
  expect(platform.followers.map(({ sent }) => sent)).toEqual([['in time'], ['in time', 'late']]);
  expect(sockets.overdue()).toEqual([{ number: 1, reason: 'NOT_AUTHORIZED' }]);
  restart();
  sockets.send(1, 'later');
  expect(platform.followers[0]!.sent).toEqual(['in time']);
  expect(sockets.overdue()).toEqual([{ number: 1, reason: 'NOT_AUTHORIZED' }]);
  sockets.close(1, 'NOT_AUTHORIZED');
  expect([sockets.overdue(), sockets.nextEndMs]).toEqual([[], Infinity]);
});

test('[FOLS20] a connection is late ten seconds after it was accepted, unless it has said hello', () => {
  accept('ann');
  nowMs = 3_000;
  accept('bob');
  accept('eve');
  sockets.keep(3, CONNECTION);
  expect(sockets.nextEndMs).toBe(10_000);
  nowMs = 9_999;
  expect(sockets.overdue()).toEqual([]);
  nowMs = 10_000;
  expect(sockets.overdue()).toEqual([{ number: 1, reason: 'HELLO_LATE' }]);
  sockets.close(1, 'HELLO_LATE');
  expect(sockets.nextEndMs).toBe(13_000);
  restart();
  nowMs = 13_000;
  expect(sockets.overdue()).toEqual([{ number: 2, reason: 'HELLO_LATE' }]);
  sockets.socketEnded(asOne(platform.followers[1]!));
  nowMs = 1e9;
  expect([sockets.overdue(), sockets.nextEndMs]).toEqual([[], Infinity]);
});

test('[FOLS20] a socket that an earlier version has accepted is late if it has said no hello, and else has no end', () => {
  accept('ann');
  accept('bob');
  const [silent, greeted] = platform.followers as [Socket, Socket];
  silent.serializeAttachment({ kind: 'accepted', number: 1, identity: 'ann' });
  greeted.serializeAttachment({
    ...{ kind: 'greeted', number: 2, identity: 'bob' },
    connection: CONNECTION,
  });
  nowMs = 1e12;
  restart();
  expect(sockets.overdue()).toEqual([{ number: 1, reason: 'HELLO_LATE' }]);
  sockets.close(1, 'HELLO_LATE');
  expect(sockets.nextEndMs).toBe(Infinity);
});

test('[FOLS12] a connection of protocol 1, whose state has other members, is closed', () => {
  accept('ann');
  accept('bob');
  const [older, present] = platform.followers as [Socket, Socket];
  const { unread, ...state } = CONNECTION;
  older.serializeAttachment({ kind: 'greeted', number: 1, identity: 'ann', connection: state });
  sockets.keep(2, { ...CONNECTION, unread });
  restart();
  expect([...sockets.greeted()]).toEqual([[2, CONNECTION]]);
  expect([older.readyState === 1, present.readyState]).toEqual([false, 1]);
});

test('[FOLS20] the open connections of an identity are counted, also those of an earlier instance', () => {
  for (const identity of ['ann', 'bob', 'ann', 'ann']) accept(identity);
  platform.followers[2]!.readyState = 2;
  expect(sockets.numbersOf('ann')).toEqual([1, 4]);
  restart();
  expect(sockets.numbersOf('ann')).toEqual([1, 4]);
  sockets.close(1, 'NOT_AUTHORIZED');
  expect([sockets.numbersOf('ann'), sockets.numbersOf('bob')]).toEqual([[4], [2]]);
});

test('[FOLS11] the class finds its own sockets only, and cannot use the tag of the followers', () => {
  accept('ann');
  const own = new Socket();
  ctx.acceptWebSocket(asOne(own), ['mine']);
  expect(ctx.getWebSockets()).toEqual([own]);
  expect(ctx.getWebSockets('_follow')).toEqual([]);
  expect(sockets.isFollower(asOne(own))).toBe(false);
  expect(() => ctx.acceptWebSocket(asOne(new Socket()), ['mine', '_follow'])).toThrow(
    expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
  );
  ctx.acceptWebSocket(asOne(new Socket()));
  expect(ctx.getWebSockets()).toHaveLength(2);
});

test('[FOLS11] pings are answered until the class sets its own answer, and again when it sets none', () => {
  const mine = { request: 'a', response: 'b' };
  expect(platform.answer).toMatchObject(PING);
  expect(ctx.getWebSocketAutoResponse()).toBe(null);
  ctx.setWebSocketAutoResponse(mine);
  expect([platform.answer, ctx.getWebSocketAutoResponse()]).toEqual([mine, mine]);
  restart();
  expect(ctx.getWebSocketAutoResponse()).toEqual(mine);
  ctx.setWebSocketAutoResponse();
  expect(platform.answer).toMatchObject(PING);
  expect(ctx.getWebSocketAutoResponse()).toBe(null);
});
