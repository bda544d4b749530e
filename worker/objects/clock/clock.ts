// The time of a host: the system's time, until a caller takes control of it.
//
// The system has two clocks. Delays (timers of object code, retries, idle time) follow the monotonic clock; dates
// (alarms, `Date`, and the time of a commit) follow the wall clock, which may be set forward and back. Under control,
// both clocks are one: time stands still; it advances on request, and runs due tasks on the way, each at its own time.
// Limits on code that never ends run in real time, because they would never be reached while time stands still.
//
// Invariant: no task runs before its time by this clock; no waiting task is lost when control is taken or given back;
// each task runs in a turn of its own. The queue asserts that no timer waits twice; a time is not asserted, because the
// system's clock may be set between the check and the start.

import { storageError } from '../../../src/shared/contract/errors.ts';
import {
  type ClockReading,
  type FirstTimer,
  QueuedTimer,
  WaitingTimers,
} from './waiting-timers.ts';

export class Clock {
  readonly #system: SystemTime;
  readonly #timers = new WaitingTimers();
  /** Runs the timers while nobody controls the clock. */
  readonly #systemTimers: SystemTimers;
  /**
   * The time at which the controlled clock stands; undefined while the clock follows the system. The time is a whole
   * number, and so is the difference below, so that both readings are exact: a timer would wait forever for a remainder
   * that is too small to add to a date.
   */
  #heldMs: number | undefined;
  /** How far the wall clock was ahead of the monotonic one when control was taken, in milliseconds. */
  #aheadMs = 0;
  /** The last call that controls the clock; the next one waits for it. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(system: SystemTime) {
    this.#system = system;
    this.#systemTimers = new SystemTimers(system, this.#timers);
  }

  // Functions that are passed on as they are: every call reads the time.
  /** Milliseconds since the epoch, by the wall clock. */
  readonly now = (): number => this.#heldMs ?? this.#system.now();

  /** Milliseconds that only go forward, unless somebody sets this clock back. */
  readonly elapsed = (): number => {
    return this.#heldMs === undefined ? this.#system.elapsed() : this.#heldMs - this.#aheadMs;
  };

  get isControlled(): boolean {
    return this.#heldMs !== undefined;
  }

  /** True while a timer of object code waits. */
  get hasWork(): boolean {
    return this.#timers.hasWork;
  }

  /** Runs the task when the delay has passed, whatever the wall clock does; the result cancels it. */
  after(delayMs: number, task: () => void, keepsAlive = false): () => void {
    const dueMs = this.elapsed() + Math.max(0, delayMs);
    return this.#add(new QueuedTimer(dueMs, task, { keepsAlive, isDate: false }));
  }

  /** Runs the task when the wall clock shows this time, or a later one; the result cancels it. */
  at(timeMs: number, task: () => void): () => void {
    return this.#add(new QueuedTimer(timeMs, task, { keepsAlive: false, isDate: true }));
  }

  /** Takes control and stops the clock at this time. Overdue tasks then run. */
  set(timeMs: number, settled: () => Promise<void>): Promise<void> {
    checkTime('set', timeMs);
    return this.#control(() => {
      const endMs = Math.ceil(timeMs);
      this.#hold(endMs);
      return this.#runUntil(endMs, settled);
    });
  }

  /**
   * Takes control and advances the clock by this much, through every task that is due on the way. `settled` is awaited
   * after each task: tasks that it started belong to its moment.
   */
  advance(durationMs: number, settled: () => Promise<void>): Promise<void> {
    checkTime('advance', durationMs, this.now());
    return this.#control(() => {
      this.#hold(this.now());
      return this.#runUntil(Math.ceil(this.now() + durationMs), settled);
    });
  }

  /**
   * Takes control and advances through due tasks until `found` returns a result. `found` returns undefined if there is
   * no result yet, and null if there will be none.
   */
  advanceTo<T>(found: () => T | null | undefined, settled: () => Promise<void>): Promise<T | null> {
    return this.#control(async () => {
      this.#hold(this.now());
      await settled();
      for (;;) {
        const result = found();
        if (result !== undefined) return result;
        const first = this.#first();
        if (first === undefined) return null;
        await this.#run(first, settled);
      }
    });
  }

  /** Ends control: the clock follows the system again, and overdue tasks run soon. */
  resume(): Promise<void> {
    return this.#control(async () => {
      this.#heldMs = undefined;
      this.#updateSystem();
    });
  }

  /** Called when the host was closed: waiting tasks no longer run. */
  close(): void {
    this.#systemTimers.stop();
    this.#timers.clear();
  }

  /** Runs the calls that control the clock one after the other. */
  #control<T>(action: () => Promise<T>): Promise<T> {
    const result = this.#last.then(action);
    this.#last = result.catch(() => {});
    return result;
  }

  #hold(timeMs: number): void {
    if (!this.isControlled) {
      this.#aheadMs = Math.floor(this.#system.now() - this.#system.elapsed());
    }
    this.#heldMs = Math.ceil(timeMs);
    this.#systemTimers.stop();
  }

  async #runUntil(endMs: number, settled: () => Promise<void>): Promise<void> {
    await settled();
    for (;;) {
      const first = this.#first();
      if (first === undefined || this.now() + first.leftMs > endMs) break;
      await this.#run(first, settled);
    }
    this.#heldMs = endMs;
  }

  #first(): FirstTimer | undefined {
    return this.#timers.first({ elapsedMs: this.elapsed(), nowMs: this.now() });
  }

  async #run({ timer, leftMs }: FirstTimer, settled: () => Promise<void>): Promise<void> {
    if (leftMs > 0) this.#heldMs = Math.ceil(this.now() + leftMs);
    this.#timers.remove(timer);
    try {
      timer.task();
    } catch (error) {
      // Throw the error uncaught, as when the system's timer runs the task: the caller that moves time is not at fault.
      this.#system.after(0, () => rethrow(error), false);
    }
    await settled();
  }

  #add(timer: QueuedTimer): () => void {
    this.#timers.add(timer);
    this.#updateSystem();
    return () => {
      this.#systemTimers.forget(timer);
      if (this.#timers.remove(timer)) this.#updateSystem();
    };
  }

  #updateSystem(): void {
    if (!this.isControlled) this.#systemTimers.update();
  }
}

function rethrow(error: unknown): never {
  throw error;
}

/** The last time that `Date` can represent; a later one would be invalid in the code of objects. */
const LAST_DATE_MS = 8.64e15;

function checkTime(operation: string, value: number, sinceMs = 0): void {
  if (typeof value === 'number' && value >= 0 && sinceMs + value <= LAST_DATE_MS) return;
  throw storageError(
    'INVALID_ARGUMENT',
    `clock.${operation}: takes milliseconds, not negative, up to the last time of a Date (${LAST_DATE_MS} ms), not ` +
      `${String(value)}.`,
  );
}

/** The system's time, on which a clock is based. */
export interface SystemTime {
  /** Milliseconds since the epoch, by the wall clock, which may be set forward and back. */
  now(): number;
  /** Milliseconds of a clock that only goes forward, as the system's timers do. */
  elapsed(): number;
  /** Runs the task after the delay; the result cancels it. `keepsAlive` says that a process must wait for the task. */
  after(delayMs: number, task: () => void, keepsAlive: boolean): () => void;
}

/**
 * Maximum wait of one system timer. A longer wait is split, because the system's timers do not notice that a device
 * slept or that its wall clock was set. So a date that came meanwhile starts at most this long afterwards.
 */
const TIMER_MS_MAX = 60_000;

/** The system's timer for the first waiting task. */
interface Wake {
  /** The time at which the timer is due, on the monotonic clock. */
  readonly atMs: number;
  readonly keepsAlive: boolean;
  readonly cancel: () => void;
}

/**
 * Runs the timers that wait on a clock by the system's time.
 *
 * Invariant: however many timers wait, the system has one timer for them, plus one for each that is due
 * and about to start; each starts in a turn of its own, and none before its time.
 */
class SystemTimers {
  readonly #system: SystemTime;
  readonly #waiting: WaitingTimers;
  #wake: Wake | undefined;
  /** Timers that are due, out of the queue, and about to start; the value cancels the start. */
  readonly #starting = new Map<QueuedTimer, () => void>();

  constructor(system: SystemTime, waiting: WaitingTimers) {
    this.#system = system;
    this.#waiting = waiting;
  }

  /** Called when the waiting tasks have changed: sets the system's timer for the first one. */
  update(): void {
    const reading = this.#reading();
    const { hasWork } = this.#waiting;
    const leftMs = this.#waiting.first(reading)?.leftMs;
    if (this.#isGood(leftMs, hasWork, reading)) return;
    this.#cancelWake();
    if (leftMs === undefined) return;
    const delayMs = Math.min(Math.max(0, leftMs), TIMER_MS_MAX);
    const cancel = this.#system.after(delayMs, () => this.#awake(), hasWork);
    this.#wake = { atMs: reading.elapsedMs + delayMs, keepsAlive: hasWork, cancel };
  }

  /** Called when a timer was cancelled while it was about to start. */
  forget(timer: QueuedTimer): void {
    this.#starting.get(timer)?.();
    this.#starting.delete(timer);
  }

  /** Runs nothing until the next `update`; a task about to start waits in the queue again. */
  stop(): void {
    this.#cancelWake();
    for (const [timer, cancel] of this.#starting) {
      cancel();
      this.#waiting.add(timer);
    }
    this.#starting.clear();
  }

  // A wake that comes too early does no harm, and costs less than a new one. But it must not keep a process alive for a
  // task that was cancelled.
  #isGood(leftMs: number | undefined, hasWork: boolean, { elapsedMs }: ClockReading): boolean {
    const wake = this.#wake;
    if (leftMs === undefined) return !wake?.keepsAlive;
    return wake !== undefined && wake.atMs <= elapsedMs + leftMs && wake.keepsAlive === hasWork;
  }

  #cancelWake(): void {
    this.#wake?.cancel();
    this.#wake = undefined;
  }

  // Perhaps no task is due: the system's timers may come a fraction early, and a long wait is split.
  #awake(): void {
    this.#wake = undefined;
    const reading = this.#reading();
    const first = this.#takeDue(reading);
    for (let next = first && this.#takeDue(reading); next; next = this.#takeDue(reading)) {
      this.#startLater(next);
    }
    this.update();
    first?.task();
  }

  #takeDue(reading: ClockReading): QueuedTimer | undefined {
    const first = this.#waiting.first(reading);
    if (first === undefined || first.leftMs > 0) return undefined;
    this.#waiting.remove(first.timer);
    return first.timer;
  }

  #reading(): ClockReading {
    return { elapsedMs: this.#system.elapsed(), nowMs: this.#system.now() };
  }

  #startLater(timer: QueuedTimer): void {
    const start = () => {
      this.#starting.delete(timer);
      timer.task();
    };
    this.#starting.set(timer, this.#system.after(0, start, timer.keepsAlive));
  }
}

// These are taken when the module is loaded, before a host replaces the globals, because the host's own time must never
// be an object's.
const { setTimeout, clearTimeout, performance, Date: SystemDate } = globalThis;

/** The platform's own time, on which a host's clock is based. */
export const systemTime: SystemTime = {
  now: () => SystemDate.now(),
  elapsed: () => performance.now(),
  after(delayMs, task) {
    const timer = setTimeout(task, delayMs);
    return () => clearTimeout(timer);
  },
};
