// Objects that follow: each beside the same call of an object that does not, or as a time with its goal. In Node, with the
// server in the same process and in memory; the devices' files are in a folder, or in memory.
//
//   npx tsx e2e/bench/follow.ts [--rounds 15] [--memory]

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { followed, settled } from '../../packages/follow/app/followed.ts';
import { encodeChanges } from '../../packages/follow/changes/changes-bytes.ts';
import { Base } from '../../packages/follow/copy/base.ts';
import { follow } from '../../packages/follow/copy/follow.ts';
import { Forecast } from '../../packages/follow/copy/forecast.ts';
import { followable } from '../../packages/follow/server/index.ts';
import { ServerSocket } from '../../packages/follow/testing/followed-server.ts';
import { createTestHost } from '../../packages/testing/worker/test-host.ts';
import { NO_FOLLOWERS } from '../../worker/objects/host/followers.ts';
import { DurableObject } from '../../worker/realm/library/base-classes.ts';
import { createObjects } from '../../worker/start/entries/node-objects.ts';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '15' },
    memory: { type: 'boolean', default: false },
  },
});
const rounds = Number(options.rounds);
const folder = mkdtempSync(join(tmpdir(), 'follow-bench-'));
let folders = 0;
const place = () => (options.memory ? {} : { directory: join(folder, `${folders++}`) });
const CALLS = 50;
const TABLE = 'CREATE TABLE IF NOT EXISTS item (id INTEGER PRIMARY KEY, name TEXT, n INTEGER)';
const SCHEMA = [{ type: 'table' as const, name: 'item', sql: TABLE.replace('IF NOT EXISTS ', '') }];
const NO_CHANGES = { isWiped: false, sequences: null, kv: [], kvGone: [] };

class Room extends DurableObject {
  constructor(ctx: never, env: never) {
    super(ctx, env);
    this.ctx.storage.sql.exec(TABLE);
  }
  add(name: string) {
    this.ctx.storage.sql.exec('INSERT INTO item (name, n) VALUES (?, 1)', name);
  }
  fill(count: number) {
    this.ctx.storage.sql.exec(
      "WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < ?) INSERT INTO item (name, n) SELECT 'some text of row ' || i, i FROM c",
      count,
    );
  }
  change(count: number) {
    for (let i = 0; i < count; i++) {
      this.ctx.storage.sql.exec('UPDATE item SET n = n + ? WHERE id = ?', i + 1, 1 + (i % 100));
    }
  }
  count() {
    return this.ctx.storage.sql.exec('SELECT count(*) AS n FROM item').one().n;
  }
}

type Stub = Record<string, (...args: unknown[]) => Promise<unknown>> & {
  fetch(url: string, init: RequestInit): Promise<Response>;
};

const methods = ['add', 'fill', 'change', 'count'] as const;
const Followable = followable(Room, { authorize: () => 'bench', methods, version: 1 });
const server = await createObjects({ Room: Followable, Plain: Room });
const plain = await createObjects({ Room }, place());
const stubOf = ({ env }: { env: object }, name: string, room = 'Room') =>
  (env as Record<string, { getByName(name: string): unknown }>)[room]!.getByName(name) as Stub;

/** Devices hear of the network, and connect without a pause. */
const network = new EventTarget();
globalThis.addEventListener = network.addEventListener.bind(network) as typeof addEventListener;
globalThis.removeEventListener = network.removeEventListener.bind(network);
let isDown = false;
const open = new Set<ServerSocket>();
async function device() {
  const url = (name: string) => `ws://server/${name}`;
  const connect = (address: string) => {
    if (isDown) throw new Error('down');
    const stub = stubOf(server, address.slice('ws://server/'.length));
    const socket = new ServerSocket((headers) => stub.fetch('http://server/', { headers }));
    open.add(socket);
    return socket;
  };
  return createObjects({ Room }, { ...place(), follow: follow({ Room: { url, connect } }) });
}
function setDown(down: boolean): void {
  isDown = down;
  if (down) for (const socket of open) socket.close();
  open.clear();
  if (!down) network.dispatchEvent(new Event('online'));
}

const median = (values: readonly number[]) =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)]!;
const timed = async (work: () => Promise<unknown>) => {
  const begin = performance.now();
  await work();
  return performance.now() - begin;
};
function row(name: string, value: number, unit: string, goal: string): void {
  console.log(
    `| ${name} | ${value < 10 ? value.toFixed(2) : value.toFixed(0)} ${unit} | ${goal} |`,
  );
}

console.log('\n| row | measured | goal |\n| --- | --- | --- |');
const one = await device();
const two = await device();

{
  const [mine, other] = [stubOf(one, 'calls'), stubOf(plain, 'calls')];
  await settled(mine.count!());
  const ratios: number[] = [];
  const times: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    setDown(true);
    const each = async (stub: Stub) => {
      for (let i = 0; i < CALLS; i++) await stub.add!(`${round} ${i}`);
    };
    const own = await timed(() => each(mine));
    const ratio = own / (await timed(() => each(other)));
    if (round > 0) ratios.push(ratio);
    times.push((own / CALLS) * 1000);
    setDown(false);
    await untilSettled(mine);
  }
  row(
    'a call that writes, beside the same call of an object that does not follow',
    median(ratios),
    '×',
    '1.3',
  );
  row('a call that writes', median(times), 'µs', '–');
}

for (const [pending, goal] of [
  [1, '1'],
  [10, '2'],
  [100, '5'],
] as const) {
  const host = await createTestHost({}, { Room });
  host.host.followers = { ...NO_FOLLOWERS, classNames: new Set(['Room']) };
  const base = await Base.open(host.host, host.address());
  const forecast = new Forecast(host.host, base.instance, { afterRealTime: () => () => {} });
  const calls = Array.from({ length: pending }, (_, i) => {
    return { n: i + 1, mark: i, method: 'add', args: [`${i}`], bytes: 4, isForecast: true };
  });
  const times: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    const rows = [[round, 'from the server', round]];
    const table = { name: 'item', keys: ['id'], columns: ['id', 'name', 'n'], gone: [] };
    const tables = [{ ...table, isWhole: false, rows }];
    const cut = encodeChanges({ ...NO_CHANGES, schema: SCHEMA, tables });
    const mark = { position: { id: round, life: 1 }, last: 0 };
    times.push(
      await timed(async () => {
        await base.apply(cut, mark);
        await forecast.remake(calls);
      }),
    );
  }
  row(`a cut of one row, with ${pending} calls that wait`, median(times), 'ms', goal);
  forecast.close();
  base.close();
  await host.close();
}

{
  const [mine, theirs] = [stubOf(one, 'seen'), stubOf(two, 'seen')];
  await settled(mine.count!());
  await settled(theirs.count!());
  await untilCurrent(theirs);
  const times: number[] = [];
  for (let i = 1; i <= rounds; i++) {
    const begin = performance.now();
    const made = mine.add!(`${i}`);
    while ((await theirs.count!()) !== i);
    times.push(performance.now() - begin);
    await made;
  }
  row('a change on one device, seen on another one', median(times), 'ms', '20');
}

{
  const mine = stubOf(one, 'again');
  const times: number[] = [];
  await settled(mine.fill!(1000));
  for (let round = 0; round < 3; round++) {
    setDown(true);
    for (let i = 0; i < 1000; i++) await stubOf(server, 'again').change!(1);
    const begin = performance.now();
    setDown(false);
    await untilCurrent(mine);
    times.push(performance.now() - begin);
  }
  row('connected again after 1,000 commits, until the copy is current', median(times), 'ms', '20');
}

{
  const mine = stubOf(one, 'waited');
  await settled(mine.add!('first'));
  const times: number[] = [];
  for (let round = 0; round < 3; round++) {
    setDown(true);
    let last: unknown;
    for (let i = 0; i < 1000; i++) {
      last = mine.add!(`${round} ${i}`);
      await last;
    }
    setDown(false);
    const begin = performance.now();
    await settled(last as Promise<unknown>);
    times.push(performance.now() - begin);
  }
  row('1,000 calls that waited, until all have their answers', median(times), 'ms', '–');
}

{
  await stubOf(server, 'large').fill!(100_000);
  const times: number[] = [];
  for (let round = 0; round < 3; round++) {
    const fresh = await device();
    const mine = stubOf(fresh, 'large');
    const begin = performance.now();
    while ((await mine.count!()) !== 100_000);
    times.push(performance.now() - begin);
    await fresh.close();
  }
  row('a snapshot of 100,000 rows', median(times), 'ms', '500');
}

{
  const [noted, other] = [stubOf(server, 'writes'), stubOf(server, 'writes', 'Plain')];
  for (const stub of [noted, other]) await stub.fill!(100);
  const ratios: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const own = await timed(() => noted.change!(1000));
    const ratio = own / (await timed(() => other.change!(1000)));
    if (round > 0) ratios.push(ratio);
  }
  row('1,000 updates on the server, beside the plain class', median(ratios), '×', '1.3');
}
await Promise.all([one.close(), two.close(), plain.close()]);
await server.close();
rmSync(folder, { recursive: true });

async function untilSettled(stub: Stub): Promise<void> {
  while ((await followed(stub as object).read()).pending > 0) await turn();
}

async function untilCurrent(stub: Stub): Promise<void> {
  while ((await followed(stub as object).read()).state !== 'current') await turn();
}

function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1));
}
