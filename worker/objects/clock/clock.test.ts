import { describe, expect, test } from 'vitest';
import { Clock } from './clock.ts';

/** The system's time, turned by the test. */
class FakeSystem {
  nowMs = 1000;
  /** How far the wall clock is ahead of the timers' one. */
  aheadMs = 0;
  timers = new Set<{ dueMs: number; task: () => void; keepsAlive: boolean }>();
  now = () => this.nowMs + this.aheadMs;
  elapsed = () => this.nowMs;
  after = (delayMs: number, task: () => void, keepsAlive: boolean) => {
    const timer = { dueMs: this.nowMs + delayMs, task, keepsAlive };
    this.timers.add(timer);
    return () => void this.timers.delete(timer);
  };
  /** Its wall clock goes on, its timers do not; so it looks when somebody sets the wall clock. */
  sleep(durationMs: number) {
    this.aheadMs += durationMs;
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

  test('[CLOCK3] due timers run in order, at their own time, also timers set on the way', async () => {
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

  test('[CLOCK5] waiting timers move over when control ends, and run when overdue', async () => {
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

  test('[CLOCK6] calls that control run one after the other, and wait for the tasks they started', async () => {
    const { clock, log } = make();
    let settle = () => {};
    const slowly = () =>
      new Promise<void>((resolve) => {
        settle = resolve;
      });
    clock.after(10, () => log.push(['a', clock.now()]));
    const first = clock.advance(10, slowly);
    const second = clock.advance(10, settled);
    const nowMs = second.then(() => clock.now());
    const last = clock.resume();
    await Promise.resolve();
    settle();
    await new Promise((resolve) => setImmediate(resolve));
    expect(log).toEqual([['a', 1010]]);
    expect([clock.now(), clock.isControlled]).toEqual([1010, true]);
    settle();
    expect(await nowMs).toBe(1020);
    await Promise.all([first, last]);
    expect(clock.isControlled).toBe(false);
  });

  test('[CLOCK6] a call that fails does not keep the next from running', async () => {
    const { clock } = make();
    const failing = clock.advance(10, () => Promise.reject(new Error('mine')));
    const next = clock.advance(10, settled);
    await expect(failing).rejects.toThrow('mine');
    await next;
    expect(clock.now()).toBe(1010);
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

  test('[CLOCK7] a time that no Date can show is refused; the last one is accepted', async () => {
    const { clock } = make();
    const refused = expect.objectContaining({ name: 'TypeError', code: 'INVALID_ARGUMENT' });
    expect(() => clock.set(8.64e15 + 1, settled)).toThrow(refused);
    expect(() => clock.advance(8.64e15, settled)).toThrow(refused);
    expect(clock.isControlled).toBe(false);
    await clock.set(8.64e15, settled);
    expect(() => clock.advance(1, settled)).toThrow(refused);
    expect(clock.now()).toBe(8.64e15);
  });

  test('[CLOCK8] a date that came while the device slept runs within a minute of its waking', () => {
    const { system, clock, log } = make();
    const hourMs = 3_600_000;
    clock.at(1000 + hourMs, () => log.push(['fired', clock.now()]));
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

  test('[CLOCK17] a delay takes its time, whatever is done to the wall clock', () => {
    for (const stepMs of [-3_600_000, 3_600_000, -86_400_000 * 400, 86_400_000 * 400]) {
      const { system, clock, log } = make();
      clock.after(1000, () => log.push(['short', system.nowMs]));
      clock.after(150_000, () => log.push(['long', system.nowMs]));
      system.pass(300);
      system.aheadMs += stepMs;
      clock.after(1000, () => log.push(['later', system.nowMs]));
      for (let i = 0; i < 2000; i++) system.pass(100);
      expect(log).toEqual([
        ['short', 2000],
        ['later', 2300],
        ['long', 151_000],
      ]);
    }
  });

  test('[CLOCK17] under control, whoever looks at the time when a delay has passed sees that it has', async () => {
    // Readings of browsers and Node: the monotonic one has fractions, and a date is too large to hold them.
    const system = new FakeSystem();
    const dates = 1_764_000_000_000;
    for (const fractionMs of [0.1, 0.3, 1 / 3, 0.7, 0.123456789, 0.987654321]) {
      system.nowMs += 1000 + fractionMs;
      system.now = () => Math.floor(dates + system.nowMs);
      const clock = new Clock(system);
      let looks = 0;
      const waitUntil = (dueMs: number) => {
        looks += 1;
        if (looks > 100) throw new Error('It looks at the time without end.');
        const leftMs = dueMs - clock.elapsed();
        if (leftMs > 0) clock.after(leftMs, () => waitUntil(dueMs));
      };
      for (let i = 0; i < 10; i++) waitUntil(clock.elapsed() + 10_000 + i * fractionMs);
      await clock.advance(30_000 + fractionMs, settled);
      for (let i = 0; i < 10; i++) waitUntil(clock.elapsed() + 10_000 + i * fractionMs);
      await clock.advance(30_000, settled);
      expect(looks).toBe(40);
    }
  });

  test('[CLOCK16] a date waits for the wall clock: set back, it comes later', () => {
    const { system, clock, log } = make();
    clock.at(101_000, () => log.push(['date', clock.now()]));
    system.pass(50_000);
    system.aheadMs = -40_000;
    system.pass(50_000);
    system.pass(39_999);
    expect(log).toEqual([]);
    system.pass(1);
    system.pass(60_000);
    expect(log).toHaveLength(1);
    expect(log[0]![1]).toBeGreaterThanOrEqual(101_000);
  });

  test('[CLOCK16] a date waits for the wall clock: set forward beyond it, it comes within a minute', () => {
    const { system, clock, log } = make();
    clock.at(3_601_000, () => log.push(['date', system.nowMs]));
    system.pass(10_000);
    system.aheadMs = 86_400_000;
    system.pass(50_000);
    expect(log).toEqual([['date', 61_000]]);
  });

  test('[CLOCK3] delays and dates run in one order while the clock is controlled', async () => {
    const { system, clock, log } = make();
    system.aheadMs = 500_000;
    clock.at(501_020, () => log.push(['date', clock.now()]));
    clock.after(10, () => log.push(['delay', clock.now()]));
    clock.after(20, () => log.push(['set later, due together', clock.now()]));
    clock.after(30, () => log.push(['last', clock.now()]));
    await clock.advance(100, settled);
    expect(log).toEqual([
      ['delay', 501_010],
      ['date', 501_020],
      ['set later, due together', 501_020],
      ['last', 501_030],
    ]);
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

  test('[CLOCK14] timers due at once run in order, each in a turn of its own', async () => {
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

  test('[CLOCK14] a timer that was about to start when control was taken keeps its place among others of its time', async () => {
    const { system, clock, log } = make();
    for (const name of ['first', 'about to start']) clock.after(10, () => log.push([name, 0]));
    system.pass(10);
    expect(log).toEqual([['first', 0]]);
    clock.after(0, () => log.push(['set later', 0]));
    await clock.set(5000, settled);
    expect(log.map(([name]) => name)).toEqual(['first', 'about to start', 'set later']);
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

  test('[CLOCK15] the system reports an error of a due timer; time moves on', async () => {
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
