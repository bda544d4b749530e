// Whose call a followed class runs: `ctx.caller`, in Node and on workerd with and without AsyncLocalStorage.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FollowClient, type FollowRoom } from './client.ts';
import { type Rooms, roomsInNode, roomsInWorkerd } from './rooms.ts';

let rooms: Rooms;
const room = (name: string): FollowRoom => rooms.room(name);
const follow = async (of: FollowRoom, name: string, user = name) =>
  (await FollowClient.connect(of, name, user)).hello();
/** Lets both followers sign at the same time, and returns their outcomes. */
async function signBoth(of: FollowRoom) {
  const [ann, bob] = [await follow(of, 'a', 'ann'), await follow(of, 'b', 'bob')];
  for (const each of [ann, bob]) each.call(1, 'sign', []);
  return [await ann.outcome(1), await bob.outcome(1)];
}
/** A room that gets AsyncLocalStorage as an option. */
const ROOM_WITH_STORE = `
  import { AsyncLocalStorage } from 'node:async_hooks';
  import { followedRoom } from './followed-room.ts';
  export const Room = followedRoom(DurableObject, { AsyncLocalStorage });`;

describe.each<[string, () => Promise<Rooms>]>([
  ['in Node', roomsInNode],
  [
    'on workerd with nodejs_als and the option',
    () => roomsInWorkerd(ROOM_WITH_STORE, ['nodejs_als']),
  ],
  ['on workerd with nodejs_compat', () => roomsInWorkerd(undefined, ['nodejs_compat'])],
])('[FOLS22] ctx.caller %s', (_, start) => {
  beforeAll(async () => {
    rooms = await start();
  });
  afterAll(() => rooms.close());

  test('is the identity of the running call after each await, while those of two persons alternate', async () => {
    const value = { kind: 'value', value: undefined };
    expect(await signBoth(room('a'))).toEqual([value, value]);
    const names = (await room('a').call('names')) as string[];
    const of = (who: string) => names.filter((name) => name.startsWith(who));
    expect([of('ann'), of('bob')]).toEqual([
      ['ann 1', 'ann 2', 'ann 3'],
      ['bob 1', 'bob 2', 'bob 3'],
    ]);
    expect(names.slice(0, 2)).toEqual(['ann 1', 'bob 1']);
  });

  test('is undefined in calls of others and in the alarm, also while a call runs', async () => {
    const ann = await follow(room('b'), 'ann');
    ann.call(1, 'sign', []);
    await ann.untilItems('ann 1');
    await room('b').call('signOnce');
    await room('b').call('signByAlarm');
    await ann.untilItems('ann 1', 'undefined', 'alarm undefined');
  });

  test('cannot be set by the class', async () => {
    const ann = await follow(room('c'), 'ann');
    ann.call(1, 'forge', []);
    expect(await ann.outcome(1)).toEqual({ kind: 'value', value: 'ann' });
    expect(ann.items).toEqual(['TypeError', 'TypeError']);
  });
});

describe('[FOLS22] ctx.caller on workerd without AsyncLocalStorage', () => {
  beforeAll(async () => {
    rooms = await roomsInWorkerd();
  });
  afterAll(() => rooms.close());

  test('is known in the synchronous part of a call, and else an error, never another identity', async () => {
    const refused = expect.objectContaining({
      code: 'FOLLOW_UNSUPPORTED',
      message: expect.stringMatching(/"nodejs_compat"/),
    });
    const error = { kind: 'error', error: refused };
    expect(await signBoth(room('a'))).toEqual([error, error]);
    await room('a').call('signOnce');
    const eve = await follow(room('a'), 'eve');
    eve.call(1, 'signOnce', []);
    await eve.outcome(1);
    expect(await room('a').call('names')).toEqual(['ann 1', 'bob 1', 'FOLLOW_UNSUPPORTED', 'eve']);
  });
});
