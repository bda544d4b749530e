// The timers that wait on one clock: delays, which end by the monotonic clock, and dates, which come by the wall clock.
//
// Invariant: the first timer to run is the one whose time comes first by its own clock; timers of equal time run in the
// order in which they were set.

import { assert } from '../../../src/shared/contract/invariant.ts';

/** One reading of both clocks, in milliseconds. */
export interface ClockReading {
  /** Milliseconds since some moment; only goes forward, whatever the wall clock does. */
  readonly elapsedMs: number;
  /** Milliseconds since the epoch, by the wall clock, which may be set. */
  readonly nowMs: number;
}

export interface FirstTimer {
  readonly timer: QueuedTimer;
  /** Milliseconds until the timer is due, by its own clock; zero or less if it is due. */
  readonly leftMs: number;
}

export class WaitingTimers {
  readonly #delays = new TimerQueue();
  readonly #dates = new TimerQueue();
  #added = 0;

  /** True if a process must wait for one of the timers. */
  get hasWork(): boolean {
    return this.#delays.hasWork || this.#dates.hasWork;
  }

  /** Adds a timer. A timer that was taken out before keeps its old order. */
  add(timer: QueuedTimer): void {
    if (timer.order < 0) timer.order = this.#added++;
    this.#queueOf(timer).add(timer);
  }

  /** Removes a timer; returns false if the timer does not wait. */
  remove(timer: QueuedTimer): boolean {
    return this.#queueOf(timer).remove(timer);
  }

  /** Returns the first timer to run; undefined when none waits. */
  first({ elapsedMs, nowMs }: ClockReading): FirstTimer | undefined {
    const delay = firstOf(this.#delays, elapsedMs);
    const date = firstOf(this.#dates, nowMs);
    if (delay === undefined || date === undefined) return delay ?? date;
    if (delay.leftMs !== date.leftMs) return delay.leftMs < date.leftMs ? delay : date;
    return delay.timer.order < date.timer.order ? delay : date;
  }

  clear(): void {
    this.#delays.clear();
    this.#dates.clear();
  }

  #queueOf({ isDate }: QueuedTimer): TimerQueue {
    return isDate ? this.#dates : this.#delays;
  }
}

function firstOf({ first }: TimerQueue, readingMs: number): FirstTimer | undefined {
  return first && { timer: first, leftMs: first.dueMs - readingMs };
}

/**
 * Timers in the order in which they are due; timers due at the same time are in the order in which they were set. A
 * binary heap in which each timer knows its place, so that a timer can be removed from the middle: most timers of a
 * host are cancelled, not run.
 */
export class QueuedTimer {
  readonly dueMs: number;
  readonly task: () => void;
  /** True if a process must wait for this timer. */
  readonly keepsAlive: boolean;
  /** True if the timer is due by the wall clock, false if by the monotonic clock. */
  readonly isDate: boolean;
  /** The number of the timer among all timers of its clock, set when it is first added; -1 before that. */
  order = -1;
  /** The index in the heap; -1 if the timer is not in it. */
  place = -1;

  constructor(dueMs: number, task: () => void, kind: { keepsAlive: boolean; isDate: boolean }) {
    this.dueMs = dueMs;
    this.task = task;
    this.keepsAlive = kind.keepsAlive;
    this.isDate = kind.isDate;
  }
}

export class TimerQueue {
  readonly #heap: QueuedTimer[] = [];
  #work = 0;

  /** True if a process must wait for one of the timers. */
  get hasWork(): boolean {
    return this.#work > 0;
  }

  /** The timer that is due first; undefined when there is none. */
  get first(): QueuedTimer | undefined {
    return this.#heap[0];
  }

  add(timer: QueuedTimer): void {
    assert(timer.place < 0, 'a timer waits twice');
    if (timer.keepsAlive) this.#work += 1;
    this.#rise(timer, this.#heap.length);
  }

  /** Removes a timer; returns false if the timer is not in the queue. */
  remove(timer: QueuedTimer): boolean {
    const { place } = timer;
    if (place < 0) return false;
    assert(this.#heap[place] === timer, 'a timer is not at its place');
    timer.place = -1;
    if (timer.keepsAlive) this.#work -= 1;
    const last = this.#heap.pop()!;
    if (last !== timer) {
      this.#sink(last, place);
      this.#rise(last, last.place);
    }
    return true;
  }

  clear(): void {
    for (const timer of this.#heap.splice(0)) timer.place = -1;
    this.#work = 0;
  }

  #rise(timer: QueuedTimer, from: number): void {
    let place = from;
    while (place > 0) {
      const above = (place - 1) >> 1;
      if (!isBefore(timer, this.#heap[above]!)) break;
      this.#put(this.#heap[above]!, place);
      place = above;
    }
    this.#put(timer, place);
  }

  #sink(timer: QueuedTimer, from: number): void {
    let place = from;
    for (;;) {
      const left = this.#heap[2 * place + 1];
      const right = this.#heap[2 * place + 2];
      const below = right !== undefined && isBefore(right, left!) ? right : left;
      if (below === undefined || isBefore(timer, below)) break;
      const next = below.place;
      this.#put(below, place);
      place = next;
    }
    this.#put(timer, place);
  }

  #put(timer: QueuedTimer, place: number): void {
    this.#heap[place] = timer;
    timer.place = place;
  }
}

function isBefore(one: QueuedTimer, other: QueuedTimer): boolean {
  return one.dueMs < other.dueMs || (one.dueMs === other.dueMs && one.order < other.order);
}
