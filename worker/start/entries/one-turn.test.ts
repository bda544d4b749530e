// Tests that all writes of an event in one turn, in any way and order, are one commit of its author, also just after a
// start, and that no writes of other events are in it. Each commit of the history is compared with the one before.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { StorageHandle } from '../../../src/shared/contract/storage.ts';
import { DurableObject } from '../../realm/library/base-classes.ts';
import { createObjects, evictDurableObject } from './node-objects.ts';

type Storage = DurableObject['ctx']['storage'];

const SCHEMA = [
  'CREATE TABLE IF NOT EXISTS entry(id TEXT PRIMARY KEY)',
  'CREATE TABLE IF NOT EXISTS copy(id TEXT PRIMARY KEY)',
  'CREATE TABLE IF NOT EXISTS watched(id TEXT PRIMARY KEY)',
  'CREATE TRIGGER IF NOT EXISTS copied AFTER INSERT ON watched BEGIN INSERT INTO copy VALUES (NEW.id); END',
];

const insert = (storage: Storage, id: string, table = 'entry') =>
  storage.sql.exec(`INSERT INTO ${table} VALUES (?)`, id);

/** The ways to write by name. The names of the rows and keys that they write begin with the id. */
const WAYS: Record<string, (storage: Storage, id: string) => unknown> = {
  row: (storage, id) => insert(storage, `${id}-row`),
  statements: (storage, id) =>
    storage.sql.exec(
      `INSERT INTO entry VALUES ('${id}-first'); INSERT INTO entry VALUES ('${id}-second')`,
    ),
  trigger: (storage, id) => insert(storage, `${id}-trigger`, 'watched'),
  key: (storage, id) => storage.kv.put(`${id}-key`, 1),
  keys: (storage, id) => storage.put({ [`${id}-one`]: 1, [`${id}-two`]: 2 }),
  deletion: (storage) => storage.delete('old'),
  alarm: (storage) => storage.setAlarm(Date.now() + 1e9 * (1 + Math.random())),
  noAlarm: (storage) => storage.deleteAlarm(),
  transactionSync: (storage, id) =>
    storage.transactionSync(() => {
      insert(storage, `${id}-sync`);
      storage.kv.put(`${id}-synckey`, 1);
    }),
  table: (storage, id) => storage.sql.exec(`CREATE TABLE "${id}-table"(a)`),
};
const NAMES = Object.keys(WAYS);
/** The names of the ways that also change something when another way has written before. */
const ADDING = NAMES.filter((name) => name !== 'deletion' && name !== 'noAlarm');
/** Returns pairs of ways, one of them a row or a key, because ways differ in whether they end the open transaction. */
const pairsOf = (names: readonly string[]) =>
  names.flatMap((one) =>
    ['row', 'key'].flatMap((other) =>
      one === other
        ? []
        : [
            [one, other],
            [other, one],
          ],
    ),
  );

class Book extends DurableObject {
  constructor(...args: ConstructorParameters<typeof DurableObject>) {
    super(...args);
    for (const text of SCHEMA) this.ctx.storage.sql.exec(text);
  }

  touch() {}

  prepare() {
    this.ctx.storage.kv.put('old', 1);
    return this.ctx.storage.setAlarm(Date.now() + 1e9);
  }

  write(id: string, ways: readonly string[]) {
    for (const way of ways) WAYS[way]!(this.ctx.storage, id);
  }

  /** Writes in the same ways, but as another author. */
  alsoWrite(id: string, ways: readonly string[]) {
    this.write(id, ways);
  }

  /** Awaits a read of the storage between the writes. Its promise is already settled, so the turn goes on. */
  async writeOneByOne(id: string, ways: readonly string[]) {
    for (const way of ways) {
      WAYS[way]!(this.ctx.storage, id);
      await this.ctx.storage.get('old');
    }
  }

  fetch(request: Request) {
    if (request.url.endsWith('/socket')) return this.#socket();
    this.write('fetch', ['row', 'key']);
    return new Response('');
  }

  alarm() {
    this.write('alarm', ['row', 'key']);
  }

  setAlarmSoon() {
    return this.ctx.storage.setAlarm(Date.now() + 1000);
  }

  webSocketMessage(_: WebSocket, id: string) {
    this.write(id, ['row', 'key']);
  }

  #socket() {
    const { 0: client, 1: server } = new (
      globalThis as never as { WebSocketPair: new () => [WebSocket, WebSocket] }
    ).WebSocketPair();
    this.ctx.acceptWebSocket(server);
    return new Response(null, { status: 101, webSocket: client } as ResponseInit);
  }
}

const classes = { Book };
let objects: Awaited<ReturnType<typeof createObjects<typeof classes>>>;
let book: ReturnType<typeof objects.env.Book.getByName>;
beforeEach(async () => {
  objects = await createObjects(classes);
  book = objects.env.Book.getByName('one');
  await book.prepare();
});
afterEach(() => objects.close());

interface Written {
  readonly by: string;
  /** The names that the commit put, without those that it deleted. */
  readonly names: readonly string[];
}

/** Returns the commits after a bookmark, the oldest first. */
async function commitsSince(storage: StorageHandle, start: string): Promise<Written[]> {
  const commits = (await storage.history()).filter(({ bookmark }) => bookmark > start).reverse();
  let before = start;
  const found: Written[] = [];
  for (const { bookmark, by } of commits) {
    const names: string[] = [];
    for await (const change of storage.diff(before, bookmark)) {
      if (change.kind === 'row' && change.after) names.push(String(change.after.id));
      if (change.kind === 'key' && change.after !== undefined) names.push(change.key);
    }
    found.push({ by: by?.method ?? by?.kind ?? 'nobody', names });
    before = bookmark;
  }
  return found;
}

/** Starts an instance, does the work on it and returns the commits of the work. */
async function commitsOf(work: () => Promise<unknown>): Promise<Written[]> {
  const storage = await objects.storage(book);
  const start = await storage.getCurrentBookmark();
  await evictDurableObject(book);
  await work();
  return commitsSince(await objects.storage(book), start);
}

describe('[TX14] the writes of one turn are one commit', () => {
  test('whatever two ways come together, in a first call', async () => {
    for (const [i, pair] of pairsOf(NAMES).entries()) {
      const found = await commitsOf(() => book.write(`turn${i}`, pair));
      expect([pair, found.map(({ by }) => by)]).toEqual([pair, ['write']]);
      await book.prepare();
    }
  });

  test('also in all ways at once, forwards and backwards, and across promises that are settled', async () => {
    const forwards = await commitsOf(() => book.write('a', NAMES));
    await book.prepare();
    const backwards = await commitsOf(() => book.write('b', NAMES.toReversed()));
    await book.prepare();
    const slowly = await commitsOf(() => book.writeOneByOne('c', NAMES));
    const bys = [forwards, backwards, slowly].map((found) => found.map(({ by }) => by));
    expect(bys).toEqual([['write'], ['write'], ['writeOneByOne']]);
    expect(forwards[0]!.names.length).toBe(10);
  });

  test('of a request, an alarm and a message, each the first event after a start', async () => {
    const fetched = await commitsOf(() => book.fetch('http://book/'));
    expect(fetched).toEqual([{ by: 'fetch', names: ['fetch-key', 'fetch-row'] }]);
    await book.setAlarmSoon();
    const rung = await commitsOf(() => objects.clock.advance(1000));
    expect(rung).toEqual([{ by: 'alarm', names: ['alarm-key', 'alarm-row'] }]);
    const response = await book.fetch('http://book/socket', { headers: { Upgrade: 'websocket' } });
    const socket = (response as never as { webSocket: WebSocket & { accept(): void } }).webSocket;
    socket.accept();
    const told = await commitsOf(async () => {
      socket.send('told');
      await expect.poll(async () => (await objects.storage(book)).get('told-key')).toBe(1);
    });
    expect(told).toEqual([{ by: 'socket', names: ['told-key', 'told-row'] }]);
    socket.close();
  });

  test('of a constructor, of which the event that started it has no part', async () => {
    class Slow extends DurableObject {
      constructor(...args: ConstructorParameters<typeof DurableObject>) {
        super(...args);
        this.ctx.storage.sql.exec(SCHEMA[0]!);
        void this.start();
      }

      async start() {
        insert(this.ctx.storage, 'c-row');
        await this.ctx.storage.get('a');
        this.ctx.storage.kv.put('c-key', 1);
        await this.ctx.storage.get('a');
        insert(this.ctx.storage, 'c-more');
      }

      async write() {
        insert(this.ctx.storage, 'w-row');
        await this.ctx.storage.get('a');
        this.ctx.storage.kv.put('w-key', 1);
      }
    }
    const started = await createObjects({ Slow });
    const slow = started.env.Slow.getByName('one');
    await slow.write();
    const storage = await started.storage(slow);
    const [first] = (await storage.history()).toReversed();
    const commits = await storage.history();
    expect(commits.map(({ by }) => by?.kind)).toEqual(['call', 'constructor']);
    const past = await storage.at(first!.bookmark);
    const rows = await past.sql.exec('SELECT id FROM entry ORDER BY id').toArray();
    expect(rows).toEqual([{ id: 'c-more' }, { id: 'c-row' }]);
    expect([...(await past.list()).keys()]).toEqual(['c-key']);
    await started.close();
  });
});

describe('[BY2] a commit has the writes of one author only', () => {
  test('however the calls of two methods come together', { tags: 'long' }, async () => {
    for (const [i, pair] of pairsOf(ADDING).entries()) {
      const storage = await objects.storage(book);
      const start = await storage.getCurrentBookmark();
      await Promise.all([
        book.write(`a${i}`, pair),
        book.alsoWrite(`b${i}`, pair),
        book.write(`c${i}`, pair),
      ]);
      const found = await commitsSince(storage, start);
      expect([pair, found.map(({ by }) => by)]).toEqual([pair, ['write', 'alsoWrite', 'write']]);
      for (const [n, { names }] of found.entries()) {
        expect([pair, names.filter((name) => !name.startsWith('abc'[n]!))]).toEqual([pair, []]);
      }
    }
  });

  test('also of a handle beside a class', async () => {
    const storage = await objects.storage(book);
    const start = await storage.getCurrentBookmark();
    await Promise.all([
      book.write('a', ['row', 'key']),
      storage.sql.exec("INSERT INTO entry VALUES ('h-row')").ready,
      storage.put('h-key', 1),
      book.write('b', ['key', 'row']),
    ]);
    const found = await commitsSince(storage, start);
    for (const { by, names } of found) {
      const isOfHandle = by === 'storage';
      expect(names.every((name) => name.startsWith('h-') === isOfHandle)).toBe(true);
    }
    expect(found.flatMap(({ names }) => names).sort()).toEqual([
      'a-key',
      'a-row',
      'b-key',
      'b-row',
      'h-key',
      'h-row',
    ]);
  });
});

test('[BY2] deleteAll takes nothing over from another author: an alarm that was set in the same turn is a commit before it', async () => {
  class Cleared extends DurableObject {
    async set(timeMs: number) {
      this.ctx.storage.kv.put('a', 1);
      await this.ctx.storage.setAlarm(timeMs);
    }

    async clear() {
      await this.ctx.storage.deleteAll();
    }

    alarm() {}
  }
  const cleared = await createObjects({ Cleared });
  const stub = cleared.env.Cleared.getByName('one');
  const storage = await cleared.storage(stub);
  const timeMs = Date.now() + 1e9;
  await Promise.all([stub.set(timeMs), stub.clear()]);
  const found = [];
  for (const { by, bookmark } of (await storage.history()).toReversed()) {
    const moment = await storage.at(bookmark);
    found.push([by?.method, [...(await moment.list()).keys()], await moment.getAlarm()]);
  }
  expect(found).toEqual([
    ['set', ['a'], timeMs],
    ['clear', [], timeMs],
  ]);
  await cleared.close();
});

describe('[TX15] what ends the commit within a turn', () => {
  class Ended extends DurableObject {
    async bookmark() {
      this.ctx.storage.kv.put('a', 1);
      await this.ctx.storage.getCurrentBookmark();
      this.ctx.storage.kv.put('b', 1);
    }

    async restore() {
      const start = await this.ctx.storage.getCurrentBookmark();
      this.ctx.storage.kv.put('a', 1);
      await this.ctx.storage.onNextSessionRestoreBookmark(start);
      this.ctx.storage.kv.put('b', 1);
    }

    async deleteAll() {
      this.ctx.storage.kv.put('a', 1);
      await this.ctx.storage.deleteAll();
      this.ctx.storage.kv.put('b', 1);
    }
  }

  test('a bookmark, a past moment, a fork, a requested restore and an export end it where they are asked for; deleteAll is a commit of its own, without the writes before it', async () => {
    const ended = await createObjects({ Ended });
    const named = await ended.storage(ended.env.Ended.getByName('bookmark'));
    await ended.env.Ended.getByName('bookmark').bookmark();
    const keys = async (storage: StorageHandle) => {
      const commits = (await storage.history()).toReversed();
      return Promise.all(
        commits.map(async ({ bookmark }) =>
          [...(await (await storage.at(bookmark)).list()).keys()].join(),
        ),
      );
    };
    expect(await keys(named)).toEqual(['a', 'a,b']);
    await ended.env.Ended.getByName('restore').restore();
    expect(await keys(await ended.storage(ended.env.Ended.getByName('restore')))).toEqual([
      'a',
      'a,b',
    ]);
    const between: Record<string, (storage: StorageHandle) => Promise<unknown>> = {
      nothing: () => Promise.resolve(),
      export: (storage) => storage.exportDatabase(),
      at: (storage) => storage.at(new Date()),
      fork: (storage) => storage.fork(),
    };
    for (const [name, end] of Object.entries(between)) {
      const storage = await ended.storage(ended.env.Ended.getByName(name));
      await Promise.all([storage.put('a', 1), end(storage), storage.put('b', 1)]);
      expect([name, await keys(storage)]).toEqual([
        name,
        name === 'nothing' ? ['a,b'] : ['a', 'a,b'],
      ]);
    }
    const emptied = await ended.storage(ended.env.Ended.getByName('deleteAll'));
    await emptied.put('z', 1);
    await ended.env.Ended.getByName('deleteAll').deleteAll();
    expect(await keys(emptied)).toEqual(['z', '', 'b']);
    await ended.close();
  });
});
