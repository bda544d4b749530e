// A host derives its facts about an object's alarm from the stored alarm whenever the object opens.

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

const START_MS = Date.UTC(2030, 0, 1);
const HOUR_MS = 3_600_000;

let world: World;
let host: TestHost;
let runs: string[];
let onAlarm: (ctx: DurableObjectState, info: AlarmInvocationInfo) => unknown;
let onConstruct: (ctx: DurableObjectState) => void;

class Bell {
  readonly ctx: DurableObjectState;
  constructor(ctx: DurableObjectState) {
    this.ctx = ctx;
    onConstruct(ctx);
  }
  alarm(info: AlarmInvocationInfo): unknown {
    runs.push(`${host.now() - START_MS} retry ${info.retryCount}`);
    return onAlarm(this.ctx, info);
  }
}

beforeEach(async () => {
  world = { medium: new MemoryMedium(), catalog: new MemoryCatalog() };
  runs = [];
  onAlarm = () => {};
  onConstruct = () => {};
  host = await createTestHost({}, { Bell }, undefined, world);
});
afterEach(() => host.close());

const setAlarm = (atMs: number | null) =>
  host.run(async ({ storage }) => {
    if (atMs === null) await storage.deleteAlarm();
    else await storage.setAlarm(START_MS + atMs);
    return storage.getCurrentBookmark();
  });
const getAlarm = async () => {
  const timeMs = await host.run(({ storage }) => storage.getAlarm());
  return timeMs === null ? null : timeMs - START_MS;
};
const requestRestore = (bookmark: string) =>
  host.run(({ storage }) => storage.onNextSessionRestoreBookmark(bookmark));
const reset = () => host.host.reset(host.address(), storageError('OBJECT_RESET', 'for the test'));

describe('restored alarms', () => {
  for (const [what, restoredMs, laterMs] of [
    ['earlier', 3000, HOUR_MS],
    ['later', HOUR_MS, 30_000],
    ['set, where none was', 3000, null],
  ] as const) {
    test(`[AL15] an alarm that a restore brings back rings at its time: ${what}`, async () => {
      const mark = await setAlarm(restoredMs);
      await setAlarm(laterMs);
      await requestRestore(mark);
      await reset();
      expect(await getAlarm()).toBe(restoredMs);
      await host.advance(2 * HOUR_MS);
      expect(runs).toEqual([`${restoredMs} retry 0`]);
      expect(await getAlarm()).toBeNull();
    });
  }

  test('[AL15] an alarm that a restore takes away does not ring, and opens nothing', async () => {
    const mark = await host.run(async ({ storage }) => {
      await storage.put('key', 1);
      return storage.getCurrentBookmark();
    });
    await setAlarm(30_000);
    await requestRestore(mark);
    await reset();
    expect(await getAlarm()).toBeNull();
    expect(host.host.alarms.hasNext).toBe(false);
  });

  test('[AL15] a past alarm rings at once, again', async () => {
    const mark = await setAlarm(3000);
    await host.advance(60_000);
    await requestRestore(mark);
    await reset();
    await host.run(() => {});
    await host.advance(0);
    expect(runs).toEqual(['3000 retry 0', '60000 retry 0']);
  });

  for (const [how, end] of [
    ['a reset', () => reset()],
    ['an eviction', () => host.host.evict(host.address())],
    ['rest', () => host.advance(10_000)],
  ] as const) {
    test(`[AL15] it rings although nobody calls the object after ${how}`, async () => {
      const mark = await setAlarm(20_000);
      await setAlarm(HOUR_MS);
      await requestRestore(mark);
      await host.turns(5);
      await end();
      await host.advance(30_000);
      expect(runs).toEqual(['20000 retry 0']);
    });
  }

  test('[AL15] it rings although the host ended before the object was opened', async () => {
    const mark = await setAlarm(20_000);
    await setAlarm(HOUR_MS);
    await requestRestore(mark);
    await host.close();
    host = await createTestHost({}, { Bell }, undefined, world);
    await host.advance(30_000);
    expect(runs).toEqual(['20000 retry 0']);
  });

  test('[AL15] the retries of another alarm are not counted for it', async () => {
    const mark = await setAlarm(HOUR_MS);
    await setAlarm(1000);
    onAlarm = () => {
      if (runs.length <= 2) throw new Error('fails twice');
    };
    await host.advance(1000);
    await requestRestore(mark);
    await reset();
    await host.advance(HOUR_MS + 3000);
    expect(runs).toEqual(['1000 retry 0', '3600000 retry 0', expect.stringMatching(/ retry 1$/)]);
  });
});

describe('alarms and openings', () => {
  test('[AL15] an opening leaves the count and the delay of the retries of the stored alarm as they are', async () => {
    await setAlarm(1000);
    onAlarm = () => {
      if (runs.length === 1) throw new Error('fails once');
    };
    await host.advance(1000);
    await host.advance(1500);
    await reset();
    await host.run(() => {});
    // 2 s after the failure, not after the opening, and up to a quarter more.
    await host.advance(499);
    expect(runs).toEqual(['1000 retry 0']);
    await host.advance(501);
    expect(runs).toEqual(['1000 retry 0', expect.stringMatching(/^3\d\d\d(\.\d+)? retry 1$/)]);
  });

  test('[AL12] an alarm that a constructor has set and a reset undoes is undone in the schedule', async () => {
    await setAlarm(20_000);
    await host.host.evict(host.address());
    onConstruct = ({ storage }) => {
      host.holdFlushes(); // not before: an opening waits for its own
      void storage.setAlarm(START_MS + HOUR_MS);
    };
    const seen = host.run(({ storage }) => storage.getAlarm());
    seen.catch(() => {});
    await host.turns(10);
    expect(host.committed()).toBe(host.durable() + 1); // the constructor's
    onConstruct = () => {};
    const ended = reset();
    await expect(seen).rejects.toMatchObject({ code: 'OBJECT_RESET' });
    host.releaseFlushes();
    await ended;
    await host.advance(20_000);
    expect(runs).toEqual(['20000 retry 0']);
    await host.advance(HOUR_MS);
    expect(runs).toHaveLength(1);
  });

  test('[AL12] a change that the handler makes before it resets its object is undone, and the alarm retried', async () => {
    await setAlarm(1000);
    onAlarm = async (ctx) => {
      if (runs.length > 1) return;
      host.holdFlushes();
      ctx.storage.setAlarm(START_MS + HOUR_MS).catch(() => {});
      await host.turns(5);
      try {
        ctx.abort('before the flush');
      } finally {
        host.releaseFlushes();
      }
    };
    await host.advance(1000);
    await host.advance(3000);
    expect(runs).toHaveLength(2);
    expect(runs[1]).toMatch(/ retry 1$/);
  });

  test('[AL6] an alarm set before deleteAll in the same turn of the handler stays', async () => {
    await setAlarm(1000);
    onAlarm = async ({ storage }) => {
      if (runs.length > 1) return;
      void storage.setAlarm(START_MS + 5000);
      await storage.deleteAll();
    };
    await host.advance(1000);
    expect(await getAlarm()).toBe(5000);
    await host.advance(4000);
    expect(runs).toEqual(['1000 retry 0', '5000 retry 0']);
  });

  test('[AL5] a handler that calls deleteAll and fails is retried with its delays', async () => {
    await setAlarm(1000);
    onAlarm = async ({ storage }) => {
      await storage.deleteAll();
      throw new Error('fails');
    };
    await host.advance(1000 + 3000);
    expect(runs).toHaveLength(2);
    expect(runs[1]).toMatch(/ retry 1$/);
  });
});
