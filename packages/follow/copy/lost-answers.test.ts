// Tests that each call runs once, whatever is lost on the way: its answer, the rows of the server's object, or the process
// that made it.

import { afterEach, expect, test } from 'vitest';
import { deserialize } from '../../../src/shared/values/decode.ts';
import { MemoryCatalog } from '../../../worker/objects/catalog/catalog.ts';
import { NO_FOLLOWERS } from '../../../worker/objects/host/followers.ts';
import type { HostEnvironment } from '../../../worker/objects/instance/environment.ts';
import { DurableObject } from '../../../worker/realm/library/base-classes.ts';
import { SlowMedium } from '../../testing/worker/slow-medium.ts';
import { createTestHost } from '../../testing/worker/test-host.ts';
import { decodeToFollower } from '../protocol/decode.ts';
import type { SettledOutcome } from '../protocol/follower.ts';
import { type FollowedServer, followedServer } from '../testing/followed-server.ts';
import { follow } from './follow.ts';
import { Replica } from './replica.ts';

class Room extends DurableObject {
  constructor(ctx: never, env: never) {
    super(ctx, env);
    this.prepare();
  }
  prepare() {
    this.ctx.storage.sql.exec('CREATE TABLE IF NOT EXISTS item (name TEXT)');
  }
  add(name: string) {
    this.ctx.storage.sql.exec('INSERT INTO item VALUES (?)', name);
    return this.names().length;
  }
  names() {
    return [...this.ctx.storage.sql.exec('SELECT name FROM item').raw()].flat();
  }
  empty(name: string) {
    void this.ctx.storage.deleteAll();
    this.prepare();
    this.add(name);
    return 'emptied';
  }
}

const TURNS_MAX = 20_000;

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** Waits for a condition in turns of the event loop, because the time of a test host stands still. */
async function until(check: () => boolean | Promise<boolean>): Promise<void> {
  for (let turns = 0; !(await check()); turns++) {
    if (turns === TURNS_MAX) throw new Error('It did not happen.');
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function serverOf(): Promise<FollowedServer> {
  const server = await followedServer(Room, { methods: ['add', 'empty'] });
  ends.push(() => server.close());
  return server;
}

/** Returns a copy of the server's object, and the server's answers to its calls. */
async function copyOf() {
  const here = await createTestHost({}, { Room });
  ends.push(() => here.close());
  here.host.followers = { ...NO_FOLLOWERS, classNames: new Set(['Room']) };
  const outcomes = new Map<number, SettledOutcome>();
  const environment = {
    now: () => 0,
    afterRealTime: () => () => {},
    inTurn: <T>(opening: () => Promise<T>) => opening(),
    newClient: () => 'page',
    randomUint32: () => 7,
    numberOffset: 0,
  };
  const open = () =>
    Replica.open(here.host, here.address('a'), 1, environment, {
      onChange() {},
      onSettled: (n, outcome) => void outcomes.set(n, outcome),
      onRefused() {},
      onEnded() {},
    });
  return { replica: await open(), open, outcomes };
}

/** Connects the replica. If `answers` is false, messages that answer a call are lost. */
function connect(server: FollowedServer, replica: Replica, answers: boolean): void {
  const socket = server.connect();
  let end: ReturnType<Replica['connected']> | undefined;
  socket.addEventListener('open', () => {
    end = replica.connected({ send: (bytes) => socket.send(bytes), close: () => socket.close() });
  });
  socket.addEventListener('message', (event) => {
    const bytes = new Uint8Array((event as MessageEvent<ArrayBuffer>).data);
    const message = decodeToFollower(deserialize(bytes));
    const isAnswer = (message.kind === 'cut' || message.kind === 'ended') && message.last > 0;
    if (answers || !isAnswer) end?.received(bytes);
  });
  socket.addEventListener('close', () => end?.closed());
}

test.for([true, false])(
  '[FOLS13] a call whose answer was lost, and deleted by another caller with everything, is OUTCOME_LOST and not run again; the object restarts: %s',
  async (restarts) => {
    const server = await serverOf();
    const { replica, outcomes } = await copyOf();
    await server.call('add', 'theirs');
    await replica.call('add', ['mine']);
    connect(server, replica, false);
    await until(async () => ((await server.call('names')) as string[]).includes('mine'));
    expect(outcomes.size).toBe(0);
    await server.call('empty', 'after');
    if (restarts) await server.restart();
    server.drop();
    connect(server, replica, true);
    await until(() => replica.state.pending === 0);
    expect([...outcomes.values()]).toEqual([{ kind: 'failed', code: 'OUTCOME_LOST' }]);
    expect(await server.call('names')).toEqual(['after']);
    await replica.close();
  },
);

test.for([true, false])(
  '[FOLS13] a call that deletes everything, and whose answer was lost, is answered and not run again; the one before is OUTCOME_LOST; the object restarts: %s',
  async (restarts) => {
    const server = await serverOf();
    const { replica, outcomes } = await copyOf();
    await replica.call('add', ['mine']);
    await replica.call('empty', ['emptied']);
    connect(server, replica, false);
    await until(async () => ((await server.call('names')) as string[])[0] === 'emptied');
    await server.call('add', 'theirs');
    if (restarts) await server.restart();
    server.drop();
    connect(server, replica, true);
    await until(() => replica.state.pending === 0);
    expect([...outcomes.values()]).toEqual([
      { kind: 'failed', code: 'OUTCOME_LOST' },
      { kind: 'value', value: 'emptied' },
    ]);
    expect(await server.call('names')).toEqual(['emptied', 'theirs']);
    // The next call has the next number, and runs.
    await replica.call('add', ['next']);
    await until(() => replica.state.pending === 0);
    expect(await server.call('names')).toEqual(['emptied', 'theirs', 'next']);
    await replica.close();
  },
);

test('[FOLP1] [FOLW4] after a restart with an empty queue, the next call has the next number, and is run', async () => {
  const server = await serverOf();
  const { replica, open, outcomes } = await copyOf();
  connect(server, replica, true);
  for (const name of ['one', 'two']) await replica.call('add', [name]);
  await until(() => replica.state.pending === 0);
  await replica.close();
  server.drop();

  const again = await open();
  expect((await again.call('add', ['three'])).n).toBe(3);
  connect(server, again, true);
  await until(() => again.state.pending === 0);
  expect(await server.call('names')).toEqual(['one', 'two', 'three']);
  expect(outcomes.get(3)).toEqual({ kind: 'value', value: 3 });
  await again.close();
});

test('[FOLP1] [FOLP19] a call is acknowledged when it is durable, and its object is in the durable list of those whose calls are sent after a start', async () => {
  const medium = new SlowMedium();
  const here = await createTestHost({}, { Room }, undefined, {
    medium,
    catalog: new MemoryCatalog(),
  });
  ends.push(() => here.close());
  ends.push(async () => medium.release());
  const environment = {
    now: () => 0,
    elapsed: () => 0,
    randomUint32: () => 0,
    afterRealTime: () => () => {},
  } as Partial<HostEnvironment> as HostEnvironment;
  const connectDown = () => {
    throw new Error('down');
  };
  const options = { url: () => 'ws://server/', connect: connectDown };
  here.host.followers = follow({ Room: options })(here.host, environment);
  const room = here.host.followers.find(here.address('a'))!;
  await room.call('names', []);
  const own = new Set(await medium.keys());

  /** Checks that a call resolves only after the flush that is held. */
  const waitsFor = async (made: Promise<unknown>) => {
    let isMade = false;
    made.then(() => (isMade = true)).catch(() => {});
    await until(() => medium.heldCount > 0);
    await here.turns(50);
    expect(isMade).toBe(false);
    medium.release();
    await made;
  };
  // The list of waiting objects is the only file that does not exist before the first waiting call.
  medium.holds = (key) => !own.has(key);
  await waitsFor(room.call('add', ['first']));
  medium.holds = (key) => own.has(key);
  await waitsFor(room.call('add', ['second']));
  expect(await room.call('names', [])).toMatchObject({ value: ['first', 'second'] });
});
