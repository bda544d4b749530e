// The time of a host: the system's, until somebody takes control of it.
//
// Under control, time stands still; it moves when it is told to, and runs what is due on the way,
// each thing at its own time. Alarms, timers of object code, and what storage calls now, all follow
// this clock. Limits on code that never ends run in real time: while time stands still they would
// never be reached.
//
// Invariant: nothing runs before its time by this clock; nothing that waits is lost when control is
// taken or given back; each thing runs in a turn of its own.

import { storageError } from '../../src/contract/errors.ts';
import { type SystemTime, SystemTimers } from './system-timers.ts';
import { QueuedTimer, TimerQueue } from './timer-queue.ts';

export class Clock {
  readonly #system: SystemTime;
  readonly #timers = new TimerQueue();
  /** Runs the timers while nobody controls the clock. */
  readonly #systemTimers: SystemTimers;
  /** Where time stands under control; undefined: it is the system's. */
  #heldMs: number | undefined;
  /** The last call that controls the clock; the next one waits for it. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(system: SystemTime) {
    this.#system = system;
    this.#systemTimers = new SystemTimers(system, this.#timers);
  }

  /** Milliseconds since the epoch. */
  now(): number {
    return this.#heldMs ?? this.#system.now();
  }

  get isControlled(): boolean {
    return this.#heldMs !== undefined;
  }

  /** True when work waits for it: a timer of object code. */
  get hasWork(): boolean {
    return this.#timers.hasWork;
  }

  /** Runs the task when the delay has passed on this clock; the result cancels it. */
  after(delayMs: number, task: () => void, keepsAlive = false): () => void {
    const timer = new QueuedTimer(this.now() + Math.max(0, delayMs), task, keepsAlive);
    this.#timers.add(timer);
    this.#updateSystem();
    return () => {
      this.#systemTimers.forget(timer);
      if (this.#timers.remove(timer)) this.#updateSystem();
    };
  }

  /** Takes control and stops the clock at this time; what is overdue then runs. */
  set(timeMs: number, settled: () => Promise<void>): Promise<void> {
    checkTime('set', timeMs);
    return this.#control(() => {
      this.#hold(timeMs);
      return this.#runUntil(timeMs, settled);
    });
  }

  /**
   * Takes control and moves on by this much, through everything that is due on the way. `settled`
   * is awaited after each: what it started is part of its moment.
   */
  advance(durationMs: number, settled: () => Promise<void>): Promise<void> {
    checkTime('advance', durationMs);
    return this.#control(() => {
      this.#hold(this.now());
      return this.#runUntil(this.now() + durationMs, settled);
    });
  }

  /**
   * Takes control and moves on through what is due until `found` returns a result: undefined means
   * not yet, null that there will be none.
   */
  advanceTo<T>(found: () => T | null | undefined, settled: () => Promise<void>): Promise<T | null> {
    return this.#control(async () => {
      this.#hold(this.now());
      await settled();
      for (;;) {
        const result = found();
        if (result !== undefined) return result;
        const { first } = this.#timers;
        if (first === undefined) return null;
        await this.#run(first, settled);
      }
    });
  }

  /** Gives control back: time is the system's, and what is overdue by it runs soon. */
  resume(): Promise<void> {
    return this.#control(async () => {
      this.#heldMs = undefined;
      this.#updateSystem();
    });
  }

  /** The host was closed: nothing that waits runs any more. */
  close(): void {
    this.#systemTimers.stop();
    this.#timers.clear();
  }

  /** Calls that control the clock run one after the other. */
  #control<T>(action: () => Promise<T>): Promise<T> {
    const result = this.#last.then(action);
    this.#last = result.catch(() => {});
    return result;
  }

  #hold(timeMs: number): void {
    this.#heldMs = timeMs;
    this.#systemTimers.stop();
  }

  async #runUntil(endMs: number, settled: () => Promise<void>): Promise<void> {
    await settled();
    for (;;) {
      const { first } = this.#timers;
      if (first === undefined || first.dueMs > endMs) break;
      await this.#run(first, settled);
    }
    this.#heldMs = endMs;
  }

  async #run(timer: QueuedTimer, settled: () => Promise<void>): Promise<void> {
    this.#heldMs = Math.max(this.now(), timer.dueMs);
    this.#timers.remove(timer);
    try {
      timer.task();
    } catch (error) {
      // Uncaught, as when the system's timer runs it: it is not a failure of whoever moves time.
      this.#system.after(0, () => rethrow(error), false);
    }
    await settled();
  }

  #updateSystem(): void {
    if (!this.isControlled) this.#systemTimers.update();
  }
}

function rethrow(error: unknown): never {
  throw error;
}

function checkTime(operation: string, value: number): void {
  if (typeof value === 'number' && Number.isFinite(value) && value >= 0) return;
  throw storageError(
    'INVALID_ARGUMENT',
    `clock.${operation}: takes milliseconds, finite and not negative, not ${String(value)}.`,
  );
}
