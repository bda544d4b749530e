// Tests copies that nobody uses: their calls are sent after a start, and they are closed when no calls wait.

import { describe, expect, test } from 'vitest';
import { serialize } from '../../../src/shared/values/encode.ts';
import type { FollowedObject } from '../../../worker/objects/host/followers.ts';
import { endsOfTests } from '../testing/ends.ts';
import {
  type Device,
  deviceOf,
  namesOf,
  settledOf,
  stateOf,
  turns,
  unreachable,
  until,
  worldOf,
} from '../testing/followed-device.ts';
import { type FollowedServer, followedServer } from '../testing/followed-server.ts';
import { ItemRoom } from '../testing/item-room.ts';
import type { LinkSocket } from './link.ts';

class Room extends ItemRoom {}

const ends = endsOfTests();

async function serverOf(): Promise<FollowedServer> {
  const server = await followedServer(Room, { methods: ['add', 'names'] });
  ends.push(() => server.close());
  return server;
}

async function device(connect: (name: string) => LinkSocket, world = worldOf()): Promise<Device> {
  const made = await deviceOf(Room, connect, { world });
  ends.push(() => made.close());
  return made;
}

describe('copies that nobody uses', () => {
  test('[FOLP19] the calls that wait are sent after a start, and then it is closed', async () => {
    const server = await serverOf();
    const world = worldOf();
    const first = await device(unreachable, world);
    for (const name of ['mine', 'mine too']) await first.room('a').call('add', [name]);
    await first.room('b').call('names', []);
    await first.close();

    const second = await device(() => server.connect(), world);
    await turns();
    expect(second.connects()).toBe(0);
    await second.runTimers(2000);
    await until(async () => ((await server.call('names')) as string[]).length === 2);
    expect(await server.call('names')).toEqual(['mine', 'mine too']);
    await settledOf(second.room('a'));
    expect(second.connects()).toBe(1);
    await second.runTimers(60_000);
    await second.runTimers(60_000);
    expect(second.here.host.instances.running()).toEqual([]);
    await second.close();

    const third = await device(() => server.connect(), world);
    await third.runTimers(2000);
    expect(third.connects()).toBe(0);
    expect(await third.room('a').call('names', [])).toMatchObject({ value: ['mine', 'mine too'] });
  });

  test('[FOLP19] calls of many objects that wait are sent, some objects at a time', {
    tags: 'long',
  }, async () => {
    const server = await serverOf();
    const world = worldOf();
    const first = await device(unreachable, world);
    for (let i = 0; i < 20; i++) await first.room(`room ${i}`).call('add', [`${i}`]);
    await first.close();
    const connected = new Set<string>();
    let isDown = true;
    const second = await device((name) => {
      if (isDown) return unreachable();
      connected.add(name);
      return server.connect(); // All objects here follow one object on the server.
    }, world);
    await second.runTimers(2000);
    expect(second.connects()).toBe(8);
    isDown = false;
    await second.runTimers(100);
    await until(() => connected.size === 20);
    await Promise.all(Array.from({ length: 20 }, (_, i) => settledOf(second.room(`room ${i}`))));
    const names = (await server.call('names')) as string[];
    expect(names.map(Number).toSorted((one, other) => one - other)).toEqual(
      Array.from({ length: 20 }, (_, i) => i),
    );
  });

  test('[FOLP19] objects whose server stays down do not keep others waiting', {
    tags: 'long',
  }, async () => {
    const server = await serverOf();
    const world = worldOf();
    const first = await device(unreachable, world);
    for (let i = 0; i < 20; i++) await first.room(`room ${i}`).call('add', [`${i}`]);
    await first.close();
    const second = await device((name) => {
      if (name !== 'room 9') return unreachable();
      return server.connect();
    }, world);
    await second.runTimers(2000);
    await second.runTimers(30_000);
    await second.runTimers(30_000);
    await until(async () => ((await server.call('names')) as string[]).length === 1);
    expect(await server.call('names')).toEqual(['9']);
  });

  test('[FOLP20] a copy is closed after a minute without use, not after a minute with one, and opened by the next use', async () => {
    const server = await serverOf();
    const { room, runTimers, connects, here } = await device(() => server.connect());
    await room('a').call('add', ['mine']);
    await settledOf(room('a'));
    await runTimers(60_000);
    expect(here.host.instances.running()).not.toEqual([]);
    await runTimers(60_000);
    expect(here.host.instances.running()).toEqual([]);
    await server.call('add', 'theirs');
    expect(await room('a').call('names', [])).toMatchObject({ value: ['mine'] });
    await settledOf(room('a'));
    expect(await namesOf(room('a'))).toEqual(['mine', 'theirs']);
    expect(connects()).toBe(2);
  });

  test.each([
    [
      'calls wait',
      async (room: FollowedObject, server: FollowedServer) => {
        server.isDown = true;
        await room.call('add', ['mine']);
      },
    ],
    [
      'somebody listens to its state',
      async (room: FollowedObject) => {
        const { version } = await stateOf(room);
        room.ask({ kind: 'state', after: version }).catch(() => {});
      },
    ],
    [
      'a live read holds its forecast',
      async (room: FollowedObject, _: unknown, { here }: Device) => {
        const instance = await here.host.instance(await room.forecast());
        instance.context.retain();
      },
    ],
  ] as const)('[FOLP20] is not closed while %s', async (_, use) => {
    const server = await serverOf();
    const used = await device(() => server.connect());
    await settledOf(used.room('a'));
    await use(used.room('a'), server, used);
    for (let i = 0; i < 4; i++) await used.runTimers(60_000);
    expect(used.here.host.instances.running().length).toBeGreaterThan(0);
  });

  test('[FOLP22] more objects than files may be open for are used, offline, and their calls are sent', {
    tags: 'long',
  }, async () => {
    const server = await serverOf();
    let isDown = true;
    const used = await device(() => (isDown ? unreachable() : server.connect()));
    const rooms = Array.from({ length: 45 }, (_, i) => `room ${i}`);
    const settled: Promise<unknown>[] = [];
    for (const name of rooms) {
      const { n } = await used.room(name).call('add', [name]);
      settled.push(used.room(name).ask({ kind: 'settled', n: n! }) as Promise<unknown>);
    }
    await Promise.all(
      rooms.map(async (name) => expect(await namesOf(used.room(name))).toEqual([name])),
    );
    isDown = false;
    let answered = 0;
    for (const one of settled) void one.then(() => (answered += 1));
    while (answered < rooms.length) {
      await used.runTimers(100);
      await used.runTimers(30_000);
    }
    expect(((await server.call('names')) as string[]).toSorted()).toEqual(rooms.toSorted());
  });

  test('[FOLP21] a copy that has stopped does not connect again', async () => {
    const { room, connects, runTimers } = await device(() => new RejectingSocket());
    await room('a').call('names', []);
    await until(async () => (await stateOf(room('a'))).state === 'stopped');
    expect(await stateOf(room('a'))).toMatchObject({ reason: 'PROTOCOL', pending: 0 });
    for (let i = 0; i < 4; i++) for (const delayMs of [100, 200, 25_000]) await runTimers(delayMs);
    expect(connects()).toBe(1);
    await room('a').ask({ kind: 'forget' });
    await room('a').call('names', []);
    await until(() => connects() === 2);
  });

  test('[FOLP21] it tells that another identity has used the copy, until it is forgotten', async () => {
    let user = 'Ada';
    const server = await followedServer(Room, {
      methods: ['add', 'names'],
      authorize: () => user,
    });
    ends.push(() => server.close());
    const { room, runTimers, connects } = await device(() => server.connect());
    await room('a').call('add', ['of Ada']);
    await settledOf(room('a'));
    user = 'Bob';
    server.drop();
    await runTimers(100);
    await until(async () => (await stateOf(room('a'))).state === 'stopped');
    expect(await stateOf(room('a'))).toMatchObject({ reason: 'CLIENT_TAKEN' });
    await runTimers(100);
    expect(connects()).toBe(2);
    await room('a').ask({ kind: 'forget' });
    await settledOf(room('a'));
    expect(await namesOf(room('a'))).toEqual(['of Ada']);
  });
});

/** A connection to a server that has no version of the protocol in common with this side. */
class RejectingSocket extends EventTarget implements LinkSocket {
  binaryType = '';
  readyState = 0;

  constructor() {
    super();
    setImmediate(() => {
      this.readyState = 1;
      this.dispatchEvent(new Event('open'));
    });
  }

  send(): void {
    const { buffer } = serialize({
      kind: 'rejected',
      reason: 'PROTOCOL',
      protocol: { oldest: 99, newest: 99 },
    }).slice();
    this.dispatchEvent(new MessageEvent('message', { data: buffer }));
  }

  close(): void {
    this.readyState = 3;
    this.dispatchEvent(new Event('close'));
  }
}
