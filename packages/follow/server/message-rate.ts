// Limits the rate of messages, of each connection and of all together, with token buckets.
//
// Invariants:
//   within n seconds, a connection sends at most n + 1 times the messages that one may send per second
//   when all together send too many, a connection that sends no more than its share of them is not refused
//
// The buckets are in memory only. An object that has hibernated received no messages for a while, so its buckets are full.

/** The permitted messages per second. */
export interface MessageRates {
  readonly ofOne: number;
  readonly ofAll: number;
}

interface Bucket {
  messagesLeft: number;
  countedAtMs: number;
}

export class MessageRate {
  readonly #rates: MessageRates;
  readonly #now: () => number;
  readonly #buckets = new Map<number, Bucket>();
  readonly #shared: Bucket;

  /** `now` returns milliseconds since the epoch. */
  constructor(rates: MessageRates, now: () => number) {
    this.#rates = rates;
    this.#now = now;
    this.#shared = { messagesLeft: rates.ofAll, countedAtMs: now() };
  }

  /** Counts a message; returns false if it exceeds the rate of its connection, or its share of the rate of all. */
  allows(connection: number): boolean {
    const { ofOne, ofAll } = this.#rates;
    let own = this.#buckets.get(connection);
    if (own === undefined) {
      own = { messagesLeft: ofOne, countedAtMs: this.#now() };
      this.#buckets.set(connection, own);
    }
    take(own, ofOne, this.#now());
    if (own.messagesLeft < 0) return false;
    take(this.#shared, ofAll, this.#now());
    if (this.#shared.messagesLeft >= 0) return true;
    this.#shared.messagesLeft = 0;
    return ofOne - own.messagesLeft <= ofAll / this.#countActive();
  }

  forget(connection: number): void {
    this.#buckets.delete(connection);
  }

  /** Returns how many connections have sent a message within about a second. */
  #countActive(): number {
    const sinceMs = this.#now() - 1000;
    let count = 0;
    for (const { countedAtMs } of this.#buckets.values()) if (countedAtMs > sinceMs) count += 1;
    return count;
  }
}

/** Fills a bucket for the time since its last message, and takes one message out. */
function take(bucket: Bucket, perSecond: number, nowMs: number): void {
  // Elapsed time is never negative, even if the wall clock was set back.
  const gainedMs = Math.max(0, nowMs - bucket.countedAtMs);
  const filled = bucket.messagesLeft + (gainedMs / 1000) * perSecond;
  bucket.messagesLeft = Math.min(perSecond, filled) - 1;
  bucket.countedAtMs = nowMs;
}
