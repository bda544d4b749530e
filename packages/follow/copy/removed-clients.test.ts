// Tests copies whose client the server has removed, because their identity has used the object from many devices since.

import { expect, test } from 'vitest';
import { endsOfTests } from '../testing/ends.ts';
import { deviceOf, settledOf, stateOf, until, worldOf } from '../testing/followed-device.ts';
import { type FollowedServer, followedServer } from '../testing/followed-server.ts';
import { ItemRoom } from '../testing/item-room.ts';

const ends = endsOfTests();

async function serverOf(clientsPerIdentity: number): Promise<FollowedServer> {
  const limits = { clientsPerIdentity };
  const server = await followedServer(ItemRoom, { methods: ['add'], limits });
  ends.push(() => server.close());
  return server;
}

async function deviceIn(server: FollowedServer, world = worldOf()) {
  const device = await deviceOf(ItemRoom, () => server.connect(), { world });
  ends.push(() => device.close());
  return device;
}

/** Uses the object from new devices, one after the other. With `item`, each makes a call, and leaves before it acknowledges. */
async function newDevices(server: FollowedServer, count: number, item?: string): Promise<void> {
  for (let i = 0; i < count; i++) {
    const { room, close } = await deviceIn(server);
    await room('a').call(item === undefined ? 'names' : 'add', item === undefined ? [] : [item]);
    await settledOf(room('a'));
    await close();
  }
}

async function clientCount(server: FollowedServer): Promise<number> {
  const { sql } = await server.storage();
  const cursor = sql.exec('SELECT count(*) AS count FROM _follow_client');
  return Number((await cursor.one()).count);
}

test('[FOLS25] devices of one identity, one after the other, leave no more clients than the limit', async () => {
  const server = await serverOf(3);
  await newDevices(server, 10, 'x');
  expect(await clientCount(server)).toBe(3);
  expect(await server.call('names')).toHaveLength(10);
});

test('[FOLS25] a removed client that had called nothing goes on: its calls run once', async () => {
  const server = await serverOf(2);
  const world = worldOf();
  const before = await deviceIn(server, world);
  await before.room('a').call('names', []);
  await settledOf(before.room('a'));
  server.isDown = true;
  await before.room('a').call('add', ['made offline']);
  await before.close();
  server.isDown = false;
  await newDevices(server, 3);
  const again = await deviceIn(server, world);
  await again.room('a').call('names', []);
  await settledOf(again.room('a'));
  expect(await server.call('names')).toEqual(['made offline']);
  expect(await clientCount(server)).toBe(2);
});

test('[FOLS25] a removed client whose call was not acknowledged runs nothing twice: it stops, and forget() begins anew', async () => {
  const server = await serverOf(2);
  const world = worldOf();
  const before = await deviceIn(server, world);
  await before.room('a').call('add', ['first']);
  await settledOf(before.room('a'));
  server.isDown = true;
  await before.room('a').call('add', ['made offline']);
  await before.close();
  server.isDown = false;
  await newDevices(server, 3, 'x');

  const { room } = await deviceIn(server, world);
  await room('a').call('names', []);
  await until(async () => (await stateOf(room('a'))).state === 'stopped');
  expect(await stateOf(room('a'))).toMatchObject({ reason: 'CLIENT_REMOVED', pending: 1 });
  const items = ['first', 'x', 'x', 'x'];
  expect(await server.call('names')).toEqual(items);
  expect(await room('a').ask({ kind: 'forget' })).toMatchObject([
    { method: 'add', args: ['made offline'] },
  ]);
  await room('a').call('add', ['made offline']);
  await settledOf(room('a'));
  expect(await server.call('names')).toEqual([...items, 'made offline']);
});
