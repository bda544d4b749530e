// Tests a served object whose records of clients are damaged: it opens, it serves others, and no call runs twice.

import { afterEach, expect, test } from 'vitest';
import { serialize } from '../../../src/shared/values/encode.ts';
import { until } from '../testing/followed-device.ts';
import { type FollowedServer, followedServer } from '../testing/followed-server.ts';
import { connect, deviceOf, isCurrent, Room } from '../testing/replica-device.ts';
import type { Replica } from './replica.ts';

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

class DamagedRoom extends Room {
  damage(query: string) {
    this.ctx.storage.sql.exec(query);
  }
}

async function damageableServer(): Promise<FollowedServer> {
  const server = await followedServer(DamagedRoom, { methods: ['add'] });
  ends.push(() => server.close());
  return server;
}

/** Changes the tables of this package, then starts the object's next instance. */
async function damage(server: FollowedServer, query: string): Promise<void> {
  await server.call('damage', query);
  await server.restart();
}

/** Makes a call whose answer is lost. */
async function callUnheard(server: FollowedServer, replica: Replica): Promise<void> {
  await replica.call('add', ['mine']);
  const { closes } = await connect(server, replica, (message) =>
    message.kind === 'cut' && message.last > 0 ? null : message,
  );
  await until(async () => ((await server.call('names')) as string[]).includes('mine'));
  expect(closes).toEqual([]);
  server.drop();
}

test.for(["CAST(x'eda080' AS TEXT)", "'\ufffd'"])(
  '[FOLC13] a begun call of a client whose name is stored as another one does not end the instances: %s',
  async (name) => {
    const server = await damageableServer();
    const replica = await (await deviceOf(ends)).open();
    await connect(server, replica);
    await replica.call('add', ['before']);
    await until(isCurrent(replica));
    await damage(
      server,
      `INSERT INTO _follow_client VALUES (${name}, 'eve', 1, 0, 0, 0, NULL, NULL)`,
    );
    expect(await server.call('names')).toEqual(['before']);
    await connect(server, replica);
    await replica.call('add', ['after']);
    await until(isCurrent(replica));
    expect(await server.call('names')).toEqual(['before', 'after']);
    await replica.close();
  },
);

test('[FOLS5] a call whose outcome is damaged is answered as lost, and not run again', async () => {
  const server = await damageableServer();
  const device = await deviceOf(ends);
  const replica = await device.open();
  await callUnheard(server, replica);
  await damage(server, "UPDATE _follow_outcome SET outcome = x'ff0f63'");
  await connect(server, replica);
  await until(isCurrent(replica));
  expect([...device.outcomes]).toEqual([[1, { kind: 'failed', code: 'OUTCOME_LOST' }]]);
  expect(await server.call('names')).toEqual(['mine']);
  await replica.close();
});

test('[FOLS5] [FOLS4] the client of a damaged record is refused, and its call does not run again', async () => {
  const server = await damageableServer();
  const device = await deviceOf(ends);
  const replica = await device.open();
  await callUnheard(server, replica);
  await damage(server, 'UPDATE _follow_client SET started = 0, last = 0, acked = 1');
  const socket = server.connect();
  const closed = new Promise((end) =>
    socket.addEventListener('close', (event) => end((event as CloseEvent).reason)),
  );
  socket.addEventListener('open', () => {
    const protocol = { oldest: 2, newest: 2 };
    const hello = { kind: 'hello', protocol, client: 'page', position: null, copy: null, ack: 0 };
    socket.send(serialize(hello));
    const call = { kind: 'call', n: 1, mark: 1, method: 'add', again: true, ack: 0 };
    socket.send(serialize({ ...call, args: serialize(['again']) }));
  });
  expect(await closed).toBe('CLIENT_TAKEN');
  expect(await server.call('names')).toEqual(['mine']);
  await replica.close();
});
