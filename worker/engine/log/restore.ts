// Restores an object to an earlier state. A call requests the restore; a flush writes the request to the log, where it
// is pending; the next opening shows the earlier state; and the restore is committed before any other commit.
//
// A restore goes back to an earlier state by applying the old bytes of every later record. The changes form one
// transaction with a record of its own, so that a restore can be undone too. Its cost depends on the changes since
// then, not on the size of the database. The opening is answered from the earlier pages as they are collected; the
// record, which takes longer, follows with the first commit, with the first use of the history, a second later, or when
// the object is closed.
//
// Invariants: once an opening has shown the earlier state, later openings show it too. Until the record is durable, the
// restore is pending in the log and the history it needs is not pruned, so that an opening after a crash shows the same
// state. The commit has the time of the opening.

import {
  isStorageError,
  type StorageError,
  storageError,
} from '../../../src/shared/contract/errors.ts';
import { assert } from '../../../src/shared/contract/invariant.ts';
import { isDiskFull, runFlushing } from '../file/file.ts';

import { annotationOf } from './annotation.ts';
import { NO_RESTORE, type PendingRestore } from './checkpoint-file.ts';
import type { CommitLog } from './commit-log.ts';
import { equalPositions, type LogPosition, nextTimeline } from './log-position.ts';
import type { PageStore } from './page-store.ts';
import { MARKER, RESTORE, RecordWriter } from './record.ts';
import { findTarget } from './target-search.ts';
import { undoBackTo } from './undo.ts';

/**
 * The state of a restore after the opening.
 * `shown`: SQLite reads the earlier state; the restore will be committed with the time of the opening, and the history
 * from `segment` on is kept until then.
 * `impossible`: a page that it needs is damaged, so nothing can be committed.
 * `owed`: the disk had room neither for the restore nor for its cancellation. The object is shown without the restore,
 * and nothing can be committed before one of the two succeeds.
 */
type Shown =
  | { readonly kind: 'none' }
  | { readonly kind: 'shown'; readonly timeMs: number; readonly segment: number }
  | { readonly kind: 'impossible' | 'owed'; readonly error: StorageError };

/**
 * Bytes of changed pages that a restore keeps in memory; it is large because adjacent commits often change the same
 * pages.
 */
const RESTORE_SPILL_BYTES = 64 << 20;

/** The author of a restore whose requester is not known. */
const RESTORED = annotationOf({ kind: 'restore' });

// One writer for all objects of a worker: every use ends within one turn of the event loop.
const writer = new RecordWriter();

export class Restore {
  readonly #log: CommitLog;
  readonly #pages: PageStore;
  /** The pending restore that the log contains. */
  #pending: PendingRestore | null;
  /** A requested restore that the next flush writes to the log. */
  #requested: PendingRestore | null = null;
  #shown: Shown = { kind: 'none' };
  /** The end of the log after this opening's restore was committed; null if it committed none. */
  #committedAt: LogPosition | null = null;

  constructor(log: CommitLog, pages: PageStore, pending: PendingRestore | null) {
    this.#log = log;
    this.#pages = pages;
    this.#pending = pending;
  }

  /** The pending restore that the log contains. */
  get pending(): PendingRestore | null {
    return this.#pending;
  }

  /** Sequences of the commits that the pending and the requested restore go back to. */
  get targets(): number[] {
    return [this.#pending, this.#requested].flatMap((target) => target?.sequence ?? []);
  }

  /** True if `writeRequest` has work to do. */
  get isRequested(): boolean {
    return this.#requested !== null;
  }

  /** True while SQLite reads an earlier state that will be committed. */
  get isShown(): boolean {
    return this.#shown.kind === 'shown';
  }

  /** True until this opening's restore is in the main file. */
  get isUnfinished(): boolean {
    if (this.isShown) return true;
    const isLast =
      this.#committedAt !== null && equalPositions(this.#committedAt, this.#log.position);
    return isLast && !this.#pages.committed.isCheckpointed;
  }

  /** True if the restore is committed but not durable yet. */
  get isUnflushed(): boolean {
    return this.#committedAt !== null && this.#committedAt.sequence > this.#log.durable.sequence;
  }

  /** Requests a restore; it replaces an earlier request. */
  request(target: PendingRestore): void {
    this.#log.keepTimeline();
    this.#requested = target;
  }

  /**
   * Cancels a requested restore that is not shown yet; returns false if there is none. The next flush makes the
   * cancellation durable. Must not be called during a transaction, because a marker cannot lie between its parts.
   *
   * @throws DISK_FULL, IO: the restore is still requested
   */
  takeBack(): boolean {
    const isOwed = this.#shown.kind === 'owed';
    const isPending = isOwed || (this.#pending !== null && !this.isShown);
    if (isPending) this.#appendMarker(null);
    if (isOwed) this.#shown = { kind: 'none' };
    const isTakenBack = isPending || this.isRequested;
    this.#requested = null;
    return isTakenBack;
  }

  /** Drops the request; a restore whose commit is not durable is left to the next opening. */
  discard(): void {
    if (this.#log.needsFlush || this.isRequested) this.#committedAt = null;
    this.#requested = null;
  }

  /** Writes the requested restore to the log, which makes it pending. */
  writeRequest(): void {
    // A marker cannot lie between the parts of a transaction, so a later flush writes the request.
    if (this.#requested === null || this.#log.hasOpenParts) return;
    this.#appendMarker(this.#requested);
    this.#requested = null;
  }

  /**
   * Shows the state of the pending restore, if there is one.
   *
   * @throws BOOKMARK_UNAVAILABLE if the history does not go back far enough, BOOKMARK_INVALID if another commit has the
   *   sequence now, CORRUPT if the history is damaged, DISK_FULL if the restore changes more pages than fit in memory,
   *   and the disk has no room for them. The restore is then cancelled. If the disk has no room even for the
   *   cancellation, the object is shown without the restore, and cannot be changed.
   */
  async show(): Promise<void> {
    if (this.#pending === null) return;
    this.#pages.setSpillBytes(RESTORE_SPILL_BYTES);
    try {
      await this.#show(this.#pending);
    } catch (error) {
      this.#pages.rollback();
      this.#log.keepFrom(null);
      if (isImpossible(error)) await this.#cancel(error);
      else throw error;
    } finally {
      this.#pages.setSpillBytes(null);
    }
  }

  /**
   * Commits the restore that is shown, without a flush. Does nothing if no restore is shown.
   *
   * @throws DISK_FULL, IO: the restore is still shown, and can be committed later. CORRUPT if a page is damaged: the
   *   restore is cancelled, the shown state cannot be changed, and the next opening is without the restore.
   */
  commit(): void {
    const shown = this.#shown;
    if (shown.kind === 'none') return;
    if (shown.kind !== 'shown') throw shown.error;
    this.checkHistory();
    this.#pages.setSpillBytes(RESTORE_SPILL_BYTES);
    try {
      this.#log.atTime(shown.timeMs, () =>
        this.#pages.commitShown(RESTORE, this.#nextSequence, this.#annotation),
      );
    } catch (error) {
      assert(this.#pages.isShowing, 'a restore that was not committed is shown no longer');
      if (isImpossible(error)) this.#giveUp(error);
      throw error;
    } finally {
      this.#pages.setSpillBytes(null);
    }
    this.#shown = { kind: 'none' };
    this.#committed();
  }

  /** Asserts that the history that a shown restore needs still exists. @throws INTERNAL */
  checkHistory(): void {
    const shown = this.#shown;
    const isKept = shown.kind !== 'shown' || this.#log.sealed.oldest <= shown.segment;
    assert(isKept, 'the history of a restore was pruned before its commit');
  }

  async #show(pending: PendingRestore): Promise<void> {
    const place = await findTarget(pending, this.#log);
    this.#log.keepFrom(place.segment);
    const earlier = await undoBackTo(place, this.#log, this.#pages, this.#pages.undoBytes);
    if (earlier.isWhole) {
      this.#shown = { kind: 'shown', timeMs: this.#log.nowMs, segment: place.segment };
      this.#pages.show(earlier, () => this.commit());
      return;
    }
    // Pages that did not fit in memory are in the running transaction; it must be empty when SQLite opens the file.
    try {
      this.#pages.undo(earlier, true);
      this.#pages.commitAs(RESTORE, this.#nextSequence, this.#annotation);
    } catch (error) {
      if (!isDiskFull(error)) throw error;
      this.#pages.rollback();
      this.#log.keepFrom(null);
      return this.#cancel(withoutRoom(error));
    }
    this.#committed();
    await runFlushing(this.#log.flush());
  }

  /** The author of the restore's commit, if the log still contains it. */
  get #annotation(): Uint8Array {
    return this.#pending?.annotation ?? RESTORED.bytes;
  }

  get #nextSequence(): number {
    return nextTimeline(this.#log.position.sequence);
  }

  #committed(): void {
    this.#log.keepFrom(null);
    this.#pending = null;
    this.#committedAt = this.#log.position;
  }

  /** Cancels a shown restore. If the disk refuses the cancellation, the next opening fails in the same way. */
  #giveUp(error: StorageError): void {
    this.#shown = { kind: 'impossible', error };
    try {
      this.#appendMarker(null);
    } catch (failure) {
      if (!isStorageError(failure)) throw failure;
    }
  }

  /**
   * Cancels an impossible restore, durably. If the disk is too full for the cancellation, the object is shown without
   * the restore. Nothing is committed then, because the restore would undo it.
   *
   * @throws the reason, even if the disk fails
   */
  async #cancel(reason: StorageError): Promise<void> {
    try {
      this.#appendMarker(null);
      await runFlushing(this.#log.flush());
    } catch (failure) {
      if (!isStorageError(failure)) throw failure;
      if (isDiskFull(failure)) {
        this.#shown = { kind: 'owed', error: withoutRoomToCancel(reason) };
        this.#pages.show(null, () => this.commit());
        return;
      }
      const again = 'Cancelling the restore failed, so the next opening may refuse it again';
      const message = `${reason.message} ${again}: ${failure.message}`;
      throw storageError(reason.code, message, { cause: failure });
    }
    throw reason;
  }

  #appendMarker(pending: PendingRestore | null): void {
    const { pageCount } = this.#pages.committed;
    writer.begin(pending?.annotation);
    writer.addMarker(pending?.sequence ?? NO_RESTORE, pending?.sum ?? 0);
    this.#log.append(writer, {
      flags: MARKER,
      sequence: this.#log.position.sequence,
      pageCountBefore: pageCount,
      pageCount,
    });
    this.#pending = pending;
  }
}

function withoutRoom(cause: unknown): StorageError {
  return storageError(
    'DISK_FULL',
    'The requested restore changes more than fits on the disk. It was given up, and the object is as it was before; ' +
      'make room, and restore again.',
    { cause },
  );
}

function withoutRoomToCancel(reason: StorageError): StorageError {
  return storageError(
    'DISK_FULL',
    'The disk has room neither for the requested restore nor to cancel it, so nothing can be changed. Make room, then ' +
      `let the object restart, or call cancelRestore(). The restore: ${reason.message}`,
    { cause: reason },
  );
}

function isImpossible(error: unknown): error is StorageError {
  return isStorageError(error) && /^(BOOKMARK_|CORRUPT)/.test(error.code);
}
