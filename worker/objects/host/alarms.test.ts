import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createTestHost, type TestHost } from '../../../packages/testing/worker/test-host.ts';
import type { AlarmInvocationInfo } from '../alarms/alarm-scheduler.ts';
import type { DurableObjectState } from '../instance/durable-object-state.ts';

let host: TestHost;
let runs: [retryCount: number, isRetry: boolean][];

beforeEach(async () => {
  handler = () => {};
  host = await createTestHost({}, { Clocked });
  runs = [];
});
afterEach(() => host.close());

type Handler = (state: DurableObjectState, run: number) => unknown;
let handler: Handler;

/** Notes each run and then does the test's task. */
class Clocked {
  readonly #ctx: DurableObjectState;
  constructor(ctx: DurableObjectState) {
    this.#ctx = ctx;
  }
  alarm(info: AlarmInvocationInfo): unknown {
    runs.push([info.retryCount, info.isRetry]);
    return handler(this.#ctx, runs.length);
  }
}

function onAlarm(wanted: Handler): void {
  handler = wanted;
}

const setAlarm = (delayMs: number) =>
  host.run(({ storage }) => storage.setAlarm(host.now() + delayMs));
const getAlarm = () => host.run(({ storage }) => storage.getAlarm());

describe('alarms', () => {
  test('[AL4] an alarm runs at its time, once, and is gone afterwards', async () => {
    onAlarm(() => {});
    await setAlarm(1000);
    await host.advance(999);
    expect(runs).toEqual([]);
    await host.advance(1);
    expect(runs).toEqual([[0, false]]);
    expect(await getAlarm()).toBeNull();
    await host.advance(100_000);
    expect(runs).toHaveLength(1);
  });

  test('[AL5] a failed run is retried after 2, 4, 8, 16, 32 and 64 s, then given up', async () => {
    const times: number[] = [];
    onAlarm(() => {
      times.push(host.now());
      throw new Error('again');
    });
    await setAlarm(1);
    const time = await getAlarm();
    await host.advance(1);
    expect(await getAlarm()).toBe(time);
    await host.advance(1_000_000);
    const delays = times.slice(1).map((at, i) => (at - times[i]!) / 1000);
    expect(delays).toHaveLength(6);
    for (const [i, delay] of delays.entries()) {
      expect(delay).toBeGreaterThanOrEqual(2 ** (i + 1));
      expect(delay).toBeLessThanOrEqual(1.25 * 2 ** (i + 1));
    }
    // Each delay is lengthened by another random share, of up to a quarter.
    expect(new Set(delays.map((delay, i) => delay / 2 ** (i + 1))).size).toBe(6);
    expect(runs.at(-1)).toEqual([6, true]);
    expect(await getAlarm()).toBeNull();
  });

  test('[CLOCK17] a retry comes after its delay, also if the wall clock was set back before the time of the alarm', async () => {
    const times: number[] = [];
    onAlarm(() => {
      times.push(host.now());
      if (times.length < 3) throw new Error('again');
    });
    await setAlarm(1);
    await host.advance(1);
    host.setWallClock(-3_600_000);
    await host.advance(10_000);
    expect(runs).toEqual([
      [0, false],
      [1, true],
      [2, true],
    ]);
    const [first, second] = times.slice(1).map((at, i) => at - times[i]!);
    expect([first! >= 2000 && first! <= 2500, second! >= 4000 && second! <= 5000]).toEqual([
      true,
      true,
    ]);
    expect(await getAlarm()).toBeNull();
  });

  test('[AL3] an alarm that the handler sets in a failed transaction does not exist, while the handler runs and afterwards', async () => {
    const seen: (number | null)[] = [];
    onAlarm(async ({ storage }) => {
      const undone = storage.transaction(async () => {
        await storage.setAlarm(host.now() + 5000);
        seen.push(await storage.getAlarm());
        throw new Error('undone');
      });
      await expect(undone).rejects.toThrow('undone');
      seen.push(await storage.getAlarm());
    });
    await setAlarm(1000);
    await host.advance(1000);
    expect(seen).toEqual([host.now() + 5000, null]);
    expect(await getAlarm()).toBeNull();
    await host.advance(100_000);
    expect(runs).toHaveLength(1);
  });

  test('[AL6] an alarm set while the handler runs replaces it, also when the run fails', async () => {
    onAlarm(async ({ storage }, run) => {
      if (run > 1) return;
      await storage.setAlarm(host.now() + 500);
      throw new Error('too late to matter');
    });
    await setAlarm(1);
    await host.advance(1);
    await host.advance(499);
    expect(runs).toHaveLength(1);
    await host.advance(1);
    expect(runs).toEqual([
      [0, false],
      [0, false],
    ]);
  });

  test('[AL7] a handler that resets its object is run again', async () => {
    onAlarm((state, run) => {
      if (run === 1) state.abort('test');
    });
    await setAlarm(1);
    await host.advance(1);
    await host.advance(2500);
    expect(runs).toEqual([
      [0, false],
      [1, true],
    ]);
    expect(await getAlarm()).toBeNull();
  });

  test('[AL8] while its handler runs an alarm counts as not set, and deleting it ends it', async () => {
    const seen: unknown[] = [];
    onAlarm(async ({ storage }) => {
      seen.push(await storage.getAlarm());
      await storage.deleteAlarm();
      throw new Error('no retry follows');
    });
    await setAlarm(1);
    await host.advance(1);
    await host.advance(100_000);
    expect(seen).toEqual([null]);
    expect(runs).toHaveLength(1);
  });
});
