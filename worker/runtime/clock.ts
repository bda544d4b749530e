// The time of a host: the system's, until somebody takes control of it.
//
// Under control time stands still; it moves when it is told to, and runs what is due on the way,
// each thing at its own time. Alarms, timers of object code, and what storage calls now, all are on
// this clock. Limits that guard against code which never ends stay on real time: they would
// otherwise never come while time stands still.
//
// Keeps true: nothing runs before its time by this clock; nothing that waits is lost when control is
// taken or given back.

import { storageError } from '../../src/contract/errors.ts';

/** What the clock stands on; a timer with `keepsAlive` is work, which a process must wait for. */
export interface SystemTime {
  now(): number;
  /** Runs the task after the delay; the result cancels it. */
  after(delayMs: number, task: () => void, keepsAlive: boolean): () => void;
}

/** Longest delay of a browser's timer; a longer wait is made of several. */
const TIMER_MS_MAX = 2 ** 31 - 1;

interface Timer {
  readonly dueMs: number;
  readonly task: () => void;
  readonly keepsAlive: boolean;
  /** Cancels the system's timer behind it; nothing while the clock is under control. */
  disarm: () => void;
}

export class Clock {
  readonly #system: SystemTime;
  /** In the order they were set, which decides between equal times. */
  readonly #timers = new Set<Timer>();
  /** The time it stands at, under control. */
  #heldMs: number | undefined;
  /** Control is exercised one call after the other. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(system: SystemTime) {
    this.#system = system;
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
    for (const { keepsAlive } of this.#timers) if (keepsAlive) return true;
    return false;
  }

  /** Runs the task when the delay has passed on this clock; the result cancels it. */
  after(delayMs: number, task: () => void, keepsAlive = false): () => void {
    const timer: Timer = {
      dueMs: this.now() + Math.max(0, delayMs),
      task,
      keepsAlive,
      disarm: NOTHING,
    };
    this.#timers.add(timer);
    if (!this.isControlled) this.#arm(timer);
    return () => {
      this.#timers.delete(timer);
      timer.disarm();
    };
  }

  /** Takes control, and stands at this time; what is overdue then runs. */
  set(timeMs: number, settled: () => Promise<void>): Promise<void> {
    checkTime('set', timeMs);
    return this.#control(() => {
      this.#hold(timeMs);
      return this.#runUntil(timeMs, settled);
    });
  }

  /**
   * Takes control, and moves on by this much, through everything that is due on the way. `settled`
   * is awaited after each: what it started is part of its moment.
   */
  advance(durationMs: number, settled: () => Promise<void>): Promise<void> {
    checkTime('advance', durationMs);
    return this.#control(() => {
      this.#hold(this.now());
      return this.#runUntil(this.now() + durationMs, settled);
    });
  }

  /** Gives control back: time is the system's, and what is overdue by it runs soon. */
  resume(): Promise<void> {
    return this.#control(async () => {
      this.#heldMs = undefined;
      for (const timer of this.#timers) this.#arm(timer);
    });
  }

  #control<T>(action: () => Promise<T>): Promise<T> {
    const result = this.#last.then(action);
    this.#last = result.catch(() => {});
    return result;
  }

  #hold(timeMs: number): void {
    this.#heldMs = timeMs;
    for (const timer of this.#timers) {
      timer.disarm();
      timer.disarm = NOTHING;
    }
  }

  async #runUntil(endMs: number, settled: () => Promise<void>): Promise<void> {
    await settled();
    for (let next = this.#next(endMs); next !== undefined; next = this.#next(endMs)) {
      this.#heldMs = Math.max(this.now(), next.dueMs);
      this.#timers.delete(next);
      next.task();
      await settled();
    }
    this.#heldMs = endMs;
  }

  #next(endMs: number): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.dueMs <= endMs && (first === undefined || timer.dueMs < first.dueMs)) first = timer;
    }
    return first;
  }

  #arm(timer: Timer): void {
    timer.disarm();
    const delayMs = Math.min(Math.max(0, timer.dueMs - this.#system.now()), TIMER_MS_MAX);
    timer.disarm = this.#system.after(
      delayMs,
      () => {
        // Timers may come early by a fraction, and a long wait is made of several.
        if (this.#system.now() < timer.dueMs) return this.#arm(timer);
        this.#timers.delete(timer);
        timer.task();
      },
      timer.keepsAlive,
    );
  }
}

function checkTime(operation: string, value: number): void {
  if (typeof value === 'number' && Number.isFinite(value) && value >= 0) return;
  throw storageError(
    'INVALID_ARGUMENT',
    `clock.${operation}: takes milliseconds, finite and not negative, not ${String(value)}.`,
  );
}

const NOTHING = () => {};
