import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  createTestHost,
  type TestHost,
  type World,
} from '../../../packages/testing/worker/test-host.ts';
import { storageError } from '../../../src/shared/contract/errors.ts';
import { MemoryMedium } from '../../engine/file/medium.ts';
import type { AlarmInvocationInfo } from '../alarms/alarm-scheduler.ts';
import { MemoryCatalog } from '../catalog/catalog.ts';
import type { DurableObjectState } from '../instance/durable-object-state.ts';

let world: World;
let hosts: TestHost[];
let runs: string[];
let opened: string[];
let onAlarm: (ctx: DurableObjectState, info: AlarmInvocationInfo) => unknown;

class Clocked {
  readonly ctx: DurableObjectState;
  constructor(ctx: DurableObjectState) {
    this.ctx = ctx;
    opened.push(ctx.id.name ?? 'without a name');
  }
  alarm(info: AlarmInvocationInfo): unknown {
    runs.push(`${this.ctx.id.name} ${info.retryCount}`);
    return onAlarm(this.ctx, info);
  }
}

beforeEach(() => {
  world = { medium: new MemoryMedium(), catalog: new MemoryCatalog() };
  hosts = [];
  runs = [];
  opened = [];
  onAlarm = () => {};
});
afterEach(() => Promise.all(hosts.map((host) => host.close())));

async function start(): Promise<TestHost> {
  const host = await createTestHost({}, { Clocked }, undefined, world);
  hosts.push(host);
  opened = [];
  return host;
}

const setAlarm = (host: TestHost, name: string, delayMs: number) =>
  host.run(({ storage }) => storage.setAlarm(host.now() + delayMs), name);
const getAlarm = (host: TestHost, name = 'object') =>
  host.run(({ storage }) => storage.getAlarm(), name);

describe('alarms across hosts', () => {
  test('[CAT4] an alarm outlives its host, and nobody has to call the object', async () => {
    const first = await start();
    await setAlarm(first, 'a', 60_000);
    await first.close();
    const second = await start();
    await second.advance(59_999);
    expect([runs, opened]).toEqual([[], []]);
    await second.advance(1);
    expect([runs, opened]).toEqual([['a 0'], ['a']]);
    await second.close();
    const third = await start();
    await third.advance(1_000_000);
    expect(opened).toEqual([]);
  });

  test('[CAT5] an object that was live when its host died is looked at by the next', async () => {
    const first = await start();
    await setAlarm(first, 'a', 60_000);
    // The files are let go of, as those of a dead worker; the catalog is told nothing.
    await first.host.reset(first.address('a'), new Error('the worker was killed'));
    const second = await start();
    const heard: unknown[] = [];
    const unsubscribe = second.host.alarms.subscribe((end) => heard.push(end.kind));
    await second.advance(0);
    expect([runs, opened, heard]).toEqual([[], ['a'], []]);
    await second.advance(60_000);
    expect([runs, heard]).toEqual([['a 0'], ['ran']]);
    unsubscribe();
  });

  test('[CAT5] a catalog that was lost is rebuilt from the folders', async () => {
    const first = await start();
    await setAlarm(first, 'a', 1000);
    await first.close();
    world = { ...world, catalog: new MemoryCatalog() };
    const second = await start();
    await second.advance(1000);
    expect(runs).toEqual(['undefined 0']);
  });

  test('[OBJ11] an object that was only asked, and never written, is forgotten', async () => {
    const host = await start();
    await host.run(({ storage }) => storage.get('key'), 'asked');
    await host.run(({ storage }) => storage.put('key', 1), 'written');
    await host.advance(20_000);
    expect((await world.catalog.list('Clocked')).map(({ name }) => name)).toEqual(['written']);
    expect(await world.medium.keys()).toHaveLength(1);
  });

  test('[OBJ11] but not one whose emptiness somebody has bookmarked', async () => {
    const host = await start();
    const empty = await host.run(({ storage }) => storage.getCurrentBookmark(), 'a');
    await host.advance(20_000);
    await host.run(({ storage }) => storage.put('key', 1), 'a');
    await host.run(({ storage }) => storage.onNextSessionRestoreBookmark(empty), 'a');
    await host.host.reset(host.address('a'), storageError('OBJECT_RESET', 'for the test'));
    expect(await host.run(({ storage }) => storage.get('key'), 'a')).toBeUndefined();
  });
});

describe('runs of alarms', () => {
  test('[AL9] a run that a failing disk prevents does not count as a failed one', async () => {
    const host = await start();
    await setAlarm(host, 'object', 1000);
    await host.advance(20_000 - 19_000); // runs once, below
    runs = [];
    await setAlarm(host, 'object', 1000);
    onAlarm = async ({ storage }) => {
      if (runs.length > 8) return;
      host.failNextFlush();
      await storage.put('key', runs.length);
      await storage.sync();
    };
    await host.advance(10_000_000);
    expect(runs).toHaveLength(9);
    expect(new Set(runs)).toEqual(new Set(['object 0']));
    expect(await getAlarm(host)).toBeNull();
  });

  test('[AL9] nor does a run that fails by a full disk, full memory or damaged files in its handler', async () => {
    const host = await start();
    for (const code of ['DISK_FULL', 'MEMORY_FULL', 'CORRUPT'] as const) {
      runs = [];
      onAlarm = () => {
        if (runs.length < 9) throw storageError(code, 'made by the test');
      };
      await setAlarm(host, 'object', 1000);
      await host.advance(10_000_000);
      expect([code, runs]).toEqual([code, Array(9).fill('object 0')]);
    }
  });

  test('[AL10] abort with retryAlarm false drops the alarm whose handler it ends', async () => {
    const host = await start();
    await setAlarm(host, 'object', 1000);
    onAlarm = (ctx) => ctx.abort('never mind', { retryAlarm: false });
    await host.advance(1_000_000);
    expect(runs).toEqual(['object 0']);
    expect(await getAlarm(host)).toBeNull();
  });

  test('[AL11] a handler that does not end is ended after 15 minutes, and retried', async () => {
    const host = await start();
    await setAlarm(host, 'object', 1000);
    onAlarm = () => (runs.length === 1 ? new Promise(() => {}) : undefined);
    await host.advance(1000);
    await host.advance(15 * 60_000 - 1);
    expect(runs).toEqual(['object 0']);
    await host.advance(4000);
    expect(runs).toEqual(['object 0', 'object 1']);
  });

  test('[AL12] a change of the alarm that a reset undoes is undone for the schedule, too', async () => {
    const host = await start();
    await setAlarm(host, 'object', 1000);
    host.holdFlushes();
    const postponed = host.run(({ storage }) => storage.setAlarm(host.now() + 1_000_000));
    await host.turns(5);
    const reset = host.host.reset(host.address(), storageError('IO', 'the flush failed'));
    await expect(postponed).rejects.toMatchObject({ code: 'IO' });
    host.releaseFlushes();
    await reset;
    await host.advance(2000);
    expect(runs).toEqual(['object 0']);
  });

  test('[AL12] also when an earlier change was confirmed while it was on its way', async () => {
    const host = await start();
    expect(await getAlarm(host)).toBe(null); // it is open
    host.holdFlushes();
    const set = setAlarm(host, 'object', 60_000);
    await host.turns(5);
    const dropped = host.run(({ storage }) => storage.deleteAlarm());
    dropped.catch(() => {});
    await host.turns(5);
    host.releaseFlushes();
    host.holdFlushes();
    await set;
    await host.turns(5);
    host.failHeldFlushes();
    await expect(dropped).rejects.toMatchObject({ code: 'IO' });
    await host.advance(60_000);
    expect(runs).toEqual(['object 0']);
  });
});
