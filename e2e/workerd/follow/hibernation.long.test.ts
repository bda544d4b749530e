// Followers of an object that hibernates in workerd, which takes it 10 s without events.

import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { FOLLOW_PING, FOLLOW_PONG } from '../../../packages/follow/protocol/connection.ts';
import { FollowClient } from './client.ts';
import { type Rooms, roomsInWorkerd } from './rooms.ts';

let rooms: Rooms;
beforeAll(async () => {
  rooms = await roomsInWorkerd();
});
afterAll(() => rooms.close());

test('[FOLS12] a connection outlives its instance on workerd, and a ping does not wake the object', async () => {
  const room = rooms.room('a');
  const client = await (await FollowClient.connect(room, 'A')).hello();
  await room.call('addAtStart', 'woken');
  client.call(1, 'add', ['one']);
  await client.outcome(1);
  const pinging = setInterval(() => client.send(FOLLOW_PING), 1000);
  // The object starts again by the event that ends its pause, and its constructor adds an item.
  await vi.waitUntil(
    async () => {
      await new Promise((resolve) => setTimeout(resolve, 11_000));
      client.call(1, 'add', ['one'], true);
      return ((await room.call('names')) as string[]).includes('woken');
    },
    { timeout: 100_000 },
  );
  clearInterval(pinging);
  expect(client.texts).toContain(FOLLOW_PONG);
  client.call(2, 'add', ['two']);
  expect(await client.outcome(2)).toEqual({ kind: 'value', value: 3 });
  expect(client.items).toEqual(['one', 'woken', 'two']);
});
