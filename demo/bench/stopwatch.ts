// Times one round of a row on one store: as many consecutive calls as fill a span of time, whose number the first
// round finds. At its end, the round checks that its writes are stored.

import { ROWS } from './rows.ts';
import type { Store } from './store.ts';

/** How long a round takes: long in comparison with a tick of the clock (0.1 ms), short enough for many rounds. */
const ROUND_MS = 100;
/**
 * How long the warm-up takes. Browsers compile functions only after many calls: until then every contender was 1.4 to
 * 2 times slower, measured over its first two hundred gets from a page.
 */
const WARM_MS = 400;
/** The shortest measurement in comparison with which a tick of the clock is small. */
const TOLD_MS = 15;
/** A call that takes longer than this is timed only once. */
const SLOW_MS = 1000;

export class Stopwatch {
  readonly #store: Store;
  readonly #counts = new Map<string, number>();
  /** The microseconds of the rows that take too long to be repeated, by name. */
  readonly #slow = new Map<string, number>();

  constructor(store: Store) {
    this.#store = store;
  }

  /**
   * Resolves to the microseconds of one `once`; null if the store lacks the operation. The first call only warms up.
   * @throws Error when a round of writes has made fewer commits than it must
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

/** Warms up and returns the milliseconds of one call, measured over the last calls. */
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
