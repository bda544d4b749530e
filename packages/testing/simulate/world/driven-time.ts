// The system's time of a simulated host. It stands still until it is advanced, which runs due timers. Its wall clock
// can be set separately, which does not affect timers.

import type { SystemTime } from '@ctx-storage/worker/objects';

interface Timer {
  readonly dueMs: number;
  readonly task: () => void;
}

export class DrivenTime implements SystemTime {
  #nowMs: number;
  /** How far the wall clock was set forward, in milliseconds. */
  #aheadMs = 0;
  #timers: Timer[] = [];

  constructor(nowMs: number) {
    this.#nowMs = nowMs;
  }

  now(): number {
    return this.#nowMs + this.#aheadMs;
  }

  elapsed(): number {
    return this.#nowMs;
  }

  /** Sets the wall clock forward, or back if the number is negative. */
  step(byMs: number): void {
    this.#aheadMs += byMs;
  }

  after(delayMs: number, task: () => void): () => void {
    const timer = { dueMs: this.#nowMs + Math.max(0, delayMs), task };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** The time until the first timer is due; undefined when none is set. */
  get nextMs(): number | undefined {
    if (this.#timers.length === 0) return undefined;
    return Math.max(0, Math.min(...this.#timers.map(({ dueMs }) => dueMs)) - this.#nowMs);
  }

  /** Advances the time; `turn` lets the event loop turn after each timer. */
  async advance(durationMs: number, turn: () => Promise<void>): Promise<void> {
    const endMs = this.#nowMs + durationMs;
    for (;;) {
      const due = this.#timers.filter(({ dueMs }) => dueMs <= endMs);
      const [first] = due.sort((a, b) => a.dueMs - b.dueMs);
      if (first === undefined) break;
      this.#timers = this.#timers.filter((other) => other !== first);
      this.#nowMs = Math.max(this.#nowMs, first.dueMs);
      first.task();
      await turn();
    }
    this.#nowMs = endMs;
  }
}
