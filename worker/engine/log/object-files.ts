// The files of one object: the database file that SQLite sees, and its history.
//
// A commit is synchronous and not yet durable. `flush` makes every commit so far durable; an output gate waits for
// nothing else. `maintain` does the work that cannot happen inside a commit. Time and randomness come from the
// environment.

import { isStorageError, storageError } from '../../../src/shared/contract/errors.ts';
import { type HistoryLimits, historyBytes } from '../../../src/shared/contract/history-limits.ts';
import { assert } from '../../../src/shared/contract/invariant.ts';
import { RECOVERY_WINDOW_DAYS } from '../../../src/shared/contract/limits.ts';
import { type DatabaseFile, type FileDirectory, type Flushing, runFlushing } from '../file/file.ts';
import type { Annotation } from './annotation.ts';
import { formatBookmark, parseBookmark } from './bookmark.ts';
import type { PendingRestore } from './checkpoint-file.ts';
import { type CommitRange, type ListedCommit, listCommits } from './commit-list.ts';
import { type LogEnvironment, SEGMENT_BYTES } from './commit-log.ts';
import { CHECKPOINT_LOG_BYTES, CHECKPOINT_OVERLAY_BYTES } from './committed-pages.ts';
import { Corrections } from './corrections.ts';
import type { ThinningBounds } from './folding.ts';
import type { HeldMoment } from './kept-branches.ts';
import type { KeptPages } from './kept-pages.ts';
import { timelineEnd, timelineStart } from './log-position.ts';
import { differingPages, type PageLayer } from './page-layer.ts';
import { type PagesOwner, storageClosed } from './page-store.ts';
import { PAGE_BYTES } from './pages.ts';
import type { PastState } from './past-state.ts';
import { PAST_BYTES } from './past-states.ts';
import { PROMOTE } from './record.ts';
import { type Recovered, type RecoveryOptions, recover } from './recovery.ts';
import { Restore } from './restore.ts';
import { findTarget } from './target-search.ts';
import { type LoadFolding, Thinning } from './thinning.ts';
import { SPILL_BYTES } from './transaction-pages.ts';
import { UNDO_BYTES } from './undo.ts';

export { isDiskFull } from '../file/file.ts';
export type { LogEnvironment } from './commit-log.ts';

const DAY_MS = 86_400_000;

/** The smallest segments, of a small history: only whole segments are discarded. */
const SMALL_SEGMENT_BYTES = 1 << 20;
const SEGMENTS_KEPT = 8;

/** Maximum number of files that an opening needs, unless a crash left more segments to redo: see OpeningFiles. */
const OPENING_FILES = 5;

/** The sizes that objects use by default. */
export const DEFAULT_SIZES: RecoveryOptions = {
  segmentBytes: SEGMENT_BYTES,
  spillBytes: SPILL_BYTES,
  pastBytes: PAST_BYTES,
  undoBytes: UNDO_BYTES,
  checkpointOverlayBytes: CHECKPOINT_OVERLAY_BYTES,
  checkpointLogBytes: CHECKPOINT_LOG_BYTES,
  isChecked: false,
};

/** Chooses the commits to list; `before` is a bookmark. */
export type HistoryRange = Omit<CommitRange, 'beforeSequence'> & { readonly before: string | null };

/** Sizes that replace the default ones. */
export type FileSizes = Partial<Omit<RecoveryOptions, 'base'>>;

/** The environment of an object's files. */
export interface FilesEnvironment extends LogEnvironment {
  readonly fileSizes?: FileSizes;
  /** How much history is kept. @default 30 days, within historyBytes */
  readonly history?: HistoryLimits;
  /** Loads the code that thins the history, if `history.thin` asks for it. */
  readonly loadFolding?: LoadFolding;
}

export interface BookmarkedCommit extends ListedCommit {
  readonly bookmark: string;
}

export class ObjectFiles {
  readonly #environment: FilesEnvironment;
  readonly #main: Recovered['main'];
  readonly #log: Recovered['log'];
  readonly #pages: Recovered['pages'];
  /** The list of the object's named branches. */
  readonly branches: Recovered['branches'];
  readonly #restore: Restore;
  readonly #thinning: Thinning | null;
  /** Serializes operations that open files, because a file has only one holder. */
  #opening: Promise<unknown> = Promise.resolve();
  /** Flushes and checkpoints in progress. The files stay open until all have ended. */
  readonly #underWay = new Set<Promise<unknown>>();
  #closed: Promise<void> | undefined;
  #isDiscarded = false;

  private constructor(environment: FilesEnvironment, recovered: Recovered) {
    this.#environment = environment;
    this.#main = recovered.main;
    this.#log = recovered.log;
    this.#pages = recovered.pages;
    this.branches = recovered.branches;
    this.#restore = new Restore(recovered.log, recovered.pages, recovered.pendingRestore);
    const { history, loadFolding } = environment;
    const isThinned = history?.thin === true && loadFolding !== undefined;
    this.#thinning = isThinned ? new Thinning(recovered.log, loadFolding) : null;
  }

  /**
   * Opens an object, or creates one in an empty directory. Recovers the committed state, durably, and shows the
   * state of a pending restore: see Restore.
   *
   * @throws CORRUPT, IO, DISK_FULL, STORAGE_LOCKED, TOO_MANY_OPEN; BOOKMARK_INVALID or BOOKMARK_UNAVAILABLE when
   *   the pending restore is impossible. The restore is then cancelled, and the next opening succeeds
   *   without it; if the disk failed while cancelling, the next opening may throw the same error.
   */
  static async open(
    directory: FileDirectory,
    environment: FilesEnvironment,
    options: Partial<RecoveryOptions> = {},
  ): Promise<ObjectFiles> {
    const giveBack = await directory.reserveFiles?.(OPENING_FILES);
    let files: ObjectFiles | undefined; // set after recovery, which deletes no history
    const owner: PagesOwner = { makeRoom: () => (files === undefined ? false : files.#makeRoom()) };
    try {
      const sizes = {
        ...DEFAULT_SIZES,
        segmentBytes: segmentBytesFor(environment.history?.bytes),
        ...environment.fileSizes,
        ...options,
      };
      const recovered = await recover(directory, environment, sizes, owner);
      files = new ObjectFiles(environment, recovered);
      try {
        await files.#restore.show();
      } catch (error) {
        await files.close();
        throw error;
      }
      return files;
    } finally {
      giveBack?.();
    }
  }

  /** The database as SQLite reads and writes it. */
  get file(): DatabaseFile {
    return this.#pages;
  }

  /** Sets the author of the next commit; undefined if it has none. */
  annotate(annotation: Annotation | undefined): void {
    this.#pages.annotation = annotation?.bytes ?? null;
  }

  /** The state that a branch began with; null if this is not a branch. It ends when its origin closes its files. */
  get beginning(): PastState | null {
    return this.#main.branch?.base ?? null;
  }

  /** Sequence of the last commit. */
  get committedSequence(): number {
    return this.#log.position.sequence;
  }

  /** Sequence of the last commit known to be durable. */
  get durableSequence(): number {
    return this.#log.durable.sequence;
  }

  /** True when `flush` has work to do: commits, a commit that was refused, or a requested restore. */
  get needsFlush(): boolean {
    return this.#log.needsFlush || this.#restore.isRequested;
  }

  /**
   * Makes all commits so far durable. Flushes one file once, more if a checkpoint is due, and nothing
   * if everything is already durable.
   *
   * @throws DISK_FULL, IO: it is then unknown which commits after `durableSequence` are durable.
   */
  flush(): void | Promise<void> {
    if (!this.needsFlush) return;
    if (this.#closed !== undefined) throw storageClosed('flush');
    this.#restore.writeRequest();
    return this.#track(runFlushing(this.#flushAndTidy()));
  }

  /**
   * Combines everything that SQLite commits during the action into one commit.
   *
   * @throws DISK_FULL, IO, or whatever the action throws. SQLite and the log then disagree, and the
   *   files must be closed.
   */
  atomically(action: () => void): void {
    this.#pages.isHeld = true;
    action();
    this.#pages.isHeld = false;
  }

  /**
   * Overwrites this database with another one, inside `atomically`. SQLite does not notice: its
   * connection must be closed before it reads again.
   *
   * @throws DISK_FULL, IO
   */
  overwrite(source: DatabaseFile): void {
    const page = new Uint8Array(PAGE_BYTES);
    const sizeBytes = source.sizeBytes();
    for (let offset = 0; offset < sizeBytes; offset += PAGE_BYTES) {
      source.read(page, offset);
      this.#pages.write(page, offset);
    }
    this.#pages.truncate(sizeBytes);
  }

  /**
   * Turns the database into another state, as one commit. Like `overwrite`, but only pages that may differ are written.
   *
   * @throws DISK_FULL, IO, CORRUPT: SQLite and the log then disagree, and the files must be closed.
   */
  become(state: DatabaseFile & PageLayer): void {
    const page = new Uint8Array(PAGE_BYTES);
    const different = differingPages(state, this.#pages.committed);
    if (different === null)
      throw storageError('INTERNAL', 'become: the state is of another object.');
    this.#pages.isHeld = true;
    for (const pageIndex of different) {
      if (pageIndex >= state.pageCount) break;
      state.read(page, pageIndex * PAGE_BYTES);
      this.#pages.write(page, pageIndex * PAGE_BYTES);
    }
    this.#pages.truncate(state.sizeBytes());
    this.#pages.releaseAs(PROMOTE);
  }

  /**
   * Discards every commit that is not durable, as far as the disk allows. The files must be closed
   * afterwards, because SQLite's cache still contains those commits. Does nothing after `close`.
   */
  discardUnflushed(): void {
    if (this.#closed !== undefined) return;
    this.#isDiscarded = true;
    // The main file must not get pages of commits that are cut off the log.
    this.#restore.discard();
    this.#pages.end();
    // A disk that still fails is reported by the next opening.
    try {
      const cut = this.#track(this.#log.cutToDurable());
      if (cut instanceof Promise) cut.catch(() => this.#environment.failed?.());
    } catch (error) {
      if (!isStorageError(error)) throw error;
      this.#environment.failed?.();
    }
  }

  /**
   * Copies all commits into the main file, which then is a plain SQLite image. Returns false if some
   * commits are not durable, as a restore that is only shown is not, a checkpoint is running, or the disk is too full.
   */
  checkpoint(): boolean | Promise<boolean> {
    if (this.#closed !== undefined) throw storageClosed('checkpoint');
    if (this.#restore.isShown) return false;
    if (this.needsFlush || this.#pages.committed.isCheckpointing) return false;
    if (this.#pages.committed.isCheckpointed) return true;
    return this.#track(runFlushing(this.#pages.checkpoint(this.#restore.pending)));
  }

  /**
   * True if the opening showed a restore that is not committed yet, or that is not in the main file yet while nothing
   * was committed after it. `commitRestore`, `flush`, `checkpoint` and `close` finish it. After another commit, its
   * pages wait for the next checkpoint like those of any commit.
   */
  get owesRestore(): boolean {
    return this.#restore.isUnfinished;
  }

  /** True if the next opening will perform a requested restore. */
  get isToBeRestored(): boolean {
    const { isRequested, isShown, pending } = this.#restore;
    return isRequested || (pending !== null && !isShown);
  }

  /** True if the opening showed a restore that is not committed yet. */
  get showsRestore(): boolean {
    return this.#restore.isShown;
  }

  /**
   * Commits the restore that the opening showed, without a flush. Every other commit, and every call that returns a
   * bookmark, does this first. Does nothing if there is none.
   *
   * @throws DISK_FULL, IO: it can be tried again. CORRUPT: it is cancelled, and nothing can be committed until the
   *   object is opened again, without it.
   */
  commitRestore(): void {
    if (this.#closed === undefined) this.#restore.commit();
  }

  /** True when `maintain` has work to do. It is not urgent. */
  get needsMaintenance(): boolean {
    if (this.#closed !== undefined) return false;
    return this.#log.needsMaintenance || this.#thinning?.isDue === true;
  }

  /**
   * Opens files before they are needed and prunes history beyond its bounds. An object works without
   * it, but its log then grows in a single file.
   */
  maintain(): Promise<void> {
    return this.#exclusively(async () => {
      if (this.#closed !== undefined) return;
      const { history = {} } = this.#environment;
      const databaseBytes = this.#pages.committed.pageCount * PAGE_BYTES;
      const bytes = historyBytes(history, databaseBytes);
      await this.#log.maintain({ from: () => this.#oldestKeptSequence(), bytes });
      this.#restore.checkHistory();
      await this.#thinning?.step(() => this.#thinningBounds(bytes));
    });
  }

  /** Returns the bookmark of the last commit, flushed or not. @throws errors of `commitRestore` */
  currentBookmark(): string {
    this.commitRestore();
    return formatBookmark(this.#log.position, this.#log.checksum);
  }

  /**
   * Returns the bookmark of the last commit at or before a time, as a promise if the history has to be searched.
   *
   * @throws BOOKMARK_UNAVAILABLE if the time is in the future, outside the window, or pruned, or if the clock was set
   *   back around it.
   */
  bookmarkForTime(timeMs: number): string | Promise<string> {
    const now = this.#environment.now();
    const days = this.#historyDays;
    if (!(timeMs <= now && timeMs >= now - days * DAY_MS)) {
      const kept = days === 1 ? 'day' : `${days} days`;
      throw storageError(
        'BOOKMARK_UNAVAILABLE',
        `bookmark for ${timeMs}: not within the last ${kept} (now is ${now}).`,
      );
    }
    this.commitRestore();
    const { position, checksum } = this.#log;
    const isPlain = timelineStart(position.sequence) === 0; // the clock was never set back
    if (isPlain && timeMs >= position.timeMs) return this.currentBookmark();
    return this.#readHistory('bookmark', async () => {
      const corrections = await Corrections.find(this.#log, now);
      const found = await corrections.commitAt(timeMs);
      const { position: end } = this.#log;
      return formatBookmark(found.sequence === end.sequence ? end : found, checksum);
    });
  }

  /** Returns a bookmark of the state before the commit that a bookmark names. @throws BOOKMARK_INVALID */
  bookmarkBefore(bookmark: string): string {
    const { checksum, nowMs } = this.#log;
    const { sequence, sum } = this.#targetOf(bookmark);
    if (sequence === 0 || sum === 0) {
      throw storageError(
        'BOOKMARK_INVALID',
        `"${bookmark}" names no commit; take one of history().`,
      );
    }
    return formatBookmark({ sequence: sequence - 1, timeMs: nowMs, sum: 0 }, checksum);
  }

  /** True if the commit of `later` is the one after `bookmark`. @throws BOOKMARK_INVALID, BOOKMARK_UNAVAILABLE */
  isNext(bookmark: string, later: string): boolean {
    return this.#targetOf(bookmark).sequence + 1 === this.#targetOf(later).sequence;
  }

  /**
   * Requests a restore at the next opening; it replaces an earlier request. The request becomes
   * durable with the next `flush`. Returns the bookmark that undoes the restore: the end of this
   * session.
   *
   * @throws BOOKMARK_INVALID, BOOKMARK_UNAVAILABLE
   */
  scheduleRestore(bookmark: string, by?: Annotation): string {
    this.commitRestore();
    const annotation = by && { annotation: by.bytes };
    this.#restore.request({ ...this.#targetOf(bookmark), ...annotation });
    const { checksum, position } = this.#log;
    const end = timelineEnd(position.sequence);
    return formatBookmark({ sequence: end, timeMs: this.#log.nowMs, sum: 0 }, checksum);
  }

  /** Cancels the restore that the next opening would perform; returns false if there is none. @throws DISK_FULL, IO */
  cancelRestore(): boolean {
    return this.#restore.takeBack();
  }

  /**
   * Lists the commits of a range with their bookmarks, the newest first. If `before` is null, it starts at the last
   * commit.
   *
   * @throws BOOKMARK_INVALID, CORRUPT
   */
  listCommits({ before, ...range }: HistoryRange): Promise<BookmarkedCommit[]> {
    this.commitRestore();
    const { checksum } = this.#log;
    const beforeSequence =
      before === null ? Number.POSITIVE_INFINITY : parseBookmark(before, checksum).sequence;
    return this.#readHistory('history', async () => {
      const commits = await listCommits({ ...range, beforeSequence }, this.#log);
      return commits.map((commit) => ({ ...commit, bookmark: formatBookmark(commit, checksum) }));
    });
  }

  /**
   * Opens the state of a bookmark beside the present one, for SQLite to read. It stays as it is, whatever is
   * committed or pruned, until it or the files are closed, or it makes room for others (MOMENT_CLOSED).
   *
   * @throws BOOKMARK_INVALID, BOOKMARK_UNAVAILABLE, CORRUPT, MEMORY_FULL
   */
  openPast(bookmark: string): Promise<PastState> {
    this.commitRestore();
    const target = this.#targetOf(bookmark);
    return this.#readHistory('at', () => this.#pages.past.open(target, this.#log));
  }

  /**
   * Opens the state of a bookmark for a branch, which stores its pages in `kept`. It is not closed to make room.
   *
   * @throws BOOKMARK_INVALID, BOOKMARK_UNAVAILABLE, CORRUPT, DISK_FULL, MEMORY_FULL
   */
  pinPast(bookmark: string, kept: KeptPages): Promise<PastState> {
    this.commitRestore();
    const target = this.#targetOf(bookmark);
    return this.#readHistory('fork', () => this.#pages.past.pin(target, this.#log, kept));
  }

  /**
   * Resolves a bookmark, which may name the end of a timeline that still grows, to the bookmark of one commit. Its
   * state is neither pruned nor thinned until it is released.
   *
   * @throws BOOKMARK_INVALID, BOOKMARK_UNAVAILABLE, CORRUPT
   */
  holdMoment(bookmark: string): Promise<HeldMoment> {
    this.commitRestore();
    const target = this.#targetOf(bookmark);
    return this.#readHistory('fork', async () => {
      const { position } = await findTarget(target, this.#log);
      return this.branches.hold(formatBookmark(position, this.#log.checksum));
    });
  }

  /** Marks a past state as used, so that others are closed before it. */
  usePast(state: PastState): void {
    this.#pages.past.use(state);
  }

  closePast(state: PastState): void {
    this.#pages.past.end(state);
  }

  /** Returns a plain SQLite image of the committed state. Call it only between transactions. */
  databaseBytes(): Uint8Array<ArrayBuffer> {
    return this.#pages.image();
  }

  /**
   * Closes all files; idempotent. Commits that were not flushed may be lost. Later calls by SQLite
   * reach no file. Resolves once no operation can touch a file any more.
   */
  close(): Promise<void> {
    if (this.#closed === undefined) this.#track(this.branches.close());
    this.#closed ??= this.#exclusively(async () => {
      await Promise.allSettled(this.#underWay);
      await this.#pages.committed.untilRetriesEnd();
      if (this.owesRestore && !this.needsFlush) await this.#finishRestore();
      const isIdle = this.#underWay.size === 0 && !this.#pages.committed.isCheckpointing;
      assert(isIdle, 'the files were closed during a flush or a checkpoint');
      this.#thinning?.close();
      this.#log.close();
      this.#main.close();
    });
    this.#pages.end();
    return this.#closed;
  }

  /** Keeps the files open until the work has settled. */
  #track<T>(work: T | Promise<T>): T | Promise<T> {
    if (!(work instanceof Promise)) return work;
    this.#underWay.add(work);
    const done = () => void this.#underWay.delete(work);
    work.then(done, done);
    return work;
  }

  /** Runs a read of the history. If commits are discarded meanwhile, it fails with OBJECT_RESET instead of CORRUPT. */
  #readHistory<T>(operation: string, read: () => Promise<T>): Promise<T> {
    return this.#exclusively(async () => {
      if (this.#closed !== undefined) throw storageClosed(operation, 'OBJECT_RESET');
      try {
        const result = await read();
        if (!this.#isDiscarded) return result;
      } catch (error) {
        if (!this.#isDiscarded) throw error;
      }
      throw storageClosed(operation, 'OBJECT_RESET');
    });
  }

  #exclusively<T>(action: () => Promise<T>): Promise<T> {
    const result = this.#opening.then(action);
    this.#opening = result.catch(() => {});
    return result;
  }

  /** Parses a bookmark into the commit to go back to. @throws BOOKMARK_INVALID, BOOKMARK_UNAVAILABLE */
  #targetOf(bookmark: string): PendingRestore {
    const { checksum, position, sealed } = this.#log;
    const { oldestBase } = sealed;
    const { sequence, sum } = parseBookmark(bookmark, checksum);
    if (sequence > (sum === 0 ? timelineEnd(position.sequence) : position.sequence)) {
      throw storageError('BOOKMARK_INVALID', `"${bookmark}" names a commit that does not exist.`);
    }
    if (oldestBase !== null && sequence < oldestBase.sequence) {
      throw storageError(
        'BOOKMARK_UNAVAILABLE',
        `"${bookmark}": the history of that moment was pruned.`,
      );
    }
    return { sequence, sum };
  }

  /**
   * Finds the sequence of the oldest commit to keep. The days are counted from the last commit that is a day older than
   * the newest, so that a clock that runs ahead for less than a day deletes nothing.
   */
  async #oldestKeptSequence(): Promise<number> {
    const nowMs = this.#environment.now();
    const windowMs = this.#historyDays * DAY_MS;
    const oldestMs = this.#log.sealed.oldestBase?.timeMs ?? 0;
    const isPlain = timelineStart(this.#log.position.sequence) === 0;
    if (isPlain && oldestMs <= nowMs && oldestMs >= nowMs - windowMs) return 0;
    try {
      const corrections = await Corrections.find(this.#log, nowMs);
      const newestMs = Math.min(nowMs, this.#log.position.timeMs);
      const shown = await corrections.lastCertain(newestMs - DAY_MS);
      if (shown === null) return 0;
      return (await corrections.lastCertain(shown.timeMs - windowMs - 1))?.sequence ?? 0;
    } catch (error) {
      if (isStorageError(error) && error.code === 'CORRUPT') return 0; // reading the history reports the damage
      throw error;
    }
  }

  #thinningBounds(bytes: number): ThinningBounds {
    return {
      nowMs: Math.min(this.#environment.now(), this.#log.position.timeMs),
      bytes,
      named: [...this.branches.needed, ...this.#restore.targets],
      untilSequence: this.#environment.pinnedSequence?.() ?? Number.POSITIVE_INFINITY,
    };
  }

  get #historyDays(): number {
    return this.#environment.history?.days ?? RECOVERY_WINDOW_DAYS;
  }

  async #finishRestore(): Promise<void> {
    try {
      this.#restore.commit();
      await runFlushing(this.#log.flush());
      await runFlushing(this.#pages.checkpoint(this.#restore.pending));
    } catch (error) {
      // Nothing is lost: the next opening shows the restore, or redoes it from the log.
      if (!isStorageError(error)) throw error;
    }
  }

  *#flushAndTidy(): Flushing<void> {
    // The checkpoint of a restore takes as long as its commit, so callers that wait for the commit do not wait for it.
    const isRestore = this.#restore.isUnflushed;
    yield* this.#log.flush();
    if (this.#closed !== undefined) return;
    if (isRestore || this.needsFlush || this.#pages.committed.isCheckpointing) return;
    const isEnding = this.#log.isSegmentFull && this.#log.canRotate;
    if (this.#pages.committed.isCheckpointDue || isEnding) {
      yield* this.#pages.checkpoint(this.#restore.pending);
      if (this.#closed !== undefined || this.needsFlush) return;
      if (isEnding) yield* this.#pages.rotateLog();
      if (this.#closed !== undefined) return;
    }
    this.#log.growAhead();
  }

  /** Deletes history on a full disk, unless a restore needs it; returns false if there was no room within this call. */
  #makeRoom(): boolean {
    if (this.#restore.isShown || this.#restore.targets.length > 0) return false;
    const isBusy = () => this.#closed !== undefined || this.needsFlush;
    return this.#track(runFlushing(this.#pages.giveUpHistory(isBusy))) === true;
  }
}

/** Returns the size of a segment for a history of at most this many bytes. */
function segmentBytesFor(bytes = Number.POSITIVE_INFINITY): number {
  return Math.min(SEGMENT_BYTES, Math.max(SMALL_SEGMENT_BYTES, bytes / SEGMENTS_KEPT));
}
