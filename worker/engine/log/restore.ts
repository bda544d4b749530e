// The restore of an object: requested by a call, pending once it is in the log, shown by the next opening, and
// committed before anything else is.
//
// A restore goes back to an earlier state by applying the old bytes of every later record. The changes form one
// transaction with a record of its own, so that a restore can be undone too. Its cost depends on what changed since
// then, not on the size of the database. Whoever opens the object is answered from the earlier pages as they are
// collected; the record, which takes longer, follows with the first commit, with whatever asks for the history, a
// second later, or when the object is closed.
//
// Invariants: what was shown stays. Until the record is written, the restore is pending in the log and the history
// it needs is not pruned, so that an opening after a crash shows the same state. The commit has the time of the opening.

import { isStorageError, type StorageError, storageError } from '../../src/contract/errors.ts';
import { runFlushing } from '../file/flushing.ts';
import { nextTimeline } from './bookmark.ts';
import { NO_RESTORE, type PendingRestore } from './checkpoint-file.ts';
import type { CommitLog } from './commit-log.ts';
import type { PageStore } from './page-store.ts';
import { MARKER, RESTORE, RecordWriter } from './record.ts';
import type { LogPosition } from './segment-header.ts';
import { findTarget } from './target-search.ts';
import { undoBackTo } from './undo.ts';

/**
 * The restore that is shown. `shown`: it is to be committed, with the time of the opening. `impossible`: a page that it
 * needs is damaged, so nothing that depends on it can be committed.
 */
type Shown =
  | { readonly kind: 'none' }
  | { readonly kind: 'shown'; readonly timeMs: number }
  | { readonly kind: 'impossible'; readonly error: StorageError };

/** Bytes of changed pages a restore keeps in memory: adjacent commits often change the same pages. */
const RESTORE_SPILL_BYTES = 64 << 20;

// Shared by all objects of a worker: never in use across turns of the event loop.
const writer = new RecordWriter();

export class Restore {
  readonly #log: CommitLog;
  readonly #pages: PageStore;
  /** The pending restore as the log records it. */
  #pending: PendingRestore | null;
  /** A requested restore that the next flush writes to the log. */
  #requested: PendingRestore | null = null;
  #shown: Shown = { kind: 'none' };
  /** Where the log ended after the restore was committed; null if this opening made none. */
  #madeAt: LogPosition | null = null;

  constructor(log: CommitLog, pages: PageStore, pending: PendingRestore | null) {
    this.#log = log;
    this.#pages = pages;
    this.#pending = pending;
  }

  /** The pending restore as the log records it. */
  get pending(): PendingRestore | null {
    return this.#pending;
  }

  /** True if `writeRequest` has work to do. */
  get isRequested(): boolean {
    return this.#requested !== null;
  }

  /** True while a restore is shown that is to be committed. */
  get isShown(): boolean {
    return this.#shown.kind === 'shown';
  }

  /** True until the restore that is shown, or was committed last, is in the main file. */
  get isUnfinished(): boolean {
    if (this.isShown) return true;
    return this.#madeAt === this.#log.position && !this.#pages.committed.isCheckpointed;
  }

  /** True if the restore is committed and not durable. */
  get isUnflushed(): boolean {
    return this.#madeAt !== null && this.#madeAt.sequence > this.#log.durable.sequence;
  }

  /** Requests a restore; it replaces an earlier request. */
  request(target: PendingRestore): void {
    this.#requested = target;
  }

  /** Drops what was requested, and leaves what was committed but is not durable to the next opening. */
  discard(): void {
    if (this.#log.needsFlush || this.isRequested) this.#madeAt = null;
    this.#requested = null;
  }

  /** Writes the requested restore to the log, which makes it pending. */
  writeRequest(): void {
    // A marker cannot lie between the parts of a transaction; a later flush writes it then.
    if (this.#requested === null || this.#log.hasOpenParts) return;
    this.#appendMarker(this.#requested);
    this.#requested = null;
  }

  /**
   * Shows the state of the pending restore, if there is one.
   *
   * @throws BOOKMARK_UNAVAILABLE if the history does not go back far enough, BOOKMARK_INVALID if another commit has
   *   the sequence now, CORRUPT if the history is damaged. The restore is cancelled then.
   */
  async show(): Promise<void> {
    if (this.#pending === null) return;
    this.#pages.setSpillBytes(RESTORE_SPILL_BYTES);
    try {
      await this.#show(this.#pending);
    } catch (error) {
      this.#pages.rollback();
      throw isImpossible(error) ? await this.#cancelDurably(error) : error;
    } finally {
      this.#pages.setSpillBytes(null);
    }
  }

  /**
   * Commits the restore that is shown, without a flush. Does nothing if there is none.
   *
   * @throws DISK_FULL, IO: it is still shown, and can be committed later. CORRUPT if a page is damaged: it is
   *   cancelled, and what it shows cannot be changed; the next opening is without it.
   */
  commit(): void {
    const shown = this.#shown;
    if (shown.kind === 'impossible') throw shown.error;
    if (shown.kind === 'none') return;
    this.#pages.setSpillBytes(RESTORE_SPILL_BYTES);
    try {
      this.#log.atTime(shown.timeMs, () => this.#pages.commitShown(RESTORE, this.#nextSequence));
    } catch (error) {
      if (isImpossible(error)) this.#giveUp(error);
      throw error;
    } finally {
      this.#pages.setSpillBytes(null);
    }
    this.#shown = { kind: 'none' };
    this.#committed();
  }

  async #show(pending: PendingRestore): Promise<void> {
    const place = await findTarget(pending, this.#log);
    this.#log.keepFrom(place.segment);
    const earlier = await undoBackTo(place, this.#log, this.#pages, this.#pages.undoBytes);
    if (earlier.isWhole) {
      this.#shown = { kind: 'shown', timeMs: this.#log.timeMs() };
      this.#pages.show(earlier, () => this.commit());
      return;
    }
    // What did not fit in memory is in the running transaction, which is SQLite's once the object is open.
    this.#pages.undo(earlier, true);
    this.#pages.commitAs(RESTORE, this.#nextSequence);
    this.#committed();
    await runFlushing(this.#log.flush());
  }

  get #nextSequence(): number {
    return nextTimeline(this.#log.position.sequence);
  }

  #committed(): void {
    this.#log.keepFrom(null);
    this.#pending = null;
    this.#madeAt = this.#log.position;
  }

  /** Cancels a restore that is shown, as far as the disk allows: otherwise the next opening fails in the same way. */
  #giveUp(error: StorageError): void {
    this.#shown = { kind: 'impossible', error };
    try {
      this.#appendMarker(null);
    } catch (failure) {
      if (!isStorageError(failure)) throw failure;
    }
  }

  /** Cancels an impossible restore. Returns the reason, which is reported even if the disk fails. */
  async #cancelDurably(reason: StorageError): Promise<StorageError> {
    try {
      this.#appendMarker(null);
      await runFlushing(this.#log.flush());
      return reason;
    } catch (failure) {
      if (!isStorageError(failure)) throw failure;
      const again = 'Cancelling the restore failed, so the next opening may refuse it again';
      const message = `${reason.message} ${again}: ${failure.message}`;
      return storageError(reason.code, message, { cause: failure });
    }
  }

  #appendMarker(pending: PendingRestore | null): void {
    const { pageCount } = this.#pages.committed;
    writer.begin();
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

function isImpossible(error: unknown): error is StorageError {
  return isStorageError(error) && /^(BOOKMARK_|CORRUPT)/.test(error.code);
}
