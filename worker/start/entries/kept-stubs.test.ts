import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { DurableObjectStub, Namespace } from '../../../src/shared/contract/object.ts';
import { RpcTarget } from '../../../src/shared/contract/rpc-target.ts';
import { live } from '../../../src/shared/live/live-stub.ts';
import { MemoryMedium } from '../../engine/file/medium.ts';
import type { MemoryDirectory } from '../../engine/file/memory-file.ts';
import { MemoryCatalog } from '../../objects/catalog/catalog.ts';
import { appOf } from '../../realm/library/provided-env.ts';
import { env as moduleEnv } from '../../realm/library/running-object.ts';
import { abortAllDurableObjects, DurableObject, evictDurableObject } from './node-objects.ts';
import { nodePlatform } from './node-platform.ts';
import { objectsOn } from './objects-on.ts';

interface Env {
  readonly Box: Namespace<Box>;
}

class Counter extends RpcTarget {
  #count = 0;
  next(): number {
    return ++this.#count;
  }
}

class Box extends DurableObject<Env> {
  constructor(ctx: never, env: never) {
    super(ctx, env);
    this.ctx.storage.sql.exec('CREATE TABLE IF NOT EXISTS item(name TEXT)');
    if (refusals.delete(this.ctx.id.name!)) throw new RangeError('in the constructor');
  }
  add(name: string): string {
    this.ctx.storage.sql.exec('INSERT INTO item VALUES (?)', name);
    return name;
  }
  items(): unknown[] {
    return [...this.ctx.storage.sql.exec('SELECT name FROM item').raw()].flat();
  }
  counter(): Counter {
    return new Counter();
  }
  fetch(): Response {
    return new Response(String(this.items().length));
  }
  wait(): Promise<never> {
    return new Promise(() => {});
  }

  // The methods below reset the instance, each in another way.
  abort(reason: string): void {
    this.ctx.abort(reason);
  }
  async failSection(): Promise<void> {
    await this.ctx.blockConcurrencyWhile(async () => {
      throw new RangeError('in the section');
    });
  }
  failCommit(): void {
    const { sql } = this.ctx.storage;
    sql.exec('CREATE TABLE one(id PRIMARY KEY)');
    sql.exec('CREATE TABLE two(id REFERENCES one(id) DEFERRABLE INITIALLY DEFERRED)');
    sql.exec('INSERT INTO two VALUES (1)');
  }
  fillDisk(): void {
    for (let i = 0; i < 40; i++) this.ctx.storage.kv.put(`${i}`, new Uint8Array(100_000).fill(i));
  }
  async restore(): Promise<void> {
    const { storage } = this.ctx;
    await storage.onNextSessionRestoreBookmark(await storage.getCurrentBookmark());
    this.ctx.abort('restore');
  }

  #kept: DurableObjectStub<Box> | undefined;
  keep(name: string): void {
    this.#kept = this.env.Box.getByName(name);
  }
  askKept(): Promise<unknown[]> {
    return this.#kept!.items();
  }

  /** Returns the outcomes of two calls by one stub, the first of which resets its object, and of calls by a new stub. */
  async askTwice(name: string): Promise<unknown[]> {
    const stub = this.env.Box.getByName(name);
    await stub.add('before');
    return [
      await told(stub.abort('asked')),
      await told(stub.items()),
      await this.env.Box.getByName(name).items(),
    ];
  }
}

const refusals = new Set<string>();

/** A medium in memory whose capacity a test sets. */
class SmallMedium extends MemoryMedium {
  readonly directories: MemoryDirectory[] = [];
  override async directory(key: string) {
    const directory = (await super.directory(key)) as MemoryDirectory;
    this.directories.push(directory);
    return directory;
  }
}

let medium: SmallMedium;
let objects: Awaited<ReturnType<typeof start>>;
let box: DurableObjectStub<Box>;

async function start() {
  medium = new SmallMedium();
  const platform = {
    ...(await nodePlatform()),
    medium,
    catalog: new MemoryCatalog(),
    isDedicated: false,
  };
  const options = {
    exports: {
      default: {
        /** Does what `Box.askTwice` does, but in the event of a Worker. */
        async fetch(_request: Request, env: Env) {
          return Response.json(await Box.prototype.askTwice.call({ env } as never, 'of a worker'));
        },
      },
    },
  };
  return objectsOn<{ Box: typeof Box }>(platform, appOf({ Box }, options), options);
}

beforeEach(async () => {
  objects = await start();
  box = objects.env.Box.getByName('a') as never;
});
afterEach(() => objects.close());

async function told(call: PromiseLike<unknown>): Promise<unknown> {
  try {
    return await call;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Lists the ways to reset an instance, each with the error that a call then gets. */
const RESETS: Readonly<
  Record<string, readonly [reset: () => PromiseLike<unknown>, error: object]>
> = {
  'ctx.abort()': [() => box.abort('on purpose'), { message: 'on purpose', code: 'OBJECT_RESET' }],
  'a section that fails': [() => box.failSection(), { message: 'in the section' }],
  'a commit that fails': [
    () => box.failCommit(),
    { message: expect.stringContaining('FOREIGN KEY') },
  ],
  'a full disk': [
    async () => {
      for (const directory of medium.directories) directory.capacityBytes = directory.usedBytes();
      await box.fillDisk().finally(() => {
        for (const directory of medium.directories) {
          directory.capacityBytes = Number.POSITIVE_INFINITY;
        }
      });
    },
    { code: 'DISK_FULL' },
  ],
  'a restore': [() => box.restore(), { message: 'restore' }],
};

describe('a stub that a program keeps', () => {
  test.for(Object.entries(RESETS))(
    '[STUB46] reaches the next instance after %s',
    async ([, [reset, error]]) => {
      await box.add('before');
      const calls = await Promise.allSettled([reset(), box.wait() as Promise<never>]);
      // That the second call fails too shows that the instance has ended, and not only the call.
      const lost = { status: 'rejected', reason: expect.objectContaining(error) };
      expect(calls).toEqual([lost, lost]);
      expect(await box.items()).toEqual(['before']);
      expect(await box.add('after')).toBe('after');
      expect(await (await box.fetch('http://box/')).text()).toBe('2');
    },
  );

  test('[STUB46] reaches an instance whose constructor does not fail any more', async () => {
    refusals.add('a');
    expect(await told(box.items())).toBe('in the constructor');
    expect(await box.items()).toEqual([]);
  });

  test('[STUB46] rejects the calls that were made before the reset, and keeps the order of those after it', async () => {
    await box.add('before');
    const calls = [box.abort('first'), box.add('behind'), box.items()];
    expect(await Promise.all(calls.map(told))).toEqual(Array(3).fill('first'));
    await Promise.all(['one', 'two'].map((name) => box.add(name)));
    expect(await told(box.abort('second'))).toBe('second');
    expect(await box.items()).toEqual(['before', 'one', 'two']);
  });

  test('[STUB46] keeps what the old instance returned broken, and its live methods alive', async () => {
    const counter = await box.counter();
    const copy = counter.dup();
    const seen: unknown[] = [];
    live(box)
      .items()
      .subscribe((items) => seen.push(items));
    await vi.waitUntil(() => seen.length === 1);
    await told(box.abort('on purpose'));
    expect([await told(counter.next()), await told(copy.next())]).toEqual(
      Array(2).fill('on purpose'),
    );
    await box.add('after');
    await vi.waitFor(() => expect(seen.at(-1)).toEqual(['after']));
  });

  test('[STUB46] also if it was made from the `env` of the module', async () => {
    const stub = (moduleEnv as unknown as Env).Box.getByName('of the module');
    expect(await told(stub.abort('on purpose'))).toBe('on purpose');
    expect(await stub.items()).toEqual([]);
  });

  test('[STUB46] and abortAllDurableObjects() breaks none', async () => {
    await box.add('before');
    await abortAllDurableObjects();
    expect(await box.items()).toEqual(['before']);
  });
});

describe('a stub of an object or a Worker', () => {
  test('[STUB27] breaks with its instance, as on workerd', async () => {
    const broken = ['asked', 'asked', ['before']];
    expect(await box.askTwice('of an object')).toEqual(broken);
    expect(await (await objects.worker.fetch('http://worker/')).json()).toEqual(broken);
  });

  test('[STUB27] is not broken by an eviction, nor by a reset from outside', async () => {
    const keeper = objects.env.Box.getByName('keeper') as unknown as DurableObjectStub<Box>;
    await keeper.keep('a');
    await box.add('kept');
    expect(await keeper.askKept()).toEqual(['kept']);
    await evictDurableObject(box);
    expect(await keeper.askKept()).toEqual(['kept']);
    await (await objects.storage(box)).abort('outside');
    expect(await keeper.askKept()).toEqual(['kept']);
    await told(box.abort('by its own code'));
    expect(await told(keeper.askKept())).toBe('by its own code');
  });
});
