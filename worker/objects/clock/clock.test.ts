import { describe, expect, test } from 'vitest';
import { Clock } from './clock.ts';

/** The system's time, turned by the test. */
class FakeSystem {
  nowMs = 1000;
  timers = new Set<{ dueMs: number; task: () => void; keepsAlive: boolean }>();
  now = () => this.nowMs;
  after = (delayMs: number, task: () => void, keepsAlive: boolean) => {
    const timer = { dueMs: this.nowMs + delayMs, task, keepsAlive };
    this.timers.add(timer);
    return () => void this.timers.delete(timer);
  };
  /** Its clock goes on, its timers do not. */
  sleep(durationMs: number) {
    this.nowMs += durationMs;
    for (const timer of this.timers) timer.dueMs += durationMs;
  }
  pass(durationMs: number) {
    this.nowMs += durationMs;
    for (const timer of [...this.timers]) {
      if (timer.dueMs > this.nowMs) continue;
      this.timers.delete(timer);
      timer.task();
    }
  }
}

const settled = async () => {};

function make() {
  const system = new FakeSystem();
  return { system, clock: new Clock(system), log: [] as [string, number][] };
}

describe('clock', () => {
  test('[CLOCK1] until control is taken, time is the system’s', () => {
    const { system, clock, log } = make();
    clock.after(50, () => log.push(['fired', clock.now()]));
    const cancel = clock.after(50, () => log.push(['cancelled', clock.now()]));
    cancel();
    system.pass(49);
    expect(log).toEqual([]);
    system.pass(1);
    expect(log).toEqual([['fired', 1050]]);
    expect(clock.isControlled).toBe(false);
  });

  test('[OBJ15] a closed clock runs nothing, and leaves the system no timer', async () => {
    const { system, clock, log } = make();
    for (const delayMs of [50, 50, 90]) {
      clock.after(delayMs, () => log.push(['fired', clock.now()]), true);
    }
    system.pass(20);
    clock.close();
    expect([system.timers.size, clock.hasWork]).toEqual([0, false]);
    system.pass(1000);
    await clock.advance(1000, settled);
    expect(log).toEqual([]);
  });

  test('[CLOCK2] under control time stands still and moves only when told to', async () => {
    const { system, clock, log } = make();
    clock.after(50, () => log.push(['fired', clock.now()]));
    await clock.set(1000, settled);
    system.pass(10_000);
    expect(log).toEqual([]);
    expect(clock.now()).toBe(1000);
    await clock.advance(49, settled);
    expect(log).toEqual([]);
    await clock.advance(1, settled);
    expect(log).toEqual([['fired', 1050]]);
  });

  test('[CLOCK3] what is due runs in order, at its own time, also what is set on the way', async () => {
    const { clock, log } = make();
    clock.after(30, () => log.push(['c', clock.now()]));
    clock.after(10, () => {
      log.push(['a', clock.now()]);
      clock.after(10, () => log.push(['b', clock.now()]));
    });
    clock.after(30, () => log.push(['d', clock.now()]));
    clock.after(101, () => log.push(['late', clock.now()]));
    await clock.advance(100, settled);
    expect(log).toEqual([
      ['a', 1010],
      ['b', 1020],
      ['c', 1030],
      ['d', 1030],
    ]);
    expect(clock.now()).toBe(1100);
  });

  test('[CLOCK4] set goes to any time; going back fires nothing early', async () => {
    const { clock, log } = make();
    clock.after(500, () => log.push(['fired', clock.now()]));
    await clock.set(200, settled);
    expect(clock.now()).toBe(200);
    await clock.advance(1200, settled);
    expect(log).toEqual([]);
    await clock.set(5000, settled);
    expect(log).toEqual([['fired', 5000]]);
  });

  test('[CLOCK5] what waits moves over when control is given back, and runs when overdue', async () => {
    const { system, clock, log } = make();
    await clock.set(1000, settled);
    clock.after(100, () => log.push(['soon', clock.now()]));
    clock.after(9000, () => log.push(['later', clock.now()]));
    system.pass(5000);
    await clock.resume();
    system.pass(0);
    expect(log).toEqual([['soon', 6000]]);
    system.pass(4000);
    expect(log.at(-1)).toEqual(['later', 10_000]);
  });

  test('[CLOCK6] calls that control run one after the other, and wait for what they started', async () => {
    const { clock, log } = make();
    let settle = () => {};
    const slowly = () =>
      new Promise<void>((resolve) => {
        settle = resolve;
      });
    clock.after(10, () => log.push(['a', clock.now()]));
    const first = clock.advance(10, slowly);
    const second = clock.advance(10, settled);
    await Promise.resolve();
    settle();
    await new Promise((resolve) => setImmediate(resolve));
    expect(log).toEqual([['a', 1010]]);
    expect(clock.now()).toBe(1010);
    settle();
    await Promise.all([first, second]);
    expect(clock.now()).toBe(1020);
  });

  test('[CLOCK7] a value that is not a time is refused', () => {
    const { clock } = make();
    for (const wrong of [Number.NaN, -1, Number.POSITIVE_INFINITY, '5' as never]) {
      const refused = expect.objectContaining({ name: 'TypeError', code: 'INVALID_ARGUMENT' });
      expect(() => clock.advance(wrong, settled)).toThrow(refused);
      expect(() => clock.set(wrong, settled)).toThrow(refused);
    }
    expect(clock.isControlled).toBe(false);
  });

  test('[CLOCK8] what came due while the device slept runs within a minute of its waking', () => {
    const { system, clock, log } = make();
    const hourMs = 3_600_000;
    clock.after(hourMs, () => log.push(['fired', clock.now()]));
    system.pass(30_000);
    system.sleep(8 * hourMs);
    system.pass(29_999);
    expect(log).toEqual([]);
    system.pass(1);
    expect(log).toEqual([['fired', 1000 + 8 * hourMs + 60_000]]);
  });

  test('[CLOCK8] a long wait ends at its time, and not before', () => {
    const { system, clock, log } = make();
    clock.after(150_000, () => log.push(['fired', clock.now()]));
    for (const durationMs of [60_000, 60_000, 29_999]) system.pass(durationMs);
    expect(log).toEqual([]);
    system.pass(1);
    expect(log).toEqual([['fired', 151_000]]);
  });

  test('[CLOCK14] however many wait, the system has one timer for them', () => {
    const { system, clock, log } = make();
    const cancels = Array.from({ length: 10_000 }, (_, i) =>
      // Not in order.
      clock.after(1 + ((i * 7919) % 10_000), () =>
        log.push([`${(i * 7919) % 10_000}`, clock.now()]),
      ),
    );
    expect(system.timers.size).toBe(1);
    for (const [i, cancel] of cancels.entries()) if (i % 3 === 0) cancel();
    while (system.timers.size > 0) {
      expect(system.timers.size).toBe(1);
      system.pass(1);
    }
    expect(log).toHaveLength(6666);
    expect(log.every(([due, atMs]) => atMs === 1001 + Number(due))).toBe(true);
  });

  test('[CLOCK14] what is due at once runs in order, each in a turn of its own', async () => {
    const { system, clock, log } = make();
    for (const delayMs of [30, 10, 20]) clock.after(delayMs, () => log.push([`${delayMs}`, 0]));
    const cancel = clock.after(25, () => log.push(['cancelled', 0]));
    system.pass(100);
    expect(log).toEqual([['10', 0]]);
    cancel();
    system.pass(0);
    expect(log.map(([due]) => due)).toEqual(['10', '20', '30']);
    for (const delayMs of [10, 20]) clock.after(delayMs, () => log.push([`again ${delayMs}`, 0]));
    system.pass(100);
    // Control is taken between the two.
    await clock.set(0, settled);
    system.pass(0);
    expect(log).toHaveLength(4);
    await clock.set(5000, settled);
    expect(log.at(-1)).toEqual(['again 20', 0]);
  });

  test('[CLOCK14] the process waits for work only while there is some', () => {
    const { system, clock } = make();
    const keepsAlive = () => [...system.timers].map((timer) => timer.keepsAlive);
    clock.after(10, () => {});
    expect(keepsAlive()).toEqual([false]);
    const cancel = clock.after(1000, () => {}, true);
    expect(keepsAlive()).toEqual([true]);
    cancel();
    expect(keepsAlive()).toEqual([false]);
  });

  test('[CLOCK15] an error of what is due is the system’s to report; time moves on', async () => {
    const { system, clock, log } = make();
    clock.after(10, () => {
      throw new RangeError('of a timer');
    });
    clock.after(20, () => log.push(['next', clock.now()]));
    await clock.advance(100, settled);
    expect(log).toEqual([['next', 1020]]);
    expect(() => system.pass(0)).toThrow('of a timer');
  });
});
