// Makes committed transactions durable, and lets replies wait for that.
//
// SQLite commits into the log synchronously. A flush makes commits durable; it may cover several,
// and may be asynchronous. Only replies (the output gate) and sync() wait for it. Atomicity is the
// subject of transactions.ts.
//
// A ticket represents the writes of one implicit transaction, or of one that has just committed.
// The first write opens it, and the flush that covers it settles it.
//
// Invariant: tickets settle in order, so waiting for the newest means waiting for all before it.

/** What this module needs of the log. */
export interface Flushable {
  /** True if something was written that is not durable. */
  readonly needsFlush: boolean;
  flush(): void | Promise<void>;
}

interface Ticket {
  /** Replies wait for it, because at least one of its writes was made without allowUnconfirmed. */
  confirmed: boolean;
  readonly settled: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export class Commits {
  readonly #log: Flushable;
  readonly #onFailure: (error: unknown) => void;
  readonly #onDurable: () => void;
  /** The open implicit transaction's. */
  #open: Ticket | undefined;
  /** Committed, waiting for a flush to begin; then those the running flush covers. */
  #committed: Ticket[] = [];
  #flushing: Ticket[] = [];

  /**
   * `onFailure` is called once, when a flush fails; nothing after that is reliable. `onDurable` is called
   * after each flush, when its tickets have settled.
   */
  constructor(log: Flushable, onFailure: (error: unknown) => void, onDurable = () => {}) {
    this.#log = log;
    this.#onFailure = onFailure;
    this.#onDurable = onDurable;
  }

  /** A write was made in the implicit transaction. */
  written(options: { confirmed: boolean }): void {
    this.#open ??= ticket();
    if (options.confirmed) this.#open.confirmed = true;
  }

  /**
   * The implicit transaction was rolled back before it committed, so there is nothing to wait for.
   */
  forgotten(): void {
    this.#open?.resolve();
    this.#open = undefined;
  }

  /** SQLite has committed: makes that durable, together with everything that waits. */
  committed(): void {
    const committed = this.#open ?? ticket(true);
    this.#open = undefined;
    this.#committed.push(committed);
    if (this.#flushing.length === 0) this.#flush();
  }

  /** A reply will name the last commit, so it waits for every commit so far. */
  named(): void {
    for (const ticket of this.#waiting()) ticket.confirmed = true;
    this.flush();
  }

  /** Flushes commits that no flush covers yet. */
  flush(): void {
    if (this.#log.needsFlush && this.#waiting().length === 0) this.committed();
  }

  /** Settles when every confirmed write so far is durable; undefined if they all are. */
  confirmation(): Promise<void> | undefined {
    return this.#newest((ticket) => ticket.confirmed);
  }

  /** Settles when every write so far is durable; undefined if they all are. */
  durability(): Promise<void> | undefined {
    return this.#newest(() => true);
  }

  /** The object is reset: everything that waits rejects. */
  fail(error: unknown): void {
    for (const { reject } of this.#waiting()) reject(error);
    this.#open = undefined;
    this.#committed = [];
    this.#flushing = [];
  }

  #flush(): void {
    if (!this.#log.needsFlush) {
      this.#settle(this.#committed.splice(0));
      return;
    }
    this.#flushing = this.#committed.splice(0);
    let flushed: void | Promise<void>;
    try {
      flushed = this.#log.flush();
    } catch (error) {
      this.#onFailure(error);
      return;
    }
    if (flushed === undefined) {
      this.#settle(this.#flushing.splice(0));
      return;
    }
    flushed.then(
      () => {
        this.#settle(this.#flushing.splice(0));
        if (this.#committed.length > 0) this.#flush();
      },
      (error) => this.#onFailure(error),
    );
  }

  #settle(tickets: Ticket[]): void {
    for (const { resolve } of tickets) resolve();
    this.#onDurable();
  }

  #newest(wanted: (ticket: Ticket) => boolean): Promise<void> | undefined {
    return this.#waiting().findLast(wanted)?.settled;
  }

  #waiting(): Ticket[] {
    return [...this.#flushing, ...this.#committed, ...(this.#open ? [this.#open] : [])];
  }
}

function ticket(confirmed = false): Ticket {
  let resolve = () => {};
  let reject: Ticket['reject'] = () => {};
  const settled = new Promise<void>((onDurable, onLost) => {
    resolve = onDurable;
    reject = onLost;
  });
  settled.catch(() => {}); // perhaps nothing waits; onFailure reports the failure
  return { confirmed, settled, resolve, reject };
}
