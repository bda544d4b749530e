// The time of a host: the system's, until somebody takes control of it.
//
// Under control time stands still; it moves when it is told to, and runs what is due on the way,
// each thing at its own time. Alarms, timers of object code, and what storage calls now, all are on
// this clock. Limits that guard against code which never ends stay on real time: they would
// otherwise never come while time stands still.
//
// Keeps true: nothing runs before its time by this clock; nothing that waits is lost when control is
// taken or given back; each thing runs in a turn of its own; however many wait, the system has one
// timer for them, and for what is due at once one each.

import { storageError } from '../../src/contract/errors.ts';
import { QueuedTimer, TimerQueue } from './timer-queue.ts';

/** What the clock stands on; a timer with `keepsAlive` is work, which a process must wait for. */
export interface SystemTime {
  now(): number;
  /** Runs the task after the delay; the result cancels it. */
  after(delayMs: number, task: () => void, keepsAlive: boolean): () => void;
}

/**
 * A longer wait is made of several: the system's timers stand still while a device sleeps, its clock
 * does not, so that what came due meanwhile is found this soon after it wakes.
 */
const TIMER_MS_MAX = 60_000;

/** The system's timer for the first that is due. */
interface Wake {
  readonly dueMs: number;
  readonly keepsAlive: boolean;
  readonly cancel: () => void;
}

export class Clock {
  readonly #system: SystemTime;
  readonly #timers = new TimerQueue();
  #wake: Wake | undefined;
  /** Due by the system's time, and each about to run in a turn of its own. */
  readonly #starting = new Map<QueuedTimer, () => void>();
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
    return this.#timers.hasWork;
  }

  /** Runs the task when the delay has passed on this clock; the result cancels it. */
  after(delayMs: number, task: () => void, keepsAlive = false): () => void {
    const timer = new QueuedTimer(this.now() + Math.max(0, delayMs), task, keepsAlive);
    this.#timers.add(timer);
    this.#arm();
    return () => {
      this.#starting.get(timer)?.();
      this.#starting.delete(timer);
      if (this.#timers.remove(timer)) this.#arm();
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

  /**
   * Takes control, and moves on through what is due until `found` gives a result: undefined is none
   * yet, null that there will be none.
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
      this.#arm();
    });
  }

  /** The host was closed: nothing that waits runs any more. */
  close(): void {
    this.#timers.clear();
    this.#wake?.cancel();
    this.#wake = undefined;
    for (const cancel of this.#starting.values()) cancel();
    this.#starting.clear();
  }

  #control<T>(action: () => Promise<T>): Promise<T> {
    const result = this.#last.then(action);
    this.#last = result.catch(() => {});
    return result;
  }

  #hold(timeMs: number): void {
    this.#heldMs = timeMs;
    this.#wake?.cancel();
    this.#wake = undefined;
    for (const [timer, cancel] of this.#starting) {
      cancel();
      this.#timers.add(timer);
    }
    this.#starting.clear();
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
      // Uncaught, as it is when the system's timer runs it: no failure of the one who moves time.
      this.#system.after(0, () => rethrow(error), false);
    }
    await settled();
  }

  // A wake that comes too early for what is left does no harm, and costs less than a new one; but it
  // must not keep a process alive for work that was cancelled.
  #arm(): void {
    if (this.isControlled) return;
    const { first, hasWork } = this.#timers;
    const wake = this.#wake;
    const isGood =
      first === undefined
        ? !wake?.keepsAlive
        : wake !== undefined && wake.dueMs <= first.dueMs && wake.keepsAlive === hasWork;
    if (isGood) return;
    wake?.cancel();
    this.#wake = undefined;
    if (first === undefined) return;
    const delayMs = Math.min(Math.max(0, first.dueMs - this.#system.now()), TIMER_MS_MAX);
    const cancel = this.#system.after(delayMs, () => this.#awake(), hasWork);
    this.#wake = { dueMs: first.dueMs, keepsAlive: hasWork, cancel };
  }

  // Timers may come early by a fraction, and a long wait is made of several.
  #awake(): void {
    this.#wake = undefined;
    const nowMs = this.#system.now();
    const { first } = this.#timers;
    if (first === undefined || first.dueMs > nowMs) {
      this.#arm();
      return;
    }
    this.#timers.remove(first);
    for (;;) {
      const next = this.#timers.first;
      if (next === undefined || next.dueMs > nowMs) break;
      this.#timers.remove(next);
      this.#starting.set(
        next,
        this.#system.after(0, () => this.#start(next), next.keepsAlive),
      );
    }
    this.#arm();
    first.task();
  }

  #start(timer: QueuedTimer): void {
    this.#starting.delete(timer);
    timer.task();
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
