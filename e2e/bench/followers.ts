// Many followers of one object on workerd: how long a change takes until all of them have it, and the part of one. What its
// notes cost. And a whole copy of a large object: how long it takes, and the memory of workerd while it is made.
//
//   npx tsx e2e/bench/followers.ts [--rounds 15] [--megabytes 200]

import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { browserIds as processIds } from '../browsers/processes.ts';
import { FollowClient } from '../workerd/follow/client.ts';
import { roomsInWorkerd } from '../workerd/follow/rooms.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '15' },
    megabytes: { type: 'string', default: '200' },
  },
});
const rounds = Number(values.rounds);
const megabytes = Number(values.megabytes);
const COUNTS = [1, 100, 1000];
const LOOK_MS = 100;
/** Enough to be much longer than a request. */
const UPDATES = 50_000;

const roomOf = (exported: string) => `
  import { followable } from '../../../packages/follow/server/index.ts';
  import { METHODS, roomOf } from './room.ts';
  const options = { authorize: (request) => request.headers.get('user'), methods: METHODS, version: 1,
    limits: { objectBytes: 2 ** 31 } };
  class Filled extends roomOf(DurableObject) {
    fill(count) {
      for (let i = 0; i < count; i++) this.ctx.storage.sql.exec('INSERT INTO item VALUES (?)', 'x'.repeat(1e6));
    }
    change(count) {
      const { sql } = this.ctx.storage;
      sql.exec('CREATE TABLE IF NOT EXISTS counted (id INTEGER PRIMARY KEY, n INTEGER)');
      for (let i = 0; i < 100; i++) sql.exec('INSERT OR IGNORE INTO counted VALUES (?, 0)', i);
      for (let i = 0; i < count; i++) sql.exec('UPDATE counted SET n = n + ? WHERE id = ?', i + 1, i % 100);
    }
  }
  export const Room = ${exported};`;

const median = (numbers: readonly number[]) =>
  numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)]!;

const rooms = await roomsInWorkerd(roomOf('followable(Filled, options)'));
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

const plainRooms = await roomsInWorkerd(roomOf('Filled'));
const ratios: number[] = [];
for (let round = 0; round <= rounds; round++) {
  const timesMs: number[] = [];
  for (const { room } of [rooms, plainRooms]) {
    const beginMs = performance.now();
    await room('changed').call('change', UPDATES);
    timesMs.push(performance.now() - beginMs);
  }
  if (round > 0) ratios.push(timesMs[0]! / timesMs[1]!);
}
console.log(`\n${UPDATES} updates, beside the plain class: ${median(ratios).toFixed(2)} ×`);
await plainRooms.close();

const residentMb = () =>
  processIds('workerd').reduce((sum, pid) => {
    const [, pages] = readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ');
    return sum + (Number(pages) * 4096) / 1e6;
  }, 0);
/** The memory once ten looks in a row find the same: workerd frees what its writes needed. */
async function restingMb(): Promise<number> {
  let mb = residentMb();
  for (let looks = 0; looks < 10; looks++) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    const nowMb = residentMb();
    if (Math.abs(nowMb - mb) >= 1) looks = -1;
    mb = nowMb;
  }
  return mb;
}

const large = rooms.room('large');
for (let i = 0; i < megabytes; i += 10) await large.call('fill', 10);
const beforeMb = await restingMb();
let mostMb = beforeMb;
const watch = setInterval(() => {
  mostMb = Math.max(mostMb, residentMb());
}, 20);
const beginMs = performance.now();
const follower = await (await FollowClient.connect(large, 'large')).hello();
await follower.nextOf('cut');
clearInterval(watch);
const seconds = (performance.now() - beginMs) / 1000;
console.log(
  `\na copy of ${megabytes} MB: ${seconds.toFixed(1)} s; memory of workerd ${beforeMb.toFixed(0)} MB before, ` +
    `${mostMb.toFixed(0)} MB at most (${follower.items.length} items)`,
);
await rooms.close();
process.exit();
