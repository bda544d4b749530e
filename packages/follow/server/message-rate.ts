// Limits the rate of messages of each connection with a token bucket.
//
// Invariant: within n seconds, a connection sends at most n + 1 times the messages allowed per second.
//
// The buckets are in memory only. An object that has hibernated received no messages for a while, so its buckets are full.

interface Bucket {
  messagesLeft: number;
  countedAtMs: number;
}

export class MessageRate {
  readonly #perSecond: number;
  readonly #now: () => number;
  readonly #buckets = new Map<number, Bucket>();

  /** `now` returns milliseconds since the epoch. */
  constructor(perSecond: number, now: () => number) {
    this.#perSecond = perSecond;
    this.#now = now;
  }

  /** Counts a message; returns false if it exceeds the rate. */
  allows(connection: number): boolean {
    const nowMs = this.#now();
    const bucket = this.#buckets.get(connection) ?? {
      messagesLeft: this.#perSecond,
      countedAtMs: nowMs,
    };
    // Elapsed time is never negative, even if the wall clock was set back.
    const gainedMs = Math.max(0, nowMs - bucket.countedAtMs);
    const messagesLeft =
      Math.min(this.#perSecond, bucket.messagesLeft + (gainedMs / 1000) * this.#perSecond) - 1;
    this.#buckets.set(connection, { messagesLeft, countedAtMs: nowMs });
    return messagesLeft >= 0;
  }

  forget(connection: number): void {
    this.#buckets.delete(connection);
  }
}
