// A replica whose server, connection or files do something wrong, beside a server in the same process.

import { afterEach, describe, expect, test } from 'vitest';
import { encodeChanges } from '../../src/follow/changes/changes-bytes.ts';
import { decodeToFollower, decodeToServer } from '../../src/follow/protocol/decode.ts';
import type { SettledOutcome } from '../../src/follow/protocol/follower.ts';
import type {
  HelloMessage,
  MessageToFollower,
  MessageToServer,
} from '../../src/follow/protocol/messages.ts';
import { storageError } from '../../src/shared/contract/errors.ts';
import { addressKey, idOfStorage } from '../../src/shared/contract/object-id.ts';
import { deserialize } from '../../src/shared/values/decode.ts';
import { serialize } from '../../src/shared/values/encode.ts';
import { MemoryCatalog } from '../objects/catalog/catalog.ts';
import { NO_FOLLOWERS } from '../objects/host/followers.ts';
import { DurableObject } from '../realm/library/base-classes.ts';
import { turns, until } from '../testing/followed-device.ts';
import { type FollowedServer, followedServer } from '../testing/followed-server.ts';
import { SlowMedium } from '../testing/slow-medium.ts';
import { createTestHost } from '../testing/test-host.ts';
import { Replica, type ReplicaEnd, type ReplicaEvents } from './replica.ts';

class Room extends DurableObject {
  constructor(ctx: never, env: never) {
    super(ctx, env);
    this.ctx.storage.sql.exec(
      'CREATE TABLE IF NOT EXISTS item (id INTEGER PRIMARY KEY, name TEXT UNIQUE)',
    );
  }
  add(name: string) {
    this.ctx.storage.sql.exec('INSERT INTO item (name) VALUES (?)', name);
    return this.names().length;
  }
  claim(name: string) {
    const names = this.names();
    if (!names.includes(name)) return this.add(name);
    if (names.includes('all may have it')) return 'there';
    throw new Error('It is taken.');
  }
  clear() {
    this.ctx.storage.sql.exec('DELETE FROM item');
  }
  endUnlessTheirs(name: string) {
    const isHere = this.names().includes('theirs');
    this.add(name);
    if (!isHere) this.ctx.abort('by the class');
  }
  index() {
    this.ctx.storage.sql.exec('CREATE INDEX by_name ON item (name)');
  }
  names(): string[] {
    const rows = this.ctx.storage.sql.exec('SELECT name FROM item ORDER BY id').raw();
    return [...rows].map(([name]) => String(name));
  }
}

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function serverOf(
  bounds?: Parameters<typeof followedServer>[2],
  version = 1,
): Promise<FollowedServer> {
  const server = await followedServer(
    Room,
    { methods: ['add', 'claim', 'endUnlessTheirs'], version },
    bounds,
  );
  ends.push(() => server.close());
  return server;
}

/** A device, which opens its replica again and again. */
async function deviceOf() {
  const medium = new SlowMedium();
  const here = await createTestHost({}, { Room }, undefined, {
    medium,
    catalog: new MemoryCatalog(),
  });
  ends.push(() => here.close());
  here.host.followers = { ...NO_FOLLOWERS, classNames: new Set(['Room']) };
  const ended: unknown[] = [];
  const outcomes = new Map<number, SettledOutcome>();
  let heard = 0;
  const environment = {
    now: () => ++heard,
    afterRealTime: () => () => {},
    inTurn: <T>(opening: () => Promise<T>) => opening(),
    newClient: () => 'page',
    earlier: 0,
  };
  return {
    here,
    medium,
    ended,
    outcomes,
    base: addressKey(here.address('a')),
    open: (events: Partial<ReplicaEvents> = {}) =>
      Replica.open(here.host, here.address('a'), 1, environment, {
        onChange() {},
        onSettled: (n, outcome) => void outcomes.set(n, outcome),
        onRefused() {},
        onEnded: (reason) => void ended.push(reason),
        ...events,
      }),
  };
}

interface Connection {
  readonly end: ReplicaEnd;
  readonly hello: HelloMessage;
  /** The messages of the server. */
  readonly received: MessageToFollower[];
  /** The reasons with which the replica closed the connection. */
  readonly closes: string[];
  /** The numbers of the calls that the replica sent on the connection. */
  readonly calls: number[];
}

/** `change`: another message in place of one of the server's; null: it is lost. Resolves when the replica has greeted. */
async function connect(
  server: FollowedServer,
  replica: Replica,
  change: (message: MessageToFollower) => unknown = (message) => message,
): Promise<Connection> {
  const socket = server.connect();
  const sent: MessageToServer[] = [];
  const received: MessageToFollower[] = [];
  const closes: string[] = [];
  const calls: number[] = [];
  let end: ReplicaEnd | undefined;
  socket.addEventListener('open', () => {
    end = replica.connected({
      send(bytes) {
        const message = decodeToServer(deserialize(bytes));
        sent.push(message);
        if (message.kind === 'call') calls.push(message.n);
        socket.send(bytes);
      },
      close(reason) {
        closes.push(reason);
        socket.close();
      },
    });
  });
  socket.addEventListener('message', (event) => {
    const bytes = new Uint8Array((event as MessageEvent<ArrayBuffer>).data);
    const message = decodeToFollower(deserialize(bytes));
    const changed = change(message);
    if (changed === null) return;
    received.push(message);
    end?.received(changed === message ? bytes : serialize(changed));
  });
  socket.addEventListener('close', () => end?.closed());
  await until(() => sent.length > 0);
  return { end: end!, hello: sent[0] as HelloMessage, received, closes, calls };
}

async function namesIn(replica: Replica): Promise<unknown> {
  const { n, answer } = await replica.call('names', []);
  expect(n).toBeNull();
  return answer?.kind === 'value' ? answer.value : answer;
}

const isCurrent = (replica: Replica) => () =>
  replica.state.state === 'current' && replica.state.pending === 0;

const CHANGES = { isWiped: false, schema: null, sequences: null, kv: [], kvGone: [] };
const TABLE = { name: 'item', keys: ['id'], columns: ['id', 'name'], isWhole: false, gone: [] };
const MISFITS = {
  'a row that takes the place of another one': encodeChanges({
    ...CHANGES,
    tables: [{ ...TABLE, rows: [[7n, 'first']] }],
  }),
  'a table that is not there': encodeChanges({
    ...CHANGES,
    tables: [{ ...TABLE, name: 'other', rows: [[7n, 'x']] }],
  }),
  'bytes that are no changes': new Uint8Array([1, 2, 3]),
};

/** Of a snapshot, three parts arrive, and nothing after them. */
const firstParts = (message: MessageToFollower) =>
  message.kind === 'cut' || (message.kind === 'part' && message.copy.parts > 3) ? null : message;

describe('a replica', () => {
  test.for(Object.entries(MISFITS))(
    '[FOLP33] whose server sends %s ends, keeps its calls, and gets a whole copy next time',
    async ([, changes]) => {
      const server = await serverOf();
      await server.call('add', 'first');
      const { open, ended, here } = await deviceOf();
      let replica = await open();
      let isWrong = false;
      const first = await connect(server, replica, (message) =>
        isWrong && message.kind === 'cut' ? { ...message, changes } : message,
      );
      await until(isCurrent(replica));
      isWrong = true;
      await server.call('add', 'second');
      await until(() => ended.length > 0);
      expect(ended).toEqual([
        expect.objectContaining({ code: expect.stringMatching(/^(SQL|INVALID_ARGUMENT)$/) }),
      ]);
      expect(first.closes).toEqual(['the replica has ended']);
      await expect(replica.call('add', ['late'])).rejects.toBe(ended[0]);
      await replica.close();
      await expect(replica.call('add', ['later'])).rejects.toBe(ended[0]);
      // The copy is unchanged.
      const select = 'SELECT name FROM item';
      expect(
        await here.host.deliver(here.address('a'), ({ storage }) => [
          ...storage.exec(select, []).raw(),
        ]),
      ).toEqual([['first']]);

      replica = await open();
      expect(await namesIn(replica)).toEqual(['first']);
      await replica.call('add', ['mine']);
      const again = await connect(server, replica);
      expect(again.hello).toMatchObject({ position: null, copy: null, ack: 0 });
      await until(isCurrent(replica));
      expect(again.received.map(({ kind }) => kind).slice(0, 3)).toEqual([
        'welcome',
        'part',
        'cut',
      ]);
      expect(await namesIn(replica)).toEqual(['first', 'second', 'mine']);
      expect(ended).toHaveLength(1);
      await replica.close();
    },
  );

  test('[FOLP31] whose parts are fewer than it has counted begins again with the first', async () => {
    const server = await serverOf({ partBytes: 100 });
    for (let i = 0; i < 6; i++) await server.call('add', `${i} `.repeat(40));
    const { open, ended, here, base } = await deviceOf();
    let replica = await open();
    const first = await connect(server, replica, firstParts);
    await until(() => first.received.length === 4); // welcome, and three parts
    await replica.close();
    server.drop();
    await here.host.erase({ className: null, id: idOfStorage(`_follow/${base}.parts`) });

    replica = await open();
    const second = await connect(server, replica);
    expect(second.hello.copy).toMatchObject({ parts: 3 });
    await until(() => ended.length > 0);
    expect(ended).toEqual([expect.objectContaining({ code: 'INVALID_ARGUMENT' })]);

    replica = await open();
    const third = await connect(server, replica);
    expect(third.hello).toMatchObject({ position: null, copy: null });
    await until(isCurrent(replica));
    expect(await namesIn(replica)).toEqual(await server.call('names'));
    await replica.close();
  });

  test('[FOLP31] whose disk fails when a snapshot begins again has none of the parts before it', async () => {
    const server = await serverOf({ partBytes: 100 });
    for (let i = 0; i < 6; i++) await server.call('add', `${i} `.repeat(40));
    const { open, ended, medium, base } = await deviceOf();
    const partsKey = idOfStorage(`_follow/${base}.parts`).toString();
    let replica = await open();
    const first = await connect(server, replica, firstParts);
    await until(() => first.received.length === 4); // welcome, and three parts
    await turns();
    expect(replica.isUnused).toBe(false);
    await replica.close();
    server.drop();
    await server.call('index'); // other tables: it begins with the first part

    replica = await open();
    medium.fails = (key) => key === partsKey;
    const second = await connect(server, replica);
    expect(second.hello.copy).toMatchObject({ parts: 3 });
    await until(() => ended.length > 0);
    medium.fails = () => false;
    server.drop();

    replica = await open();
    const third = await connect(server, replica);
    expect(third.hello.copy).toBeNull();
    await until(isCurrent(replica));
    expect(await namesIn(replica)).toEqual(await server.call('names'));
    expect(ended).toEqual([expect.objectContaining({ code: 'IO' })]);
    await turns();
    expect(replica.isUnused).toBe(true);
    const reading = namesIn(replica);
    expect(replica.isUnused).toBe(false);
    await reading;
    await replica.close();
  });

  test('[FOLP13] whose disk fails goes on from its files, without a whole copy', async () => {
    const server = await serverOf();
    const { open, ended, medium, base } = await deviceOf();
    let replica = await open();
    await connect(server, replica);
    await server.call('add', 'first');
    await until(async () => ((await namesIn(replica)) as string[]).length === 1);
    medium.fails = (key) => key === base;
    await server.call('add', 'second');
    await until(() => ended.length > 0);
    expect(ended).toEqual([expect.objectContaining({ code: 'IO' })]);
    medium.fails = () => false;
    server.drop();

    replica = await open();
    const again = await connect(server, replica);
    expect(again.hello.position).not.toBeNull();
    await until(isCurrent(replica));
    expect(again.received.map(({ kind }) => kind)).not.toContain('part');
    expect(await namesIn(replica)).toEqual(['first', 'second']);
    await replica.close();
  });

  test('[FOLW11] a damaged message ends its connection, and nothing else', async () => {
    const server = await serverOf();
    const { open, ended } = await deviceOf();
    const replica = await open();
    for (const [wrong, reason] of [
      [serialize({ kind: 'cut' }), /INVALID_ARGUMENT|cut|last|onto/],
      [new Uint8Array([255, 15, 9, 9]), /./],
    ] as const) {
      const connection = await connect(server, replica);
      await until(isCurrent(replica));
      connection.end.received(wrong);
      await until(() => replica.state.state === 'offline');
      expect(connection.closes).toEqual([expect.stringMatching(reason)]);
      // Messages that arrive afterwards are ignored.
      connection.end.received(wrong);
      connection.end.received(serialize({ kind: 'welcome', protocol: 1, version: 1 }));
      expect(await namesIn(replica)).toEqual([]);
    }
    await replica.call('add', ['mine']);
    await connect(server, replica);
    await until(isCurrent(replica));
    expect(await server.call('names')).toEqual(['mine']);
    expect(ended).toEqual([]);
    await replica.close();
  });

  test('[FOLP21] a message out of order closes its connection with the reason, and the next one goes on', async () => {
    const server = await serverOf();
    const { open, ended } = await deviceOf();
    const replica = await open();
    const connection = await connect(server, replica);
    await until(isCurrent(replica));
    connection.end.received(serialize({ kind: 'welcome', protocol: 1, version: 1 }));
    await until(() => replica.state.state === 'offline');
    expect(connection.closes).toEqual(['"welcome" is not expected while current']);
    await replica.call('add', ['mine']);
    await connect(server, replica);
    await until(isCurrent(replica));
    expect(await server.call('names')).toEqual(['mine']);
    expect(ended).toEqual([]);
    await replica.close();
  });

  test('[FOLW8] a connection that was replaced neither ends nor disturbs the next one', async () => {
    const server = await serverOf();
    const { open, outcomes } = await deviceOf();
    const replica = await open();
    const first = await connect(server, replica);
    await until(isCurrent(replica));
    const second = await connect(server, replica);
    await until(() => second.received.length > 1);
    first.end.received(new Uint8Array([255, 15, 9, 9]));
    first.end.received(serialize({ kind: 'welcome', protocol: 1, version: 1 }));
    first.end.closed(true);
    expect((await replica.call('add', ['mine'])).n).toBe(1);
    await until(() => outcomes.has(1));
    expect([first.closes, second.closes]).toEqual([[], []]);
    expect([first.calls, second.calls]).toEqual([[], [1]]);
    expect(replica.state.state).toBe('current');
    await replica.close();
  });

  test('[FOLW12] with a server of another version nothing is forecast, and calls are sent', async () => {
    const server = await serverOf({}, 2);
    const { open, outcomes } = await deviceOf();
    const replica = await open();
    expect((await replica.call('add', ['early'])).answer).toEqual({ kind: 'value', value: 1 });
    let answers = false;
    await connect(server, replica, (message) =>
      !answers && (message.kind === 'cut' || message.kind === 'ended') && message.last > 0
        ? null
        : message,
    );
    await until(() => replica.state.state === 'current');
    expect(await namesIn(replica)).toEqual([]);
    const call = await replica.call('add', ['mine']);
    expect(call).toEqual({ n: 2, answer: null });
    expect(await namesIn(replica)).toEqual([]);
    await replica.call('add', ['more']);
    expect(await namesIn(replica)).toEqual([]);
    expect(replica.state.pending).toBe(3);
    answers = true;
    server.drop();
    await connect(server, replica);
    await until(isCurrent(replica));
    expect(outcomes.get(2)).toEqual({ kind: 'value', value: 2 });
    expect(await namesIn(replica)).toEqual(['early', 'mine', 'more']);
    await replica.close();
  });

  test('[FOLP23] a copy is offline until the server has answered it, and tells when it was last heard of', async () => {
    const server = await serverOf();
    const { open } = await deviceOf();
    const replica = await open();
    const unanswered = await connect(server, replica, () => null);
    await turns();
    expect(replica.state).toMatchObject({ state: 'offline', reason: null, lastSyncAtMs: null });
    unanswered.end.closed();
    await connect(server, replica);
    await until(isCurrent(replica));
    const { lastSyncAtMs } = replica.state;
    expect(lastSyncAtMs).toBe(1);
    server.drop();
    await until(() => replica.state.state === 'offline');
    expect(replica.state.lastSyncAtMs).toBe(1);
    // Nothing has changed: the server says so.
    await connect(server, replica);
    await until(isCurrent(replica));
    expect(replica.state.lastSyncAtMs).toBe(2);
    await replica.close();
  });

  test('[FOLP18] of very many answers that arrive together, some are shown before the last', async () => {
    const server = await serverOf();
    const { open } = await deviceOf();
    const shown: (number | null)[] = [];
    const replica = await open({ onChange: () => void shown.push(replica.state.lastSyncAtMs) });
    const held: (() => void)[] = [];
    let end: ReplicaEnd | undefined;
    const socket = server.connect();
    socket.addEventListener('open', () => {
      end = replica.connected({ send: (bytes) => socket.send(bytes), close: () => socket.close() });
    });
    let isHeld = false;
    socket.addEventListener('message', (event) => {
      const bytes = new Uint8Array((event as MessageEvent<ArrayBuffer>).data);
      const hand = () => end!.received(bytes);
      if (isHeld) held.push(hand);
      else hand();
    });
    await until(isCurrent(replica));
    await turns();
    isHeld = true;
    const count = 150;
    for (let i = 0; i < count; i++) await server.call('add', `theirs ${i}`);
    await until(() => held.length === count);
    const before = replica.state.lastSyncAtMs ?? 0;
    shown.splice(0);
    for (const hand of held.splice(0)) hand();
    expect(await namesIn(replica)).toHaveLength(count);
    // Each time, the state tells when the last of the messages was received that are shown.
    expect(shown.map((at) => at! - before)).toEqual([64, 128, 150]);
    await replica.close();
  });

  test('[FOLP20] a closed replica has closed its connection, tells nothing more, and keeps no object open', async () => {
    const server = await serverOf();
    const { open, ended, here } = await deviceOf();
    let changes = 0;
    const replica = await open({ onChange: () => void changes++ });
    const connection = await connect(server, replica);
    await until(isCurrent(replica));
    await replica.call('add', ['mine']);
    await replica.close();
    const before = changes;
    expect(connection.closes).toEqual(['the replica has ended']);
    connection.end.received(serialize({ kind: 'welcome', protocol: 1, version: 1 }));
    connection.end.closed();
    const closed = { code: 'CONNECTION_CLOSED' };
    await expect(replica.call('add', ['late'])).rejects.toMatchObject(closed);
    await expect(replica.forecast()).rejects.toMatchObject(closed);
    await expect(replica.dismiss(1)).rejects.toMatchObject(closed);
    expect(ended).toEqual([]);
    expect(changes).toBe(before);
    await here.advance(60_000);
    expect(here.host.instances.running()).toEqual([]);
  });

  test('[FOLP13] a replica that cannot be opened keeps no object open', async () => {
    const { open, here, base } = await deviceOf();
    const replica = await open();
    await replica.call('add', ['mine']);
    await replica.close();
    const queue = { className: null, id: idOfStorage(`_follow/${base}`) };
    const change = (text: string) =>
      here.host.deliver(queue, ({ storage }) => void storage.exec(text, []));
    await change('CREATE TABLE hidden AS SELECT args FROM call');
    await change("UPDATE call SET args = x'ff00'");
    await expect(open()).rejects.toThrow();
    await here.advance(60_000);
    expect(here.host.instances.running()).toEqual([]);
    await change('UPDATE call SET args = (SELECT args FROM hidden)');
    const again = await open();
    expect(await namesIn(again)).toEqual(['mine']);
    await again.close();
  });

  test('[FOLP5] a refused call is made again with its number gone, and only if it was refused', async () => {
    const server = await serverOf();
    await server.call('add', 'same');
    const { open } = await deviceOf();
    const replica = await open();
    await replica.call('add', ['same']);
    await connect(server, replica);
    await until(() => replica.state.refused === 1);
    expect(await replica.retry(2)).toBeNull();
    const failed = await replica.retry(1); // it fails here already
    expect(failed).toMatchObject({ n: null, answer: { kind: 'error' } });
    expect(replica.refusals.map(({ call }) => call.n)).toEqual([1]);
    await replica.dismiss(2);
    expect(replica.state.refused).toBe(1);
    await replica.dismiss(1);
    expect(replica.state.refused).toBe(0);
    expect(await replica.retry(1)).toBeNull();
    await replica.close();
  });

  test('[FOLP17] arguments that the server would not take are refused with their size', async () => {
    const { open } = await deviceOf();
    const replica = await open();
    const call = replica.call('add', ['x'.repeat(2 ** 20)]);
    await expect(call).rejects.toMatchObject({
      code: 'MESSAGE_TOO_LARGE',
      message: expect.stringMatching(
        /^add\(\): the arguments .* have at most \d+ bytes, these \d+\. Pass them in several calls\.$/,
      ),
    });
    expect(replica.state.pending).toBe(0);
    const { message } = await call.catch((error) => error);
    const [most, these] = message.match(/\d+(?= bytes)|\d+(?=\. Pass)/g)!.map(Number);
    const fitting = 2 ** 20 - (these - most);
    await expect(replica.call('add', ['x'.repeat(fitting + 1)])).rejects.toThrow(`${most + 1}.`);
    expect(await replica.call('add', ['x'.repeat(fitting)])).toMatchObject({ n: 1 });
    await replica.close();
  });

  test('[FOLP5] a refused call that changes nothing any more, when it is made again, is refused no longer', async () => {
    const server = await serverOf();
    await server.call('add', 'same');
    const { open } = await deviceOf();
    const replica = await open();
    await replica.call('claim', ['same']);
    await connect(server, replica);
    await until(() => replica.state.refused === 1);
    expect(await replica.retry(1)).toMatchObject({ n: null, answer: { kind: 'error' } });
    expect(replica.state.refused).toBe(1);
    await server.call('add', 'all may have it');
    await until(async () => ((await namesIn(replica)) as string[]).length === 2);
    const again = { n: null, answer: { kind: 'value', value: 'there' } };
    expect(await replica.retry(1)).toEqual(again);
    expect(replica.state).toMatchObject({ pending: 0, refused: 0 });
    await replica.close();
  });

  test('[FOLP5] [FOLW12] a refused call is made again without a forecast, too', async () => {
    const server = await serverOf({}, 2);
    await server.call('add', 'same');
    const { open } = await deviceOf();
    const replica = await open();
    await replica.call('add', ['same']);
    await connect(server, replica);
    await until(() => replica.state.refused === 1);
    await server.call('clear');
    await until(async () => ((await namesIn(replica)) as string[]).length === 0);
    expect(await replica.retry(1)).toEqual({ n: 2, answer: null });
    await until(isCurrent(replica));
    expect(replica.state.refused).toBe(0);
    expect(await server.call('names')).toEqual(['same']);
    await replica.close();
  });

  test('[FOLP6] a call that only the server can run stays out of every later forecast, and others stay in it', async () => {
    const server = await serverOf();
    await server.call('add', 'theirs');
    const { open, outcomes } = await deviceOf();
    let replica = await open();
    await replica.call('add', ['first']);
    const ended = await replica.call('endUnlessTheirs', ['by the server']);
    expect(ended).toEqual({ n: 2, answer: null });
    await replica.call('add', ['last']);
    expect(await namesIn(replica)).toEqual(['first', 'last']);
    let answers = false;
    const answered = (message: MessageToFollower) =>
      !answers && 'last' in message && message.last > 0 ? null : message;
    await connect(server, replica, answered);
    // On the state of the server, this call would not reset the object.
    await until(async () => ((await namesIn(replica)) as string[])[0] === 'theirs');
    expect(await namesIn(replica)).toEqual(['theirs', 'first', 'last']);
    await replica.close();
    server.drop();
    replica = await open();
    expect(await namesIn(replica)).toEqual(['theirs', 'first', 'last']);
    answers = true;
    await connect(server, replica, answered);
    await until(isCurrent(replica));
    expect(outcomes.get(2)).toMatchObject({ kind: 'value' });
    expect(await namesIn(replica)).toEqual(['theirs', 'first', 'by the server', 'last']);
    await replica.close();
  });

  test('[FOLP13] a replica whose forecast cannot be made is not open, and keeps its calls', async () => {
    const { open, here, ended } = await deviceOf();
    const replica = await open();
    await replica.call('add', ['mine']);
    await replica.close();
    const { branches } = here.host;
    const { fork } = branches;
    const full = storageError('DISK_FULL', 'full by the test');
    branches.fork = async () => {
      throw full;
    };
    await expect(open()).rejects.toBe(full);
    expect(ended).toEqual([full]);
    await here.advance(60_000);
    expect(here.host.instances.running()).toEqual([]);
    branches.fork = fork;
    const again = await open();
    expect(again.state.pending).toBe(1);
    expect(await namesIn(again)).toEqual(['mine']);
    await again.close();
  });
});
