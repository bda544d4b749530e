// The committed state of a database: the main file, and an overlay of pages that are newer.
//
// Invariants: a checkpoint writes to the main file only pages that are durable in the log, so callers
// flush first. Pages stay in the overlay until the main file is flushed. After a checkpoint, the main
// file is a plain SQLite image.

import { storageError } from '../../../src/shared/contract/errors.ts';
import { assert } from '../../../src/shared/contract/invariant.ts';
import { type Flushing, isDiskFull, runFlushing } from '../file/file.ts';

import type { CheckpointFile, PendingRestore } from './checkpoint-file.ts';
import type { CommitLog } from './commit-log.ts';
import type { MainFile } from './main-file.ts';
import type { PageLayer } from './page-layer.ts';
import { type EachPage, type LoggedImage, type Overlay, PAGE_BYTES } from './pages.ts';
import type { Redo } from './redo.ts';

/** A checkpoint is due after this many bytes of committed pages in memory, or of log. */
export const CHECKPOINT_OVERLAY_BYTES = 4 << 20;
export const CHECKPOINT_LOG_BYTES = 1 << 18;
/**
 * If the records since the last checkpoint have at least this average size, the log may grow to `LARGE_LOG_FACTOR`
 * times `checkpointLogBytes`: a value of 128 KB fills the log with one commit, and a checkpoint costs two flushes and
 * as many bytes again. An opening redoes few large records faster than as many bytes of small ones.
 */
const LARGE_RECORD_BYTES = 1 << 16;
const LARGE_LOG_FACTOR = 8;
/**
 * After a checkpoint, each page is logged whole before it is logged as differences. To make the whole pages a small
 * part of the log, the log may grow by this many times their bytes before the next checkpoint.
 */
const MOVED_LOG_FACTOR = 16;
/** Upper bound of the overlay while checkpoints fail, as a multiple of `checkpointOverlayBytes`. */
const OVERLAY_FACTOR_MAX = 4;
const RUN_PAGES = 64;

export interface CheckpointOptions {
  /** True in tests and in the simulation: slow assertions run too. */
  readonly isChecked: boolean;
  readonly checkpointOverlayBytes: number;
  readonly checkpointLogBytes: number;
}

// One buffer for all objects of a worker: every use ends within one turn of the event loop.
const run = new Uint8Array(RUN_PAGES * PAGE_BYTES);

export class CommittedPages implements PageLayer {
  readonly #main: MainFile;
  readonly #checkpoints: CheckpointFile;
  readonly #log: CommitLog;
  readonly #options: CheckpointOptions;
  readonly #overlay: Overlay;
  /** Pages that the log has held whole since the last checkpoint began, so that an opening knows them at each record. */
  readonly #exact: Set<number>;
  /** Pages that a record has held as differences since the last checkpoint began. */
  readonly #moved = new Set<number>();
  #pageCount: number;
  #mainPages: number;
  #checkpointState: 'idle' | 'running' | 'blocked' = 'idle';
  /** The checkpoint that a refused commit started again, if any. */
  #retrying: Promise<unknown> | undefined;
  /** The pending restore that the last attempted checkpoint stored. */
  #pendingRestore: PendingRestore | null = null;

  constructor(
    main: MainFile,
    checkpoints: CheckpointFile,
    log: CommitLog,
    redo: Redo,
    options: CheckpointOptions,
  ) {
    this.#main = main;
    this.#checkpoints = checkpoints;
    this.#log = log;
    this.#options = options;
    this.#overlay = redo.overlay;
    this.#exact = redo.exact;
    this.#pageCount = redo.pageCount;
    this.#mainPages = redo.pageCountMost;
    this.#checkImages();
    // If a crash interrupted a bulk load, the main file ends with pages that no state contains.
    main.cut(this.#mainPages);
  }

  get pageCount(): number {
    return this.#pageCount;
  }

  /** The state that a branch began with; null if this is not a branch. */
  get below(): PageLayer | null {
    return this.#main.branch?.base ?? null;
  }

  *ownPages(): Generator<number> {
    yield* this.#main.branch?.ownPages() ?? [];
    yield* this.#overlay.keys();
    const end = Math.max(this.#pageCount, this.below?.pageCount ?? 0);
    for (let i = Math.min(this.#pageCount, this.below?.pageCount ?? 0); i < end; i++) yield i;
  }

  /** No recoverable state has a page in the main file at or beyond this index. */
  get reachOfMain(): number {
    return Math.max(this.#mainPages, this.#pageCount);
  }

  /** Reads a page. @throws CORRUPT if the bytes differ from the committed ones. */
  read(pageIndex: number, target: Uint8Array): void {
    const page = this.#overlay.get(pageIndex);
    if (page === undefined) this.#main.read(pageIndex, target);
    else this.#copy(pageIndex, page, target);
  }

  /**
   * Passes each page to `use`, with bytes that are valid until it returns. The indexes are in order. @throws CORRUPT
   */
  readAll(pageIndexes: readonly number[], use: EachPage): void {
    const newer = new Uint8Array(PAGE_BYTES);
    for (const pageIndex of pageIndexes) {
      const page = this.#overlay.get(pageIndex);
      if (page === undefined) continue;
      this.#copy(pageIndex, page, newer);
      use(newer, pageIndex);
    }
    this.#main.readAll(
      pageIndexes.filter((pageIndex) => !this.#overlay.has(pageIndex)),
      use,
    );
  }

  /** Adds a page of the transaction that was just committed. Returns the replaced page if its memory can be reused. */
  put(pageIndex: number, page: Uint8Array | LoggedImage): Uint8Array | null {
    const old = this.#overlay.get(pageIndex);
    this.#overlay.set(pageIndex, page);
    // A running checkpoint compares its pages with these, and writes them once more if it is repeated.
    const isFree = old instanceof Uint8Array && this.#checkpointState === 'idle';
    // Reuse only a page with its own buffer: one in a slab would keep its neighbours in memory.
    return isFree && old.buffer.byteLength === PAGE_BYTES ? old : null;
  }

  /** True if records may hold differences of pages. */
  get mayHoldDeltas(): boolean {
    return this.#checkpoints.mayHoldDeltas;
  }

  /** True if a record may hold this page as a difference from its present bytes. */
  isExact(pageIndex: number): boolean {
    return this.#exact.has(pageIndex);
  }

  /** Lists at most `count` exact pages, namely those that records held last, whole or as differences. */
  lastExact(count: number): number[] {
    return [...this.#exact].slice(-count);
  }

  /** Notes that a committed record holds this page whole, or as differences. */
  becomeExact(pageIndex: number, isMoved: boolean): void {
    if (isMoved) this.#moved.add(pageIndex);
    this.#exact.delete(pageIndex); // so that the page becomes the last one in the set
    this.#exact.add(pageIndex);
  }

  /**
   * Completes a committed transaction. `mainGrew`: some of its pages were written directly to the
   * main file.
   */
  settle(pageCount: number, mainGrew: boolean): void {
    for (let i = pageCount; i < this.#pageCount; i++) {
      this.#overlay.delete(i);
      this.#exact.delete(i);
    }
    if (mainGrew) this.#mainPages = Math.max(this.#mainPages, pageCount);
    this.#pageCount = pageCount;
    if (this.#options.isChecked) this.#checkImages();
  }

  /**
   * Refuses a commit while checkpoints are blocked and the overlay is full. @throws DISK_FULL if the overlay is at its
   * limit and the main file still cannot grow.
   */
  refuseWhenBlocked(): void {
    const most = OVERLAY_FACTOR_MAX * this.#options.checkpointOverlayBytes;
    if (this.#checkpointState !== 'blocked' || this.#overlayBytes <= most) return;
    // The disk may have room again. A refused commit causes no flush, so nothing else would notice.
    if (this.#log.isDurable && this.#retryCheckpoint()) return;
    throw storageError(
      'DISK_FULL',
      'commit: the disk is full, and committed pages that wait for space in the main file fill the ' +
        'memory allowed for them. Free some space.',
    );
  }

  /** True when enough pages or log have accumulated. */
  get isCheckpointDue(): boolean {
    const { segment, position } = this.#checkpoints.last;
    const active = this.#log.active;
    const isInActive = segment === active.number;
    const from = isInActive ? position.offset : active.base.offset;
    const logBytes = this.#log.position.offset - from;
    const commits = this.#log.position.sequence - position.sequence;
    const { checkpointLogBytes, checkpointOverlayBytes } = this.#options;
    const isLarge = logBytes >= commits * LARGE_RECORD_BYTES;
    // Do not delay the first checkpoint of a segment: until that checkpoint, an opening has one more file open.
    const movedBytes = isInActive ? MOVED_LOG_FACTOR * this.#moved.size * PAGE_BYTES : 0;
    const most = LARGE_LOG_FACTOR * checkpointLogBytes;
    const allowed = isLarge ? most : Math.min(checkpointLogBytes + movedBytes, most);
    return this.#overlayBytes >= checkpointOverlayBytes || logBytes >= allowed;
  }

  /** True if there is an exact page. Such a page is in the overlay until the next checkpoint. */
  get hasExact(): boolean {
    return this.#exact.size > 0;
  }

  /** True when the main file contains every committed page. */
  get isCheckpointed(): boolean {
    return this.#overlay.size === 0;
  }

  get isCheckpointing(): boolean {
    return this.#checkpointState === 'running';
  }

  /**
   * Copies every committed page into the main file; the last commit must be durable. `mayCut`:
   * nothing after the committed pages is in use. On a full disk, history is pruned. Returns false if the disk is too
   * full nevertheless: nothing is lost, and it can be retried.
   */
  *checkpoint(pending: PendingRestore | null, mayCut: boolean): Flushing<boolean> {
    for (;;) {
      if (yield* this.#checkpoint(pending, mayCut)) return true;
      if (!this.#log.isDurable || !this.#log.pruneOldest()) return false;
    }
  }

  *#checkpoint(pending: PendingRestore | null, mayCut: boolean): Flushing<boolean> {
    assert(this.#log.isDurable, 'a checkpoint began before the log was durable');
    assert(!this.isCheckpointing, 'a checkpoint began during another one');
    this.#pendingRestore = pending;
    const { position } = this.#log;
    const pageCount = this.#pageCount;
    const segment = this.#log.active.number;
    const next = { pageCount, pendingRestore: pending, segment, position };
    const written = [...this.#overlay.entries()].sort((a, b) => a[0] - b[0]);
    this.#checkpointState = 'running';
    // From here on, an opening may find in the main file the pages of this checkpoint or of the one before.
    this.#exact.clear();
    this.#moved.clear();
    try {
      for (const [pageIndex, page] of written) this.#main.setSum(pageIndex, page);
      this.#log.active.writeIndex();
      yield* this.#checkpoints.begin(next);
      this.#writeRuns(written);
      if (mayCut) this.#main.cut(pageCount);
      yield this.#main.flush();
      // A page that was committed during the flushes stays in the overlay.
      for (const [pageIndex, page] of written) {
        if (this.#overlay.get(pageIndex) === page) this.#overlay.delete(pageIndex);
      }
      this.#mainPages = Math.max(pageCount, this.#pageCount);
      this.#checkpoints.writeSlot(next);
    } catch (error) {
      this.#checkpointState = 'blocked';
      if (isDiskFull(error)) return false;
      throw error;
    }
    this.#checkpointState = 'idle';
    return true;
  }

  /**
   * Prepares the start of the next segment: makes a branch's checkpoint slot durable. Without the slot, the branch
   * would forget the places of its pages, and only the segment that ends could rebuild them.
   */
  *endCheckpoint(): Flushing<void> {
    if (this.#main.branch !== null) yield this.#checkpoints.flush();
  }

  /** Resolves when no retried checkpoint is in progress. */
  async untilRetriesEnd(): Promise<void> {
    await this.#retrying;
  }

  /** Retries the failed checkpoint. Returns true if it succeeded inside this call. */
  #retryCheckpoint(): boolean {
    const done = runFlushing(this.checkpoint(this.#pendingRestore, false));
    if (typeof done === 'boolean') return done;
    // This commit is still refused; if the checkpoint finds room, a later one succeeds.
    this.#retrying = done.catch(() => false);
    return false;
  }

  /** Asserts that every logged image lies in the active segment, before the end of the log. */
  #checkImages(): void {
    const end = this.#log.position.offset;
    for (const page of this.#overlay.values()) {
      if (page instanceof Uint8Array) continue;
      assert(page.offset + PAGE_BYTES <= end, 'a page refers to a segment that has ended');
    }
  }

  get #overlayBytes(): number {
    return this.#overlay.size * PAGE_BYTES;
  }

  #copy(pageIndex: number, page: Uint8Array | LoggedImage, target: Uint8Array): void {
    if (page instanceof Uint8Array) target.set(page);
    else this.#log.readImage(page, target, pageIndex);
  }

  /** Writes the pages to the main file; adjacent pages are written in one call. */
  #writeRuns(pages: [pageIndex: number, page: Uint8Array | LoggedImage][]): void {
    for (let first = 0; first < pages.length; ) {
      const start = pages[first]![0];
      let count = 0;
      for (; count < RUN_PAGES; count++) {
        const [pageIndex, page] = pages[first + count] ?? [];
        if (page === undefined || pageIndex !== start + count) break;
        this.#copy(pageIndex, page, run.subarray(count * PAGE_BYTES, (count + 1) * PAGE_BYTES));
      }
      this.#main.write(start, run.subarray(0, count * PAGE_BYTES));
      first += count;
    }
  }
}
