// The clock of a simulated object: the elapsed time, and a wall clock that is set forward and back meanwhile.
//
// The model counts by the elapsed time. It knows when the wall clock has shown a time: once, several times, or never,
// if the clock was set forward beyond it.

/** The period between two settings of the wall clock. */
interface Reading {
  readonly fromMs: number;
  /** How far the wall clock is ahead of the elapsed time. */
  readonly aheadMs: number;
}

export class WallClock {
  /** The elapsed time at which the period begins. */
  elapsedMs: number;
  readonly #readings: [Reading, ...Reading[]];

  constructor(startMs: number) {
    this.elapsedMs = startMs;
    this.#readings = [{ fromMs: startMs, aheadMs: 0 }];
  }

  /** The time that the wall clock shows. */
  get nowMs(): number {
    return this.elapsedMs + this.#last.aheadMs;
  }

  get wasSet(): boolean {
    return this.#readings.length > 1;
  }

  /** Sets the wall clock forward, or back if the number is negative. */
  step(byMs: number): void {
    this.#readings.push({ fromMs: this.elapsedMs, aheadMs: this.#last.aheadMs + byMs });
  }

  /** Returns the time that the wall clock showed at a moment. */
  shownAt(elapsedMs: number): number {
    return elapsedMs + this.#readings.findLast(({ fromMs }) => fromMs <= elapsedMs)!.aheadMs;
  }

  /** Returns the moments at which the wall clock showed a time, or was set forward beyond it. */
  momentsOf(shownMs: number): number[] {
    const moments: number[] = [];
    for (const [i, { fromMs, aheadMs }] of this.#readings.entries()) {
      const before = this.#readings[i - 1];
      if (before && fromMs + before.aheadMs <= shownMs && shownMs < fromMs + aheadMs) {
        moments.push(fromMs);
      }
      const endMs = this.#readings[i + 1]?.fromMs ?? this.elapsedMs;
      const momentMs = shownMs - aheadMs;
      if (momentMs >= fromMs && momentMs <= endMs) moments.push(momentMs);
    }
    return moments;
  }

  /** The latest time that the wall clock has ever shown. */
  get latestMs(): number {
    return Math.max(this.#latestBeforeMs, this.nowMs);
  }

  /** The moment since which the wall clock shows only times that it had not shown before. */
  get inOrderFromMs(): number {
    if (!this.wasSet) return Number.NEGATIVE_INFINITY;
    return Math.max(this.#last.fromMs, this.#latestBeforeMs - this.#last.aheadMs);
  }

  /** The latest time that the wall clock had shown before it was last set. */
  get #latestBeforeMs(): number {
    const ends = this.#readings
      .slice(0, -1)
      .map(({ aheadMs }, i) => this.#readings[i + 1]!.fromMs + aheadMs);
    return Math.max(Number.NEGATIVE_INFINITY, ...ends);
  }

  get #last(): Reading {
    return this.#readings.at(-1)!;
  }
}
