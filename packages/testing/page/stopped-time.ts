// Replaces `setTimeout` and `Date.now` of the scope by fakes whose time passes only when the test says so.
//
// It is used where Vitest's fake timers cannot be, because mutation testing runs tests without the state of Vitest.

import { vi } from 'vitest';

export class StoppedTime {
  #nowMs = Date.UTC(2030, 0, 1);
  readonly #timers = new Set<{ readonly dueMs: number; readonly task: () => void }>();
  readonly #date = vi.spyOn(Date, 'now').mockImplementation(() => this.#nowMs);
  /** How often `unref` was called on a timer. */
  unrefs = 0;

  /** `isBrowser` makes a timer a number, as in browsers, and not an object, as in Node. */
  constructor(isBrowser = false) {
    vi.stubGlobal('setTimeout', (task: () => void, delayMs = 0) => {
      this.#timers.add({ dueMs: this.#nowMs + delayMs, task });
      return isBrowser ? this.#timers.size : { unref: () => void this.unrefs++ };
    });
  }

  /** Advances the time, and runs the timers that become due, in order, with everything that follows from each. */
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
