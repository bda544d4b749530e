// Tests objects that follow as an app uses them, with a server in the same process.

import { afterEach, describe, expect, test, vi } from 'vitest';
import type { DurableObjectStub } from '../../../src/shared/contract/object.ts';
import { live } from '../../../src/shared/live/live-stub.ts';
import { DurableObject } from '../../../worker/realm/library/base-classes.ts';
import { createObjects } from '../../../worker/start/entries/node-objects.ts';
import { followed, settled } from '../app/followed.ts';
import { followable } from '../server/index.ts';
import type { FollowableOptions } from '../server/options.ts';
import { type FollowedServer, followedServer } from '../testing/followed-server.ts';
import { follow } from './follow.ts';

class Room extends DurableObject {
  constructor(ctx: never, env: never) {
    super(ctx, env);
    this.ctx.storage.sql.exec(
      'CREATE TABLE IF NOT EXISTS item (id INTEGER PRIMARY KEY, name TEXT UNIQUE)',
    );
  }
  add(name: string) {
    this.ctx.storage.sql.exec('INSERT INTO item (name) VALUES (?)', name);
    return this.names().length;
  }
  names(): string[] {
    const rows = this.ctx.storage.sql.exec('SELECT name FROM item ORDER BY id').raw();
    return [...rows].map(([name]) => String(name));
  }
  clear() {
    this.ctx.storage.sql.exec('DELETE FROM item');
  }
  async fetched(name: string) {
    this.add(name);
    await fetch('http://localhost:1/');
  }
  fails(): never {
    throw new RangeError('no');
  }
  get count() {
    return this.names().length;
  }
  get tools() {
    return { add: (name: string) => this.add(name) };
  }
  fetch() {
    this.add('fetched');
    return new Response();
  }
}

/** A room whose constructor reads the names into memory; it also has an alarm. */
class Remembering extends Room {
  readonly known = this.names();
  list() {
    return this.known;
  }
  remind(timeMs: number) {
    return this.ctx.storage.setAlarm(timeMs);
  }
  reminder() {
    return this.ctx.storage.getAlarm();
  }
  alarm() {
    this.add('rang');
  }
}

interface Env<Class extends object = Room> {
  readonly Room: { getByName(name: string): DurableObjectStub<Class> };
}

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function serverOf(
  options: Pick<Partial<FollowableOptions>, 'authorize'> = {},
): Promise<FollowedServer> {
  const methods = ['add', 'fetched', 'fails'];
  const server = await followedServer(Room, { methods, ...options });
  ends.push(() => server.close());
  return server;
}

/** Opens objects that follow those of the server. */
async function app(server: FollowedServer) {
  const options = { url: (name: string) => `wss://server/${name}`, connect: server.connect };
  const objects = await createObjects({ Room }, { follow: follow({ Room: options }) });
  ends.push(() => objects.close());
  return { objects, env: objects.env as unknown as Env };
}

/** Subscribes to a live method, and collects the names that it shows, without repetitions. */
function watched(room: DurableObjectStub<Room>) {
  const seen: string[] = [];
  const failures: unknown[] = [];
  const stop = live(room)
    .names()
    .subscribe(
      (names) => {
        const shown = names?.join(' ');
        if (shown !== undefined && shown !== seen.at(-1)) seen.push(shown);
      },
      { onError: (error) => failures.push(error) },
    );
  return { seen, failures, stop };
}

test('[TX14] [FOLS9] a call that the server runs first after a start is one commit there', async () => {
  class Tagged extends Room {
    tag(name: string) {
      this.add(name);
      this.ctx.storage.kv.put('last', name);
    }
  }
  const server = await followedServer(Tagged, { methods: ['tag'] });
  ends.push(() => server.close());
  const objects = await createObjects(
    { Room: Tagged },
    { follow: follow({ Room: { url: () => 'wss://server/a', connect: server.connect } }) },
  );
  ends.push(() => objects.close());
  const room = (objects.env as never as { Room: { getByName(name: string): Tagged } }).Room;
  await settled(room.getByName('a').tag('before') as never);
  await server.evict();
  await settled(room.getByName('a').tag('after') as never);
  const storage = await server.storage();
  const states: (readonly [unknown, unknown])[] = [];
  for (const { bookmark } of (await storage.history()).toReversed()) {
    const moment = await storage.at(bookmark);
    const found = await moment.sql
      .exec("SELECT 1 FROM sqlite_master WHERE name = 'item'")
      .toArray();
    const rows =
      found.length > 0 ? await moment.sql.exec('SELECT name FROM item').raw().toArray() : [];
    states.push([rows.flat().at(-1), await moment.kv.get('last')]);
  }
  expect(states.filter(([row, key]) => row !== key)).toEqual([]);
  expect(states.at(-1)).toEqual(['after', 'after']);
});

async function remembering() {
  const server = await followedServer(Remembering, { methods: ['add', 'remind'] });
  ends.push(() => server.close());
  const connect = { url: () => 'wss://server/a', connect: server.connect };
  const objects = await createObjects({ Room: Remembering }, { follow: follow({ Room: connect }) });
  ends.push(() => objects.close());
  const room = (objects.env as unknown as Env<Remembering>).Room.getByName('a');
  return { server, objects, room };
}

describe('an object that follows', () => {
  test('[FOLP1] what a class loads in its constructor is loaded again after each change of the server', async () => {
    const { server, room } = await remembering();
    await settled(room.add('mine'));
    expect(await room.list()).toEqual(['mine']);
    await server.call('add', 'theirs');
    await expect.poll(() => room.list()).toEqual(['mine', 'theirs']);
  });

  test('[FOLP1] a copy shows the alarm of a call that waits, does not run it, and does not show that of the server', async () => {
    const { server, objects, room } = await remembering();
    await settled(room.remind(4_000_000_000_000));
    expect(await room.reminder()).toBeNull();
    expect(await (await server.storage()).getAlarm()).toBe(4_000_000_000_000);
    server.isDown = true;
    const soonMs = (await objects.clock.now()) + 1000;
    await room.remind(soonMs);
    expect(await room.reminder()).toBe(soonMs);
    await objects.clock.advance(60_000);
    expect(await room.names()).toEqual([]);
    expect(await room.reminder()).toBe(soonMs);
  });

  test('[BY1] [FOLP8] a handle reads the copy, whose history has one commit of kind follow for each change of the server', async () => {
    const server = await serverOf();
    const { objects, env } = await app(server);
    const room = env.Room.getByName('a');
    await settled(room.add('mine'));
    const storage = await objects.storage(room);
    const before = await storage.history();
    await server.call('add', 'theirs');
    await expect.poll(() => room.names()).toEqual(['mine', 'theirs']);
    const rows = await storage.sql.exec('SELECT name FROM item').raw().toArray();
    expect(rows).toEqual([['mine'], ['theirs']]);
    const after = await storage.history();
    expect(after.slice(1)).toEqual(before);
    expect(new Set(after.map(({ by }) => by?.kind))).toEqual(new Set(['follow']));
  });

  test('[FOLP3] a call is the forecast at once; settled is the answer of the server', async () => {
    const server = await serverOf();
    await server.call('add', 'theirs');
    server.isDown = true;
    const { env } = await app(server);
    const room = env.Room.getByName('a');
    const call = room.add('mine');
    expect(await call).toBe(1);
    expect(followed(room)).toBe(followed(env.Room.getByName('a')));
    expect(await followed(room).read()).toMatchObject({ state: 'offline', pending: 1 });
    server.isDown = false;
    expect(await settled(call)).toBe(2);
    expect(await room.names()).toEqual(['theirs', 'mine']);
    expect(await followed(room).read()).toMatchObject({ state: 'current', pending: 0 });
  });

  test('[FOLP4] live methods show forecasts, and what others change', async () => {
    const server = await serverOf();
    const { env } = await app(server);
    const room = env.Room.getByName('a');
    const { seen, failures, stop } = watched(room);
    await expect.poll(() => seen).toEqual(['']);
    server.isDown = true;
    const call = room.add('mine');
    await expect.poll(() => seen).toEqual(['', 'mine']);
    await server.call('add', 'theirs');
    server.isDown = false;
    await settled(call);
    await expect.poll(() => seen.at(-1)).toBe('theirs mine');
    await server.call('add', 'more');
    await expect.poll(() => seen.at(-1)).toBe('theirs mine more');
    expect(seen).toEqual(['', 'mine', 'theirs mine', 'theirs mine more']);
    expect(failures).toEqual([]);
    stop();
  });

  test('[FOLP4] a live method goes on with each of many changes of others', async () => {
    const server = await serverOf();
    const { env } = await app(server);
    const { seen, failures, stop } = watched(env.Room.getByName('a'));
    const many = Array.from({ length: 40 }, (_, i) => `${i}`);
    await Promise.all(many.map((name) => server.call('add', name)));
    await expect.poll(() => seen.at(-1)).toBe(many.join(' '));
    expect(failures).toEqual([]);
    stop();
  });

  test('[FOLP5] a refused call is in refusals until it is dismissed or tried again', async () => {
    const server = await serverOf();
    await server.call('add', 'same');
    server.isDown = true;
    const { env } = await app(server);
    const room = env.Room.getByName('a');
    const status = followed(room);
    const call = room.add('same');
    expect(await call).toBe(1);
    server.isDown = false;
    await expect(settled(call)).rejects.toThrow(/UNIQUE/);
    const [refusal] = await status.refusals();
    expect(refusal).toMatchObject({ method: 'add', args: ['same'] });
    await expect(status.retry(refusal!)).rejects.toThrow(/UNIQUE/); // The copy has the name by now.
    expect(await status.refusals()).toHaveLength(1);
    await status.dismiss(refusal!);
    expect(await status.refusals()).toEqual([]);
  });

  test('[FOLP5] a refused call is tried again once, also when it is asked for twice at once', async () => {
    const server = await serverOf();
    await server.call('add', 'same');
    server.isDown = true;
    const { env } = await app(server);
    const room = env.Room.getByName('a');
    const status = followed(room);
    const calls = [room.add('same'), room.add('also')];
    await Promise.all(calls);
    await server.call('add', 'also');
    server.isDown = false;
    for (const call of calls) await expect(settled(call)).rejects.toThrow(/UNIQUE/);
    await server.call('clear');
    await expect.poll(() => room.names()).toEqual([]);
    const [same, also] = await status.refusals();
    const outcomes = await Promise.allSettled([
      ...[status.retry(same!), status.retry(same!)],
      ...[status.dismiss(also!), status.retry(also!)],
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'rejected',
    ]);
    expect(outcomes[1]).toMatchObject({ reason: { code: 'INVALID_ARGUMENT' } });
    await expect.poll(() => status.read()).toMatchObject({ pending: 0, refused: 0 });
    expect(await room.names()).toEqual(['same']);
    expect(await server.call('names')).toEqual(['same']);
  });

  test('[FOLP28] a copy whose server refuses it tells why, and goes on once it may', async () => {
    let user: string | null = null;
    const server = await serverOf({ authorize: () => user });
    const { env } = await app(server);
    const room = env.Room.getByName('a');
    const call = room.add('mine');
    expect(await call).toBe(1);
    const refused = { state: 'offline', reason: 'NOT_AUTHORIZED', pending: 1 };
    await vi.waitUntil(async () => (await followed(room).read()).reason !== null);
    expect(await followed(room).read()).toMatchObject(refused);
    user = 'ann';
    expect(await settled(call)).toBe(1);
    const current = { state: 'current', reason: null, pending: 0 };
    expect(await followed(room).read()).toMatchObject(current);
  });

  test('[FOLP30] calls of a copy that has stopped do not wait for the server, and stay', async () => {
    let user = 'ann';
    const server = await serverOf({ authorize: () => user });
    const { env } = await app(server);
    const room = env.Room.getByName('a');
    await settled(room.add('mine'));
    user = 'ben';
    server.isDown = true;
    const [before, after] = [room.add('before'), room.fetched('nowhere')];
    expect(await before).toBe(2);
    server.isDown = false;
    const stopped = { code: 'FOLLOW_STOPPED', message: expect.stringContaining('CLIENT_TAKEN') };
    await expect(settled(before)).rejects.toMatchObject(stopped);
    await expect(after).rejects.toMatchObject(stopped);
    await expect(settled(room.add('after'))).rejects.toMatchObject(stopped);
    expect(await followed(room).read()).toMatchObject({ state: 'stopped', pending: 3 });
    expect(await followed(room).forget()).toHaveLength(3);
  });

  test('[FOLP6] a call that reaches outside is not forecast: the server answers it', async () => {
    const server = await serverOf();
    const { env } = await app(server);
    const room = env.Room.getByName('a');
    // This is the error of the server. On the copy, it would be BRANCH_ISOLATED.
    await expect(room.fetched('once')).rejects.toThrow('fetch failed');
    expect(await room.names()).toEqual(['once']);
  });

  test('[FOLP7] reads and errors that change nothing are answered here, offline', async () => {
    const server = await serverOf();
    server.isDown = true;
    const { env } = await app(server);
    const room = env.Room.getByName('a');
    expect(await settled(room.names())).toEqual([]);
    await expect(room.fails()).rejects.toThrow(RangeError);
    expect(await followed(room).read()).toMatchObject({ pending: 0 });
  });

  test('[FOLP8] functions cannot be passed, and nothing but calls changes the copy', async () => {
    const server = await serverOf();
    server.isDown = true;
    const { objects, env } = await app(server);
    const room = env.Room.getByName('a');
    await expect(room.add((() => {}) as never)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await room.add('mine');
    const storage = await objects.storage(room);
    await expect(storage.put('k', 1)).rejects.toMatchObject({ code: 'READ_ONLY' });
    await expect(storage.sql.exec('CREATE TABLE t (a)').toArray()).rejects.toMatchObject({
      code: 'READ_ONLY',
    });
  });

  test('[FOLP13] a live read goes on after the instance of its copy has ended', async () => {
    const server = await serverOf();
    const { objects, env } = await app(server);
    const room = env.Room.getByName('a');
    await settled(room.add('mine'));
    const seen: unknown[] = [];
    const stop = live(room)
      .names()
      .subscribe((names) => seen.push(names), { onError: () => {} });
    await vi.waitUntil(() => seen.length > 1);
    const storage = await objects.storage(room);
    await storage.abort('by the test').catch(() => {});
    await server.call('add', 'theirs');
    await expect.poll(() => seen.at(-1)).toEqual(['mine', 'theirs']);
    stop();
  });

  test('[FOLP27] a handle reads a followed object, and does not write to it', async () => {
    const server = await createObjects({
      Room: followable(Room, {
        authorize: () => 'someone',
        methods: ['add'],
        version: 1,
      }) as never,
    });
    ends.push(() => server.close());
    const stub = (server.env as unknown as Env).Room.getByName('a');
    await stub.add('by the class');
    const handle = await server.storage(stub);
    const names = handle.sql.exec('SELECT name FROM item').toArray();
    expect(await names).toEqual([{ name: 'by the class' }]);
    const bookmark = await handle.getCurrentBookmark();
    const writes = [
      () => handle.put('key', 1),
      () => handle.delete('key'),
      () => handle.deleteAll(),
      () => handle.sql.exec("INSERT INTO item (name) VALUES ('x')").toArray(),
      () => handle.sql.exec('CREATE TABLE other (a)').toArray(),
      () => handle.batch([["INSERT INTO item (name) VALUES ('x')"]]),
      () => handle.revert(bookmark),
      () => handle.transaction(async (txn) => void (await txn.put('key', 1))),
    ];
    for (const write of writes) {
      await expect(write()).rejects.toMatchObject({ code: 'READ_ONLY' });
    }
    await stub.add('again');
    expect(await stub.names()).toEqual(['by the class', 'again']);
    await handle.restore(bookmark);
    expect(await stub.names()).toEqual(['by the class']);
  });

  test('[FOLP16] nothing but a method runs here: what it wrote would be here only', async () => {
    const server = await serverOf();
    const { env } = await app(server);
    const room = env.Room.getByName('a');
    const refused = { code: 'INVALID_ARGUMENT', message: expect.stringContaining('that follows') };
    await expect(room.fetch('http://room/')).rejects.toMatchObject(refused);
    await expect(room.tools.add('deep')).rejects.toMatchObject(refused);
    await expect((async () => await room.tools)()).rejects.toThrow(/could not be cloned/);
    expect(await room.names()).toEqual([]);
    await settled(room.add('mine'));
    expect(await room.count).toBe(1);
  });

  test('[FOLP17] a call that the server would not take is refused at once, and blocks no other', async () => {
    const server = await serverOf();
    const { env } = await app(server);
    const room = env.Room.getByName('a');
    const much = 'x'.repeat(2 ** 20 - 5000);
    expect(await settled(room.add(much))).toBe(1);
    await expect(room.add(`${much}${'x'.repeat(2000)}`)).rejects.toMatchObject({
      code: 'MESSAGE_TOO_LARGE',
    });
    expect(await settled(room.add('more'))).toBe(2);
  });

  test('[FOLP9] calls of the turn in which forget is called are made by the next copy', async () => {
    const server = await serverOf();
    const { env } = await app(server);
    const room = env.Room.getByName('a');
    await settled(room.add('first'));
    const forgotten = followed(room).forget();
    const calls = [room.add('second'), room.add('third')];
    const names = room.names();
    expect(await forgotten).toEqual([]);
    await Promise.all([...calls.map(settled), names]);
    expect(await server.call('names')).toEqual(['first', 'second', 'third']);
  });

  test('[FOLP9] forget removes the copy, and tells which calls the server has not answered', async () => {
    const server = await serverOf();
    server.isDown = true;
    const { env } = await app(server);
    const room = env.Room.getByName('a');
    await room.add('mine');
    expect(await followed(room).forget()).toMatchObject([{ n: 1, args: ['mine'], reason: null }]);
    expect(await room.names()).toEqual([]);
    expect(await followed(room).read()).toMatchObject({ pending: 0 });
  });

  test('[FOLP34] a call that was forgotten has no answer of a later call, and a refusal is not another one', async () => {
    const server = await serverOf();
    const { objects, env } = await app(server);
    const room = env.Room.getByName('a');
    const answered = room.add('answered');
    expect(await settled(answered)).toBe(1);
    server.isDown = true;
    const waits = room.add('waits');
    await waits;
    const early = settled(waits);
    const stopped = { code: 'FOLLOW_STOPPED' };
    const rejects = expect(early).rejects.toMatchObject(stopped);
    expect(await followed(room).forget()).toMatchObject([{ n: 2, args: ['waits'] }]);
    await rejects;
    server.isDown = false;
    expect(await settled(room.add('later'))).toBe(2);
    expect(await settled(room.add('last'))).toBe(3);
    await expect(settled(waits)).rejects.toMatchObject(stopped);
    expect(await settled(answered)).toBe(1);

    server.isDown = true;
    await room.add('refused');
    await server.call('add', 'refused');
    server.isDown = false;
    await expect.poll(() => followed(room).refusals()).toMatchObject([{ n: 5 }]);
    expect(await followed(room).forget()).toMatchObject([{ n: 5, args: ['refused'] }]);
    await expect.poll(() => room.names().catch(() => [])).toHaveLength(4);
    server.isDown = true;
    await room.add('again');
    await server.call('add', 'again');
    server.isDown = false;
    await expect.poll(() => followed(room).refusals()).toMatchObject([{ n: 6 }]);
    await followed(room).dismiss({ n: 5 });
    await expect(followed(room).retry({ n: 1 })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
    expect(await followed(room).refusals()).toMatchObject([{ n: 6, args: ['again'] }]);
    const storage = await objects.storage(room);
    await storage.abort('its queue is read again').catch(() => {});
    await expect.poll(() => followed(room).refusals()).toMatchObject([{ n: 6, args: ['again'] }]);
    await followed(room).dismiss({ n: 6 });
    expect(await followed(room).refusals()).toEqual([]);
  });

  test('[FOLP13] a copy that is deleted, or whose instance ends, comes back with its calls', async () => {
    const server = await serverOf();
    await server.call('add', 'theirs');
    const { objects, env } = await app(server);
    const room = env.Room.getByName('a');
    await settled(room.add('mine'));
    server.isDown = true;
    await room.add('waits');
    await objects.deleteObject(room as never);
    await expect.poll(() => room.names().catch(() => [])).toEqual(['waits']);
    server.isDown = false;
    await expect.poll(() => room.names().catch(() => [])).toEqual(['theirs', 'mine', 'waits']);
    const storage = await objects.storage(room);
    await storage.abort('by the test').catch(() => {});
    await expect.poll(() => room.names().catch(() => [])).toEqual(['theirs', 'mine', 'waits']);
    expect(await settled(room.add('last'))).toBe(4);
  });
});
