// Connections, records and calls when the instance of a followed object ends: here, where a test can end it.

import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { Capture } from '../../../packages/follow/capture/capture.ts';
import type { PartMessage } from '../../../packages/follow/protocol/messages.ts';
import { followableOn } from '../../../packages/follow/server/followable.ts';
import { followable } from '../../../packages/follow/server/index.ts';
import type { FollowableOptions } from '../../../packages/follow/server/options.ts';
import { PLATFORM } from '../../../packages/follow/server/platform.ts';
import type { ServedEnvironment } from '../../../packages/follow/server/served-object.ts';
import { DurableObject } from '../../../worker/realm/library/base-classes.ts';
import { createObjects } from '../../../worker/start/entries/node-objects.ts';
import { FollowClient, type FollowRoom } from './client.ts';
import { FAULT } from './followed-room.ts';
import { roomOf } from './room.ts';
import { type RoomsInNode, roomsInNode } from './rooms.ts';

let rooms: RoomsInNode;
let room: FollowRoom;
beforeEach(async () => {
  rooms = await roomsInNode();
  room = rooms.room('a');
});
afterEach(() => rooms.close());

const follow = async (name: string, more = {}) =>
  (await FollowClient.connect(room, name)).hello(more);
const value = (of: unknown) => ({ kind: 'value', value: of });

test('[FOLS12] a connection outlives its instance: calls and cuts go on where they were', async () => {
  const [client, other] = [await follow('A'), await follow('B')];
  client.call(1, 'add', ['one']);
  await client.outcome(1);
  await other.untilItems('one');
  const { position } = other;
  await rooms.evict('a');
  client.call(1, 'add', ['one'], true);
  client.call(2, 'add', ['two']);
  expect(await client.outcome(2)).toEqual(value(2));
  expect(await other.next()).toMatchObject({
    kind: 'cut',
    onto: { kind: 'position', position },
    outcomes: [],
  });
  expect(other.items).toEqual(['one', 'two']);
});

test('[FOLS12] a socket without hello outlives its instance with its identity', async () => {
  await follow('A');
  const silent = await FollowClient.connect(room, 'A', 'B');
  await rooms.evict('a');
  void silent.hello().catch(String);
  expect(await silent.closed).toEqual([4010, 'CLIENT_TAKEN']);
  await room.call('names'); // after the event of the close
});

test('[FOLS12] a connection amid a copy outlives its instance, and the copy goes on', async () => {
  for (const name of ['a', 'b', 'c', 'd', 'e']) await room.call('add', name.repeat(120_000));
  const client = await follow('A');
  await rooms.evict('a');
  expect(await client.nextOf('part')).toMatchObject({ copy: { parts: 1 } });
  expect(await client.nextOf('part')).toMatchObject({ copy: { parts: 2, next: null } });
  await client.nextOf('cut');
  expect(client.items).toEqual([...'abcde'].map((name) => name.repeat(120_000)));
});

test('[FOLS8] writes of the constructor reach the followers of the instance before', async () => {
  const client = await follow('A');
  await room.call('addAtStart', 'again');
  await rooms.evict('a');
  await room.call('names');
  await client.untilItems('again');
});

test('[FOLS12] a connection that is ahead of the storage is closed', async () => {
  const client = await follow('A');
  client.call(1, 'add', ['lost']);
  await client.outcome(1);
  await room.call('loseNotes');
  await rooms.evict('a');
  await room.call('names');
  expect(await client.closed).toEqual([4011, 'STALE']);
  await room.call('names'); // after the event of the close
});

test('[FOLS14] after a restore a follower gets a snapshot, and its later calls run again', async () => {
  const client = await follow('A');
  await rooms.undone('a', async () => {
    client.call(1, 'add', ['undone']);
    await client.outcome(1);
  });
  await room.call('add', 'other');
  const next = await FollowClient.connect(room, 'A');
  next.position = client.position;
  await next.hello();
  expect(await next.next()).toMatchObject({ kind: 'part' });
  expect(await next.nextOf('cut')).toMatchObject({ onto: { kind: 'parts' }, last: 0 });
  next.call(1, 'add', ['undone'], true);
  expect(await next.outcome(1)).toEqual(value(2));
  expect(next.items).toEqual(['other', 'undone']);
});

test('[FOLW17] a snapshot begins again if a restore has taken back a part of it', async () => {
  for (const name of ['a', 'b', 'c', 'd', 'e']) await room.call('add', name.repeat(120_000));
  const taken: PartMessage['copy'][] = [];
  await rooms.undone('a', async () => {
    const first = await follow('A');
    await room.call('rename', 'e'.repeat(120_000), 'taken back');
    taken.push((await first.nextOf('part')).copy, (await first.nextOf('part')).copy);
    first.close();
  });
  const [begun, whole] = taken;
  expect(whole).toMatchObject({ from: begun!.from, parts: 2, next: null });
  const second = await follow('A', { copy: whole });
  expect(await second.nextOf('part')).toMatchObject({ copy: { parts: 1 } });
  await second.nextOf('cut');
  expect(second.items).toEqual([...'abcde'].map((name) => name.repeat(120_000)));
});

test('[FOLS16] a cut that cannot be read ends the instance, and the call runs again', async () => {
  const reported = vi.spyOn(console, 'error').mockImplementation(() => {});
  onTestFinished(() => reported.mockRestore());
  const client = await follow('A');
  FAULT.next = new Error('no cut');
  client.call(1, 'add', ['x']);
  expect(await client.closed).toEqual([1006, '']);
  expect(await room.call('names')).toEqual([]);
  const next = await follow('A');
  next.call(1, 'add', ['x'], true);
  expect(await next.outcome(1)).toEqual(value(1));
});

test('[FOLS16] a cut of the writes of another caller that cannot be read ends the instance, and its calls are told why', async () => {
  const reported = vi.spyOn(console, 'error').mockImplementation(() => {});
  onTestFinished(() => reported.mockRestore());
  const client = await follow('A');
  const waiting = room.call('addSlowly', 'slow');
  await client.untilItems('slow 1');
  FAULT.next = new Error('no cut');
  const told = expect(waiting).rejects.toThrow(
    /follower's message could not be handled: Error: no cut/,
  );
  await room.call('add', 'x').catch(() => {});
  await told;
  expect(await client.closed).toEqual([1006, '']);
  // The next instance of the object sends the follower the writes that were stored and not yet sent.
  const next = await follow('A');
  await next.nextOf('cut');
  expect(next.items).toEqual(await room.call('names'));
});

/** A room whose class is served with another environment. */
async function otherRoom(
  environment: Partial<ServedEnvironment>,
  options: Partial<FollowableOptions> = {},
): Promise<FollowRoom> {
  const usual: ServedEnvironment = {
    ...PLATFORM,
    capture: (storage, life, onWrite) => new Capture(storage, { life, onWrite }),
    now: () => 0,
    randomUint32: () => 7,
  };
  const Room = followableOn(
    { ...usual, ...environment },
    roomOf(DurableObject as never) as never,
    { authorize: () => 'somebody', methods: [], version: 1, ...options } as never,
  );
  const { env, close } = await createObjects({ Room });
  onTestFinished(() => close());
  const stub = (env as Record<string, { getByName(name: string): unknown }>).Room!.getByName(
    'a',
  ) as Record<string, (...args: unknown[]) => Promise<never>>;
  return {
    fetch: (headers) => stub.fetch!('https://room/', { headers }),
    call: (method, ...args) => stub[method]!(...args),
  };
}

test('[FOLC6] the life of an instance is not that of the empty history, whatever the random number', async () => {
  const other = await otherRoom({ randomUint32: () => 0 });
  const client = await (await FollowClient.connect(other, 'A')).hello();
  await other.call('add', 'x');
  await client.untilItems('x');
  expect(client.position?.life).toBe(1);
});

test('[FOLC8] notes that a follower has not been told of are kept, also when another one greets before', async () => {
  const other = await otherRoom({
    capture: (storage, life, onWrite) => new Capture(storage, { life, onWrite, notesMax: 6 }),
  });
  const client = await (await FollowClient.connect(other, 'A')).hello();
  await client.nextOf('cut');
  const late = await FollowClient.connect(other, 'B');
  const names = Array.from({ length: 40 }, (_, i) => `item ${i}`);
  const made = other.call('addMany', names);
  const greeting = late.hello();
  await Promise.all([made, greeting]);
  await client.untilItems(...names);
});

test('[FOLS19] [FOLS20] without any event, a connection ends at its time, by one timer', async () => {
  let nowMs = Date.UTC(2030, 0, 1);
  const timers = new Map<number, () => void>();
  /** Runs the only timer, at its time. */
  const runTimer = () => {
    const [[atMs, task] = []] = timers;
    expect(timers.size).toBe(1);
    timers.clear();
    nowMs = atMs!;
    task!();
  };
  const timed = await otherRoom(
    {
      now: () => nowMs,
      after(delayMs, task) {
        const atMs = nowMs + delayMs;
        timers.set(atMs, task);
        return () => timers.delete(atMs);
      },
    },
    { authorize: () => ({ identity: 'A', expiresAt: nowMs + 30_000 }) },
  );
  const startMs = nowMs;
  const silent = await FollowClient.connect(timed, 'B');
  const client = await (await FollowClient.connect(timed, 'A')).hello();
  await client.nextOf('cut');
  expect([...timers.keys()]).toEqual([startMs + 10_000]);
  runTimer();
  expect(await silent.closed).toEqual([4017, 'HELLO_LATE']);
  expect([...timers.keys()]).toEqual([startMs + 30_000]);
  runTimer();
  expect(await client.closed).toEqual([4013, 'NOT_AUTHORIZED']);
  expect(timers.size).toBe(0);
});

test('[FOLS4] [FOLS13] a record of an earlier version has the identity, until deleteAll', async () => {
  const client = await follow('A');
  client.call(1, 'add', ['x']);
  await client.outcome(1);
  client.close();
  await room.call('storeIdentity', 'A');
  expect(await room.call('kept')).toEqual([['A', 1, 1, 0], [1]]);
  const other = await FollowClient.connect(room, 'A', 'B');
  void other.hello().catch(String);
  expect(await other.closed).toEqual([4010, 'CLIENT_TAKEN']);
  (await follow('A')).close();
  await room.call('clear');
  const mark = expect.stringMatching(/^_follow_mark:/);
  expect(await room.call('kept')).toEqual([[mark, 1, 1, 0]]);
  await follow('A');
});

test('[FOLS17] a class whose handler is a field cannot be followed', async () => {
  class Fields extends DurableObject {
    fetch = () => new Response('field');
  }
  const options = { authorize: () => 'A', methods: [], version: 1 };
  const { env, close } = await createObjects({ Fields: followable(Fields as never, options) });
  onTestFinished(() => close());
  const stub = env.Fields.getByName('a') as { fetch(address: string): Promise<Response> };
  await expect(stub.fetch('https://a/')).rejects.toMatchObject({ code: 'CLASS_INVALID' });
});
