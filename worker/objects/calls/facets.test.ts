// Facets on files in memory. e2e/workerd/differential compares them with workerd's.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  createTestHost,
  type TestHost,
  type World,
} from '../../../packages/testing/worker/test-host.ts';
import { storageError } from '../../../src/shared/contract/errors.ts';
import type { DurableObjectFacets, FacetStub } from '../../../src/shared/contract/object.ts';
import { addressKey } from '../../../src/shared/contract/object-id.ts';
import type { FileDirectory, SyncFile } from '../../engine/file/file.ts';
import { MemoryMedium } from '../../engine/file/medium.ts';
import {
  createObjects,
  DurableObject,
  WorkerEntrypoint,
  WorkflowEntrypoint,
} from '../../start/entries/node-objects.ts';
import { MemoryCatalog } from '../catalog/catalog.ts';
import { Namespaces } from './namespaces.ts';

const IDLE_MS = 10_000;

class Room extends DurableObject<{ readonly Room: never }> {
  #calls = 0;

  count() {
    this.#calls += 1;
    return this.#calls;
  }
  put(key: string, value: unknown) {
    return this.ctx.storage.put(key, value);
  }
  /** Answers before the write is durable. */
  putUnconfirmed(key: string, value: unknown) {
    void this.ctx.storage.put(key, value, { allowUnconfirmed: true });
  }
  get(key: string) {
    return this.ctx.storage.get(key);
  }
  deleteAll() {
    return this.ctx.storage.deleteAll();
  }
  exportNames() {
    return Object.keys(this.ctx.exports);
  }
  ofClass(name: string) {
    const start = () => ({ class: this.ctx.exports[name]! });
    return this.ctx.facets.get<{ hello(): string }>(name, start).hello();
  }
  stay() {
    this.ctx.waitUntil(new Promise(() => {}));
  }
  within(method: 'count' | 'put' | 'get', ...parameters: string[]): Promise<unknown> {
    const facet = facetOf(this.ctx) as unknown as Record<string, (...all: string[]) => never>;
    return facet[method]!(...parameters);
  }
  deeper(level: number): Promise<unknown> {
    return level === 0 ? Promise.resolve('deep') : facetOf(this.ctx).deeper(level - 1);
  }
  fetch(request: Request): Promise<Response> | Response {
    if (new URL(request.url).pathname === '/object')
      return facetOf(this.ctx).fetch('http://facet/', request);
    const { 0: there, 1: here } = new (
      globalThis as never as { WebSocketPair: new () => never[] }
    ).WebSocketPair();
    this.ctx.acceptWebSocket(here!);
    return new Response(null, { status: 101, webSocket: there } as ResponseInit);
  }
  webSocketMessage(socket: WebSocket) {
    socket.send(`${this.count()}`);
  }
}

interface WithFacets {
  readonly facets: DurableObjectFacets;
  readonly exports: object;
}

function facetOf({ facets, exports }: WithFacets, name = 'a'): FacetStub<Room> {
  return facets.get<Room>(name, () => ({ class: (exports as { Room: object }).Room }));
}

const messageOf = (error: Error) => error.message;

/** A medium whose removals can be held, and whose logs have room for so many writes. */
class HeldMedium extends MemoryMedium {
  removal: Promise<void> | undefined;
  logWrites = Number.POSITIVE_INFINITY;

  override async directory(key: string): Promise<FileDirectory> {
    const directory = await super.directory(key);
    return {
      open: async (name) => this.#limited(name, await directory.open(name)),
      names: () => directory.names(),
      remove: (name) => directory.remove(name),
    };
  }

  #limited(name: string, file: SyncFile): SyncFile {
    return {
      read: (target, offset) => file.read(target, offset),
      write: (bytes, offset) => {
        if (name.startsWith('log-') && --this.logWrites < 0) {
          throw storageError('DISK_FULL', 'The log is full.');
        }
        file.write(bytes, offset);
      },
      truncate: (sizeBytes) => file.truncate(sizeBytes),
      sizeBytes: () => file.sizeBytes(),
      flush: () => file.flush(),
      close: () => file.close(),
    };
  }

  override async remove(key: string): Promise<void> {
    await this.removal;
    await super.remove(key);
  }
}

let world: World & { readonly medium: HeldMedium };
let host: TestHost;
const start = async () => {
  const classes = { Room };
  let namespaces: Namespaces;
  host = await createTestHost({}, classes, (instance) => namespaces.bindings(instance), world);
  namespaces = new Namespaces(host.host, {});
};
beforeEach(async () => {
  world = { medium: new HeldMedium(), catalog: new MemoryCatalog() };
  await start();
});
afterEach(() => host.close());

const instance = () => host.host.instance(host.address());
const reset = () => host.host.reset(host.address(), storageError('OBJECT_RESET', 'by the test'));

/** Lets instances that nothing uses be evicted: the facets of facets first. */
async function evictAll(): Promise<void> {
  for (let level = 0; level < 4; level++) await host.advance(IDLE_MS);
}

describe('facets', () => {
  test('[FACET1] storage of a facet outlives eviction and reset of its object, and its host', async () => {
    await host.run((ctx) => facetOf(ctx).put('key', 'of a'));
    await host.run((ctx) => ctx.storage.put('key', 'own'));
    const both = () =>
      host.run(async (ctx) => [
        await facetOf(ctx).count(),
        await facetOf(ctx).get('key'),
        await ctx.storage.get('key'),
      ]);
    const before = await instance();
    await evictAll();
    expect(before.hasEnded).toBe(true);
    expect(await both()).toEqual([1, 'of a', 'own']);
    await reset();
    expect(await both()).toEqual([1, 'of a', 'own']);
    await host.close();
    await start();
    expect(await both()).toEqual([1, 'of a', 'own']);
  });

  test('[FACET2] an idle facet is evicted before its object', async () => {
    const object = await instance();
    await host.run((ctx) => facetOf(ctx).count());
    await host.advance(IDLE_MS);
    expect(object.hasEnded).toBe(false);
    expect(await host.run((ctx) => facetOf(ctx).count())).toBe(1);
    await host.advance(IDLE_MS);
    await host.advance(IDLE_MS);
    expect(object.hasEnded).toBe(true);
  });

  test('[FACET2] a facet in memory keeps its object in memory', async () => {
    const object = await instance();
    await host.run((ctx) => facetOf(ctx).stay());
    await host.run((ctx) => facetOf(ctx).count());
    await evictAll();
    expect(object.hasEnded).toBe(false);
    expect(await host.run((ctx) => facetOf(ctx).count())).toBe(2);
  });

  test('[FACET3] a reset of the object ends its facets once their writes are durable', async () => {
    await host.run((ctx) => facetOf(ctx).count());
    host.holdFlushes();
    await host.run((ctx) => facetOf(ctx).putUnconfirmed('key', 1));
    const ended = reset();
    await host.turns(1);
    const got = host.run(async (ctx) => [
      await facetOf(ctx).count(),
      await facetOf(ctx).get('key'),
    ]);
    let isSettled = false;
    got.then(() => (isSettled = true));
    await host.turns(20);
    expect(isSettled).toBe(false); // the files are not free yet
    host.releaseFlushes();
    await ended;
    expect(await got).toEqual([1, 1]);
  });

  test('[FACET3] the end of the host makes the last writes of facets durable', async () => {
    await host.run((ctx) => facetOf(ctx).within('count'));
    await host.run((ctx) => facetOf(ctx).putUnconfirmed('key', 1));
    await host.close();
    await start();
    expect(await host.run((ctx) => facetOf(ctx).get('key'))).toBe(1);
  });

  test('[FACET3] a failing last flush of a facet fails the end of the host', async () => {
    await host.run((ctx) => facetOf(ctx).count());
    host.holdFlushes();
    await host.run((ctx) => facetOf(ctx).putUnconfirmed('key', 1));
    const closed = host.host.close();
    closed.catch(() => {});
    await host.turns(5); // nobody waited for the write, so closing begins its flush
    host.failHeldFlushes();
    await expect(closed).rejects.toMatchObject({ code: 'IO' });
  });

  test('[FACET4] an object with nothing but a facet exists, and is found again', async () => {
    await host.run((ctx) => facetOf(ctx).within('put', 'key', 'deep'));
    await host.close();
    const listed = await world.catalog.list('Room');
    expect(listed.map(({ key }) => key.split('.').length)).toEqual([2]);
    expect(await world.medium.keys()).toHaveLength(3);
    world = { ...world, catalog: new MemoryCatalog() };
    await start();
    expect(await world.catalog.list('Room')).toHaveLength(1);
    expect(await host.run((ctx) => facetOf(ctx).within('get', 'key'))).toBe('deep');
  });

  test('[FACET4] a facet that was called but never written to leaves no files', async () => {
    await host.run((ctx) => facetOf(ctx).count());
    await evictAll();
    expect(await world.medium.keys()).toHaveLength(1);
  });

  test('[FACET5] deleting an object deletes its facets, live or not', async () => {
    await host.run((ctx) => facetOf(ctx).within('put', 'key', 'deep'));
    await host.run((ctx) => facetOf(ctx, 'b').put('key', 1));
    await host.run((ctx) => facetOf(ctx).put('key', 1), 'other');
    await host.host.erase(host.address());
    expect(await world.medium.keys()).toHaveLength(2);
    expect(await host.run((ctx) => facetOf(ctx).get('key'), 'other')).toBe(1);
    await evictAll();
    await host.host.erase(host.address('other'));
    expect(await world.medium.keys()).toEqual([]);
    expect(await host.run((ctx) => facetOf(ctx).within('get', 'key'))).toBe(undefined);
  });

  test("[FACET6] the object's answers wait for the deletion", async () => {
    await host.run((ctx) => facetOf(ctx).put('key', 1));
    let remove = () => {};
    world.medium.removal = new Promise((resolve) => (remove = resolve));
    let isAnswered = false;
    const answered = host.run((ctx) => ctx.facets.delete('a')).then(() => (isAnswered = true));
    await host.turns(20);
    expect(isAnswered).toBe(false);
    remove();
    await answered;
    expect(await world.medium.keys()).toHaveLength(1);
  });

  test('[FACET6] a deletion that fails resets the object', async () => {
    await host.run((ctx) => facetOf(ctx).put('key', 1));
    const object = await instance();
    world.medium.removal = Promise.reject(storageError('IO', 'by the test'));
    world.medium.removal.catch(() => {});
    const answered = host.run((ctx) => ctx.facets.delete('a'));
    await expect(answered).rejects.toMatchObject({ code: 'IO' });
    expect(object.hasEnded).toBe(true);
    world.medium.removal = undefined;
    expect(await host.run((ctx) => facetOf(ctx).get('key'))).toBe(1);
  });

  test('[FACET6] a copy is durable when the object answers', async () => {
    await host.run((ctx) => facetOf(ctx).put('key', 1));
    await evictAll();
    host.holdFlushes();
    let isAnswered = false;
    const answered = host.run((ctx) => ctx.facets.clone('a', 'b')).then(() => (isAnswered = true));
    await host.turns(20);
    expect(isAnswered).toBe(false);
    host.releaseFlushes();
    await answered;
    expect(await host.run((ctx) => facetOf(ctx, 'b').get('key'))).toBe(1);
  });

  test('[FACET6] a copy whose flush fails resets the object', async () => {
    await host.run((ctx) => facetOf(ctx).put('key', 1));
    await evictAll();
    const object = await instance();
    host.failNextFlush();
    const answered = host.run((ctx) => ctx.facets.clone('a', 'b'));
    await expect(answered).rejects.toMatchObject({ code: 'IO' });
    expect(object.hasEnded).toBe(true);
    expect(await host.run((ctx) => facetOf(ctx).get('key'))).toBe(1);
  });

  test('[FACET13] a failed clone keeps the facet that it would have replaced, with its own facets', async () => {
    await host.run(async (ctx) => {
      for (const name of ['from', 'to']) {
        await facetOf(ctx, name).put('key', name);
        await facetOf(ctx, name).within('put', 'key', `below ${name}`);
      }
    });
    const both = () =>
      host.run(async (ctx) => [
        await facetOf(ctx, 'to').get('key'),
        await facetOf(ctx, 'to').within('get', 'key'),
      ]);
    expect(await both()).toEqual(['to', 'below to']);
    for (const logWrites of [0, 1]) {
      await evictAll();
      world.medium.logWrites = logWrites;
      const cloned = host.run((ctx) => ctx.facets.clone('from', 'to'));
      await expect(cloned).rejects.toMatchObject({ code: 'DISK_FULL' });
      world.medium.logWrites = Number.POSITIVE_INFINITY;
      expect(await both()).toEqual(['to', 'below to']);
    }
    await host.run((ctx) => ctx.facets.clone('from', 'to'));
    expect(await both()).toEqual(['from', 'below from']);
  });

  test('[FACET14] a call of the turn in which its facet is ended reaches neither it nor the next one', async () => {
    await host.run((ctx) => facetOf(ctx, 'from').put('key', 'from'));
    const ends: readonly [
      how: (facets: DurableObjectFacets) => void,
      message: string,
      key: unknown,
    ][] = [
      [(facets) => facets.abort('a', new Error('by the test')), 'by the test', undefined],
      [(facets) => facets.delete('a'), 'Facet was deleted.', undefined],
      [(facets) => facets.clone('from', 'a'), 'Facet was cloned-over.', 'from'],
    ];
    for (const [end, message, key] of ends) {
      for (const isRunning of [false, true]) {
        const got = host.run(async (ctx) => {
          ctx.facets.delete('a');
          const facet = facetOf(ctx);
          if (isRunning) await facetOf(ctx).count();
          const called = facet.put('key', 'of a').catch(messageOf);
          end(ctx.facets);
          const after = facet.count().catch(messageOf);
          return [await called, await after, await facetOf(ctx).get('key')];
        });
        expect(await got).toEqual([message, message, key]);
      }
    }
  });

  test('[FACET7] export and import of an object leave its facets as they are', async () => {
    await host.run((ctx) => facetOf(ctx).put('key', 'of a'));
    const file = await host.host.exportDatabase(host.address());
    await host.run((ctx) => facetOf(ctx).put('key', 'later'));
    await host.run((ctx) => ctx.storage.put('key', 'own'));
    await host.host.importDatabase(host.address(), file);
    const both = (name?: string) =>
      host.run(async (ctx) => [await ctx.storage.get('key'), await facetOf(ctx).get('key')], name);
    expect(await both()).toEqual([undefined, 'later']);
    await host.host.importDatabase(host.address('other'), file);
    expect(await both('other')).toEqual([undefined, undefined]);
  });

  test('[FACET7] an import into an object whose files are damaged leaves its facets as they are', async () => {
    await host.run((ctx) => facetOf(ctx).put('key', 'of a'));
    const file = await host.host.exportDatabase(host.address('other'));
    await host.host.evict(host.address());
    const directory = await world.medium.directory(addressKey(host.address()));
    const checkpoint = await directory.open('checkpoint');
    checkpoint.write(new Uint8Array(checkpoint.sizeBytes()).fill(0xff), 0);
    checkpoint.close();
    await host.host.importDatabase(host.address(), file);
    expect(await host.run((ctx) => facetOf(ctx).get('key'))).toBe('of a');
  });

  test('[FACET8] a facet with open sockets stays in memory', async () => {
    const objects = await createObjects({ Room });
    const stub = objects.env.Room.getByName('a');
    const { webSocket } = await stub.fetch('http://room/object', {
      headers: { upgrade: 'websocket' },
    });
    const heard: string[] = [];
    webSocket!.addEventListener('message', (event) => heard.push((event as MessageEvent).data));
    webSocket!.accept();
    for (const expected of [['1'], ['1', '2']]) {
      webSocket!.send('next');
      await expect.poll(() => heard).toEqual(expected);
      await objects.clock.advance(3 * IDLE_MS);
    }
    webSocket!.close(1000, 'done');
    await objects.clock.advance(0); // the close arrives before the host ends
    await objects.close();
  });

  test('[FACET9] the first call in a section of the object starts the facet', async () => {
    const first = host.run((ctx) => {
      const early = facetOf(ctx);
      return ctx.blockConcurrencyWhile(() => early.count());
    });
    expect(await first).toBe(1);
    const second = host.run((ctx) => ctx.storage.transaction(() => facetOf(ctx, 'b').count()));
    expect(await second).toBe(1);
  });

  test('[FACET10] deleteAll in a facet removes its data', async () => {
    await host.run((ctx) => ctx.storage.put('key', 'own'));
    await host.run((ctx) => facetOf(ctx).put('key', 'of a'));
    await host.run((ctx) => facetOf(ctx).within('put', 'key', 'deep'));
    await host.run((ctx) => facetOf(ctx).deleteAll());
    const got = host.run(async (ctx) => [
      await ctx.storage.get('key'),
      await facetOf(ctx).get('key'),
      await facetOf(ctx).within('get', 'key'),
    ]);
    expect(await got).toEqual(['own', undefined, 'deep']);
  });

  test('[FACET12] classes that are exported and not served are those of facets only', async () => {
    class Inner extends DurableObject {
      hello() {
        return 'inner';
      }
    }
    class Entry extends WorkerEntrypoint {}
    class Flow extends WorkflowEntrypoint {}
    const exports = { Room, Inner, Entry, Flow, text: 'text', call() {} };
    const objects = await createObjects({ Room }, { exports });
    const stub = objects.env.Room.getByName('a');
    expect(await stub.exportNames()).toEqual(['Entry', 'Room', 'Inner']);
    expect(await stub.ofClass('Entry').catch(String)).toContain('of ctx.exports');
    expect(await stub.ofClass('Inner')).toBe('inner');
    expect(Object.keys(objects.env)).toEqual(['Room']);
    await objects.close();
  });

  test('[FACET11] there are four levels, the object included', async () => {
    expect(await host.run((ctx) => facetOf(ctx).deeper(2))).toBe('deep');
    const refused = host.run((ctx) => facetOf(ctx).deeper(3));
    await expect(refused).rejects.toMatchObject({ code: 'FACET_NESTING' });
  });
});
