// Tests objects of which each identity has a copy: the next person at a device sees nothing of the one before.

import { afterEach, describe, expect, test, vi } from 'vitest';
import type { DurableObjectStub } from '../../../src/shared/contract/object.ts';
import { addressKey } from '../../../src/shared/contract/object-id.ts';
import { live } from '../../../src/shared/live/live-stub.ts';
import { createObjects } from '../../../worker/start/entries/node-objects.ts';
import { createTestHost } from '../../testing/worker/test-host.ts';
import { followed, settled } from '../app/followed.ts';
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
import { follow } from './follow.ts';
import type { LinkSocket } from './link.ts';
import { ReplicaQueue } from './queue.ts';

class Room extends ItemRoom {
  caller() {
    return (this.ctx as { caller?: string }).caller ?? null;
  }
  addCaller() {
    return this.add(String(this.caller()));
  }
}

const ends = endsOfTests();
afterEach(() => {
  vi.restoreAllMocks();
});

/** Who uses the device. */
interface Person {
  name: string;
}

/** A server that takes each connection for one of the person. */
async function serverOf(person: Person) {
  const methods = ['add', 'addCaller'];
  const server = await followedServer(Room, { methods, authorize: () => person.name });
  ends.push(() => server.close());
  return server;
}

async function device(
  connect: (name: string) => LinkSocket,
  options: DeviceOptions,
): Promise<Device> {
  const made = await deviceOf(Room, connect, options);
  ends.push(() => made.close());
  return made;
}

interface Env {
  readonly Room: { getByName(name: string): DurableObjectStub<Room> };
}

/** An app whose objects follow, of the person who uses it. */
async function app(person: Person, connect: () => LinkSocket) {
  const options = { url: () => 'wss://server/', connect, identity: () => person.name };
  const objects = await createObjects({ Room }, { follow: follow({ Room: options }) });
  ends.push(() => objects.close());
  return { objects, room: (objects.env as unknown as Env).Room.getByName('a') };
}

describe('a copy for each identity', () => {
  test('[FOLP37] the next person at a device sees nothing of the one before, whose copy and calls stay', async () => {
    const world = worldOf();
    const ann = await device(unreachable, { world, identity: 'ann' });
    await ann.room('a').call('add', ['secret of ann']);
    await ann.close();

    const ben = await device(unreachable, { world, identity: 'ben' });
    expect(await namesOf(ben.room('a'))).toEqual([]);
    expect(await stateOf(ben.room('a'))).toMatchObject({ pending: 0, refused: 0 });
    await ben.room('a').call('add', ['by ben']);
    expect(await namesOf(ben.room('a'))).toEqual(['by ben']);
    await ben.close();

    const again = await device(unreachable, { world, identity: async () => 'ann' });
    expect(await namesOf(again.room('a'))).toEqual(['secret of ann']);
    expect(await stateOf(again.room('a'))).toMatchObject({ pending: 1 });
  });

  test('[FOLP38] calls that the one before has left are sent only when that identity is given again', async () => {
    const person = { name: 'ben' };
    const server = await serverOf(person);
    const world = worldOf();
    const before = await device(unreachable, { world, identity: 'ann' });
    await before.room('a').call('add', ['by ann']);
    await before.close();

    const ben = await device(() => server.connect(), { world, identity: 'ben' });
    await ben.runTimers(2000);
    await ben.room('a').call('add', ['by ben']);
    await settledOf(ben.room('a'));
    expect(await server.call('names')).toEqual(['by ben']);
    await ben.close();

    person.name = 'ann';
    const ann = await device(() => server.connect(), { world, identity: 'ann' });
    await ann.runTimers(2000);
    await until(async () => ((await server.call('names')) as string[]).length === 2);
    expect(await namesOf(ann.room('a'))).toEqual(['by ben', 'by ann']);
  });

  test('[FOLP38] calls that wait in objects that nobody uses are sent when their identity comes back', async () => {
    const person = { name: 'ann' };
    const server = await serverOf(person);
    let isDown = true;
    const connect = () => (isDown ? unreachable() : server.connect());
    const { room, runTimers } = await device(connect, { identity: () => person.name });
    await runTimers(2000);
    await room('of ann').call('add', ['by ann']);
    person.name = 'ben';
    await room('of ann').call('names', []);
    isDown = false;
    await room('b').call('names', []);
    await settledOf(room('b'));
    expect(await server.call('names')).toEqual([]);
    person.name = 'ann';
    await room('b').call('names', []);
    await until(async () => ((await server.call('names')) as string[]).length === 1);
    expect(await server.call('names')).toEqual(['by ann']);
  });

  test('[FOLP38] a copy does not connect for another identity, even if nobody uses its object', async () => {
    const person = { name: 'ann' };
    const server = await serverOf(person);
    let isDown = true;
    const connect = () => (isDown ? unreachable() : server.connect());
    const { room, runTimers, connects } = await device(connect, { identity: () => person.name });
    await room('a').call('add', ['by ann']);
    person.name = 'ben';
    isDown = false;
    const before = connects();
    await runTimers(100);
    expect(connects()).toBe(before);
    expect(await server.call('names')).toEqual([]);
    expect(await namesOf(room('a'))).toEqual([]);
  });

  test('[FOLP37] when the identity changes, calls, live reads, handles, lists and states go on with the other copy', async () => {
    const person = { name: 'ann' };
    const server = await serverOf(person);
    server.isDown = true;
    const { objects, room } = await app(person, server.connect);
    const seen: unknown[] = [];
    const failures: unknown[] = [];
    const stop = live(room)
      .names()
      .subscribe((names) => seen.push(names?.join()), { onError: (error) => failures.push(error) });
    ends.push(async () => stop());
    const states: number[] = [];
    const status = followed(room);
    status.addEventListener('change', () => states.push(status.pending));
    const call = room.add('secret');
    await call;
    await expect.poll(() => seen.at(-1)).toBe('secret');
    await expect.poll(() => states.at(-1)).toBe(1);
    const handle = await objects.storage(room);
    expect(
      await handle.sql.exec("SELECT name FROM sqlite_master WHERE name = 'item'").toArray(),
    ).toEqual([]);
    const branch = await handle.fork();
    const cursor = handle.sql.exec('SELECT * FROM _follow_base');
    await cursor.next();
    const early = settled(call);
    const stopped = expect(early).rejects.toMatchObject({ code: 'FOLLOW_STOPPED' });

    person.name = 'ben';
    expect(await room.names()).toEqual([]);
    await stopped;
    await expect(settled(call)).rejects.toMatchObject({ code: 'FOLLOW_STOPPED' });
    await expect.poll(() => seen.at(-1)).toBe('');
    await expect.poll(() => states.at(-1)).toBe(0);
    expect(failures).toEqual([]);
    await expect(branch.sql.exec('SELECT 1').toArray()).rejects.toMatchObject({
      code: expect.stringMatching(/BRANCH_ENDED|OBJECT_RESET/),
    });
    expect(await handle.sql.exec('SELECT count(*) AS n FROM _follow_base').one()).toEqual({ n: 1 });
    expect(await objects.list('Room' as never)).toHaveLength(1);

    person.name = 'nobody yet';
    expect(await objects.list('Room' as never)).toEqual([]);
    person.name = 'ann';
    expect(await room.names()).toEqual(['secret']);
    expect(await status.read()).toMatchObject({ pending: 1 });
    server.isDown = false;
    expect(await settled(call)).toBe(1);
  });

  test('[FOLP37] a number of a call belongs to one identity', async () => {
    const person = { name: 'ann' };
    const server = await serverOf(person);
    const { room } = await app(person, server.connect);
    const ofAnn = room.add('by ann');
    expect(await settled(ofAnn)).toBe(1);
    person.name = 'ben';
    const ofBen = room.add('by ben');
    expect(await settled(ofBen)).toBe(2);
    await expect(settled(ofAnn)).rejects.toMatchObject({ code: 'FOLLOW_STOPPED' });
  });

  test('[FOLP9] [FOLP37] forget removes the copy of the present identity, and no other', async () => {
    const world = worldOf();
    const person = { name: 'ann' };
    const { room, here, close } = await device(unreachable, { world, identity: () => person.name });
    await room('a').call('add', ['by ann']);
    const ofAnn = new Set(await world.medium.keys());
    person.name = 'ben';
    await room('a').call('add', ['by ben']);
    const left = await room('a').ask({ kind: 'forget' });
    expect(left).toMatchObject([{ method: 'add', args: ['by ben'] }]);
    await here.host.evict(here.address('a'));
    expect(new Set(await world.medium.keys())).toEqual(ofAnn);
    person.name = 'ann';
    expect(await namesOf(room('a'))).toEqual(['by ann']);
    await close();
  });

  test('[FOLP37] a copy from before the option is used without it, is not shown with it, and is reported if calls wait in it', async () => {
    const warned = vi.spyOn(console, 'warn').mockImplementation(() => {});
    const world = worldOf();
    const before = await device(unreachable, { world });
    await before.room('a').call('add', ['before']);
    await before.close();
    const ann = await device(unreachable, { world, identity: 'ann' });
    await ann.runTimers(2000);
    expect(await namesOf(ann.room('a'))).toEqual([]);
    expect(warned.mock.calls.join()).toMatch(/Calls of a were made before the option identity/);
    await ann.room('a').call('add', ['by ann']);
    await ann.close();
    const again = await device(unreachable, { world });
    await again.runTimers(2000);
    expect(await namesOf(again.room('a'))).toEqual(['before']);
    expect(await stateOf(again.room('a'))).toMatchObject({ pending: 1 });
  });

  test('[FOLP37] odd identities have copies of their own, and no name of a file has an identity', async () => {
    const world = worldOf();
    const longest = 'x'.repeat(255);
    const odd = ['\ud800', '\ud801', '\ufffd', 'A', 'a', '.', '../a', `${longest}x`, `${longest}y`];
    for (const [i, identity] of odd.entries()) {
      const own = await device(unreachable, { world, identity });
      expect(await namesOf(own.room('a'))).toEqual([]);
      await own.room('a').call('add', [`by ${i}`]);
      await own.close();
    }
    for (const [i, identity] of odd.entries()) {
      const own = await device(unreachable, { world, identity: () => identity });
      expect(await namesOf(own.room('a'))).toEqual([`by ${i}`]);
      await turns();
      await own.close();
    }
    for (const key of await world.medium.keys()) {
      expect(key).toMatch(/^([0-9a-f]{64}|Room\.[0-9a-f]{64}@[0-9a-f]{64})$/);
    }
  });

  test('[FOLP37] a queue is not opened for another identity, should their digests be equal', async () => {
    const own = await createTestHost();
    ends.push(() => own.close());
    const { host } = own;
    const made = { newClient: () => 'page', numberOffset: 0 };
    const open = async (identity: string | undefined) =>
      (await ReplicaQueue.open(host, 'Room.a', { ...made, identity })).close();
    await open('\ud800');
    await open('\ud800');
    const refused = { code: 'CONFLICT' };
    for (const other of ['\ud801', '\ufffd', undefined])
      await expect(open(other)).rejects.toMatchObject(refused);
  });

  test('[FOLP37] what is not an identity is refused; while the function fails nothing is shown, and uses wait for no answer', async () => {
    const url = () => 'wss://server/';
    for (const identity of ['', 'x'.repeat(257), 1, null]) {
      expect(() => follow({ Room: { url, identity: identity as string } })).toThrow(
        expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
      );
    }
    let answer: () => unknown = () => 'ann';
    const { room, here } = await device(unreachable, { identity: () => answer() as string });
    await room('a').call('add', ['by ann']);
    answer = () => {
      throw new RangeError('not signed in');
    };
    await expect(room('a').call('names', [])).rejects.toThrow('not signed in');
    await expect(here.host.use(here.address('a'), () => 1)).rejects.toThrow('not signed in');
    for (const given of ['', null, undefined, 7]) {
      answer = () => given;
      const refused = { code: 'INVALID_ARGUMENT' };
      await expect(room('a').call('names', [])).rejects.toMatchObject(refused);
    }
    answer = async () => 'ann';
    expect(await namesOf(room('a'))).toEqual(['by ann']);
  });

  test('[FOLP37] the function gets the name of the object, so an object without one has no identity', async () => {
    const asked: string[] = [];
    const identity = (name: string) => {
      asked.push(name);
      return `${name}'s`;
    };
    const { followers, room, here } = await device(unreachable, { identity });
    await room('a').call('names', []);
    expect(asked.every((name) => name === 'a')).toBe(true);
    const { className, id } = here.address('b');
    const unnamed = { className, id: here.host.classes.get('Room').ids.fromString(String(id)) };
    await expect(followers.find(unnamed)!.call('names', [])).rejects.toThrow('without a name');
    await expect(here.host.use(unnamed, () => 1)).rejects.toThrow('without a name');
  });

  test('[FOLP37] each use of an object without a name is refused, and says how to give it one', async () => {
    const { followers, here } = await device(unreachable, { identity: 'ann' });
    const id = here.host.classes.get('Room').ids.newUnique();
    const unnamed = followers.find({ className: 'Room', id })!;
    await expect(unnamed.call('names', [])).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  test('[FOLP39] in a forecast, ctx.caller is the identity of the copy', async () => {
    const person = { name: 'ann' };
    const { room, here } = await device(unreachable, { identity: () => person.name });
    expect(await room('a').call('addCaller', [])).toMatchObject({ value: 1 });
    expect(await namesOf(room('a'))).toEqual(['ann']);
    expect(await room('a').call('caller', [])).toMatchObject({ value: 'ann' });
    person.name = 'ben';
    expect(await room('a').call('caller', [])).toMatchObject({ value: 'ben' });
    expect(here.host.instances.running().map(addressKey).join()).not.toContain('ann');
  });

  test('[FOLP37] after its host was closed an object has no copy', async () => {
    let answer!: (identity: string) => void;
    const identity = () => new Promise<string>((resolve) => (answer = resolve));
    const world = worldOf();
    const { here, room, close, connects, delays } = await device(unreachable, { world, identity });
    const call = room('a').call('names', []);
    await turns(1);
    const closed = close();
    answer('ann');
    await expect(call).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
    await closed;
    await turns();
    expect([connects(), delays(), here.host.instances.running()]).toEqual([0, [], []]);
    expect(await world.medium!.keys()).toEqual([]);
    const open = await device(unreachable, { world, identity: 'ann' });
    await open.room('a').call('names', []);
    expect(await world.medium!.keys()).not.toEqual([]);
  });
});
