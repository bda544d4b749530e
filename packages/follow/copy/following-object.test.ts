// Tests an object that follows as its app sees it: its answers, states and errors while its copy opens, fails and closes.

import { afterEach, describe, expect, test, vi } from 'vitest';
import { storageError } from '../../../src/shared/contract/errors.ts';
import { addressKey, idOfStorage } from '../../../src/shared/contract/object-id.ts';
import { deserialize } from '../../../src/shared/values/decode.ts';
import { serialize } from '../../../src/shared/values/encode.ts';
import type { FollowOutcome } from '../../../src/shared/wire/follow-asks.ts';
import { MemoryCatalog } from '../../../worker/objects/catalog/catalog.ts';
import { type FollowedObject, queuedAs } from '../../../worker/objects/host/followers.ts';
import { SlowMedium } from '../../testing/worker/slow-medium.ts';
import { decodeToServer } from '../protocol/decode.ts';
import type { FollowedOutcome, MessageToFollower } from '../protocol/messages.ts';
import { endsOfTests } from '../testing/ends.ts';
import {
  type Device,
  type DeviceOptions,
  deviceOf,
  namesOf,
  settledOf,
  stateOf,
  turns,
  unreachable,
  until,
  worldOf,
} from '../testing/followed-device.ts';
import { followedServer } from '../testing/followed-server.ts';
import { ItemRoom } from '../testing/item-room.ts';
import type { LinkSocket } from './link.ts';

class Room extends ItemRoom {
  fail(name: string) {
    this.add(name);
    throw new RangeError(`no ${name}`);
  }
  refuse(): never {
    throw new TypeError('never');
  }
}

afterEach(() => {
  vi.restoreAllMocks();
});
const ends = endsOfTests();

async function device(
  connect: (name: string) => LinkSocket,
  options: DeviceOptions = {},
): Promise<Device> {
  const made = await deviceOf(Room, connect, options);
  ends.push(() => made.close());
  return made;
}

async function serverOf() {
  const server = await followedServer(Room, { methods: ['add', 'fail', 'names'] });
  ends.push(() => server.close());
  return server;
}

const settle = (room: FollowedObject, n: number) =>
  room.ask({ kind: 'settled', n }) as Promise<FollowOutcome>;

/** Returns the error with which the promise rejects. */
const failure = (promise: Promise<unknown>): Promise<Error & { code?: string }> =>
  promise.then(
    () => expect.fail('it succeeded'),
    (error) => error,
  );

/** A connection to a server that the test plays: its object is empty, and it sends what the test tells it to. */
class ScriptedSocket extends EventTarget implements LinkSocket {
  binaryType = '';
  readyState = 0;
  hasGreeted = false;

  constructor() {
    super();
    setImmediate(() => {
      this.readyState = 1;
      this.dispatchEvent(new Event('open'));
    });
  }

  tell(message: MessageToFollower): void {
    const { buffer } = serialize(message).slice();
    this.dispatchEvent(new MessageEvent('message', { data: buffer }));
  }

  send(data: Uint8Array | string): void {
    if (typeof data === 'string' || this.hasGreeted) return;
    expect(decodeToServer(deserialize(data)).kind).toBe('hello');
    this.hasGreeted = true;
  }

  /** Sends the whole object, which is empty. */
  greet(): void {
    this.tell({ kind: 'welcome', protocol: 2, version: 1, received: NO_CALL });
    const [from, changes] = [
      { id: 0, life: 0 },
      serialize({ isWiped: true, schema: [], tables: [], sequences: null, kv: [], kvGone: [] }),
    ];
    const copy = { from, at: from, parts: 1, next: null };
    this.tell({ kind: 'part', copy, progress: 0, changes, receipt: null });
    const rest = serialize({ ...CHANGES, isWiped: false });
    this.tell({
      kind: 'cut',
      onto: { kind: 'parts', from, count: 1 },
      to: from,
      last: 0,
      outcomes: [],
      changes: rest,
      receipt: null,
    });
  }

  /** Sends the first of several parts of the object. */
  begin(progress: number): void {
    this.tell({ kind: 'welcome', protocol: 2, version: 1, received: NO_CALL });
    const from = { id: 0, life: 0 };
    const copy = { from, at: from, parts: 1, next: 'more' };
    const changes = serialize({ ...CHANGES, isWiped: true, schema: [] });
    this.tell({ kind: 'part', copy, progress, changes, receipt: null });
  }

  answer(last: number, outcomes: readonly (readonly [number, FollowedOutcome])[]): void {
    this.tell({ kind: 'ended', last, outcomes, receipt: null });
  }

  close(): void {
    this.readyState = 3;
    this.dispatchEvent(new Event('close'));
  }
}
const NO_CALL = { n: 0, mark: null };
const CHANGES = { schema: null, tables: [], sequences: null, kv: [], kvGone: [] };

/** Returns a copy that has said hello to a server that the test plays. */
async function greeting() {
  const sockets: ScriptedSocket[] = [];
  const used = await device(() => {
    sockets.push(new ScriptedSocket());
    return sockets.at(-1)!;
  });
  const room = used.room('a');
  await room.call('names', []);
  await until(() => sockets[0]?.hasGreeted === true);
  return { ...used, room, socket: sockets[0]!, sockets };
}

/** Returns a copy that has received the whole object from a server that the test plays. */
async function scripted() {
  const made = await greeting();
  made.socket.greet();
  await until(async () => (await stateOf(made.room)).state === 'current');
  return made;
}

describe('an object that follows', () => {
  test('[FOLW9] [FOLP3] settled has the answer of the server, as a value, an error of the method or of the protocol', async () => {
    const { room, socket } = await scripted();
    for (let i = 0; i < 5; i++)
      expect(await room.call('add', [`${i}`])).toEqual({ value: i + 1, n: i + 1 });
    const early = settle(room, 1);
    socket.answer(5, [
      [1, { kind: 'value', value: 'one' }],
      [2, { kind: 'error', error: new RangeError('two') }],
      [3, { kind: 'failed', code: 'CALL_INTERRUPTED' }],
      [4, { kind: 'failed', code: 'CALL_ABANDONED' }],
    ]);
    expect(await early).toEqual({ kind: 'value', value: 'one' });
    expect(await settle(room, 1)).toEqual({ kind: 'value', value: 'one' });
    const two = await settle(room, 2);
    expect(two).toEqual({ kind: 'error', error: expect.any(RangeError) });
    const failures: [number, string, RegExp][] = [
      [3, 'CALL_INTERRUPTED', /restarted while the call waited/],
      [4, 'CALL_ABANDONED', /Each attempt of the call ended the object/],
      [5, 'OUTCOME_LOST', /has run the call, and its result is not known/],
      [77, 'OUTCOME_LOST', /has run the call, and its result is not known/],
    ];
    for (const [n, code, text] of failures) {
      expect(await settle(room, n)).toEqual({
        kind: 'error',
        error: expect.objectContaining({ code, message: expect.stringMatching(text) }),
      });
    }
    const refusals = (await room.ask({ kind: 'refusals' })) as { n: number; reason: unknown }[];
    expect(refusals.map(({ n }) => n)).toEqual([2, 3, 4, 5]);
    expect(refusals[0]).toMatchObject({ method: 'add', args: ['1'] });
    expect(refusals[0]!.reason).toBeInstanceOf(RangeError);
    expect(refusals[1]!.reason).toMatchObject({ code: 'CALL_INTERRUPTED' });
  });

  test('[FOLP3] an answer that was not read before the device restarted is lost, a refusal is not', async () => {
    const server = await serverOf();
    const world = worldOf();
    const first = await device(() => server.connect(), { world });
    const [added, failed] = [
      await first.room('a').call('add', ['mine']),
      await failure(first.room('a').call('fail', ['mine'])),
    ];
    expect([added.n, queuedAs(failed)]).toEqual([1, 2]);
    await settledOf(first.room('a'));
    await first.close();
    const second = await device(() => server.connect(), { world });
    const room = second.room('a');
    expect(await settle(room, 1)).toMatchObject({ error: { code: 'OUTCOME_LOST' } });
    expect(await settle(room, 2)).toEqual({ kind: 'error', error: expect.any(RangeError) });
    expect(await room.ask({ kind: 'refusals' })).toMatchObject([{ n: 2, method: 'fail' }]);
  });

  test('[FOLP7] [FOLP3] an error of the forecast tells whether the call is in the queue', async () => {
    const used = await device(unreachable);
    const room = used.room('a');
    const refused = await failure(room.call('refuse', []));
    expect(refused).toBeInstanceOf(TypeError);
    expect(queuedAs(refused)).toBeUndefined();
    const failed = await failure(room.call('fail', ['mine']));
    expect(queuedAs(failed)).toBe(1);
    expect((failed as unknown as { error: unknown }).error).toBeInstanceOf(RangeError);
    expect(await stateOf(room)).toMatchObject({ pending: 1 });
    expect(await namesOf(room)).toEqual(['mine']);
  });

  test('[FOLP3] an object without a name cannot follow, and says how to give it one', async () => {
    const used = await device(unreachable);
    const named = used.here.address('a').id;
    const id = used.here.host.classes.get('Room').ids.fromString(named.toString());
    const unnamed = used.followers.find({ className: 'Room', id })!;
    const refused = {
      code: 'INVALID_ARGUMENT',
      message: `follow: object ${named} of Room has no name, by which the server's object is found; use getByName or idFromName.`,
    };
    await expect(unnamed.call('names', [])).rejects.toMatchObject(refused);
    // The next use is refused in the same way.
    await expect(unnamed.forecast()).rejects.toMatchObject(refused);
    expect(used.connects()).toBe(0);
    // Reached by its name, the same object follows its server.
    expect(await used.room('a').call('add', ['mine'])).toEqual({ value: 1, n: 1 });
    const found = used.followers.find({ className: 'Room', id })!;
    expect(await namesOf(found)).toEqual(['mine']);
  });

  test('[FOLP3] each change of the state is told once', async () => {
    const server = await serverOf();
    server.isDown = true;
    const used = await device(() => server.connect());
    const room = used.room('a');
    const seen: Record<string, unknown>[] = [];
    let after = 0;
    let isOver = false;
    const listening = (async () => {
      while (!isOver) {
        const { version, ...state } = (await room.ask({ kind: 'state', after })) as {
          version: number;
        } & Record<string, unknown>;
        expect(version).toBeGreaterThan(after);
        after = version;
        seen.push(state);
      }
    })();
    listening.catch(() => {});
    await room.call('add', ['mine']);
    await until(() => seen.length === 2);
    server.isDown = false;
    await used.runTimers(100);
    await until(() => seen.at(-1)!.state === 'current' && seen.at(-1)!.pending === 0);
    isOver = true;
    expect(seen.slice(0, 2)).toMatchObject([{ pending: 0 }, { state: 'offline', pending: 1 }]);
    for (const [i, state] of seen.entries()) expect(state).not.toEqual(seen[i + 1]);
    await used.close();
  });

  test('[FOLP13] after its host was closed every use is CONNECTION_CLOSED, also a use that waits', async () => {
    const used = await device(unreachable);
    const room = used.room('a');
    const { n } = await room.call('add', ['mine']);
    const { version } = await stateOf(room);
    const waits = [settle(room, n!), room.ask({ kind: 'state', after: version })];
    const outcomes = Promise.allSettled(waits);
    await turns();
    await used.close();
    const closed = { code: 'CONNECTION_CLOSED', message: 'The host of the objects was closed.' };
    for (const outcome of await outcomes) expect(outcome).toMatchObject({ reason: closed });
    for (const use of [
      () => room.call('names', []),
      () => room.forecast(),
      () => settle(room, n!),
      () => stateOf(room),
      () => room.ask({ kind: 'refusals' }),
      () => room.ask({ kind: 'forget' }),
    ]) {
      await expect(use()).rejects.toMatchObject(closed);
    }
  });

  test('[FOLP22] a copy whose files were needed goes on by itself, with the same answers', async () => {
    const server = await serverOf();
    server.isDown = true;
    const used = await device(() => server.connect());
    const room = used.room('a');
    const { n } = await room.call('add', ['mine']);
    const answer = settle(room, n!);
    await used.here.turns(20);
    used.followers.makeRoom();
    await until(() => used.connects() === 2);
    server.isDown = false;
    await used.runTimers(100);
    await until(async () => ((await server.call('names')) as string[]).length === 1);
    expect(await answer).toEqual({ kind: 'value', value: 1 });
  });

  test('[FOLP13] a copy whose disk fails says so, is offline, and comes back with its calls after a second', async () => {
    const heard = vi.spyOn(console, 'error').mockImplementation(() => {});
    const server = await serverOf();
    const medium = new SlowMedium();
    const world = { medium, catalog: new MemoryCatalog() };
    const used = await device(() => server.connect(), { world });
    const room = used.room('a');
    await settledOf(room);
    server.isDown = true;
    await room.call('add', ['mine']);
    const key = addressKey(used.here.address('a'));
    const queueKey = idOfStorage(`_follow/${key}`).toString();
    medium.fails = (one) => one === queueKey;
    await expect(room.call('add', ['lost'])).rejects.toMatchObject({ code: 'IO' });
    await until(() => heard.mock.calls.length > 0);
    expect(heard.mock.calls).toEqual([
      ['The copy of a has failed:', expect.objectContaining({ code: 'IO' })],
    ]);
    expect(used.delays()).toContain(1000);
    medium.fails = () => false;
    server.isDown = false;
    const before = used.connects();
    await used.runTimers(1000);
    await until(() => used.connects() > before);
    await until(async () => ((await server.call('names')) as string[]).length > 0);
    await settledOf(room);
    // The call that failed may have been stored, so only the first name is certain.
    expect(((await server.call('names')) as string[])[0]).toBe('mine');
  });

  test('[FOLP13] a copy that somebody has deleted comes back, and no error is logged', async () => {
    const heard = vi.spyOn(console, 'error').mockImplementation(() => {});
    const server = await serverOf();
    const used = await device(() => server.connect());
    const room = used.room('a');
    await room.call('add', ['mine']);
    await settledOf(room);
    const gone = { code: expect.stringMatching(/^(OBJECT_RESET|BRANCH_ENDED)$/) };
    const erased = () => used.here.host.erase(used.here.address('a'));
    const { version } = await stateOf(room);
    const told: unknown[] = [];
    void room.ask({ kind: 'state', after: version }).then((state) => told.push(state));
    await erased();
    await expect(namesOf(room)).rejects.toMatchObject(gone);
    await turns();
    expect(told).toMatchObject([{ state: 'offline', progress: null, pending: 0 }]);
    // No call waits in the copy, so no timer opens it again, only its next use.
    expect(used.delays()).not.toContain(1000);
    await settledOf(room);
    expect(await namesOf(room)).toEqual(['mine']);
    server.isDown = true;
    await room.call('add', ['waits']);
    await erased();
    await expect(namesOf(room)).rejects.toMatchObject(gone);
    expect(used.delays()).toContain(1000);
    server.isDown = false;
    await used.runTimers(1000);
    await until(async () => ((await server.call('names')) as string[]).length === 2);
    expect(heard.mock.calls).toEqual([]);
  });

  test('[FOLP25] a copy that ends while it is received has no progress any more', async () => {
    const { here, room, socket } = await greeting();
    socket.begin(0.25);
    await until(async () => (await stateOf(room)).progress === 0.25);
    const { state, version } = await stateOf(room);
    expect(state).toBe('catchingUp');
    const told = room.ask({ kind: 'state', after: version });
    await turns();
    await here.host.erase(here.address('a'));
    await expect(namesOf(room)).rejects.toThrow();
    expect(await told).toMatchObject({ state: 'offline', progress: null });
  });

  test('[FOLP14] a copy whose server is silent is offline 5 s later while an app listens, and current with its next message', async () => {
    const socket = new ScriptedSocket();
    const { room, runTimers, delays } = await device(() => socket);
    await room('a').call('names', []);
    await until(() => socket.hasGreeted);
    socket.greet();
    await settledOf(room('a'));
    expect(delays()).toContain(25_000);
    const next = async () => {
      const { version } = await stateOf(room('a'));
      return room('a').ask({ kind: 'state', after: version });
    };
    const silent = next();
    await turns();
    expect(delays()).not.toContain(25_000);
    await runTimers(3000);
    await runTimers(2000);
    expect(await silent).toMatchObject({ state: 'offline', reason: null });
    const heard = next();
    await turns();
    socket.dispatchEvent(new MessageEvent('message', { data: '_follow_pong' }));
    expect(await heard).toMatchObject({ state: 'current', reason: null });
    expect(socket.readyState).toBe(1);
  });

  test('[FOLP40] a copy of a class with another version than that of the server is outdated: up to date, without forecasts', async () => {
    const server = await followedServer(Room, { methods: ['add'], version: 2 });
    ends.push(() => server.close());
    const { room, runTimers } = await device(() => server.connect());
    await room('a').call('names', []);
    await until(async () => (await stateOf(room('a'))).state !== 'offline');
    await until(async () => (await stateOf(room('a'))).state !== 'catchingUp');
    expect(await stateOf(room('a'))).toMatchObject({ state: 'outdated', reason: 'OTHER_VERSION' });
    expect(await room('a').call('add', ['mine'])).toMatchObject({ value: 1 });
    expect(await namesOf(room('a'))).toEqual(['mine']);
    server.isDown = true;
    const waits = room('a').call('add', ['waits']);
    await until(async () => (await stateOf(room('a'))).pending === 1);
    expect(await stateOf(room('a'))).toMatchObject({ state: 'offline', reason: 'OTHER_VERSION' });
    expect(await namesOf(room('a'))).toEqual(['mine']);
    server.isDown = false;
    await runTimers(100);
    expect(await waits).toMatchObject({ value: 2 });
  });

  test('[FOLP41] the version of a class may be its static property; an option that differs is refused by name', async () => {
    class Versioned extends Room {
      static readonly version = 2;
    }
    const server = await followedServer(Room, { methods: ['add'], version: 2 });
    ends.push(() => server.close());
    const made = await deviceOf(Versioned, () => server.connect());
    ends.push(() => made.close());
    await made.room('a').call('names', []);
    await settledOf(made.room('a'));
    await expect(deviceOf(Versioned, unreachable, { version: 3 })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('follow: Room: the option version is 3'),
    });
  });

  test('[FOLP14] the pause before the next attempt is random', async () => {
    for (const [drawn, delayMs] of [
      [0, 100],
      [2 ** 31, 150],
    ] as const) {
      const used = await device(unreachable, { randomUint32: () => drawn });
      await used.room('a').call('names', []);
      await until(() => used.delays().includes(delayMs));
      await used.close();
    }
  });

  test('[FOLP14] an address that cannot be made now is asked for again', async () => {
    const server = await serverOf();
    const asked: string[] = [];
    const used = await device(() => server.connect(), {
      url: async (name) => {
        asked.push(name);
        if (asked.length === 1) throw new Error('no token');
        return new URL('ws://server/');
      },
    });
    await used.room('a').call('names', []);
    await until(() => used.delays().includes(100));
    await used.runTimers(100);
    await settledOf(used.room('a'));
    expect(asked).toEqual(['a', 'a']);
  });

  test('[FOLP9] forget of a copy with refusals and waiting calls returns both, and the next one is empty', async () => {
    const server = await serverOf();
    const world = worldOf();
    const used = await device(() => server.connect(), { world });
    const room = used.room('a');
    await failure(room.call('fail', ['mine']));
    await until(async () => (await stateOf(room)).refused === 1);
    server.isDown = true;
    await room.call('add', ['waits']);
    expect(await room.ask({ kind: 'forget' })).toEqual([
      { n: 1, method: 'fail', args: ['mine'], reason: expect.any(RangeError) },
      { n: 2, method: 'add', args: ['waits'], reason: null },
    ]);
    await expect(settle(room, 2)).rejects.toMatchObject({
      code: 'FOLLOW_STOPPED',
      message: expect.stringContaining('forget() has returned it'),
    });
    expect(await room.ask({ kind: 'refusals' })).toEqual([]);
    expect(await stateOf(room)).toMatchObject({ pending: 0, refused: 0, lastSyncAtMs: null });
    expect(await namesOf(room)).toEqual([]);
    await used.close();
    const next = await device(() => server.connect(), { world });
    await next.runTimers(2000);
    expect(next.connects()).toBe(0);
  });

  test('[FOLP9] a copy that fails while it is forgotten is followed by one copy, with one connection', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {});
    const server = await serverOf();
    const medium = new SlowMedium();
    const used = await device(() => server.connect(), {
      world: { medium, catalog: new MemoryCatalog() },
    });
    const room = used.room('a');
    await settledOf(room);
    const queueKey = idOfStorage(`_follow/${addressKey(used.here.address('a'))}`).toString();
    medium.fails = (key) => key === queueKey;
    const failing = failure(room.call('add', ['lost']));
    const forgotten = room.ask({ kind: 'forget' });
    const first = room.call('names', []);
    expect(await failing).toMatchObject({ code: 'IO' });
    medium.fails = () => false;
    const second = room.call('names', []);
    await Promise.all([forgotten, first, second]);
    await settledOf(room);
    await turns();
    expect(used.connects()).toBe(2);
  });

  test('[FOLP34] an answer to a call of a later copy is waited for by the number that the app knows', async () => {
    const server = await serverOf();
    const used = await device(() => server.connect());
    const room = used.room('a');
    for (const name of ['one', 'two']) await room.call('add', [name]);
    await settledOf(room);
    await room.ask({ kind: 'forget' });
    await settledOf(room);
    server.isDown = true;
    expect(await room.call('add', ['three'])).toEqual({ value: 3, n: 3 });
    const answer = settle(room, 3);
    await turns();
    server.isDown = false;
    await used.runTimers(100);
    expect(await answer).toEqual({ kind: 'value', value: 3 });
  });

  test('[FOLP14] a process of Node waits for the next attempt only while calls wait', async () => {
    const used = await device(unreachable);
    const room = used.room('a');
    await namesOf(room);
    await until(() => used.delays().includes(100));
    expect(used.keepAliveDelays()).toEqual([]);
    await room.call('add', ['mine']);
    await until(() => used.keepAliveDelays().length > 0);
    expect(used.keepAliveDelays()).toEqual([100]);
  });

  test('[FOLP19] a call whose object could not be listed is told to be in the queue, and is sent after a later start', async () => {
    const heard = vi.spyOn(console, 'error').mockImplementation(() => {});
    const server = await serverOf();
    const medium = new SlowMedium();
    const world = { medium, catalog: new MemoryCatalog() };
    const listKey = idOfStorage('_follow/waiting').toString();
    const first = await device(unreachable, { world });
    medium.fails = (key) => key === listKey;
    const failed = await failure(first.room('a').call('add', ['mine']));
    expect(queuedAs(failed)).toBe(1);
    expect((failed as unknown as { error: unknown }).error).toMatchObject({ code: 'IO' });
    await first.close();

    const second = await device(unreachable, { world });
    expect(await namesOf(second.room('a'))).toEqual(['mine']);
    await until(() => heard.mock.calls.length > 0);
    expect(heard.mock.calls).toEqual([
      ['Waiting calls could not be noted:', expect.objectContaining({ code: 'IO' })],
    ]);
    await second.close();

    medium.fails = () => false;
    const third = await device(unreachable, { world });
    await third.runTimers(2000);
    expect(third.connects()).toBe(0); // The object is not in the list yet.
    expect(await namesOf(third.room('a'))).toEqual(['mine']);
    await third.close();

    const fourth = await device(() => server.connect(), { world });
    await fourth.runTimers(2000);
    await until(async () => ((await server.call('names')) as string[]).length === 1);
    await settledOf(fourth.room('a'));
  });

  test('[FOLP22] those who wait for an answer learn that the copy cannot be opened any more', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {});
    const medium = new SlowMedium();
    const used = await device(unreachable, { world: { medium, catalog: new MemoryCatalog() } });
    const room = used.room('a');
    const { n } = await room.call('add', ['mine']);
    const answer = failure(settle(room, n!));
    await turns();
    const address = used.here.address('a');
    const key = addressKey(address);
    const { directory } = medium;
    let isBroken = true;
    medium.directory = async (one) => {
      if (isBroken && one.startsWith(key)) throw new Error('The disk is broken.');
      return directory.call(medium, one);
    };
    await used.here.host.reset(address, storageError('OBJECT_RESET', 'reset by the test'));
    await expect(namesOf(room)).rejects.toThrow();
    await used.runTimers(1000);
    expect(await answer).toMatchObject({ message: expect.stringContaining('disk is broken') });
    isBroken = false;
    expect(await stateOf(room)).toMatchObject({ pending: 1 });
    expect(await namesOf(room)).toEqual(['mine']);
  });

  test('[FOLP20] a copy that cannot leave the list when it is closed says so, and is closed', async () => {
    const heard = vi.spyOn(console, 'error').mockImplementation(() => {});
    const server = await serverOf();
    const medium = new SlowMedium();
    const used = await device(() => server.connect(), {
      world: { medium, catalog: new MemoryCatalog() },
    });
    const room = used.room('a');
    await room.call('add', ['mine']);
    await settledOf(room);
    const listKey = idOfStorage('_follow/waiting').toString();
    medium.fails = (key) => key === listKey;
    await used.runTimers(60_000);
    await used.runTimers(60_000);
    expect(heard.mock.calls).toEqual([
      ['The copy of a could not be closed:', expect.objectContaining({ code: 'IO' })],
    ]);
    medium.fails = () => false;
    await settledOf(room);
    expect(await namesOf(room)).toEqual(['mine']);
  });

  test('[FOLP20] an answer that is known opens no copy, nor does a forgotten call', async () => {
    const server = await serverOf();
    const used = await device(() => server.connect());
    const room = used.room('a');
    await room.call('add', ['mine']);
    await settledOf(room);
    server.isDown = true;
    await room.call('add', ['waits']);
    await room.ask({ kind: 'forget' });
    server.isDown = false;
    await turns();
    const connects = used.connects();
    expect(await settle(room, 1)).toEqual({ kind: 'value', value: 1 });
    await expect(settle(room, 2)).rejects.toMatchObject({ code: 'FOLLOW_STOPPED' });
    await turns();
    expect(used.connects()).toBe(connects);
  });

  test('[FOLP5] a refused call that throws here again, but writes, is made again', async () => {
    const server = await serverOf();
    const used = await device(() => server.connect());
    const room = used.room('a');
    await failure(room.call('fail', ['mine']));
    await until(async () => (await stateOf(room)).refused === 1);
    server.isDown = true;
    expect(await room.ask({ kind: 'retry', n: 1 })).toBeNull();
    expect(await stateOf(room)).toMatchObject({ pending: 1, refused: 0 });
    server.isDown = false;
    await used.runTimers(100);
    await until(async () => (await stateOf(room)).refused === 1);
    expect(await room.ask({ kind: 'refusals' })).toMatchObject([{ n: 2, method: 'fail' }]);
    await expect(room.ask({ kind: 'retry', n: 1 })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: 'retry: there is no refused call 1; it was dismissed, or made again.',
    });
  });
});
