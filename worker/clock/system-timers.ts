// Runs the timers of a queue by the system's time.
//
// Invariant: however many timers wait, the system has one timer for them, plus one for each that is due
// and about to start; each starts in a turn of its own, and none before its time.

import type { QueuedTimer, TimerQueue } from './timer-queue.ts';

/** What a clock stands on. */
export interface SystemTime {
  now(): number;
  /**
   * Runs the task after the delay; the result cancels it. `keepsAlive`: the task is work, and a process
   * waits for it.
   */
  after(delayMs: number, task: () => void, keepsAlive: boolean): () => void;
}

/**
 * A longer wait is split: the system's timers stand still while a device sleeps, and its clock does
 * not. So what came due meanwhile starts at most this long after it wakes.
 */
const TIMER_MS_MAX = 60_000;

/** The system's timer for the first that is due. */
interface Wake {
  readonly dueMs: number;
  readonly keepsAlive: boolean;
  readonly cancel: () => void;
}

export class SystemTimers {
  readonly #system: SystemTime;
  readonly #queue: TimerQueue;
  #wake: Wake | undefined;
  /** Due and out of the queue, each about to start; the value cancels that. */
  readonly #starting = new Map<QueuedTimer, () => void>();

  constructor(system: SystemTime, queue: TimerQueue) {
    this.#system = system;
    this.#queue = queue;
  }

  /** The queue has changed: sees to the system's timer for the first that is due. */
  update(): void {
    const { first, hasWork } = this.#queue;
    if (this.#isGood(first, hasWork)) return;
    this.#cancelWake();
    if (first === undefined) return;
    const delayMs = Math.min(Math.max(0, first.dueMs - this.#system.now()), TIMER_MS_MAX);
    const cancel = this.#system.after(delayMs, () => this.#awake(), hasWork);
    this.#wake = { dueMs: first.dueMs, keepsAlive: hasWork, cancel };
  }

  /** The timer was cancelled while it was about to start. */
  forget(timer: QueuedTimer): void {
    this.#starting.get(timer)?.();
    this.#starting.delete(timer);
  }

  /** Runs nothing until the next `update`; what was about to start waits in the queue again. */
  stop(): void {
    this.#cancelWake();
    for (const [timer, cancel] of this.#starting) {
      cancel();
      this.#queue.add(timer);
    }
    this.#starting.clear();
  }

  // A wake that comes too early does no harm, and costs less than a new one; but it must not keep a
  // process alive for work that was cancelled.
  #isGood(first: QueuedTimer | undefined, hasWork: boolean): boolean {
    const wake = this.#wake;
    if (first === undefined) return !wake?.keepsAlive;
    return wake !== undefined && wake.dueMs <= first.dueMs && wake.keepsAlive === hasWork;
  }

  #cancelWake(): void {
    this.#wake?.cancel();
    this.#wake = undefined;
  }

  // The system's timers may come early by a fraction, and a long wait is split: nothing may be due.
  #awake(): void {
    this.#wake = undefined;
    const nowMs = this.#system.now();
    const first = this.#takeDue(nowMs);
    for (let next = first && this.#takeDue(nowMs); next; next = this.#takeDue(nowMs)) {
      this.#startLater(next);
    }
    this.update();
    first?.task();
  }

  #takeDue(nowMs: number): QueuedTimer | undefined {
    const { first } = this.#queue;
    if (first === undefined || first.dueMs > nowMs) return undefined;
    this.#queue.remove(first);
    return first;
  }

  #startLater(timer: QueuedTimer): void {
    const start = () => {
      this.#starting.delete(timer);
      timer.task();
    };
    this.#starting.set(timer, this.#system.after(0, start, timer.keepsAlive));
  }
}
