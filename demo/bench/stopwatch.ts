// Times one round of a row on one store: as many calls one after the other as fill a span of time, which the
// first round finds out. Then the round is checked: it has written what it was to write.

import { ROWS } from './rows.ts';
import type { Store } from './store.ts';

/** Long beside a tick of the clock (0.1 ms), short enough for many rounds. */
const ROUND_MS = 60;
const WARM_MS = 15;
/** What takes longer is timed once. */
const SLOW_MS = 1000;

export class Stopwatch {
  readonly #store: Store;
  readonly #counts = new Map<string, number>();
  /** Microseconds of rows that take too long to be repeated. */
  readonly #slow = new Map<string, number>();

  constructor(store: Store) {
    this.#store = store;
  }

  /**
   * Microseconds of one `once`; null if the store has no such operation. The first call for a row only warms up.
   * @throws Error when a round that writes has committed less than it was to
   */
  async time(name: string): Promise<number | null> {
    const row = ROWS.find((row) => row.name === name)!;
    if (this.#store[row.needs] === undefined) return null;
    const once = () => row.once(this.#store);
    let count = this.#counts.get(name);
    if (count === undefined) {
      await row.prepare?.(this.#store);
      // Doubled until the clock tells something: the first calls compile and fill caches.
      let elapsedMs = 0;
      for (count = 1; elapsedMs < WARM_MS; count *= 2) elapsedMs = await repeat(count, once);
      if (elapsedMs > SLOW_MS) {
        await row.check?.(this.#store);
        this.#slow.set(name, (elapsedMs / (count / 2)) * 1000);
      }
      count = Math.max(1, Math.round(((count / 2) * ROUND_MS) / elapsedMs));
      this.#counts.set(name, count);
    }
    const slow = this.#slow.get(name);
    if (slow !== undefined) return slow;
    const before = await this.#store.commits?.();
    const elapsedMs = await repeat(count, once);
    await row.check?.(this.#store);
    if (before !== undefined && row.commits !== undefined) {
      const made = (await this.#store.commits!()) - before;
      if (made < count * row.commits)
        throw new Error(`${name}: ${made} commits in ${count} rounds`);
    }
    return (elapsedMs / count) * 1000;
  }
}

async function repeat(count: number, once: () => unknown): Promise<number> {
  const startMs = performance.now();
  for (let i = 0; i < count; i++) {
    const answer = once();
    if (typeof (answer as PromiseLike<unknown> | undefined)?.then === 'function') await answer;
  }
  return performance.now() - startMs;
}
