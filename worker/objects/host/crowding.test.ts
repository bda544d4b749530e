// More objects than may have their files open at once.

import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { createTestHost, type TestHost } from '../../../packages/testing/worker/test-host.ts';
import { addressKey } from '../../../src/shared/contract/object-id.ts';
import type { FileDirectory, SyncFile } from '../../engine/file/file.ts';
import { MemoryMedium, type ObjectMedium } from '../../engine/file/medium.ts';
import { OpenFiles } from '../../engine/file/open-files.ts';
import { completeLimits } from '../../engine/sql/query-limits.ts';
import { MemoryCatalog } from '../catalog/catalog.ts';
import type { DurableObjectState } from '../instance/durable-object-state.ts';
import { Crowding, type Evictable } from './instances.ts';

const OPEN_FILES = 16;
/** How long an object waits for files, while none are closed. */
const OPEN_WAIT_MS = 10_000;
/** Objects that have files open at once: three each. */
const AT_ONCE = Math.floor(OPEN_FILES / 3);

/** A medium that counts its calls. */
class Counting implements ObjectMedium {
  readonly medium = new MemoryMedium();
  open = 0;
  openMost = 0;
  /** Calls that look at the folders of all objects. */
  scans = 0;
  calls = 0;

  async directory(key: string): Promise<FileDirectory> {
    this.calls += 1;
    const directory = await this.medium.directory(key);
    return {
      open: async (name) => this.#file(await directory.open(name)),
      names: () => {
        this.calls += 1;
        return directory.names();
      },
      remove: (name) => directory.remove(name),
    };
  }

  remove(key: string): Promise<void> {
    this.calls += 1;
    return this.medium.remove(key);
  }

  keys(): Promise<string[]> {
    this.scans += 1;
    return this.medium.keys();
  }

  sizes(key: string): Promise<ReadonlyMap<string, number>> {
    this.calls += 1;
    return this.medium.sizes(key);
  }

  #file(file: SyncFile): SyncFile {
    this.calls += 1;
    this.open += 1;
    this.openMost = Math.max(this.openMost, this.open);
    return {
      read: (target, offset) => file.read(target, offset),
      write: (bytes, offset) => file.write(bytes, offset),
      truncate: (sizeBytes) => file.truncate(sizeBytes),
      sizeBytes: () => file.sizeBytes(),
      flush: () => file.flush(),
      close: () => {
        this.open -= 1;
        file.close();
      },
    };
  }
}

class Counter {
  readonly ctx: DurableObjectState;
  readonly made = crypto.randomUUID();
  constructor(ctx: DurableObjectState) {
    this.ctx = ctx;
  }
}

let medium: Counting;
let host: TestHost;
afterEach(() => host?.close().catch(() => {}));

async function createHost(openFiles = OPEN_FILES, catalog = new MemoryCatalog()): Promise<void> {
  medium = new Counting();
  const world = { medium, catalog };
  host = await createTestHost({}, { Counter }, undefined, world, completeLimits({ openFiles }));
}

/** Adds one to the stored number. */
const add = (name: string) =>
  host.run(({ storage }) => {
    const sum = (storage.kv.get<number>('sum') ?? 0) + 1;
    storage.kv.put('sum', sum);
    return sum;
  }, name);

/** Which instance of the object is in memory; opens it if none is. */
const made = (name: string) =>
  host.host.deliver(host.address(name), ({ object }) => (object as Counter).made);

const codeOf = (call: Promise<unknown>) =>
  call.then(
    () => 'ok',
    (error: { code?: string }) => error.code,
  );

describe('more objects than files may be open', () => {
  test('[MANY1] opening the 10,000th object asks the medium for as much as the 10th; no call, and no deletion but the first, scans all folders', {
    tags: 'long',
  }, async () => {
    const catalog = new MemoryCatalog();
    await createHost(OPEN_FILES, catalog);
    const costOf = async (name: string) => {
      const before = medium.calls;
      await add(name);
      return medium.calls - before;
    };
    const costs: number[] = [];
    for (let n = 1; n <= 20; n++) costs.push(await costOf(`object ${n}`));
    for (let n = 21; n < 10_000; n++) {
      const { className, id } = host.address(`object ${n}`);
      const key = addressKey({ className, id });
      await catalog.add({ key, className: 'Counter', id: id.toString(), wakeMs: null });
      await medium.medium.directory(key);
    }
    for (const n of [10_000, 9999, 10_001, 5]) costs.push(await costOf(`object ${n}`));
    expect(new Set(costs).size).toBe(1);
    expect(medium.scans).toBe(1); // the start, with an empty catalog
    for (const n of [10_000, 3, 9000]) await host.host.erase(host.address(`object ${n}`));
    expect(medium.scans).toBe(2); // for facets
  });

  test('[MANY2] no more files are open than may be, and every object keeps its data', async () => {
    await createHost();
    const names = Array.from({ length: 100 }, (_, n) => `object ${n}`);
    await Promise.all(names.map(add));
    expect(await Promise.all(names.map(add))).toEqual(names.map(() => 2));
    expect(medium.openMost).toBeLessThanOrEqual(OPEN_FILES);
    expect(medium.openMost).toBeGreaterThanOrEqual(OPEN_FILES - 4);
  });

  test('[MANY3] the idle object that was used least recently is evicted first, and no other', async () => {
    await createHost(18);
    const names = ['a', 'b', 'c', 'd', 'e'];
    const first = new Map<string, string>();
    for (const name of names) first.set(name, await made(name));
    await made('a'); // used again, so b is the oldest
    await made('f');
    for (const name of ['a', 'c', 'd', 'e']) expect(await made(name), name).toBe(first.get(name));
    expect(await made('b')).not.toBe(first.get('b'));
  });

  test('[MANY3] in any order of calls, every object in memory was used later than the evicted ones', {
    tags: 'long',
  }, async () => {
    const objects = fc.array(fc.integer({ min: 0, max: 11 }), { minLength: 12, maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(objects, async (calls) => {
        await createHost(24);
        const order: number[] = [];
        for (const n of calls) {
          if (order.includes(n)) order.splice(order.indexOf(n), 1);
          order.push(n);
          await add(`object ${n}`);
          const isLive = (m: number) =>
            host.host.instances.live(addressKey(host.address(`object ${m}`))) !== undefined;
          const firstLive = order.findIndex(isLive);
          expect(order.slice(firstLive).every(isLive), `${calls} at ${order}`).toBe(true);
          expect(order.length - firstLive).toBeGreaterThanOrEqual(Math.min(order.length, 4));
        }
        await host.close();
      }),
      { numRuns: 20 },
    );
  });

  test('[MANY3] objects in use are not evicted: a pending call, a transaction, a waitUntil, a retained one', async () => {
    await createHost(24);
    let finish = () => {};
    const pending = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const hold: Record<string, (state: DurableObjectState) => unknown> = {
      call: () => pending,
      transaction: ({ storage }) => storage.transaction(() => pending),
      waitUntil: (state) => void state.waitUntil(pending),
    };
    const ids = new Map<string, string>();
    const held: Promise<unknown>[] = [];
    for (const [name, act] of Object.entries(hold)) {
      ids.set(name, await made(name));
      held.push(host.run((state) => act(state as unknown as DurableObjectState), name));
    }
    const instance = await host.host.instance(host.address('retained'));
    const release = instance.retain();
    ids.set('retained', await made('retained'));
    await host.turns(5);
    for (let n = 0; n < 20; n++) await add(`other ${n}`);
    finish();
    await Promise.all(held);
    for (const [name, id] of ids) expect(await made(name), name).toBe(id);
    release();
  });

  test('[MANY4] when all are in use a call waits; it goes on as soon as one is not', async () => {
    await createHost();
    const finish: (() => void)[] = [];
    const held: Promise<unknown>[] = [];
    const holdOne = async (name: string) => {
      const pending = new Promise<void>((resolve) => finish.push(resolve));
      await made(name);
      held.push(host.run(() => pending, name));
    };
    for (let n = 0; n < AT_ONCE - 1; n++) await holdOne(`held ${n}`);
    const waiting = add('waiting');
    let isAnswered = false;
    void waiting.then(() => {
      isAnswered = true;
    });
    await host.advance(OPEN_WAIT_MS - 1);
    expect(isAnswered).toBe(false);
    finish[2]!();
    expect(await waiting).toBe(1);
    for (const end of finish) end();
    await Promise.all(held);
  });

  test('[MANY4] when nothing is closed for 10 s the call is TOO_MANY_OPEN, retryable, with the bound; the next one works', async () => {
    await createHost();
    let finish = () => {};
    const pending = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const held: Promise<unknown>[] = [];
    for (let n = 0; n < AT_ONCE - 1; n++) {
      await made(`held ${n}`);
      held.push(host.run(() => pending, `held ${n}`));
    }
    const refused = add('refused').catch((error) => error);
    await host.advance(OPEN_WAIT_MS);
    expect(await refused).toMatchObject({
      code: 'TOO_MANY_OPEN',
      retryable: true,
      message: expect.stringContaining(`All ${OPEN_FILES} files`),
    });
    finish();
    await Promise.all(held);
    expect(await add('refused')).toBe(1);
  });

  test('[MANY4] a queue that moves is not refused, however long it is', async () => {
    await createHost();
    const names = Array.from({ length: 40 }, (_, n) => `queued ${n}`);
    const calls = names.map((name) =>
      host.run(async ({ storage }) => {
        await new Promise<void>((resolve) => {
          host.host.io.after(OPEN_WAIT_MS / 2, resolve);
        });
        storage.kv.put('a', 1);
      }, name),
    );
    const outcomes = Promise.all(calls.map(codeOf));
    for (let n = 0; n < 30; n++) await host.advance(OPEN_WAIT_MS / 2);
    expect(new Set(await outcomes)).toEqual(new Set(['ok']));
  });

  test('[MANY4] calls that wait are made in the order in which they came', async () => {
    await createHost();
    const finish: (() => void)[] = [];
    const held: Promise<unknown>[] = [];
    for (let n = 0; n < AT_ONCE - 1; n++) {
      const pending = new Promise<void>((resolve) => finish.push(resolve));
      await made(`held ${n}`);
      held.push(host.run(() => pending, `held ${n}`));
    }
    const order: string[] = [];
    const waiting = ['first', 'second', 'third'].map((name) =>
      add(name).then(() => order.push(name)),
    );
    await host.turns(5);
    expect(order).toEqual([]);
    finish[0]!();
    await Promise.all(waiting);
    expect(order).toEqual(['first', 'second', 'third']);
    for (const end of finish) end();
    await Promise.all(held);
  });

  test('[MANY4] of files that are closed, those who hold others are given some before all who wait', async () => {
    const files = new OpenFiles(2, { after: () => () => {}, short() {} });
    await files.take(2, false);
    const order: string[] = [];
    const taken = [
      files.take(1, false).then(() => order.push('waits')),
      files.take(1, true).then(() => order.push('holds others')),
    ];
    files.give(1);
    await host.turns(1);
    expect([order, files.taken]).toEqual([['holds others'], 2]);
    files.give(1);
    await Promise.all(taken);
    expect(order).toEqual(['holds others', 'waits']);
  });

  test('[MANY4] a host that closes refuses waiting objects', async () => {
    await createHost();
    const pending = new Promise<void>(() => {});
    for (let n = 0; n < AT_ONCE - 1; n++) {
      await made(`held ${n}`);
      codeOf(host.run(() => pending, `held ${n}`));
    }
    const waiting = codeOf(add('waiting'));
    await host.turns(5);
    await host.close();
    expect(await waiting).toBe('CONNECTION_CLOSED');
    expect(medium.open).toBe(0);
  });

  test('[MANY5] in any interleaving of calls, holds, resets and deletions nothing acknowledged is lost and the bound holds', async () => {
    const step = fc.record({
      name: fc.integer({ min: 0, max: 11 }).map((n) => `object ${n}`),
      kind: fc.constantFrom('add', 'add', 'add', 'hold', 'release', 'reset', 'erase', 'turns'),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        await createHost();
        /**
         * The acknowledged sum of each object, and the number of requested additions since its deletion.
         */
        const sums = new Map<string, { least: number; most: number }>();
        const of = (name: string) => {
          const sum = sums.get(name) ?? { least: 0, most: 0 };
          sums.set(name, sum);
          return sum;
        };
        const calls: Promise<unknown>[] = [];
        const held: (() => void)[] = [];
        for (const { name, kind } of steps) {
          if (kind === 'add') {
            of(name).most += 1;
            calls.push(
              add(name).then(
                (sum) => {
                  of(name).least = Math.max(of(name).least, sum);
                },
                (error) => expect(error.code).toBe('OBJECT_RESET'),
              ),
            );
          }
          if (kind === 'hold' && held.length < AT_ONCE - 2) {
            const instance = await host.host.instance(host.address(name));
            held.push(instance.retain());
          }
          if (kind === 'release') held.pop()?.();
          if (kind === 'reset') {
            calls.push(host.host.reset(host.address(name), { code: 'OBJECT_RESET' }));
          }
          if (kind === 'erase') {
            await Promise.all(calls.splice(0));
            await host.host.erase(host.address(name));
            sums.delete(name);
          }
          if (kind === 'turns') await host.turns(2);
          expect(medium.open).toBeLessThanOrEqual(OPEN_FILES);
        }
        for (const release of held) release();
        await Promise.all(calls);
        for (const [name, { least, most }] of sums) {
          const sum = await host.run(({ storage }) => storage.kv.get<number>('sum') ?? 0, name);
          expect(sum).toBeGreaterThanOrEqual(least);
          expect(sum).toBeLessThanOrEqual(most);
        }
        expect(medium.openMost).toBeLessThanOrEqual(OPEN_FILES);
        await host.close();
        expect(medium.open).toBe(0);
      }),
      { numRuns: 60 },
    );
  });
});

test('[MANY3] an idle instance that must be kept, such as a facet with open sockets, is looked at once a shortage, not every turn', () => {
  const turns: (() => void)[] = [];
  let looks = 0;
  const crowding = new Crowding({
    files: { shortage: 1 },
    nextTurn: (task) => void turns.push(task),
    openOf: () => 3,
    closing: () => 0,
    makeRoom: () => {},
  });
  const kept = ['one', 'two'].map((id) => {
    const evict = () => {
      looks += 1;
      crowding.rested(instance);
    };
    const instance = {
      address: { className: 'Room', id },
      context: { isIdle: true, evict },
    } as unknown as Evictable;
    return instance;
  });
  for (const instance of kept) crowding.rested(instance);
  for (let turn = 0; turn < 10; turn++) turns.shift()?.();
  expect(looks).toBe(2);
  // More files are wanted, or one of them was used: it may be evicted now.
  crowding.evictSoon();
  turns.shift()?.();
  expect(looks).toBe(4);
  crowding.rested(kept[0]!);
  turns.shift()?.();
  expect(looks).toBe(6);
  expect(turns).toEqual([]);
});
