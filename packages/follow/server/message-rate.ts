// The messages of each connection in a second, bounded: a bucket for each, which time fills.
//
// Invariant: in n seconds, a connection gets through with the messages of n + 1 seconds, at most.
//
// Kept in memory: an object that hibernates has had a pause.

interface Bucket {
  left: number;
  atMs: number;
}

export class MessageRate {
  readonly #perSecond: number;
  readonly #now: () => number;
  readonly #buckets = new Map<number, Bucket>();

  /** `now`: milliseconds since the epoch. */
  constructor(perSecond: number, now: () => number) {
    this.#perSecond = perSecond;
    this.#now = now;
  }

  /** Counts a message; false: it is one too many. */
  takes(connection: number): boolean {
    const nowMs = this.#now();
    const bucket = this.#buckets.get(connection) ?? { left: this.#perSecond, atMs: nowMs };
    // The wall clock may be set back.
    const gainedMs = Math.max(0, nowMs - bucket.atMs);
    const left = Math.min(this.#perSecond, bucket.left + (gainedMs / 1000) * this.#perSecond) - 1;
    this.#buckets.set(connection, { left, atMs: nowMs });
    return left >= 0;
  }

  forget(connection: number): void {
    this.#buckets.delete(connection);
  }
}
