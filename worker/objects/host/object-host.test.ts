import { afterEach, describe, expect, test } from 'vitest';
import { createTestHost, type TestHost } from '../../../packages/testing/worker/test-host.ts';
import { MemoryMedium } from '../../engine/file/medium.ts';
import { MemoryCatalog } from '../catalog/catalog.ts';
import type { DurableObjectState } from '../instance/durable-object-state.ts';
import { ClassRegistry, type ClassTable } from '../instance/object-class.ts';

let host: TestHost;
afterEach(() => host?.close());

class Base {
  readonly ctx: DurableObjectState;
  constructor(ctx: DurableObjectState) {
    this.ctx = ctx;
  }
}

async function hostOf(classes: ClassTable): Promise<TestHost> {
  host = await createTestHost({}, classes);
  return host;
}

/** Runs in an event of the object, with its instance. */
function run<T extends object, R>(_type: new (ctx: never) => T, event: (object: T) => R) {
  return host.host.deliver(host.address(), ({ object }) => event(object as T) as Awaited<R>);
}

describe('instances', () => {
  test('[OBJ1] an instance is made on first use, and is the same until it ends', async () => {
    let made = 0;
    class Counter extends Base {
      count = 0;
      constructor(ctx: DurableObjectState) {
        super(ctx);
        made += 1;
      }
    }
    await hostOf({ Counter });
    expect(made).toBe(0);
    const counts = await Promise.all([1, 2, 3].map(() => run(Counter, (o) => ++o.count)));
    expect(counts).toEqual([1, 2, 3]);
    expect(made).toBe(1);
    await run(Counter, (o) => expect(o.ctx.id.name).toBe('object'));
  });

  test('[OBJ2] an idle instance is evicted after 10 s: memory is lost, storage is kept', async () => {
    class Counter extends Base {
      count = 0;
      async add() {
        this.count += 1;
        await this.ctx.storage.put('count', this.count);
        return [this.count, await this.ctx.storage.get('count')];
      }
    }
    await hostOf({ Counter });
    await run(Counter, (o) => o.add());
    await host.advance(9_999);
    expect(await run(Counter, (o) => o.count)).toBe(1);
    await host.advance(10_001);
    expect(await run(Counter, async (o) => [o.count, await o.ctx.storage.get('count')])).toEqual([
      0, 1,
    ]);
  });

  test('[MANY5] a call that arrives as its object is evicted, or closed while idle, reaches the next instance', async () => {
    let made = 0;
    const ran: string[] = [];
    class Counter extends Base {
      readonly number = ++made;
    }
    await hostOf({ Counter });
    const address = host.address();
    /** Resolves to the number of the instance on which it ran. */
    const call = (name: string) =>
      run(Counter, ({ number }) => {
        ran.push(name);
        return number;
      });
    for (const isOpening of [true, false]) {
      const ended = isOpening ? undefined : await call('before');
      const evicted = host.host.evict(address);
      const called = [call('call 0')];
      for (let hop = 1; hop <= 20; hop++) {
        await Promise.resolve();
        called.push(call(`call ${hop}`));
      }
      await evicted;
      const ranOn = await Promise.all(called);
      expect(new Set(ranOn).size).toBe(1);
      expect(ranOn[0]).not.toBe(ended);
      expect(
        ran
          .splice(0)
          .filter((name) => name !== 'before')
          .sort(),
      ).toEqual(called.map((_, index) => `call ${index}`).sort());
    }
    // A timer of the clock may come between any two steps of a call.
    for (let hops = 0; hops < 4; hops++) {
      const number = await call('before');
      await host.turns(1); // now it is idle
      const instance = await host.host.instance(address);
      const called = call('call');
      for (let hop = 0; hop < hops; hop++) await Promise.resolve();
      const hasBegun = ran.includes('call');
      instance.context.evict();
      expect(await called).toBe(hasBegun ? number : number + 1);
      expect(ran.splice(0)).toEqual(['before', 'call']);
    }
  });

  test('[OBJ3] an instance with work in waitUntil stays', async () => {
    let finish = () => {};
    class Worker extends Base {
      mark = 0;
      begin() {
        this.mark = 1;
        this.ctx.waitUntil(
          new Promise<void>((resolve) => {
            finish = resolve;
          }),
        );
      }
    }
    await hostOf({ Worker });
    await run(Worker, (o) => o.begin());
    await host.advance(60_000);
    expect(await run(Worker, (o) => o.mark)).toBe(1);
    finish();
    await host.turns(2);
    await host.advance(10_001);
    expect(await run(Worker, (o) => o.mark)).toBe(0);
  });

  test('[OBJ4] a constructor that throws fails the calls that wait; the next call tries again', async () => {
    let attempts = 0;
    class Fragile extends Base {
      constructor(ctx: DurableObjectState) {
        super(ctx);
        void ctx.storage.put('attempt', ++attempts);
        if (attempts === 1) throw new RangeError('not yet');
      }
    }
    await hostOf({ Fragile });
    const first = [1, 2].map(() => run(Fragile, () => 'reached'));
    for (const call of first) {
      const error = await call.catch((error: Error) => error);
      expect(error).toBeInstanceOf(RangeError);
      expect(error).toMatchObject({ message: 'not yet', durableObjectReset: true });
    }
    expect(await run(Fragile, (o) => o.ctx.storage.get('attempt'))).toBe(2);
  });

  test('[STUB7] whatever a constructor or a section throws, the error says that the object was reset', async () => {
    const thrown = [
      ['text', { message: 'text' }],
      [undefined, { message: 'undefined' }],
      [{ a: 1 }, { a: 1 }],
      [Object.freeze(new RangeError('frozen')), { name: 'RangeError', message: 'frozen' }],
      [{ f() {} }, { message: '#<Object>' }],
    ] as const;
    for (const [value, facts] of thrown) {
      let isConstructed = false;
      class Throwing extends Base {
        constructor(ctx: DurableObjectState) {
          super(ctx);
          if (isConstructed) return;
          isConstructed = true;
          throw value;
        }
      }
      await hostOf({ Throwing });
      const reset = { ...facts, durableObjectReset: true };
      await expect(run(Throwing, () => {})).rejects.toMatchObject(reset);
      const failing = run(Throwing, ({ ctx }) =>
        ctx.blockConcurrencyWhile(() => Promise.reject(value)),
      );
      await expect(failing).rejects.toMatchObject(reset);
      await host.close();
    }
  });

  test('[OBJ5] events wait for blockConcurrencyWhile in the constructor', async () => {
    class Slow extends Base {
      ready = false;
      constructor(ctx: DurableObjectState) {
        super(ctx);
        void ctx.blockConcurrencyWhile(async () => {
          await ctx.storage.sync();
          await new Promise((resolve) => setTimeout(resolve, 5));
          this.ready = true;
        });
      }
    }
    await hostOf({ Slow });
    expect(await run(Slow, (o) => o.ready)).toBe(true);
  });

  test('[OBJ6] abort ends the instance: calls reject, the next one meets a fresh one', async () => {
    class Counter extends Base {
      count = 0;
      async addAndAbort() {
        this.count += 1;
        await this.ctx.storage.put('lost', 1);
        this.ctx.abort('enough');
      }
    }
    await hostOf({ Counter });
    let old: Counter | undefined;
    await run(Counter, (o) => {
      old = o;
    });
    const waiting = run(Counter, () => new Promise(() => {}));
    await expect(run(Counter, (o) => o.addAndAbort())).rejects.toMatchObject({
      message: 'enough',
      durableObjectReset: true,
    });
    await expect(waiting).rejects.toMatchObject({ durableObjectReset: true });
    await expect(async () => old?.ctx.storage.get('lost')).rejects.toMatchObject({
      code: 'OBJECT_RESET',
    });
    expect(await run(Counter, async (o) => [o.count, await o.ctx.storage.get('lost')])).toEqual([
      0,
      undefined,
    ]);
  });

  test('[OBJ7] objects of one class and name are one; of two classes, or two ids, they are apart', async () => {
    class One extends Base {}
    class Two extends Base {}
    await hostOf({ One, Two });
    const put = (className: string, name: string, value: string) =>
      host.host.deliver(host.address(name, className), ({ state }) =>
        state.storage.put('key', value),
      );
    const get = (className: string, name: string) =>
      host.host.deliver(host.address(name, className), ({ state }) => state.storage.get('key'));
    await put('One', 'a', 'one a');
    await put('Two', 'a', 'two a');
    await put('One', 'b', 'one b');
    expect(await get('One', 'a')).toBe('one a');
    expect(await get('Two', 'a')).toBe('two a');
    expect(await get('One', 'b')).toBe('one b');
  });

  test('[OBJ8] setAlarm is refused in a class without alarm(), except in its constructor', async () => {
    let inConstructor: Promise<void> | undefined;
    class Silent extends Base {
      constructor(ctx: DurableObjectState) {
        super(ctx);
        inConstructor = ctx.storage.setAlarm(host.now() + 1000);
      }
    }
    await hostOf({ Silent });
    await expect(run(Silent, (o) => o.ctx.storage.setAlarm(host.now() + 1))).rejects.toThrow(
      TypeError,
    );
    await expect(inConstructor).resolves.toBeUndefined();
  });

  test('[OBJ16] handlers are the members of the instance after its construction, fields and getters too', async () => {
    const log: string[] = [];
    class Fields extends Base {
      alarm: unknown = async () => log.push('field');
    }
    class Getter extends Base {
      get alarm() {
        log.push('read');
        return function (this: unknown) {
          log.push(`got, this ${this instanceof Getter}`);
        };
      }
    }
    class Changed extends Base {
      alarm = () => log.push('first');
    }
    class Late extends Base {}
    class Value extends Base {
      alarm = 5;
    }
    await hostOf({ Fields, Getter, Changed, Late, Value });
    const setAlarm = (className: string, change = (_: object) => {}) =>
      host.host.deliver(host.address('object', className), ({ object, state }) => {
        change(object!);
        return state.storage.setAlarm(host.now() + 100);
      });
    const replace = (object: object) => Object.assign(object, { alarm: () => log.push('second') });
    await setAlarm('Fields');
    await setAlarm('Getter');
    await setAlarm('Changed', replace);
    await expect(setAlarm('Late', replace)).rejects.toThrow(TypeError);
    await expect(setAlarm('Value')).rejects.toThrow(TypeError);
    await host.advance(100);
    expect(log.sort()).toEqual(['field', 'first', 'got, this true', 'read']);
  });

  test('[OBJ16] the next host finds the alarm of a handler that is a field, also without its catalog', async () => {
    const ran: number[] = [];
    class Fields extends Base {
      alarm = () => ran.push(host.now());
    }
    const medium = new MemoryMedium();
    const catalog = new MemoryCatalog();
    host = await createTestHost({}, { Fields }, undefined, { medium, catalog });
    const dueMs = host.now() + 60_000;
    await run(Fields, (o) => o.ctx.storage.setAlarm(dueMs));
    for (const known of [catalog, new MemoryCatalog()]) {
      await host.close();
      host = await createTestHost({}, { Fields }, undefined, { medium, catalog: known });
      await host.advance(59_999);
      expect(ran).toEqual([]);
    }
    await host.advance(1);
    expect(ran).toEqual([dueMs]);
  });

  test('[OBJ9] a class that cannot be served is refused at once, by name', () => {
    class Good {}
    const refused: [ClassTable, object, RegExp][] = [
      [{ Bad: 5 as never }, {}, /Bad is number, not a class/],
      [{ Bad: null as never }, {}, /Bad is null, not a class/],
      [{ Bad: (() => {}) as never }, {}, /Bad is function, not a class/],
      [{ 'no name': Good }, {}, /"no name" is not the name of a class/],
      [
        { Good: { class: Good, compatibilityDate: 'today' } },
        {},
        /Good is YYYY-MM-DD, not "today"/,
      ],
      [{ Good }, { compatibilityDate: 5 }, /YYYY-MM-DD, not 5/],
      [{ Good: { class: Good, storage: 'disk' as never } }, {}, /'sql' or 'kv'/],
      [{ Good }, { bindings: { OTHER: 'Missing' } }, /names class Missing.*served are: Good/],
      [
        { A: { class: Good, uniqueKey: 'k' }, B: { class: Good, uniqueKey: 'k' } },
        {},
        /A and B have the same unique key "k"/,
      ],
    ];
    for (const [table, options, message] of refused) {
      expect(() => new ClassRegistry(table, options)).toThrow(message);
    }
    expect(() => new ClassRegistry({ Good }).get('Other')).toThrow(/serves: Good/);
  });

  test('[BE3] backend and date are chosen with the class', async () => {
    class Old extends Base {}
    class New extends Base {}
    class Keys extends Base {}
    const registry = new ClassRegistry(
      {
        Old,
        New: { class: New, compatibilityDate: '2026-03-01' },
        Keys: { class: Keys, storage: 'kv' },
      },
      { compatibilityDate: '2025-01-01' },
    );
    expect([...registry.all].map(({ options }) => options)).toEqual([
      { backend: 'sql', compatibilityDate: '2025-01-01' },
      { backend: 'sql', compatibilityDate: '2026-03-01' },
      { backend: 'kv', compatibilityDate: '2025-01-01' },
    ]);
    await hostOf({ Keys: { class: Keys, storage: 'kv' } });
    await expect(run(Keys, (o) => o.ctx.storage.getCurrentBookmark())).rejects.toMatchObject({
      code: 'WRONG_BACKEND',
    });
  });

  test('[BE3] a class’s own date decides whether its deleteAll deletes the alarm', async () => {
    class Bell extends Base {
      alarm() {}
    }
    await hostOf({
      Before: { class: Bell, compatibilityDate: '2026-02-23' },
      From: { class: Bell, compatibilityDate: '2026-02-24' },
    });
    const dueMs = host.now() + 60_000;
    const alarmAfterDeleteAll = (className: string) =>
      host.host.deliver(host.address('object', className), async ({ state: { storage } }) => {
        await storage.setAlarm(dueMs);
        await storage.deleteAll();
        return storage.getAlarm();
      });
    expect(await alarmAfterDeleteAll('Before')).toBe(dueMs);
    expect(await alarmAfterDeleteAll('From')).toBeNull();
  });

  test('[OBJ10] an event does not wait for other objects', async () => {
    class Waiter extends Base {}
    await hostOf({ Waiter });
    const blocked = host.host.deliver(host.address('a'), ({ state }) =>
      state.blockConcurrencyWhile(() => new Promise(() => {})),
    );
    blocked.catch(() => {});
    expect(await host.host.deliver(host.address('b'), () => 'free')).toBe('free');
    await host.host.reset(host.address('a'), new Error('end of the test'));
  });
});

describe('outgoing I/O', () => {
  class Sender extends Base {}

  test('[GATE14] messages of an object wait for the flush of its writes, and keep their order', async () => {
    await hostOf({ Sender });
    const sent: string[] = [];
    await run(Sender, () => {});
    host.holdFlushes();
    const done = host.host.deliver(host.address(), async (instance) => {
      void instance.state.storage.put('a', 1);
      const first = instance.context.send(() => sent.push('first'));
      const second = instance.context.send(() => sent.push('second'));
      await Promise.all([first, second]);
    });
    await host.turns(5);
    expect(sent).toEqual([]);
    host.releaseFlushes();
    await done;
    expect(sent).toEqual(['first', 'second']);
  });

  test('[GATE4] the result of outgoing I/O comes back to the section it was asked for in', async () => {
    await hostOf({ Sender });
    const order: string[] = [];
    let answer = () => {};
    const outside = host.host.deliver(host.address(), async (instance) => {
      await instance.context.send(
        () =>
          new Promise<void>((resolve) => {
            answer = resolve;
          }),
      );
      order.push('outside');
    });
    await host.turns(3);
    const section = host.host.deliver(host.address(), ({ state }) =>
      state.blockConcurrencyWhile(async () => {
        answer();
        await state.storage.sync();
        await new Promise((resolve) => setTimeout(resolve, 5));
        order.push('section');
      }),
    );
    await Promise.all([outside, section]);
    expect(order).toEqual(['section', 'outside']);
  });
});
