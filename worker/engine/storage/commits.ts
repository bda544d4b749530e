// Makes committed transactions durable, and lets replies wait for that.
//
// SQLite commits into the log synchronously. A flush makes commits durable; it may cover several,
// and may be asynchronous. Only replies (the output gate) and sync() wait for it. Atomicity is the
// subject of transactions.ts.
//
// A ticket represents the writes of one implicit transaction, or of a transaction that has just committed. The
// first write opens it, and the flush that covers it settles it.
//
// A flush takes longer than a commit. Commits that nobody waits for share one flush a few milliseconds later. The
// first waiter starts that flush at once.
//
// Invariant: tickets settle in order, so waiting for the newest ticket means waiting for all before it. If somebody
// waits for a ticket, its flush begins as soon as its writes are committed and no earlier flush is running.

/** The options of a write that say whether replies wait for it. */
export interface Confirmation {
  readonly confirmed: boolean;
}

export const CONFIRMED: Confirmation = { confirmed: true };

/** The functions of the log that this module uses. */
export interface Flushable {
  /** True if the log has records that are not durable. */
  readonly needsFlush: boolean;
  flush(): void | Promise<void>;
}

/**
 * The delay of a flush that nobody waits for (our choice). Hundreds of commits share the flush, and a power failure
 * loses at most the commits of this time.
 */
const FLUSH_DELAY_MS = 10;

interface Ticket {
  /** If true, replies wait for this ticket, because at least one of its writes was made without `allowUnconfirmed`. */
  confirmed: boolean;
  /** If true, the flush is not delayed, because the ticket is confirmed or somebody waits for it. */
  isAwaited: boolean;
  readonly settled: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export class Commits {
  readonly #log: Flushable;
  readonly #onFailure: (error: unknown) => void;
  readonly #onDurable: () => void;
  readonly #after: ((delayMs: number, task: () => void) => void) | undefined;
  #isPutOff = false;
  /** The ticket of the open implicit transaction; undefined if it has written nothing. */
  #open: Ticket | undefined;
  /** The tickets of commits that no flush covers yet. */
  #committed: Ticket[] = [];
  /** The tickets that the running flush covers. */
  #flushing: Ticket[] = [];

  /**
   * `onFailure` is called once, when a flush fails; the storage is not reliable after that. `onDurable` is called
   * after each flush, when its tickets have settled. `after` delays a flush that nobody waits for, in real time;
   * without it, no flush is delayed.
   */
  constructor(
    log: Flushable,
    onFailure: (error: unknown) => void,
    onDurable = () => {},
    after?: (delayMs: number, task: () => void) => void,
  ) {
    this.#log = log;
    this.#onFailure = onFailure;
    this.#onDurable = onDurable;
    this.#after = after;
  }

  /** Called after each write in the implicit transaction: opens its ticket. */
  written(options: Confirmation): void {
    this.#open ??= ticket();
    if (options.confirmed) confirm(this.#open);
  }

  /** Called when the implicit transaction was rolled back: nothing is left to wait for, so its ticket resolves. */
  forgotten(): void {
    this.#open?.resolve();
    this.#open = undefined;
  }

  /** Called when SQLite has committed: makes the commit durable, together with every commit before it. */
  committed({ isAwaited = false } = {}): void {
    const committed = this.#open ?? ticket(true);
    this.#open = undefined;
    committed.isAwaited ||= isAwaited;
    this.#committed.push(committed);
    this.#flushInTime();
  }

  /** Called when a reply will contain the bookmark of the last commit: replies then wait for every commit so far. */
  named(): void {
    for (const ticket of this.#waiting()) confirm(ticket);
    void this.flush();
  }

  /** Flushes commits that no flush covers yet, and settles like `durability`. */
  flush(): Promise<void> | undefined {
    if (this.#log.needsFlush && this.#waiting().length === 0) this.#committed.push(ticket(true));
    return this.durability();
  }

  /** Settles when every confirmed write so far is durable; undefined if they all are. */
  confirmation(): Promise<void> | undefined {
    return this.#newest((ticket) => ticket.confirmed);
  }

  /** Starts the flush of every write so far, and settles when they are durable; undefined if they all are. */
  durability(): Promise<void> | undefined {
    const newest = this.#newest(() => true);
    this.#await(); // Called only now that `newest` was read: a flush that fails at once rejects that ticket.
    return newest;
  }

  /** Called when the object is reset: rejects every ticket. */
  fail(error: unknown): void {
    for (const { reject } of this.#waiting()) reject(error);
    this.#open = undefined;
    this.#committed = [];
    this.#flushing = [];
  }

  /** Marks every ticket as awaited, and flushes. */
  #await(): void {
    for (const ticket of this.#waiting()) ticket.isAwaited = true;
    this.#flushInTime();
  }

  /** Flushes commits: now if somebody waits for them, otherwise after a delay. A running flush ends first. */
  #flushInTime(): void {
    if (this.#committed.length === 0 || this.#flushing.length > 0) return;
    if (this.#after === undefined || this.#committed.some(({ isAwaited }) => isAwaited)) {
      this.#flush();
      return;
    }
    if (this.#isPutOff) return;
    this.#isPutOff = true;
    this.#after(FLUSH_DELAY_MS, () => {
      this.#isPutOff = false;
      for (const ticket of this.#committed) ticket.isAwaited = true;
      this.#flushInTime();
    });
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
        this.#flushInTime();
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

function confirm(ticket: Ticket): void {
  ticket.confirmed = true;
  ticket.isAwaited = true;
}

function ticket(confirmed = false): Ticket {
  let resolve = () => {};
  let reject: Ticket['reject'] = () => {};
  const settled = new Promise<void>((onDurable, onLost) => {
    resolve = onDurable;
    reject = onLost;
  });
  settled.catch(() => {}); // If nobody waits, the rejection must not be reported as unhandled: onFailure reports it.
  return { confirmed, isAwaited: confirmed, settled, resolve, reject };
}
