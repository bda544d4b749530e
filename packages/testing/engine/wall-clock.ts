// The clock of a simulated object: time that passes, and a wall clock that is set forward and back meanwhile.
//
// The model counts by the time that passes. It knows when the wall clock has shown which time: once, several
// times, or never, if it was set forward beyond it.

/** The wall clock from one setting to the next. */
interface Reading {
  readonly fromMs: number;
  /** How far the wall clock is ahead of the time that passes. */
  readonly aheadMs: number;
}

export class WallClock {
  /** The time that passes. */
  elapsedMs: number;
  readonly #readings: [Reading, ...Reading[]];

  constructor(startMs: number) {
    this.elapsedMs = startMs;
    this.#readings = [{ fromMs: startMs, aheadMs: 0 }];
  }

  /** The time of the wall clock. */
  get nowMs(): number {
    return this.elapsedMs + this.#last.aheadMs;
  }

  get wasSet(): boolean {
    return this.#readings.length > 1;
  }

  /** Sets the wall clock forward, or back. */
  step(byMs: number): void {
    this.#readings.push({ fromMs: this.elapsedMs, aheadMs: this.#last.aheadMs + byMs });
  }

  /** The time of the wall clock at a moment. */
  shownAt(elapsedMs: number): number {
    return elapsedMs + this.#readings.findLast(({ fromMs }) => fromMs <= elapsedMs)!.aheadMs;
  }

  /** The moments at which the wall clock showed a time, or was set forward beyond it. */
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

  /** The latest time that it has ever shown. */
  get latestMs(): number {
    return Math.max(this.#latestBeforeMs, this.nowMs);
  }

  /** The moment from which on it shows only times that it had not shown before. */
  get inOrderFromMs(): number {
    if (!this.wasSet) return Number.NEGATIVE_INFINITY;
    return Math.max(this.#last.fromMs, this.#latestBeforeMs - this.#last.aheadMs);
  }

  /** The latest time that it had shown when it was set last. */
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
