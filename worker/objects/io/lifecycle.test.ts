import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { turns } from '../../../packages/testing/page/turns.ts';
import { createTestHost, type TestHost } from '../../../packages/testing/worker/test-host.ts';
import { type WebSocket, WebSocketPair } from '../../../src/shared/calls/sockets/web-socket.ts';
import { storageError } from '../../../src/shared/contract/errors.ts';
import type { DurableObjectState } from '../instance/durable-object-state.ts';
import type { ObjectInstance } from '../instance/object-instance.ts';
import { Lifecycle } from './lifecycle.ts';

class Thing {
  readonly ctx: DurableObjectState;
  constructor(ctx: DurableObjectState) {
    this.ctx = ctx;
  }
}

let host: TestHost;
afterEach(() => host?.close().catch(() => {}));

/** How a call ends, however long that takes. */
const endOf = (call: Promise<unknown>): Promise<string> =>
  call.then(String, (error: Error & { code?: string }) => error.code ?? error.message);

/** How a call ended; `pending` when it has not. */
async function outcome(call: Promise<unknown>): Promise<string> {
  const end = endOf(call);
  await host.turns(30);
  return Promise.race([end, Promise.resolve('pending')]);
}

const forever = () => new Promise<never>(() => {});
const deliver = <T>(event: (instance: ObjectInstance) => T | PromiseLike<T>) =>
  host.host.deliver(host.address(), event);

describe('the end of an instance', () => {
  test('[OBJ13] a timer of an instance that was reset does not close the next, busy one', async () => {
    host = await createTestHost({}, { Thing });
    await deliver(({ state }) => state.abort('by the test')).catch(() => {});
    await host.advance(9000);
    await deliver(() => {});
    await host.host.reset(host.address(), storageError('OBJECT_RESET', 'Again.'));
    await host.advance(9000);
    let finish = (_value: string) => {};
    const slow = deliver(({ state }) => {
      const done = new Promise<string>((resolve) => {
        finish = resolve;
      });
      return done.then((value) => state.storage.put('key', value).then(() => value));
    });
    await host.advance(60_000);
    finish('done');
    expect(await outcome(slow)).toBe('done');
  });

  test('[OBJ13] a call after the time of eviction meets an instance that stays for it', async () => {
    host = await createTestHost({}, { Thing });
    await deliver(({ storage }) => storage.setAlarm(null));
    const first = await host.host.instance(host.address());
    await host.advance(10_001);
    expect(first.hasEnded).toBe(true);
    expect(await outcome(deliver(({ hasEnded }) => hasEnded))).toBe('false');
  });

  test('[OBJ2] an instance is not kept by I/O that could not begin', async () => {
    host = await createTestHost({}, { Thing });
    const instance = await host.host.instance(host.address());
    const reading = deliver(() =>
      instance.context.receive(() => {
        throw new TypeError('The stream is locked.');
      }),
    );
    await expect(reading).rejects.toThrow('The stream is locked.');
    await host.advance(10_001);
    expect(instance.hasEnded).toBe(true);
  });

  test('[OBJ3] an instance stays while a section runs that nobody waits for', async () => {
    host = await createTestHost({}, { Thing });
    let finish = () => {};
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const first = await deliver((instance) => {
      void instance.state.blockConcurrencyWhile(() => finished);
      return [instance];
    });
    await host.advance(25_000);
    expect(first[0]!.hasEnded).toBe(false);
    finish();
    await host.advance(0);
    await host.advance(10_001);
    expect(first[0]!.hasEnded).toBe(true);
  });

  const ends: Record<string, () => Promise<unknown>> = {
    'a reset': () => host.host.reset(host.address(), storageError('OBJECT_RESET', 'Ended.')),
    'a deletion': () => host.host.erase(host.address()),
    'the end of the host': () => host.host.close(),
  };
  for (const [name, end] of Object.entries(ends)) {
    test(`[OBJ14] ${name} rejects every event that was not answered`, async () => {
      host = await createTestHost({}, { Thing });
      let ran = 0;
      const running = deliver(forever);
      const inSection = deliver(({ state }) => state.blockConcurrencyWhile(forever));
      const waiting = deliver(() => ++ran);
      const all = [running, inSection, waiting];
      const outcomes = Promise.all(all.map(endOf));
      await host.turns(5);
      await end();
      expect(await outcomes).toEqual(['OBJECT_RESET', 'OBJECT_RESET', 'OBJECT_RESET']);
      expect(ran).toBe(0);
    });
  }

  test('[OBJ14] an orderly end gives the answers that wait for the disk only', async () => {
    host = await createTestHost({}, { Thing });
    await deliver(() => {});
    host.holdFlushes();
    const written = deliver(({ state }) => state.storage.put('key', 1).then(() => 'written'));
    const running = deliver(forever);
    const rejected = endOf(running);
    await host.turns(5);
    const closed = host.host.close();
    expect([await rejected, await outcome(written)]).toEqual(['OBJECT_RESET', 'pending']);
    host.releaseFlushes();
    expect(await outcome(written)).toBe('written');
    await closed;
  });

  test('[OBJ14] a last flush that fails rejects those answers, and is told by the end of the host', async () => {
    host = await createTestHost({}, { Thing });
    await deliver(() => {});
    host.holdFlushes();
    const written = deliver(({ state }) => state.storage.put('key', 1).then(() => 'written'));
    const rejected = endOf(written);
    await host.turns(5);
    const closed = endOf(host.host.close());
    await host.turns(5);
    host.failHeldFlushes();
    expect([await rejected, await closed]).toEqual(['IO', 'IO']);
  });

  test('[OBJ14] an eviction whose last flush fails leaves an object that opens again', async () => {
    host = await createTestHost({}, { Thing });
    await deliver(() => {});
    host.holdFlushes();
    await deliver(({ state }) => {
      void state.storage.put('key', 1, { allowUnconfirmed: true });
    });
    await host.advance(10_001);
    const next = deliver(({ state }) => state.storage.get('key'));
    await host.turns(5);
    host.failHeldFlushes();
    expect(await outcome(next)).toBe('undefined');
  });

  test('[OBJ14] an object is deleted whatever comes meanwhile', async () => {
    host = await createTestHost({}, { Thing });
    await deliver(({ state }) => state.storage.put('key', 1));
    const deleted = host.host.erase(host.address());
    const during = Array.from({ length: 5 }, () =>
      deliver(({ state }) => state.storage.get('key')),
    );
    const outcomes = await Promise.all([deleted, ...during].map(outcome));
    for (const each of outcomes) expect(['undefined', 'OBJECT_RESET']).toContain(each);
    expect(await outcome(deliver(({ state }) => state.storage.get('key')))).toBe('undefined');
  });

  test('[OBJ15] a closed host opens nothing and runs nothing', async () => {
    let runs = 0;
    class Timed extends Thing {
      alarm(): void {
        runs += 1;
      }
    }
    host = await createTestHost({}, { Timed });
    await deliver(({ storage }) => storage.setAlarm(host.now() + 5000));
    await host.host.close();
    await host.advance(10_000);
    expect(runs).toBe(0);
    expect(await outcome(deliver(() => 'opened'))).toBe('CONNECTION_CLOSED');
    await host.host.close();
  });

  test('[GATE16] a flush that ends after the reset lets nothing of the old instance go on', async () => {
    host = await createTestHost({}, { Thing });
    await deliver(() => {});
    host.holdFlushes();
    const went: string[] = [];
    const call = deliver(async (instance) => {
      const { state } = instance;
      void state.storage.put('key', 1);
      void instance.context.send(() => went.push('sent'));
      void state.storage.sync().finally(() => went.push('synced'));
      await forever();
    });
    call.catch(() => {});
    await host.turns(5);
    const reset = host.host.reset(host.address(), storageError('OBJECT_RESET', 'Ended.'));
    await host.turns(5);
    host.releaseFlushes(); // the files are free when it has ended
    await reset;
    expect([await outcome(call), went]).toEqual(['OBJECT_RESET', []]);
    expect(await outcome(deliver(({ state }) => state.storage.get('key')))).toBe('undefined');
  });

  const resets = {
    abort: ({ state }: ObjectInstance) => state.abort('by the test'),
    'failed flush': ({ state }: ObjectInstance) => {
      host.failNextFlush();
      return state.storage.put('key', 1);
    },
    'failed section': ({ state }: ObjectInstance) =>
      state.blockConcurrencyWhile(() => Promise.reject(new Error('by the test'))),
  };
  for (const [name, end] of Object.entries(resets)) {
    test(`[GATE16] [SIM2] the listener of an open socket does not run at its instance's end: ${name}`, async () => {
      host = await createTestHost({}, { Thing });
      const heard: string[] = [];
      const listen = (socket: WebSocket, side: string) => {
        socket.accept();
        socket.addEventListener('close', (event) => {
          heard.push(`${side} ${(event as CloseEvent).code}`);
        });
      };
      const client = await deliver(() => {
        const { 0: near, 1: far } = new WebSocketPair();
        listen(far, 'object');
        return near;
      });
      listen(client, 'client');
      await outcome(deliver(end));
      await turns(2);
      expect(heard).toEqual(['client 1006']);
    });
  }

  test('[GATE16] every call of the storage of an instance that has ended throws or rejects', async () => {
    host = await createTestHost({}, { Thing });
    const { storage } = await deliver(({ state }) => {
      state.storage.kv.put('key', 1);
      return state;
    });
    const entries = storage.kv.list();
    const rows = storage.sql.exec('SELECT 1');
    await host.host.reset(host.address(), storageError('OBJECT_RESET', 'Ended.'));
    const calls: Record<string, () => unknown> = {
      get: () => storage.get('key'),
      'get of no keys': () => storage.get([]),
      put: () => storage.put('key', 1),
      'put of no entries': () => storage.put({}),
      delete: () => storage.delete('key'),
      'delete of no keys': () => storage.delete([]),
      list: () => storage.list(),
      'list of no keys': () => storage.list({ start: 'b', end: 'a' }),
      deleteAll: () => storage.deleteAll(),
      getAlarm: () => storage.getAlarm(),
      setAlarm: () => storage.setAlarm(1),
      deleteAlarm: () => storage.deleteAlarm(),
      sync: () => storage.sync(),
      transaction: () => storage.transaction(async () => {}),
      transactionSync: () => storage.transactionSync(() => {}),
      getCurrentBookmark: () => storage.getCurrentBookmark(),
      getBookmarkForTime: () => storage.getBookmarkForTime(1),
      onNextSessionRestoreBookmark: () => storage.onNextSessionRestoreBookmark('0'),
      live: () => storage.live({}),
      'kv.get': () => storage.kv.get('key'),
      'kv.put': () => storage.kv.put('key', 1),
      'kv.delete': () => storage.kv.delete('key'),
      'kv.list': () => storage.kv.list(),
      'an iterator': () => entries[Symbol.iterator]().next(),
      'sql.exec': () => storage.sql.exec('SELECT 1'),
      'sql.databaseSize': () => storage.sql.databaseSize,
      'sql.live': () => storage.sql.live('SELECT 1'),
      'a cursor': () => rows.toArray(),
    };
    const methodsOf = (object: object, prefix = '') =>
      Object.getOwnPropertyNames(Object.getPrototypeOf(object))
        .filter((name) => name !== 'constructor' && /^[a-z]/.test(name))
        .map((name) => prefix + name);
    const methods = [
      ...methodsOf(storage),
      ...methodsOf(storage.kv, 'kv.'),
      ...methodsOf(storage.sql, 'sql.'),
    ];
    expect(methods.filter((name) => !(name in calls))).toEqual([]);
    for (const [name, call] of Object.entries(calls)) {
      await expect((async () => call())(), name).rejects.toMatchObject({
        code: expect.stringMatching(/^(OBJECT_RESET|CURSOR_CLOSED)$/),
      });
    }
  });
});

type Step =
  | { readonly do: 'call'; readonly event: keyof typeof EVENTS; readonly name: string }
  | { readonly do: 'advance'; readonly durationMs: number }
  | { readonly do: 'reset' | 'erase'; readonly name: string }
  | { readonly do: 'hold' | 'release' | 'failHeld' | 'failNext' | 'finish' | 'turn' };

/** The steps of calls; a `wait` ends by the step `finish`. */
const EVENTS = {
  read: ({ state }: ObjectInstance) => state.storage.get('key'),
  write: ({ state }: ObjectInstance) => state.storage.put('key', 1),
  unconfirmed: ({ state }: ObjectInstance) =>
    void state.storage.put('key', 1, { allowUnconfirmed: true }),
  alarm: ({ storage }: ObjectInstance) => storage.setAlarm(storage.environment.now() + 3000),
  abort: ({ state }: ObjectInstance) => state.abort('by the test'),
  fail: () => {
    throw new RangeError('by the test');
  },
  wait: (_instance: ObjectInstance, finished: () => Promise<void>) => finished(),
  section: ({ state }: ObjectInstance, finished: () => Promise<void>) =>
    state.blockConcurrencyWhile(finished),
  transaction: ({ state }: ObjectInstance, finished: () => Promise<void>) =>
    state.storage.transaction(async (txn) => {
      await txn.put('key', 2);
      await finished();
    }),
  leave: (instance: ObjectInstance) => instance.context.send(() => 'answer'),
};

const name = fc.constantFrom('a', 'b');
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('call' as const),
      event: fc.constantFrom(...(Object.keys(EVENTS) as (keyof typeof EVENTS)[])),
      name,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('advance' as const),
      durationMs: fc.constantFrom(1, 3000, 9999, 10_001, 40_000),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('reset', 'erase'), name }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom('hold', 'release', 'failHeld', 'failNext', 'finish', 'turn'),
    }),
  },
);

describe('any order of calls, ends and failures', () => {
  test('[OBJ14] every call settles, and no event runs on an instance that has ended', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 14 }), async (steps) => {
        const onEnded: string[] = [];
        const checked = (instance: ObjectInstance, what: string) => {
          if (instance.hasEnded) onEnded.push(what);
        };
        class Timed extends Thing {
          async alarm(): Promise<void> {
            const instance = await host.host.instance(host.address(this.ctx.id.name));
            if (instance.object !== (this as unknown)) onEnded.push('alarm');
          }
        }
        host = await createTestHost({}, { Timed });
        let finish = () => {};
        let finished = new Promise<void>((resolve) => {
          finish = resolve;
        });
        const unsettled = new Set<string>();
        const track = (what: string, promise: Promise<unknown>) => {
          unsettled.add(what);
          const settled = () => void unsettled.delete(what);
          promise.then(settled, settled);
        };
        for (const [index, each] of steps.entries()) {
          const what = `${index} ${each.do}`;
          switch (each.do) {
            case 'call':
              track(
                `${what} ${each.event}`,
                host.host.deliver(host.address(each.name), (instance) => {
                  checked(instance, what);
                  return EVENTS[each.event](instance, () => finished) as unknown;
                }),
              );
              break;
            case 'advance':
              await host.advance(each.durationMs);
              break;
            case 'reset':
              track(what, host.host.reset(host.address(each.name), new Error('reset')));
              break;
            case 'erase':
              track(what, host.host.erase(host.address(each.name)));
              break;
            case 'hold':
              host.holdFlushes();
              break;
            case 'release':
              host.releaseFlushes();
              break;
            case 'failHeld':
              host.failHeldFlushes();
              break;
            case 'failNext':
              host.failNextFlush();
              break;
            case 'finish':
              finish();
              finished = new Promise((resolve) => {
                finish = resolve;
              });
              break;
            case 'turn':
              await host.turns(1);
          }
        }
        host.releaseFlushes();
        track('close', host.host.close());
        for (let i = 0; i < 20 && unsettled.size > 0; i++) await host.turns(5);
        expect({ unsettled: [...unsettled], onEnded }).toEqual({ unsettled: [], onEnded: [] });
      }),
      { numRuns: 60, interruptAfterTimeLimit: 20_000, markInterruptAsFailure: false },
    );
  });
});

describe('reasons to keep an instance', () => {
  function make() {
    let nowMs = 0;
    let timer: { readonly dueMs: number; readonly task: () => void } | undefined;
    const onEvict = vi.fn();
    const lifecycle = new Lifecycle({
      idleMs: 10,
      onEvict,
      elapsed: () => nowMs,
      after: (delayMs, task) => {
        expect(timer).toBeUndefined();
        timer = { dueMs: nowMs + delayMs, task };
        return () => {
          timer = undefined;
        };
      },
    });
    const pass = (durationMs: number) => {
      nowMs += durationMs;
      if (timer === undefined || timer.dueMs > nowMs) return;
      const { task } = timer;
      timer = undefined;
      task();
    };
    return { lifecycle, onEvict, pass, isTimed: () => timer !== undefined };
  }

  test('[OBJ2] it is evicted when nothing was held for the whole time, by its own timer only', () => {
    const { lifecycle, onEvict, pass, isTimed } = make();
    pass(100);
    expect(isTimed()).toBe(false); // it is being made
    lifecycle.start();
    pass(9);
    const releases = [lifecycle.hold(vi.fn()), lifecycle.hold(vi.fn())];
    releases[0]!();
    releases[0]!();
    pass(100);
    expect(isTimed()).toBe(false); // it is held
    releases[1]!();
    pass(9);
    lifecycle.hold(vi.fn())();
    pass(9);
    expect(onEvict).not.toHaveBeenCalled();
    pass(1);
    expect(onEvict).toHaveBeenCalledOnce();
    lifecycle.hold(vi.fn())();
    expect(isTimed()).toBe(true);
    lifecycle.end('over');
    expect(isTimed()).toBe(false);
  });

  test('[OBJ2] a clock that is set back does not keep it', () => {
    const { lifecycle, onEvict, pass } = make();
    lifecycle.start();
    pass(5);
    lifecycle.hold(vi.fn())();
    pass(-1000);
    pass(1005);
    pass(10);
    expect(onEvict).toHaveBeenCalled();
  });

  test('[OBJ14] every holder hears of the end, once; a later holder, at once', () => {
    const { lifecycle, isTimed } = make();
    lifecycle.start();
    const told = vi.fn();
    const release = lifecycle.hold(told);
    lifecycle.hold(vi.fn())();
    expect(lifecycle.close('closing')).toBe(true);
    expect(lifecycle.close('again')).toBe(false);
    expect(lifecycle.hasEnded).toBe(true);
    lifecycle.hold(told)();
    release();
    expect([lifecycle.end('broken'), lifecycle.end('again')]).toEqual([true, false]);
    lifecycle.hold(told);
    expect(told.mock.calls).toEqual([['closing'], ['closing'], ['broken']]);
    expect([lifecycle.reason, isTimed()]).toEqual(['broken', false]);
  });

  test('[OBJ14] who only watches is told of the end, once, and does not keep the instance', () => {
    const { lifecycle, isTimed } = make();
    lifecycle.start();
    const told = vi.fn();
    lifecycle.watch(told);
    const left = vi.fn();
    lifecycle.watch(left)();
    expect(isTimed()).toBe(true);
    lifecycle.close('closing');
    lifecycle.end('broken');
    lifecycle.watch(told)();
    expect(told.mock.calls).toEqual([['closing'], ['broken']]);
    expect(left).not.toHaveBeenCalled();
  });
});
