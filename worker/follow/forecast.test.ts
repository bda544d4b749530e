// When a call that waits is left to the server.

import { expect, test } from 'vitest';
import { NO_FOLLOWERS } from '../objects/host/followers.ts';
import { DurableObject } from '../realm/library/base-classes.ts';
import { createTestHost } from '../testing/test-host.ts';
import { Base } from './base.ts';
import { Forecast } from './forecast.ts';

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
  await expect.poll(() => ends.length).toBe(1);
  for (let i = 0; i < 19; i++) await fire();
  ends[0]!();
  expect(await inTime).toEqual({ kind: 'wrote', answer: { kind: 'value', value: 'ended' } });
  expect(timers.size).toBe(0);

  const late = forecast.run('wait', []);
  await expect.poll(() => ends.length).toBe(2);
  for (let i = 0; i < 20; i++) await fire();
  expect(await late).toEqual({ kind: 'outside' });

  forecast.close();
  base.close();
  await own.close();
});
