// Random numbers from a seed; the same seed gives the same numbers.

export class Random {
  #state = 0;

  constructor(seed: number) {
    this.reseed(seed);
  }

  /** Starts again from this seed. */
  reseed(seed: number): void {
    // The seed is scrambled, so that adjacent seeds do not give similar rounds.
    this.#state = Math.imul(seed + 1, 0x9e3779b1) >>> 0 || 1;
    for (let i = 0; i < 4; i++) this.uint32();
  }

  uint32(): number {
    let x = this.#state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.#state = x >>> 0;
    return this.#state;
  }

  /** Returns an integer from 0 to `bound - 1`. */
  below(bound: number): number {
    return this.uint32() % bound;
  }

  /** Returns true about once in `count` times. */
  onceIn(count: number): boolean {
    return this.below(count) === 0;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!;
  }

  /** Returns the items in random order. */
  shuffle<T>(items: readonly T[]): T[] {
    const shuffled = [...items];
    for (let i = shuffled.length - 1; i > 0; i--) {
      const j = this.below(i + 1);
      [shuffled[i], shuffled[j]] = [shuffled[j]!, shuffled[i]!];
    }
    return shuffled;
  }
}
