// Confirmation: from a committed transaction to one that is on disk.
//
// SQLite commits into the log synchronously; the flush that makes a commit durable may cover many,
// and may be asynchronous. Only who must not speak too early waits here: replies (the output gate)
// and sync(). Atomicity is another question, answered in transactions.ts.
//
// A ticket stands for the writes of one implicit transaction, or of one that just committed. It is
// opened by the first write, and settled by the flush that covers it.
//
// Invariant: tickets settle in order, so waiting for the newest means waiting for all before it.

/** What this module needs of the log. */
export interface Flushable {
  /** True when something was written that is not on disk. */
  readonly needsFlush: boolean;
  flush(): void | Promise<void>;
}

interface Ticket {
  /** Replies wait for it: at least one of its writes was not allowUnconfirmed. */
  confirmed: boolean;
  readonly settled: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export class Commits {
  readonly #log: Flushable;
  readonly #onFailure: (error: unknown) => void;
  /** The open implicit transaction's. */
  #open: Ticket | undefined;
  /** Committed, waiting for a flush to begin; then those the running flush covers. */
  #committed: Ticket[] = [];
  #flushing: Ticket[] = [];

  /** `onFailure` is told, once, that a flush failed: nothing after it can be relied on. */
  constructor(log: Flushable, onFailure: (error: unknown) => void) {
    this.#log = log;
    this.#onFailure = onFailure;
  }

  /** A write was made in the implicit transaction. */
  written(options: { confirmed: boolean }): void {
    this.#open ??= ticket();
    if (options.confirmed) this.#open.confirmed = true;
  }

  /** The implicit transaction was rolled back before it committed: nothing is left to wait for. */
  forgotten(): void {
    this.#open?.resolve();
    this.#open = undefined;
  }

  /** SQLite committed: makes it durable, together with whatever waits. */
  committed(): void {
    const committed = this.#open ?? ticket(true);
    this.#open = undefined;
    this.#committed.push(committed);
    if (this.#flushing.length === 0) this.#flush();
  }

  /** A reply is about to name the last commit: it waits for every commit so far. */
  named(): void {
    for (const ticket of this.#waiting()) ticket.confirmed = true;
    this.flush();
  }

  /** Makes every commit durable that nothing else makes so. */
  flush(): void {
    if (this.#log.needsFlush && this.#waiting().length === 0) this.committed();
  }

  /** Settles when every confirmed write so far is on disk; undefined when they all are. */
  confirmation(): Promise<void> | undefined {
    return this.#newest((ticket) => ticket.confirmed);
  }

  /** Settles when every write so far is on disk; undefined when they all are. */
  durability(): Promise<void> | undefined {
    return this.#newest(() => true);
  }

  /** Rejects whoever waits: the object is reset. */
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
  settled.catch(() => {}); // nobody may be waiting; the failure itself is told by onFailure
  return { confirmed, settled, resolve, reject };
}
