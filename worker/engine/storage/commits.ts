// Makes committed transactions durable, and lets replies wait for that.
//
// SQLite commits into the log synchronously. A flush makes commits durable; it may cover several,
// and may be asynchronous. Only replies (the output gate) and sync() wait for it. Atomicity is the
// subject of transactions.ts.
//
// A ticket represents the writes of one implicit transaction, or of a transaction that has just committed. The
// first write opens it, and the flush that covers it settles it.
//
// A flush takes longer than a commit. Commits that nobody waits for share one, a few milliseconds later; whoever
// comes to wait for them starts it.
//
// Invariant: tickets settle in order, so waiting for the newest means waiting for all before it. A ticket that
// somebody waits for is covered by a flush as soon as it is committed and no earlier flush runs.

import { assert } from '../../../src/shared/contract/invariant.ts';
import type { CommitAuthor } from '../../../src/shared/contract/storage.ts';
import { type Annotation, annotationOf } from '../log/annotation.ts';
import type { ObjectFiles } from '../log/object-files.ts';
import { type AccessPolicy, UNRESTRICTED } from './access-policy.ts';
import type { CommitScope, StorageEnvironment } from './storage-environment.ts';
import type { Transactions } from './transactions.ts';

/** Whether replies wait for a write. */
export interface Confirmation {
  readonly confirmed: boolean;
}

export const CONFIRMED: Confirmation = { confirmed: true };

/** The log's functions for this module. */
export interface Flushable {
  /** True if something was written that is not durable. */
  readonly needsFlush: boolean;
  flush(): void | Promise<void>;
}

/**
 * The delay of a flush that nobody waits for: hundreds of commits share it, and a power failure takes no older
 * commits.
 */
const FLUSH_DELAY_MS = 10;

interface Ticket {
  /** Replies wait for it, because at least one of its writes was made without allowUnconfirmed. */
  confirmed: boolean;
  /** Its flush is not put off: it is confirmed, or somebody waits for it. */
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
  /** The open implicit transaction's. */
  #open: Ticket | undefined;
  /** Committed, waiting for a flush to begin; then those the running flush covers. */
  #committed: Ticket[] = [];
  #flushing: Ticket[] = [];

  /**
   * `onFailure` is called once, when a flush fails; nothing after that is reliable. `onDurable` is called
   * after each flush, when its tickets have settled. `after` runs a flush that nobody waits for, in real
   * time; without it, that flush is not put off.
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

  /** A write was made in the implicit transaction. */
  written(options: Confirmation): void {
    this.#open ??= ticket();
    if (options.confirmed) confirm(this.#open);
  }

  /**
   * The implicit transaction was rolled back before it committed, so there is nothing to wait for.
   */
  forgotten(): void {
    this.#open?.resolve();
    this.#open = undefined;
  }

  /** SQLite has committed: makes that durable, together with everything before it. */
  committed({ isAwaited = false } = {}): void {
    const committed = this.#open ?? ticket(true);
    this.#open = undefined;
    committed.isAwaited ||= isAwaited;
    this.#committed.push(committed);
    this.#flushInTime();
  }

  /** A reply will name the last commit, so it waits for every commit so far. */
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

  /** Settles when every write so far is durable, and sees to that; undefined if they all are. */
  durability(): Promise<void> | undefined {
    const newest = this.#newest(() => true);
    this.#await(); // a flush that fails rejects it
    return newest;
  }

  /** The object is reset: everything that waits rejects. */
  fail(error: unknown): void {
    for (const { reject } of this.#waiting()) reject(error);
    this.#open = undefined;
    this.#committed = [];
    this.#flushing = [];
  }

  /** Somebody waits for every write so far. */
  #await(): void {
    for (const ticket of this.#waiting()) ticket.isAwaited = true;
    this.#flushInTime();
  }

  /** Flushes commits: now if somebody waits for them, otherwise soon. A running flush comes first. */
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
  settled.catch(() => {}); // perhaps nothing waits; onFailure reports the failure
  return { confirmed, isAwaited: confirmed, settled, resolve, reject };
}

/** The functions of `Transactions` for this module. */
type OpenTransaction = Pick<Transactions, 'isImplicit' | 'isPending' | 'commitImplicit'>;

const ONLY_SCOPE: CommitScope = { author: undefined, policy: UNRESTRICTED, hasWritten: false };

/**
 * Who makes the commits of an object: the author of the open transaction, and of operations that are commits of their own.
 *
 * Invariants: a commit has one author, and the writes of one scope are one commit or part of one. So every write asks first
 * (`beforeWrite`), whatever its kind: only the first write of a scope can find writes of another author, which are then
 * a commit without it. A transaction is that of who began it, with the first label that code in it was given.
 */
export class CommitAuthors {
  readonly #files: Pick<ObjectFiles, 'annotate'>;
  readonly #environment: Pick<StorageEnvironment, 'scope'>;
  /** Of the open transaction. */
  #author: Annotation | undefined;
  /** The scope that has asked last. */
  #scope: CommitScope | undefined;

  constructor(
    files: Pick<ObjectFiles, 'annotate'>,
    environment: Pick<StorageEnvironment, 'scope'>,
  ) {
    this.#files = files;
    this.#environment = environment;
  }

  /** What the running code may do. */
  get policy(): AccessPolicy {
    return this.#current.policy;
  }

  /** A commit of this author begins: of the running code, unless one is given. */
  begin(author = this.#current.author): void {
    this.#scope = this.#current;
    this.#author = author;
    this.#files.annotate(author);
  }

  /** The running code is about to write: ends the implicit transaction if it is another author's. */
  beforeWrite(transactions: OpenTransaction): void {
    const scope = this.#current;
    if (scope === this.#scope) return;
    if (scope.author !== this.#author) {
      if (transactions.isPending) {
        assert(!scope.hasWritten, 'the writes of one turn would be two commits');
        transactions.commitImplicit();
        assert(!transactions.isPending, 'a commit would have two authors');
      } else if (!transactions.isImplicit) this.#labelAs(scope.author);
    }
    scope.hasWritten = true;
    this.#scope = scope;
  }

  /** A statement that writes is about to run. A transaction that was begun admits no other author. */
  mustHaveAsked({ isImplicit }: OpenTransaction): void {
    assert(!isImplicit || this.#scope === this.#current, 'a write did not ask whose commit it is');
  }

  /** The author of a commit that an operation makes. */
  as(kind: CommitAuthor['kind']): Annotation {
    return annotationOf({ ...this.#current.author?.by, kind });
  }

  get #current(): CommitScope {
    return this.#environment.scope?.() ?? ONLY_SCOPE;
  }

  #labelAs(author: Annotation | undefined): void {
    const label = author?.by.label;
    if (label === undefined || this.#author === undefined) return;
    if (this.#author.by.label === undefined)
      this.begin(annotationOf({ ...this.#author.by, label }));
  }
}
