// The database file as SQLite reads and writes it, and the point at which its writes become a commit.
//
// Invariants: a commit is one write to the log, however much was written before it. A transaction
// that fails is dropped at once: SQLite continues to write after a failure, and none of that reaches
// a file.

import { storageError } from '../../../src/shared/contract/errors.ts';
import { type DatabaseFile, type Flushing, isDiskFull } from '../file/file.ts';
import { assert } from '../file/invariant.ts';

import type { PendingRestore } from './checkpoint-file.ts';
import type { CommitLog } from './commit-log.ts';
import type { CommittedPages } from './committed-pages.ts';
import type { EarlierPages } from './earlier-pages.ts';
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

/** How much is kept in memory, in bytes. */
interface Bounds {
  /** Of changed pages of the running transaction. */
  readonly spillBytes: number;
  /** Of pages of open past states. */
  readonly pastBytes: number;
  /** Of earlier pages that are collected until they are undone. */
  readonly undoBytes: number;
  /** Assertions that take time are made too. */
  readonly isChecked: boolean;
}

// Shared by all objects of a worker: never in use across turns of the event loop.
const wholePage = new Uint8Array(PAGE_BYTES);

/** The parts of an earlier state that are needed to become it. */
export type UndoneState = Pick<EarlierPages, 'pageIndexes' | 'apply' | 'pageCount'>;

export class PageStore implements DatabaseFile {
  /** The state before the running transaction. */
  readonly committed: CommittedPages;
  /** Earlier states that are open beside it. */
  readonly past: PastStates;
  /** Bytes of earlier pages that a restore collects. */
  readonly undoBytes: number;
  /** Makes room on a full disk, by giving up history that the log alone cannot; false if it cannot, or not within this call. */
  makeRoom: () => boolean = () => false;
  /** Of the next commit; null: it has none. */
  annotation: Uint8Array | null = null;
  readonly #log: CommitLog;
  readonly #transaction: TransactionPages;
  /** An earlier state that is shown, or none, and the step before any change. */
  #shown: { readonly earlier: EarlierPages | null; readonly commit: () => void } | null = null;
  #isHeld = false;
  #failed: Failed = { kind: 'no' };

  constructor(
    committed: CommittedPages,
    main: MainFile,
    log: CommitLog,
    { spillBytes, pastBytes, undoBytes, isChecked }: Bounds,
  ) {
    this.committed = committed;
    this.past = new PastStates(committed, pastBytes, undoBytes);
    this.undoBytes = undoBytes;
    this.#log = log;
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

  /** Commits what was collected, with these flags. */
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
    // Nothing of it is in the active segment, which may end then.
    const mayEnd = !this.#log.hasOpenParts;
    for (;;) {
      try {
        this.committed.refuseWhenBlocked();
        return this.#transaction.append(flags, sequence, annotation);
      } catch (error) {
        if (!mayEnd || !isDiskFull(error)) throw error;
        this.#log.dropOpenParts();
        if (!this.makeRoom()) throw error;
      }
    }
  }

  /** Number of pages as SQLite sees them. */
  get pageCount(): number {
    return this.#shown?.earlier?.pageCount ?? this.#transaction.pageCount;
  }

  /** Takes the running transaction back to an earlier state. `isLast`: no other change is expected. */
  undo(earlier: UndoneState, isLast = false): void {
    this.#transaction.editAll(earlier.pageIndexes(), earlier.apply, isLast);
    this.#transaction.truncate(earlier.pageCount);
  }

  /** Shows an earlier state, until `commit` has committed it: it is called before anything is changed. Null: none. */
  show(earlier: EarlierPages | null, commit: () => void): void {
    this.#shown = { earlier, commit };
  }

  /** Commits the state that is shown. @throws DISK_FULL, IO, CORRUPT: it is still shown */
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

  /** A plain SQLite image of the state that is shown or committed, between transactions. @throws CORRUPT */
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

  /** True while a state is shown that is not committed. */
  get isShowing(): boolean {
    return this.#shown !== null;
  }

  /** Sets how much a transaction keeps in memory: a restore changes the same pages many times. */
  setSpillBytes(bytes: number | null): void {
    this.#transaction.setSpillBytes(bytes);
  }

  /** Drops the running transaction, even if the disk fails. */
  rollback(): void {
    this.#log.dropOpenParts();
    this.#transaction.forget();
  }

  /** The last call here. SQLite may still call, but reaches no file and commits nothing. */
  end(): void {
    if (this.#failed.kind === 'ended') return;
    this.#failed = { kind: 'ended' };
    this.#log.dropOpenParts();
    this.past.endAll(storageClosed('at', 'OBJECT_RESET'));
  }

  /**
   * Begins the next segment of the log, unless some page exists only in the active one. That is flushed
   * first: its unflushed bytes could arrive after it was pruned, and would look damaged.
   */
  *rotateLog(): Flushing<void> {
    if (!this.#canRotate) return;
    yield* this.#log.flush();
    yield* this.committed.endCheckpoint();
    if (this.#canRotate && this.#log.active.isFlushed) this.#log.rotate();
  }

  get #canRotate(): boolean {
    const { isCheckpointed, isCheckpointing } = this.committed;
    const isEnded = this.#failed.kind === 'ended';
    return this.#log.canRotate && isCheckpointed && !isCheckpointing && !isEnded;
  }

  /**
   * Gives up the oldest segment, even if the checkpoint before the last one needs it, or the commits are all in the
   * active one, which ends then. No restore may be pending. False if there is no history, or if it `isBusy` at a flush.
   */
  *giveUpHistory(isBusy: () => boolean): Flushing<boolean> {
    const log = this.#log;
    const isAll = () => log.sealed.oldest === log.active.number;
    const isLate = () => isBusy() || this.committed.isCheckpointing;
    // A disk that takes no cut either is not only full.
    if (log.active.hasUncutRemains) return false;
    yield* log.flush();
    if (isAll()) {
      if (!log.canRotate) return false; // a checkpoint would be for nothing, at each refused commit
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

  /** A checkpoint that keeps pages which the running transaction has written to the main file. */
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

  /** A change failed: SQLite's later calls in its transaction fail too. */
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

/** IO: the caller should have known; OBJECT_RESET: it may try again. */
export function storageClosed(operation: string, code: 'IO' | 'OBJECT_RESET' = 'IO') {
  return storageError(code, `${operation}: the storage of the object is closed.`);
}
