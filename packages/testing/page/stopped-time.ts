// For tests: `setTimeout` and `Date.now` of the scope, whose time passes only when the test says so.
//
// Used where Vitest's fake timers cannot be: mutation testing runs tests without the state of Vitest.

import { vi } from 'vitest';

export class StoppedTime {
  #nowMs = Date.UTC(2030, 0, 1);
  readonly #timers = new Set<{ readonly dueMs: number; readonly task: () => void }>();
  readonly #date = vi.spyOn(Date, 'now').mockImplementation(() => this.#nowMs);
  /** How often a timer was told not to keep its process alive. */
  unrefs = 0;

  /** `isBrowser`: a timer is a number there, and an object in Node. */
  constructor(isBrowser = false) {
    vi.stubGlobal('setTimeout', (task: () => void, delayMs = 0) => {
      this.#timers.add({ dueMs: this.#nowMs + delayMs, task });
      return isBrowser ? this.#timers.size : { unref: () => void this.unrefs++ };
    });
  }

  /** Runs the timers that are due meanwhile, in order, and all that follows from each. */
  async pass(durationMs: number): Promise<void> {
    const endMs = this.#nowMs + durationMs;
    await settle();
    for (;;) {
      const [next] = [...this.#timers].sort((one, other) => one.dueMs - other.dueMs);
      if (next === undefined || next.dueMs > endMs) break;
      this.#timers.delete(next);
      this.#nowMs = next.dueMs;
      next.task();
      await settle();
    }
    this.#nowMs = endMs;
  }

  end(): void {
    this.#date.mockRestore();
    vi.unstubAllGlobals();
  }
}

async function settle(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
}
