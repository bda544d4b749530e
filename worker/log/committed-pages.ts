// The committed state of a database: the overlay of pages not yet in the main file, over that file.
//
// Keeps true: a checkpoint writes to the main file only what is flushed in the log, so it is called
// only then; until its slot is written the overlay keeps serving what it wrote. After a checkpoint
// the main file is a plain SQLite image.

import { storageError } from '../../src/contract/errors.ts';
import { isDiskFull } from '../file/file.ts';
import { type Flushing, runFlushing } from '../file/flushing.ts';
import type { CheckpointFile, PendingRestore } from './checkpoint-file.ts';
import type { CommitLog } from './commit-log.ts';
import type { MainFile } from './main-file.ts';
import { type LoggedImage, type Overlay, PAGE_BYTES } from './pages.ts';
import type { Redo } from './redo.ts';

/** Bytes of committed pages kept in memory, and of log, after which a checkpoint is due. */
export const CHECKPOINT_OVERLAY_BYTES = 4 << 20;
export const CHECKPOINT_LOG_BYTES = 1 << 18;
/** Overlay, as a multiple of what makes a checkpoint due, that is the most while they fail. */
const OVERLAY_FACTOR_MAX = 4;
const RUN_PAGES = 64;

export interface CheckpointOptions {
  readonly checkpointOverlayBytes: number;
  readonly checkpointLogBytes: number;
}

// Shared by all objects of a worker: not used across a turn of the event loop.
const run = new Uint8Array(RUN_PAGES * PAGE_BYTES);

export class CommittedPages {
  readonly #main: MainFile;
  readonly #checkpoints: CheckpointFile;
  readonly #log: CommitLog;
  readonly #options: CheckpointOptions;
  readonly #overlay: Overlay;
  #pageCount: number;
  #mainPages: number;
  #checkpointState: 'idle' | 'running' | 'blocked' = 'idle';
  /** Settles with the last checkpoint that a refused commit tried again. */
  #retrying: Promise<unknown> | undefined;
  /** As the last checkpoint that was tried knew it. */
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
    this.#pageCount = redo.pageCount;
    this.#mainPages = redo.pageCountMost;
    // A bulk load that a crash ended has left pages nothing counts.
    main.cut(this.#mainPages);
  }

  get pageCount(): number {
    return this.#pageCount;
  }

  /** No state that can be recovered has a page in the main file at or beyond this. */
  get reachOfMain(): number {
    return Math.max(this.#mainPages, this.#pageCount);
  }

  /** @throws CORRUPT when the bytes are not the ones that were committed. */
  read(pageIndex: number, target: Uint8Array): void {
    const page = this.#overlay.get(pageIndex);
    if (page === undefined) this.#main.read(pageIndex, target);
    else if (page instanceof Uint8Array) target.set(page);
    else this.#log.readImage(page, target, pageIndex);
  }

  /** Takes a page of the transaction that was just committed. */
  put(pageIndex: number, page: Uint8Array | LoggedImage): void {
    this.#overlay.set(pageIndex, page);
  }

  /**
   * Ends a committed transaction. `mainGrew`: some of its pages were written to the main file
   * directly.
   */
  settle(pageCount: number, mainGrew: boolean): void {
    for (let i = pageCount; i < this.#pageCount; i++) this.#overlay.delete(i);
    if (mainGrew) this.#mainPages = Math.max(this.#mainPages, pageCount);
    this.#pageCount = pageCount;
  }

  /** @throws DISK_FULL when too much waits for a main file that still cannot grow. */
  refuseWhenBlocked(): void {
    const most = OVERLAY_FACTOR_MAX * this.#options.checkpointOverlayBytes;
    if (this.#checkpointState !== 'blocked' || this.#overlayBytes <= most) return;
    // The disk may have room again, and a commit that is refused leads to no flush that would see.
    if (this.#log.isDurable && this.#retryCheckpoint()) return;
    throw storageError(
      'DISK_FULL',
      'commit: the main file cannot grow, and what it lacks fills the memory allowed for it.',
    );
  }

  /** True when enough has gathered to bring the main file up to date. */
  get isCheckpointDue(): boolean {
    const { segment, position } = this.#checkpoints.last;
    const active = this.#log.active;
    const from = segment === active.number ? position.offset : active.base.offset;
    const logBytes = this.#log.position.offset - from;
    return (
      this.#overlayBytes >= this.#options.checkpointOverlayBytes ||
      logBytes >= this.#options.checkpointLogBytes
    );
  }

  /** True when the main file lacks nothing. */
  get isCheckpointed(): boolean {
    return this.#overlay.size === 0;
  }

  get isCheckpointing(): boolean {
    return this.#checkpointState === 'running';
  }

  /**
   * Brings the main file up to the last commit, which must be durable. `mayCut`: nothing behind the
   * committed pages is in use. False when the disk is too full: nothing is lost, it is tried again.
   */
  *checkpoint(pending: PendingRestore | null, mayCut: boolean): Flushing<boolean> {
    this.#pendingRestore = pending;
    const { position } = this.#log;
    const pageCount = this.#pageCount;
    const written = [...this.#overlay.entries()].sort((a, b) => a[0] - b[0]);
    this.#checkpointState = 'running';
    try {
      this.#writeRuns(written);
      if (mayCut) this.#main.cut(pageCount);
      this.#main.writeSums();
      this.#log.active.writeIndex();
      yield* this.#main.flush();
      // A page that was committed while the flush ran stays in the overlay.
      for (const [pageIndex, page] of written) {
        if (this.#overlay.get(pageIndex) === page) this.#overlay.delete(pageIndex);
      }
      this.#mainPages = Math.max(pageCount, this.#pageCount);
      const segment = this.#log.active.number;
      this.#checkpoints.writeSlot({ pageCount, pendingRestore: pending, segment, position });
    } catch (error) {
      this.#checkpointState = 'blocked';
      if (isDiskFull(error)) return false;
      throw error;
    }
    this.#checkpointState = 'idle';
    return true;
  }

  /** Settles when no checkpoint that was tried again is under way. */
  async settled(): Promise<void> {
    await this.#retrying;
  }

  /** Tries the checkpoint again that failed. True when the main file has grown inside this call. */
  #retryCheckpoint(): boolean {
    const done = runFlushing(this.checkpoint(this.#pendingRestore, false));
    if (typeof done === 'boolean') return done;
    // The commit is refused now; a later one finds out whether there was room.
    this.#retrying = done.catch(() => false);
    return false;
  }

  get #overlayBytes(): number {
    return this.#overlay.size * PAGE_BYTES;
  }

  /** Writes pages to their places, neighbours together. */
  #writeRuns(pages: [pageIndex: number, page: unknown][]): void {
    for (let first = 0; first < pages.length; ) {
      const start = pages[first]![0];
      let count = 0;
      while (count < RUN_PAGES && pages[first + count]?.[0] === start + count) {
        this.read(start + count, run.subarray(count * PAGE_BYTES, (count + 1) * PAGE_BYTES));
        count++;
      }
      this.#main.write(start, run.subarray(0, count * PAGE_BYTES));
      first += count;
    }
  }
}
