// Many followers of one object on workerd: how long a change takes until all of them have it, and the part of one.
//
//   npx tsx e2e/bench/followers.ts [--rounds 15]

import { parseArgs } from 'node:util';
import { FollowClient } from '../workerd/follow/client.ts';
import { roomsInWorkerd } from '../workerd/follow/rooms.ts';

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '15' } } });
const rounds = Number(values.rounds);
const COUNTS = [1, 100, 1000];

const ROOM = `
  import { followable } from '../../../src/follow/server/index.ts';
  import { METHODS, roomOf } from './room.ts';
  const options = { authorize: (request) => request.headers.get('user'), methods: METHODS, version: 1 };
  export const Room = followable(roomOf(DurableObject), options);`;

const median = (numbers: readonly number[]) =>
  numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)]!;

const rooms = await roomsInWorkerd(ROOM);
console.log('\n| followers | a change until all have it | for one of them |\n| --- | --- | --- |');
for (const count of COUNTS) {
  const room = rooms.room(`of-${count}`);
  const clients: FollowClient[] = [];
  for (let i = 0; i < count; i++) {
    const client = await FollowClient.connect(room, `follower ${i}`);
    clients.push(await client.hello());
  }
  await room.call('add', 'first');
  await Promise.all(clients.map((client) => client.untilItems('first')));
  const items = ['first'];
  const times: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    items.push(`${round}`);
    const beginMs = performance.now();
    const seen = Promise.all(clients.map((client) => client.untilItems(...items)));
    await room.call('add', `${round}`);
    await seen;
    if (round > 0) times.push(performance.now() - beginMs);
  }
  const ms = median(times);
  console.log(`| ${count} | ${ms.toFixed(1)} ms | ${((ms / count) * 1000).toFixed(0)} µs |`);
}
await rooms.close();
process.exit();
