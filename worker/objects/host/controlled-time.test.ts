import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { IoContext } from '../../../src/shared/calls/io/io-context.ts';
import { undoAll } from '../../../src/shared/calls/io/replace-global.ts';
import { storageError } from '../../../src/shared/contract/errors.ts';
import { installSchedulerWait, installTimers } from '../../realm/globals/timers.ts';
import { createObjects, DurableObject } from '../../start/entries/node-objects.ts';
import { Clock } from '../clock/clock.ts';
import type { HostEnvironment } from '../instance/environment.ts';
import { ClockControl } from './clock-control.ts';
import { ObjectAlarms } from './object-alarms.ts';

const START_MS = Date.UTC(2030, 0, 1);

interface Waiting {
  wait(delayMs?: number, options?: { signal: unknown }): Promise<void>;
}
/** The host's `scheduler`, which the types of browsers lack. */
const scheduled = () => (globalThis as unknown as { scheduler: Waiting }).scheduler;

let log: [what: string, atMs: number][];

class Timed extends DurableObject {
  note(what: string): void {
    log.push([what, Date.now() - START_MS]);
  }

  later(delayMs: number, what: string): void {
    setTimeout(() => this.note(what), delayMs);
  }

  repeat(delayMs: number): void {
    let left = 3;
    const id = setInterval(() => {
      this.note(`${left}`);
      left -= 1;
      if (left === 0) clearTimeout(id);
    }, delayMs);
    expect(id).toBeTypeOf('number');
  }

  forever(): void {
    setInterval(() => this.note('tick'), 0);
  }

  fail(): void {
    this.ctx.abort('by the test');
  }

  cancelled(): void {
    clearInterval(setTimeout(() => this.note('never'), 5));
  }

  async wait(delayMs: number): Promise<void> {
    await scheduled().wait(delayMs);
    this.note('waited');
  }

  async waitWrongly(): Promise<unknown[]> {
    const errorOf = (wait: Promise<unknown>) => wait.catch(({ name, message }) => [name, message]);
    const controller = new AbortController();
    setTimeout(() => controller.abort(new RangeError('enough')), 10);
    return Promise.all([
      errorOf(scheduled().wait(1000, { signal: controller.signal })),
      errorOf(scheduled().wait(1000, { signal: AbortSignal.abort(new RangeError('already')) })),
      errorOf(scheduled().wait()),
      errorOf(scheduled().wait(1, { signal: 5 })),
      errorOf(scheduled().wait(-1)),
    ]);
  }

  dates(): unknown[] {
    class Sub extends Date {
      twice(): number {
        return 2 * this.getTime();
      }
    }
    const now = new Date();
    return [
      now.getTime() - START_MS,
      now instanceof Date && now.constructor === Date,
      Object.prototype.toString.call(now),
      new Sub().twice() - 2 * START_MS,
      new Sub() instanceof Date && new Sub() instanceof Sub,
      structuredClone(now) instanceof Date && structuredClone(now).getTime() - START_MS,
      Date.UTC(1970, 0, 2),
      Date.parse('1970-01-02'),
      new Date(1970, 0).getFullYear(),
      Number.isNaN(new Date(undefined as never).getTime()),
      Date() === now.toString(),
    ];
  }

  async remind(inMs: number): Promise<void> {
    await this.ctx.storage.setAlarm(Date.now() + inMs);
  }

  forgetReminder(afterMs: number): void {
    setTimeout(() => void this.ctx.storage.deleteAlarm(), afterMs);
  }

  async alarm(): Promise<void> {
    this.note(`alarm of ${this.ctx.id.name}`);
    await scheduled().wait(50);
    this.note('alarm ended');
  }
}

const start = () => createObjects({ Timed });
let objects: Awaited<ReturnType<typeof start>>;
const object = (name = 'a') => objects.env.Timed.getByName(name);

beforeEach(async () => {
  log = [];
  objects = await start();
  await objects.clock.set(START_MS);
});
afterEach(() => objects.close());

describe('time of object code', () => {
  test('[CLOCK9] object code’s timers run on the clock, each at its own time', async () => {
    await object().later(20, 'late');
    await object('b').later(10, 'early');
    await object().repeat(7);
    await object().cancelled();
    await objects.clock.advance(100);
    expect(log).toEqual([
      ['3', 7],
      ['early', 10],
      ['2', 14],
      ['late', 20],
      ['1', 21],
    ]);
  });

  test('[CLOCK10] Date tells the clock’s time, and is the same class in every other way', async () => {
    const outside = Date.now();
    expect(outside).not.toBe(START_MS);
    const day = 86_400_000;
    expect(await object().dates()).toEqual([
      0,
      true,
      '[object Date]',
      0,
      true,
      0,
      day,
      day,
      1970,
      true,
      true,
    ]);
    await objects.clock.resume();
    await object().note('resumed');
    expect(log[0]![1] + START_MS).toBeGreaterThanOrEqual(outside);
    expect(log[0]![1] + START_MS).toBeLessThan(outside + 60_000);
  });

  test('[CLOCK11] a timer that sets itself again without a delay lets time move, and ends with its object', async () => {
    await object().forever();
    await objects.clock.advance(5);
    expect(log.map(([, atMs]) => atMs)).toEqual([1, 2, 3, 4, 5]);
    await expect(object().fail()).rejects.toThrow('by the test');
    await objects.clock.advance(50);
    expect(log).toHaveLength(5);
  });

  test('[CLOCK12] scheduler.wait waits by the clock, and ends early by its signal', async () => {
    const waited = object().wait(1000);
    await objects.clock.advance(999);
    expect(log).toEqual([]);
    await objects.clock.advance(1);
    await waited;
    expect(log).toEqual([['waited', 1000]]);
    const wrong = object().waitWrongly();
    await objects.clock.advance(20);
    expect(await wrong).toEqual([
      ['RangeError', 'enough'],
      ['RangeError', 'already'],
      ['TypeError', 'scheduler.wait: takes a delay in milliseconds.'],
      ['TypeError', "scheduler.wait: takes an AbortSignal as the option 'signal'."],
      undefined,
    ]);
  });

  test('[CLOCK12] scheduler.wait is gone when the objects are', async () => {
    await objects.close();
    expect('scheduler' in globalThis).toBe(false);
  });
});

describe('runNextAlarm', () => {
  test('[CLOCK13] runs the next alarm to its end, also when it waits by the clock', async () => {
    await object('a').remind(10_000);
    await object('b').remind(5000);
    const ran = await objects.clock.runNextAlarm();
    expect(ran).toMatchObject({ className: 'Timed', dueTime: START_MS + 5000 });
    expect(ran?.id.name).toBe('b');
    expect(log).toEqual([
      ['alarm of b', 5000],
      ['alarm ended', 5050],
    ]);
    expect((await objects.clock.runNextAlarm())?.id.name).toBe('a');
    expect(await objects.clock.runNextAlarm()).toBeNull();
  });

  test('[CLOCK13] an alarm that is deleted on the way did not run', async () => {
    await object('a').remind(10_000);
    await object('a').forgetReminder(1000);
    expect(await objects.clock.runNextAlarm()).toBeNull();
    await object('a').remind(10_000);
    await object('a').forgetReminder(1000);
    await object('b').remind(20_000);
    expect((await objects.clock.runNextAlarm())?.id.name).toBe('b');
    expect(log.map(([what]) => what)).toEqual(['alarm of b', 'alarm ended']);
  });
});

describe('beneath', () => {
  const controlled = () =>
    new Clock({ now: () => START_MS, elapsed: () => 0, after: () => () => {} });
  const settled = async () => {};

  /** A scope whose running task is of a context that notes the results it receives. */
  function scopeOf(clock: Clock) {
    const ends = new Set<() => void>();
    const log: string[] = [];
    const context = {
      host: Object.assign(clock, { compatibilityFlags: [] }),
      reentry: () => (event: () => void) => {
        log.push('event');
        event();
      },
      retain: (onEnd: () => void) => {
        ends.add(onEnd);
        return () => ends.delete(onEnd);
      },
      onEnd: (told: () => void) => {
        ends.add(told);
        return () => ends.delete(told);
      },
    } as unknown as IoContext;
    const scope = { ...globalThis } as typeof globalThis & { scheduler: Waiting };
    const undo = [installTimers(scope, () => context), installSchedulerWait(scope, () => context)];
    const end = () => {
      for (const onEnd of [...ends]) onEnd();
    };
    return { scope, log, ends, end, undo: () => undoAll(undo) };
  }

  /** A signal, and how many listeners it has. */
  function countedSignal() {
    const { signal } = new AbortController();
    const added = new Set<unknown>();
    const { addEventListener, removeEventListener } = signal;
    signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
      added.add(args[1]);
      addEventListener.apply(signal, args);
    };
    signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
      added.delete(args[1]);
      removeEventListener.apply(signal, args);
    };
    return { signal, listeners: () => added.size };
  }

  test('[CLOCK11] an interval of an object that has ended is no work any more', async () => {
    const clock = controlled();
    const { scope, end, log, undo } = scopeOf(clock);
    scope.setInterval(() => {}, 10);
    await clock.advance(100, settled);
    expect(clock.hasWork).toBe(true);
    expect(log).toHaveLength(10);
    end();
    expect(clock.hasWork).toBe(false);
    await clock.advance(100, settled);
    expect(log).toHaveLength(10);
    undo();
  });

  test('[CLOCK12] the end of a wait comes through the gate, also by its signal', async () => {
    const clock = controlled();
    const { scope, log, ends, undo } = scopeOf(clock);
    const controller = new AbortController();
    const aborted = scope.scheduler.wait(10, { signal: controller.signal });
    controller.abort(new RangeError('enough'));
    await expect(aborted).rejects.toThrow('enough');
    expect(log).toEqual(['event']);
    expect(clock.hasWork).toBe(false);
    const waited = scope.scheduler.wait(10);
    await clock.advance(10, settled);
    await waited;
    expect(log).toEqual(['event', 'event']);
    expect(ends.size).toBe(0);
    undo();
  });

  test('[CLOCK12] a wait leaves nothing at its signal, however it ends', async () => {
    const clock = controlled();
    const { scope, ends, end, undo } = scopeOf(clock);
    const { signal, listeners } = countedSignal();
    const waited = scope.scheduler.wait(10, { signal });
    expect(listeners()).toBe(1);
    await clock.advance(10, settled);
    await waited;
    expect([listeners(), ends.size]).toEqual([0, 0]);
    void scope.scheduler.wait(10, { signal });
    expect(listeners()).toBe(1);
    end();
    expect(listeners()).toBe(0);
    undo();
  });

  test('[CLOCK13] an object that cannot be opened is an error, not a wait without end', async () => {
    const clock = controlled();
    const environment = {
      now: () => clock.now(),
      at: (timeMs, task) => clock.at(timeMs, task),
      after: (delayMs, task) => clock.after(delayMs, task),
      afterRealTime: () => () => {},
      nextTurn: (task) => void setImmediate(task),
      randomUint32: () => 0,
    } as Partial<HostEnvironment> as HostEnvironment;
    const alarms = new ObjectAlarms(environment, async () => {
      throw storageError('CORRUPT', 'The object cannot be read.');
    });
    const id = '0'.repeat(64);
    alarms.listed({ key: `Timed.${id}`, className: 'Timed', id, wakeMs: START_MS + 5 });
    const control = new ClockControl(clock, alarms, environment);
    await expect(control.runNextAlarm()).rejects.toMatchObject({ code: 'CORRUPT' });
    expect(control.now()).toBe(START_MS + 5);
  });
});
