// Tests a replica with a real server in the same process.

import { afterEach, describe, expect, test, vi } from 'vitest';
import { deserialize } from '../../../src/shared/values/decode.ts';
import { NO_FOLLOWERS } from '../../../worker/objects/host/followers.ts';
import { DurableObject } from '../../../worker/realm/library/base-classes.ts';
import { createTestHost, type TestHost } from '../../testing/worker/test-host.ts';
import { decodeToFollower } from '../protocol/decode.ts';
import type { MessageToFollower } from '../protocol/messages.ts';
import { type FollowedServer, followedServer } from '../testing/followed-server.ts';
import { Replica, type ReplicaEvents } from './replica.ts';

class Room extends DurableObject {
  /** How often `add` ran on the device. */
  static runsHere = 0;
  constructor(ctx: never, env: never) {
    super(ctx, env);
    this.ctx.storage.sql.exec(
      'CREATE TABLE IF NOT EXISTS item (id INTEGER PRIMARY KEY, name TEXT UNIQUE)',
    );
  }
  add(name: string) {
    // On the server, the class of the object is a subclass that `followable` has made.
    if (this.constructor === Room) Room.runsHere++;
    this.ctx.storage.sql.exec('INSERT INTO item (name) VALUES (?)', name);
    this.ctx.storage.kv.put('count', this.names().length);
    return this.names().length;
  }
  names(): string[] {
    return [...this.ctx.storage.sql.exec('SELECT name FROM item ORDER BY id').raw()].map(([name]) =>
      String(name),
    );
  }
  addMany(name: string, count: number) {
    for (let i = 0; i < count; i++) this.add(`${name} ${i}`);
  }
  index() {
    this.ctx.storage.sql.exec('CREATE INDEX IF NOT EXISTS by_name ON item (name)');
  }
  async empty() {
    await this.ctx.storage.deleteAll();
    this.ctx.storage.sql.exec('CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT UNIQUE)');
  }
  count() {
    return this.ctx.storage.kv.get('count');
  }
  async addFrom(url: string) {
    this.ctx.storage.kv.put('from', url);
    (this.env as { outside: () => void }).outside();
    return 'fetched';
  }
}

/** Tests wait for at most this many turns, far more than any of them needs, so that a failing one ends. */
const TURNS_MAX = 100_000;

const hosts: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const host of hosts.splice(0)) await host.close();
});

async function hostOf(): Promise<TestHost> {
  const host = await createTestHost({}, { Room });
  hosts.push(host);
  return host;
}

/** Returns a host on which objects of the class are copies. */
async function copyHost(): Promise<TestHost> {
  const host = await hostOf();
  host.host.followers = { ...NO_FOLLOWERS, classNames: new Set(['Room']) };
  return host;
}

/**
 * Connects the replica to the server. If `held` is a list, it gets a function for each message of the server, which delivers
 * the message. If `held` is a function, only the messages arrive for which it returns true.
 */
function connect(
  server: FollowedServer,
  replica: Replica,
  held?: (() => void)[] | ((message: MessageToFollower) => boolean),
): void {
  const socket = server.connect();
  let end: ReturnType<Replica['connected']> | undefined;
  socket.addEventListener('open', () => {
    end = replica.connected({ send: (bytes) => socket.send(bytes), close: () => socket.close() });
  });
  socket.addEventListener('message', (event) => {
    const { data } = event as MessageEvent<ArrayBuffer>;
    const hand = () => end?.received(new Uint8Array(data));
    if (held === undefined) hand();
    else if (typeof held !== 'function') held.push(hand);
    else if (held(decodeToFollower(deserialize(new Uint8Array(data))))) hand();
  });
  socket.addEventListener('close', () => end?.closed());
}

async function serverOf(bounds?: Parameters<typeof followedServer>[2]): Promise<FollowedServer> {
  const server = await followedServer(Room, { methods: ['add'] }, bounds);
  hosts.push(server);
  return server;
}

const QUIET: ReplicaEvents = { onChange() {}, onSettled() {}, onRefused() {}, onEnded() {} };

function open(host: TestHost, events: Partial<ReplicaEvents> = {}): Promise<Replica> {
  const environment = {
    now: () => host.now(),
    afterRealTime: () => () => {},
    inTurn: <T>(opening: () => Promise<T>) => opening(),
    newClient: () => 'page',
    randomUint32: () => 7,
    numberOffset: 0,
  };
  return Replica.open(host.host, host.address('a'), 1, environment, { ...QUIET, ...events });
}

/** Returns the result of a method that only reads, on the forecast. */
async function read(replica: Replica, method: string): Promise<unknown> {
  const { n, answer } = await replica.call(method, []);
  expect(n).toBeNull();
  return answer?.kind === 'value' ? answer.value : answer;
}

async function until(check: () => boolean): Promise<void> {
  for (let turns = 0; !check(); turns++) {
    if (turns === TURNS_MAX) throw new Error('It did not happen.');
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('a replica', () => {
  test('[FOLP1] forecasts offline, keeps its calls over a restart, and is put right by the server', async () => {
    const here = await copyHost();
    const server = await serverOf();
    await server.call('add', 'first');
    const replica = await open(here);
    const mine = await replica.call('add', ['mine']);
    expect(mine.answer).toEqual({ kind: 'value', value: 1 });
    expect(await read(replica, 'names')).toEqual(['mine']);
    expect(replica.state).toMatchObject({ state: 'offline', pending: 1 });
    await replica.close();

    const outcomes = new Map<number, unknown>();
    const again = await open(here, { onSettled: (n, outcome) => void outcomes.set(n, outcome) });
    expect(await read(again, 'names')).toEqual(['mine']);
    connect(server, again);
    await until(() => again.state.pending === 0);
    expect(await read(again, 'names')).toEqual(['first', 'mine']);
    expect(await read(again, 'count')).toBe(2);
    expect(again.state.state).toBe('current');

    await server.call('add', 'theirs');
    const last = await again.call('add', ['last']);
    await until(() => outcomes.has(last.n!));
    expect(outcomes.get(last.n!)).toEqual({ kind: 'value', value: 4 });
    expect(await read(again, 'names')).toEqual(['first', 'mine', 'theirs', 'last']);
    await again.close();
  });

  test('[FOLP18] answers that arrive together are shown together, and calls that wait run once for them', async () => {
    const here = await copyHost();
    const server = await serverOf();
    const shown: number[] = [];
    const replica = await open(here, { onChange: () => void shown.push(replica.state.pending) });
    const names = Array.from({ length: 40 }, (_, i) => `mine ${i}`);
    for (const name of names) await replica.call('add', [name]);
    const held: (() => void)[] = [];
    connect(server, replica, held);
    const handOver = (count: number) => {
      for (const hand of held.splice(0, count)) hand();
    };
    await until(() => held.length === 3);
    handOver(3); // These are the welcome, the snapshot's only part, and its end. Calls are sent after them.
    expect(await read(replica, 'names')).toEqual(names);
    await until(() => held.length === 40);
    shown.splice(0);
    Room.runsHere = 0;
    handOver(25);
    expect(await read(replica, 'names')).toEqual(names);
    expect([shown, Room.runsHere]).toEqual([[15], 15]);
    handOver(15);
    expect(await read(replica, 'names')).toEqual(names);
    expect([shown, Room.runsHere]).toEqual([[15, 0], 15]);
    await replica.close();
  });

  test('[FOLP18] a read, and a call, meet everything that was received before', async () => {
    const here = await copyHost();
    const server = await serverOf();
    const replica = await open(here);
    const held: (() => void)[] = [];
    connect(server, replica, held);
    await until(() => held.length === 3); // These are the welcome, the snapshot's only part, and its end.
    for (const hand of held.splice(0)) hand();
    for (let i = 0; i < 30; i++) await server.call('add', `theirs ${i}`);
    await until(() => held.length === 30);
    // More messages wait behind each read, and behind the call.
    const reads: Promise<unknown>[] = [];
    while (held.length > 3) {
      for (const hand of held.splice(0, 3)) hand();
      reads.push(read(replica, 'count'));
    }
    for (const hand of held.splice(0, 2)) hand();
    const call = replica.call('add', ['mine']);
    held[0]!();
    expect(await Promise.all(reads)).toEqual([3, 6, 9, 12, 15, 18, 21, 24, 27]);
    expect((await call).answer).toEqual({ kind: 'value', value: 30 });
    await replica.close();
  });

  test('[FOLP25] tells how much of a whole copy has come', async () => {
    const here = await copyHost();
    const server = await serverOf();
    for (let i = 0; i < 3; i++) await server.call('add', `${i}`.repeat(500_000));
    const seen: (number | null)[] = [];
    const replica = await open(here, { onChange: () => void seen.push(replica.state.progress) });
    connect(server, replica);
    await until(() => replica.state.state === 'current');
    const parts = seen.filter((progress) => progress !== null);
    expect(parts.toSorted((one, other) => one - other)).toEqual(parts);
    expect(parts.some((progress) => progress > 0.2 && progress < 1)).toBe(true);
    expect(seen.at(-1)).toBeNull();
    await replica.close();
  });

  test('[FOLP31] a whole copy goes on where it stopped: after a lost connection, and when it is opened again', async () => {
    const here = await copyHost();
    const server = await serverOf({ partBytes: 100 });
    for (let i = 0; i < 12; i++) await server.call('add', `${i} `.repeat(40));
    let parts: number[] = [];
    const take = (one: Replica, count: number) =>
      connect(server, one, (message) => {
        if (message.kind !== 'part') return true;
        parts.push(message.copy.parts);
        return parts.length <= count;
      });
    let replica = await open(here);
    take(replica, 4);
    await until(() => parts.length === 5); // The fifth part is lost.
    server.drop();
    await server.call('add', 'meanwhile');
    take(replica, 7);
    await until(() => parts.length === 8);
    await replica.close();
    server.drop();
    replica = await open(here);
    take(replica, Number.POSITIVE_INFINITY);
    await until(() => replica.state.state === 'current');
    expect(parts.slice(0, 10)).toEqual([1, 2, 3, 4, 5, 5, 6, 7, 7, 8]);
    expect(await read(replica, 'names')).toEqual(await server.call('names'));
    // After the snapshot, the next connection gets no part of one.
    await server.call('empty');
    await until(() => replica.state.state === 'current');
    parts = [];
    server.drop();
    take(replica, Number.POSITIVE_INFINITY);
    await until(() => replica.state.state === 'current');
    expect(parts).toEqual([]);
    await replica.close();
  });

  test('[FOLP31] begins again if the server has other tables meanwhile, or is emptied', async () => {
    const here = await copyHost();
    const server = await serverOf({ partBytes: 100 });
    for (let i = 0; i < 12; i++) await server.call('add', `${i} `.repeat(40));
    const replica = await open(here);
    const parts: number[] = [];
    connect(server, replica, (message) => {
      if (message.kind === 'part') parts.push(message.copy.parts);
      if (parts.length === 3) void server.call('index');
      if (parts.length === 6) void server.call('empty');
      return true;
    });
    await until(() => replica.state.state === 'current' && parts.length > 6);
    expect(parts.filter((number) => number === 1)).toEqual([1, 1, 1]);
    await until(() => replica.state.pending === 0);
    expect(await read(replica, 'names')).toEqual(await server.call('names'));
    await replica.close();
  });

  test('[FOLC8] one change of more rows than notes are kept reaches those who are connected', async () => {
    const here = await copyHost();
    const server = await serverOf({ notesMax: 20 });
    const replica = await open(here);
    connect(server, replica);
    await until(() => replica.state.state === 'current');
    for (let round = 0; round < 3; round++) {
      await server.call('addMany', `round ${round}`, 50);
      const names = await server.call('names');
      await vi.waitFor(async () => expect(await read(replica, 'names')).toEqual(names));
    }
    await replica.close();
  });

  test('[FOLP2] a refused call is taken out of the forecast, reported, and kept until it is dismissed', async () => {
    const here = await copyHost();
    const server = await serverOf();
    await server.call('add', 'same');
    const refused: unknown[] = [];
    const replica = await open(here, { onRefused: ({ call }) => refused.push(call.args) });
    const call = await replica.call('add', ['same']);
    expect(call.answer).toEqual({ kind: 'value', value: 1 });
    connect(server, replica);
    await until(() => replica.state.refused === 1);
    expect(replica.refusals[0]?.call.n).toBe(call.n);
    expect(replica.refusals[0]?.outcome).toMatchObject({ kind: 'error' });
    expect(await read(replica, 'names')).toEqual(['same']);
    expect(refused).toEqual([['same']]);
    await replica.close();

    const again = await open(here, { onRefused: ({ call }) => refused.push(call.args) });
    expect(refused).toEqual([['same'], ['same']]);
    await again.dismiss(again.refusals[0]!.call.n);
    expect(again.state.refused).toBe(0);
    await again.close();
  });
});
