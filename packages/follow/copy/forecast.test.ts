// Tests calls on the forecast: their first run, and their runs after a change of the base.

import { afterEach, describe, expect, test, vi } from 'vitest';
import { NO_FOLLOWERS } from '../../../worker/objects/host/followers.ts';
import { DurableObject } from '../../../worker/realm/library/base-classes.ts';
import { createCalledHost } from '../../testing/worker/called-host.ts';
import { createTestHost } from '../../testing/worker/test-host.ts';
import { encodeChanges } from '../changes/changes-bytes.ts';
import type { FollowedState } from '../server/index.ts';
import { until } from '../testing/followed-device.ts';
import { Base } from './base.ts';
import { Forecast, type ForecastRun } from './forecast.ts';

test('[FOLP6] a call has waited for 500 ms after twenty timers in turn, however long its thread stood still at one of them', async () => {
  const ends: (() => void)[] = [];
  class Slow extends DurableObject {
    async wait() {
      this.ctx.storage.kv.put('began', true);
      await new Promise<void>((resolve) => ends.push(resolve));
      return 'ended';
    }
  }
  const timers = new Set<() => void>();
  const afterRealTime = (_delayMs: number, task: () => void) => {
    timers.add(task);
    return () => timers.delete(task);
  };
  const fire = async () => {
    const [task] = timers;
    timers.delete(task!);
    task!();
    await new Promise(setImmediate);
  };
  const own = await createTestHost({}, { Slow });
  const { host } = own;
  host.followers = { ...NO_FOLLOWERS, classNames: new Set(['Slow']) };
  const base = await Base.open(host, own.address());
  const forecast = new Forecast(host, base.instance, { afterRealTime });
  await forecast.remake([]);

  const inTime = forecast.run('wait', []);
  await until(() => ends.length === 1);
  for (let i = 0; i < 19; i++) await fire();
  ends[0]!();
  expect(await inTime).toEqual({ kind: 'wrote', answer: { kind: 'value', value: 'ended' } });
  expect(timers.size).toBe(0);

  const late = forecast.run('wait', []);
  await until(() => ends.length === 2);
  for (let i = 0; i < 20; i++) await fire();
  expect(await late).toEqual({ kind: 'outside' });

  forecast.close();
  base.close();
  await own.close();
});

test('[FOLS22] [FOLS23] in a forecast, ctx.caller is whose copy it is, and what only a server has is left to it', async () => {
  class Signing extends DurableObject {
    declare readonly ctx: FollowedState;
    readonly #constructedFor: string;
    constructor(ctx: FollowedState, env: never) {
      super(ctx, env);
      this.#constructedFor = String(ctx.caller);
    }
    async sign() {
      await this.ctx.storage.put('signed', 1);
      return [this.#constructedFor, this.ctx.caller];
    }
    async end() {
      await this.ctx.endFollowers('bob');
    }
  }
  const own = await createTestHost({}, { Signing });
  const { host } = own;
  host.followers = { ...NO_FOLLOWERS, classNames: new Set(['Signing']) };
  const base = await Base.open(host, own.address());
  const forecast = new Forecast(host, base.instance, { afterRealTime: never, identity: 'ann' });
  await forecast.remake([]);
  expect(await forecast.run('sign', [])).toEqual({
    kind: 'wrote',
    answer: { kind: 'value', value: ['undefined', 'ann'] },
  });
  expect(await forecast.run('end', [])).toEqual({ kind: 'outside' });
  forecast.close();
  base.close();
  await own.close();
});

test('[FOLP42] a copy that does not know whose it is leaves a call that reads ctx.caller to the server, and says once how to tell it', async () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
  class Signing extends DurableObject {
    declare readonly ctx: FollowedState;
    sign() {
      this.ctx.storage.kv.put('began', true);
      this.ctx.storage.kv.put('author', this.ctx.caller);
    }
    signAnyway() {
      try {
        this.sign();
      } catch {
        this.ctx.storage.kv.put('author', 'the server');
      }
    }
    keys() {
      return [...this.ctx.storage.kv.list()];
    }
  }
  const own = await createTestHost({}, { Signing });
  const { host } = own;
  host.followers = { ...NO_FOLLOWERS, classNames: new Set(['Signing']) };
  const base = await Base.open(host, own.address());
  const forecast = new Forecast(host, base.instance, { afterRealTime: never });
  await forecast.remake([]);
  for (const method of ['sign', 'signAnyway', 'sign']) {
    expect(await forecast.run(method, [])).toEqual({ kind: 'outside' });
  }
  const nothing = { kind: 'value', value: [] };
  expect(await forecast.run('keys', [])).toEqual({ kind: 'read', answer: nothing });
  const read = host.use(forecast.address, ({ object }) => (object as Signing).sign());
  await expect(read).rejects.toMatchObject({ code: 'FOLLOW_UNSUPPORTED' });
  expect(warn.mock.calls).toEqual([
    [expect.stringMatching(/ctx\.caller of Signing.*follow\(\{ Signing: \{ url, identity \} \}\)/)],
  ]);
  warn.mockRestore();
  forecast.close();
  base.close();
  await own.close();
});

const never = () => () => {};

/** How often `Room` was constructed. */
let starts = 0;

class Other extends DurableObject {
  ping() {
    return 'pong';
  }
}

class Room extends DurableObject {
  list = ['kept in memory'];

  constructor(ctx: never, env: never) {
    super(ctx, env);
    starts += 1;
    this.ctx.storage.sql.exec('CREATE TABLE IF NOT EXISTS item (name TEXT)');
  }
  names() {
    return [...this.ctx.storage.sql.exec('SELECT name FROM item').raw()].flat();
  }
  add(name: string) {
    this.ctx.storage.sql.exec('INSERT INTO item VALUES (?)', name);
    return this.names().length;
  }
  addLast(names: string[]) {
    return this.add(names.pop()!);
  }
  async send(name: string) {
    this.add(name);
    const { Other } = this.env as { Other: { getByName(name: string): Other } };
    return Other.getByName('x').ping();
  }
  async trySend(name: string) {
    return this.send(name).catch(() => 'refused');
  }
  end(name: string) {
    this.add(name);
    this.ctx.abort('by the test');
  }
  async wait(name: string) {
    this.add(name);
    await new Promise(() => {});
  }
  fail(name: string) {
    this.add(name);
    throw new RangeError(name);
  }
  /** Calls the given method if the server's row `theirs` is there; otherwise adds a row. */
  onceServed(method: 'send' | 'trySend' | 'end' | 'wait' | 'fail', name: string) {
    return this.names().includes('theirs') ? this[method](name) : this.add(name);
  }
  listed() {
    return this.list;
  }
  forget() {
    this.list.length = 0;
  }
  made() {
    return () => {};
  }
}

describe('a forecast', () => {
  const ends: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end();
  });

  const SCHEMA = [{ type: 'table' as const, name: 'item', sql: 'CREATE TABLE item (name TEXT)' }];

  async function forecastOf() {
    const { host: own } = await createCalledHost({ Room, Other });
    const { host } = own;
    host.followers = { ...NO_FOLLOWERS, classNames: new Set(['Room']) };
    const base = await Base.open(host, own.address());
    const timers = new Set<() => void>();
    const forecast = new Forecast(host, base.instance, {
      afterRealTime(_delayMs, task) {
        timers.add(task);
        return () => timers.delete(task);
      },
    });
    ends.push(async () => {
      forecast.close();
      base.close();
      await own.close();
    });
    const names: string[] = [];
    return {
      own,
      base,
      forecast,
      /** Runs a call of the app, and keeps it as if it were in the queue. */
      async call(n: number, method: string, ...args: unknown[]): Promise<ForecastRun> {
        const stored = structuredClone(args);
        const run = await forecast.run(method, args);
        if (run.kind === 'wrote') {
          forecast.keep({ n, mark: n, method, args: stored, bytes: 1, isForecast: true });
        }
        return run;
      },
      async names() {
        const run = await forecast.run('names', []);
        return run.kind === 'read' && run.answer.kind === 'value' ? run.answer.value : run;
      },
      /** Adds a row to the base, as if it came from the server. */
      async served(name: string) {
        names.push(name);
        const rows = names.map((one, i) => [BigInt(i + 1), one]);
        const table = { name: 'item', keys: ['rowid'], columns: ['rowid', 'name'], gone: [] };
        const changes = { isWiped: false, schema: SCHEMA, sequences: null, kv: [], kvGone: [] };
        const whole = { ...changes, tables: [{ ...table, isWhole: true, rows }] };
        await base.apply(encodeChanges(whole), {
          position: { id: names.length, life: 1 },
          last: 0,
        });
      },
      /** Lets so much time pass that the forecast stops waiting for a call. */
      async late() {
        for (let i = 0; i < 400; i++) {
          for (const task of [...timers]) {
            timers.delete(task);
            task();
          }
          await new Promise(setImmediate);
        }
      },
    };
  }

  test.for(['send', 'trySend', 'end'])(
    '[FOLP6] has nothing of a call that reaches outside or ends its object (%s), and all of those before it',
    async (method) => {
      const { forecast, call, names } = await forecastOf();
      await forecast.remake([]);
      await call(1, 'add', 'one');
      await call(2, 'add', 'two');
      expect(await call(3, method, 'three')).toEqual({ kind: 'outside' });
      expect(await names()).toEqual(['one', 'two']);
      expect(await call(3, 'add', 'four')).toMatchObject({ answer: { value: 3 } });
    },
  );

  test.for(['send', 'trySend', 'end', 'wait'])(
    '[FOLP6] leaves out a call that no longer ends by itself on a newer base (%s), and runs those after it',
    async (method) => {
      const { forecast, call, names, served, late } = await forecastOf();
      await served('first');
      await forecast.remake([]);
      await call(1, 'add', 'one');
      expect(await call(2, 'onceServed', method, 'two')).toMatchObject({ kind: 'wrote' });
      await call(3, 'add', 'three');
      expect(await names()).toEqual(['first', 'one', 'two', 'three']);
      await served('theirs');
      const made = forecast.remake();
      if (method === 'wait') await late();
      await made;
      expect(await names()).toEqual(['first', 'theirs', 'one', 'three']);
      await served('more');
      await forecast.remake();
      expect(await names()).toEqual(['first', 'theirs', 'more', 'one', 'three']);
    },
  );

  test('[FOLP1] has the writes of a call that throws, also when it runs again', async () => {
    const { forecast, call, names, served } = await forecastOf();
    await forecast.remake([]);
    const failed = await call(1, 'fail', 'one');
    expect(failed).toMatchObject({ kind: 'wrote', answer: { kind: 'error' } });
    expect(failed).toHaveProperty('answer.error', expect.any(RangeError));
    await call(2, 'onceServed', 'fail', 'two');
    await call(3, 'add', 'three');
    await served('theirs');
    await forecast.remake();
    expect(await names()).toEqual(['theirs', 'one', 'two', 'three']);
  });

  test('[FOLP1] runs a call that changes its arguments with its first ones', async () => {
    const { forecast, call, names, served } = await forecastOf();
    await forecast.remake([]);
    await call(1, 'addLast', ['x', 'y']);
    for (const name of ['one', 'two']) {
      await served(name);
      await forecast.remake();
    }
    expect(await names()).toEqual(['one', 'two', 'y']);
  });

  test('[FOLP7] a result is as it was when the call ended, and an uncopyable one is an error', async () => {
    const { forecast } = await forecastOf();
    await forecast.remake([]);
    const listed = await forecast.run('listed', []);
    expect(await forecast.run('forget', [])).toMatchObject({ kind: 'read' });
    expect(listed).toEqual({ kind: 'read', answer: { kind: 'value', value: ['kept in memory'] } });
    for (const method of ['made', 'missing', 'constructor']) {
      expect(await forecast.run(method, [])).toMatchObject({
        kind: 'read',
        answer: { kind: 'error' },
      });
    }
  });

  test('[FOLP20] is unused while nothing runs on it, and constructs its class for calls only', async () => {
    const { own, forecast, served, late } = await forecastOf();
    expect(forecast.isUnused).toBe(false);
    starts = 0;
    await served('theirs');
    await forecast.remake([]);
    expect([forecast.isUnused, starts]).toEqual([true, 0]);
    const waits = forecast.run('wait', ['mine']);
    await until(() => starts === 1);
    expect(forecast.isUnused).toBe(false);
    await late();
    expect(await waits).toEqual({ kind: 'outside' });
    expect(forecast.isUnused).toBe(true);
    await forecast.run('names', []);
    await own.turns(20);
    expect(forecast.isUnused).toBe(true);
    const release = (await own.host.instance(forecast.address)).retain();
    expect(forecast.isUnused).toBe(false);
    release();
    expect(forecast.isUnused).toBe(true);
    forecast.close();
    expect(forecast.isUnused).toBe(false);
  });

  test('[FOLP20] a forecast that is closed, or made again, leaves no branch', async () => {
    const { own, base, forecast, call, served } = await forecastOf();
    await forecast.remake([]);
    await call(1, 'add', 'one');
    for (const name of ['two', 'three']) {
      await served(name);
      await forecast.remake();
    }
    expect(own.host.branches.has(base.instance)).toBe(true);
    forecast.close();
    await own.turns(20);
    expect(own.host.branches.has(base.instance)).toBe(false);
  });
});
