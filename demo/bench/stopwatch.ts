// Times one round of a row on one store: as many consecutive calls as fill a span of time; the first round
// finds their number. Then the round checks that its writes are stored.

import { ROWS } from './rows.ts';
import type { Store } from './store.ts';

/** Long beside a tick of the clock (0.1 ms), short enough for many rounds. */
const ROUND_MS = 100;
/**
 * Browsers compile functions that are called often; until then a call is slower: measured from a page, 1.4 to 2 times
 * for the first two hundred gets, of every contender.
 */
const WARM_MS = 400;
/** From here on, a tick of the clock is small in comparison with the measurement. */
const TOLD_MS = 15;
/** A call that takes longer is timed once. */
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
      const callMs = await warm(once);
      if (callMs > SLOW_MS) {
        await row.check?.(this.#store);
        this.#slow.set(name, callMs * 1000);
      }
      count = Math.max(1, Math.round(ROUND_MS / callMs));
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

/** Milliseconds of a call, from the last calls of the warm-up. */
async function warm(once: () => unknown): Promise<number> {
  let callMs = 0;
  for (let count = 1, warmMs = 0; warmMs < WARM_MS; ) {
    const elapsedMs = await repeat(count, once);
    callMs = elapsedMs / count;
    warmMs += elapsedMs;
    if (elapsedMs < TOLD_MS) count *= 2;
  }
  return callMs;
}

async function repeat(count: number, once: () => unknown): Promise<number> {
  const startMs = performance.now();
  for (let i = 0; i < count; i++) {
    const answer = once();
    if (typeof (answer as PromiseLike<unknown> | undefined)?.then === 'function') await answer;
  }
  return performance.now() - startMs;
}
