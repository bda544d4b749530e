// The database file as SQLite reads and writes it, and the point at which its writes become a commit.
//
// Invariants: a commit is one write to the log, however much was written before it. A transaction
// that fails is dropped at once: SQLite continues to write after a failure, and none of that reaches
// a file.

import { storageError } from '../../../src/shared/contract/errors.ts';
import { assert } from '../../../src/shared/contract/invariant.ts';
import { type DatabaseFile, type Flushing, isDiskFull } from '../file/file.ts';

import type { PendingRestore } from './checkpoint-file.ts';
import type { CommitLog } from './commit-log.ts';
import type { CommittedPages } from './committed-pages.ts';
import type { EarlierPages, ReadPage } from './earlier-pages.ts';
import type { MainFile } from './main-file.ts';
import { PAGE_BYTES } from './pages.ts';
import { PastStates } from './past-states.ts';
import { TransactionPages } from './transaction-pages.ts';

/**
 * The calls that SQLite may still make after a failure. `refused`: a write failed, so the transaction
 * must not commit; reads and its sync fail. `rollingBack`: a sync failed, so everything SQLite writes
 * before its next sync restores content that is already there. `ended`: the files are closed or
 * closing.
 */
type Failed =
  | { readonly kind: 'no' }
  | { readonly kind: 'refused'; readonly error: unknown }
  | { readonly kind: 'rollingBack' }
  | { readonly kind: 'ended' };

/** Limits of memory, in bytes. */
interface Bounds {
  /** The bytes of changed pages of the running transaction that stay in memory. */
  readonly spillBytes: number;
  /** The bytes of pages of open past states that stay in memory. */
  readonly pastBytes: number;
  /** The bytes of earlier pages that a restore collects before it applies them. */
  readonly undoBytes: number;
  /** True in tests and in the simulation: slow assertions run too. */
  readonly isChecked: boolean;
}

// One buffer for all objects of a worker: every use ends within one turn of the event loop.
const wholePage = new Uint8Array(PAGE_BYTES);

export interface PagesOwner {
  /**
   * Deletes history on a full disk that the log alone cannot delete; returns false if there was no room within this
   * call.
   */
  makeRoom(): boolean;
}

/** The part of EarlierPages that `undo` needs. */
export type UndoneState = Pick<EarlierPages, 'pageIndexes' | 'apply' | 'pageCount'>;

export class PageStore implements DatabaseFile {
  /** The state before the running transaction. */
  readonly committed: CommittedPages;
  /** The past states that are open. */
  readonly past: PastStates;
  /** Maximum bytes of earlier pages that a restore collects before it applies them. */
  readonly undoBytes: number;
  /** The annotation of the next commit; null if it has none. */
  annotation: Uint8Array | null = null;
  readonly #log: CommitLog;
  readonly #owner: PagesOwner | undefined;
  readonly #transaction: TransactionPages;
  /**
   * The restored state that SQLite reads although it is not committed yet, and the task that commits it; null if none.
   */
  #shown: { readonly earlier: EarlierPages | null; readonly commit: () => void } | null = null;
  #isHeld = false;
  #failed: Failed = { kind: 'no' };

  constructor(
    committed: CommittedPages,
    main: MainFile,
    log: CommitLog,
    { spillBytes, pastBytes, undoBytes, isChecked }: Bounds,
    owner?: PagesOwner,
  ) {
    this.committed = committed;
    this.past = new PastStates(committed, pastBytes, undoBytes);
    this.undoBytes = undoBytes;
    this.#log = log;
    this.#owner = owner;
    this.#transaction = new TransactionPages(committed, main, log, spillBytes, isChecked);
  }

  // ---- Called by SQLite.

  read(target: Uint8Array, offset: number): boolean {
    if (this.#failed.kind === 'refused') throw this.#failed.error;
    if (this.#failed.kind === 'ended') throw storageClosed('read');
    // A rollback reads nothing, so this read belongs to the next transaction.
    this.#failed = { kind: 'no' };
    const pageIndex = Math.floor(offset / PAGE_BYTES);
    const start = offset - pageIndex * PAGE_BYTES;
    if (start + target.length > PAGE_BYTES) {
      throw storageError('INTERNAL', `read: ${target.length} bytes at ${offset} span two pages.`);
    }
    if (pageIndex >= this.pageCount) {
      target.fill(0);
      return false;
    }
    if (target.length === PAGE_BYTES) {
      this.#readPage(pageIndex, target);
    } else {
      this.#readPage(pageIndex, wholePage);
      target.set(wholePage.subarray(start, start + target.length));
    }
    return true;
  }

  write(bytes: Uint8Array, offset: number): void {
    const pageIndex = offset / PAGE_BYTES;
    if (bytes.length !== PAGE_BYTES || !Number.isInteger(pageIndex)) {
      throw storageError(
        'INTERNAL',
        `write: ${bytes.length} bytes at ${offset}; pages of ${PAGE_BYTES} bytes are expected.`,
      );
    }
    if (this.#failed.kind !== 'no') return;
    try {
      this.#shown?.commit();
      this.#transaction.write(pageIndex, bytes);
    } catch (error) {
      this.#refuse(error);
    }
  }

  truncate(sizeBytes: number): void {
    if (this.#failed.kind !== 'no') return;
    try {
      this.#shown?.commit();
    } catch (error) {
      this.#refuse(error);
    }
    this.#transaction.truncate(Math.ceil(sizeBytes / PAGE_BYTES));
  }

  sizeBytes(): number {
    return this.pageCount * PAGE_BYTES;
  }

  commit(): void {
    if (this.#isHeld) return;
    const failed = this.#failed;
    if (failed.kind === 'ended') throw storageClosed('commit');
    this.#failed = { kind: 'no' };
    if (failed.kind === 'rollingBack') return;
    try {
      if (failed.kind === 'refused') throw failed.error;
      this.commitAs(0, this.#log.nextSequence, this.#takeAnnotation());
    } catch (error) {
      // SQLite rolls back by writing pages. Free pages may then differ from their old content; if
      // they counted as changes, the rollback would need the disk.
      this.rollback();
      this.#failed = { kind: 'rollingBack' };
      throw error;
    }
  }

  endRollback(): void {
    if (this.#isHeld || this.#failed.kind === 'ended') return;
    this.#failed = { kind: 'no' };
    this.#dropUnchanged();
  }

  // ---- Called by the rest of the log.

  /** Reads a page of the running transaction. */
  readonly readPage: ReadPage = (pageIndex, target) => this.#transaction.read(pageIndex, target);

  /** Commits the transaction that `isHeld` collected, with these flags. */
  releaseAs(flags: number): void {
    this.#isHeld = false;
    this.commitAs(flags, this.#log.nextSequence, this.#takeAnnotation());
  }

  /** While true, SQLite's commits collect in one running transaction; setting it to false commits. */
  set isHeld(isHeld: boolean) {
    this.#isHeld = isHeld;
    if (!isHeld) this.commit();
  }

  /**
   * Commits the running transaction under a sequence. Does nothing if it changed nothing and has no
   * flags. If this throws, the transaction still exists and must be rolled back.
   */
  commitAs(flags: number, sequence: number, annotation: Uint8Array | null): void {
    this.#transaction.fillHoles();
    if (flags === 0 && this.#log.hasOpenParts && this.#transaction.isUnchanged()) {
      this.#dropUnchanged();
      return;
    }
    if (!this.#append(flags, sequence, annotation)) {
      this.#dropUnchanged();
      return;
    }
    assert(
      this.#log.position.sequence === sequence && !this.#log.hasOpenParts,
      'a transaction was committed without its record',
    );
    if (this.past.areOpen) this.past.keep(this.#transaction.replacedPages());
    this.#transaction.becomeCommitted();
    assert(
      this.#transaction.pageCount === this.committed.pageCount,
      'a commit lost or added pages',
    );
  }

  #append(flags: number, sequence: number, annotation: Uint8Array | null): boolean {
    // If no part of the transaction is in the active segment, the segment may end before the transaction is written.
    const mayEnd = !this.#log.hasOpenParts;
    for (;;) {
      try {
        this.committed.refuseWhenBlocked();
        return this.#transaction.append(flags, sequence, annotation);
      } catch (error) {
        if (!mayEnd || !isDiskFull(error)) throw error;
        this.#log.dropOpenParts();
        if (this.#owner?.makeRoom() !== true) throw error;
      }
    }
  }

  /** Number of pages as SQLite sees them. */
  get pageCount(): number {
    return this.#shown?.earlier?.pageCount ?? this.#transaction.pageCount;
  }

  /**
   * Applies the pages of an earlier state to the running transaction. `isLast` says that no other change is expected.
   */
  undo(earlier: UndoneState, isLast = false): void {
    this.#transaction.editAll(earlier.pageIndexes(), earlier.apply, isLast);
    this.#transaction.truncate(earlier.pageCount);
  }

  /**
   * Lets SQLite read an earlier state that is not committed yet; null for none. `commit` is called before any change.
   */
  show(earlier: EarlierPages | null, commit: () => void): void {
    this.#shown = { earlier, commit };
  }

  /** Commits the state that `show` has set. @throws DISK_FULL, IO, CORRUPT: SQLite still reads that state */
  commitShown(flags: number, sequence: number, annotation: Uint8Array | null): void {
    const earlier = this.#shown?.earlier ?? null;
    if (earlier === null) return;
    try {
      this.undo(earlier, true);
      this.commitAs(flags, sequence, annotation);
    } catch (error) {
      this.rollback();
      throw error;
    }
    this.#shown = null;
  }

  /** Returns a plain SQLite image of the shown or committed state; only between transactions. @throws CORRUPT */
  image(): Uint8Array<ArrayBuffer> {
    const pageCount = this.#shown?.earlier?.pageCount ?? this.committed.pageCount;
    const image = new Uint8Array(pageCount * PAGE_BYTES);
    for (let i = 0; i < pageCount; i++) {
      const page = image.subarray(i * PAGE_BYTES, (i + 1) * PAGE_BYTES);
      if (i < this.committed.pageCount) this.committed.read(i, page);
      this.#shown?.earlier?.apply(page, i);
    }
    return image;
  }

  /** True while SQLite reads a state that is not committed yet. */
  get isShowing(): boolean {
    return this.#shown !== null;
  }

  /**
   * Sets how many bytes of changed pages a transaction keeps in memory. A restore keeps more, because it changes the
   * same pages many times.
   */
  setSpillBytes(bytes: number | null): void {
    this.#transaction.setSpillBytes(bytes);
  }

  /** Drops the running transaction, even if the disk fails. */
  rollback(): void {
    this.#log.dropOpenParts();
    this.#transaction.forget();
  }

  /** Ends the store: later calls of SQLite reach no file and commit nothing. */
  end(): void {
    if (this.#failed.kind === 'ended') return;
    this.#failed = { kind: 'ended' };
    this.#log.dropOpenParts();
    this.past.endAll(storageClosed('at', 'OBJECT_RESET'));
  }

  /**
   * Begins the next segment of the log, unless some page exists only in the active segment. The active segment is
   * flushed first: its unflushed bytes could arrive after it was pruned, and would look damaged.
   */
  *rotateLog(): Flushing<void> {
    if (!this.#canRotate) return;
    yield* this.#log.flush();
    yield* this.committed.endCheckpoint();
    if (!this.#canRotate || !this.#log.active.isFlushed) return;
    // An opening may begin with the next segment.
    assert(
      !this.committed.hasExact,
      'records of the next segment could refer to pages of the one before',
    );
    this.#log.rotate();
  }

  get #canRotate(): boolean {
    const { isCheckpointed, isCheckpointing } = this.committed;
    const isEnded = this.#failed.kind === 'ended';
    return this.#log.canRotate && isCheckpointed && !isCheckpointing && !isEnded;
  }

  /**
   * Deletes the oldest segment, even if the checkpoint before the last one needs it. If all commits are in the active
   * segment, that one ends first. No restore may be pending. Returns false if there is no history, or if `isBusy` after
   * a flush.
   */
  *giveUpHistory(isBusy: () => boolean): Flushing<boolean> {
    const log = this.#log;
    const isAll = () => log.sealed.oldest === log.active.number;
    const isLate = () => isBusy() || this.committed.isCheckpointing;
    // If the disk refuses even to shorten a file, its problem is not only missing space.
    if (log.active.hasUncutRemains) return false;
    yield* log.flush();
    if (isAll()) {
      // Without this check, every refused commit would make a useless checkpoint.
      if (!log.canRotate) return false;
      if (isLate() || !(yield* this.checkpoint(null)) || isLate()) return false;
      yield* this.rotateLog();
      if (isAll()) return false;
      yield* log.flush(); // a checkpoint may name only a segment whose header is durable
    }
    // Either slot may survive, so both must name a later segment.
    for (let slots = 0; slots < 2; slots++) {
      if (isLate() || !(yield* this.checkpoint(null))) return false;
    }
    return !isLate() && log.pruneOldest();
  }

  /** Makes a checkpoint; pages that the running transaction has written to the main file stay there. */
  checkpoint(pendingRestore: PendingRestore | null): Flushing<boolean> {
    return this.committed.checkpoint(pendingRestore, !this.#transaction.hasDirect);
  }

  #takeAnnotation(): Uint8Array | null {
    const { annotation } = this;
    this.annotation = null;
    return annotation;
  }

  #readPage(pageIndex: number, target: Uint8Array): void {
    this.#transaction.read(pageIndex, target);
    this.#shown?.earlier?.apply(target, pageIndex);
  }

  /** Reports a failed change; SQLite's later calls in this transaction fail too. */
  #refuse(error: unknown): never {
    this.rollback();
    this.#failed = { kind: 'refused', error };
    throw error;
  }

  /**
   * Ends a transaction that changed no page. If the file became shorter, the next commit records it:
   * SQLite truncates only after the sync of the commit that emptied those pages.
   */
  #dropUnchanged(): void {
    const pageCount = Math.min(this.#transaction.pageCount, this.committed.pageCount);
    this.rollback();
    this.#transaction.truncate(pageCount);
  }
}

/**
 * Makes the error of a call on closed files: IO if the call is a defect of the caller, OBJECT_RESET if it may be
 * retried.
 */
export function storageClosed(operation: string, code: 'IO' | 'OBJECT_RESET' = 'IO') {
  return storageError(code, `${operation}: the storage of the object is closed.`);
}
