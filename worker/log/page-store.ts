// The present of a database: what its pages hold now, and how a transaction becomes a commit.
//
// A page is looked for, in this order, in
//   the running transaction   `pending` (in memory), `spilled` (in the log, not committed),
//                             `direct` (in the main file, beyond every committed page)
//   the overlay               committed, not yet in the main file (in memory, or in the log)
//   the main file             verified against its sum; damage is CORRUPT, never wrong data.
//
// Keeps true: a commit is one write to the log, whatever was written before it; the main file
// receives only what is flushed in the log, except pages beyond its committed end, which no
// recovery looks at. After a checkpoint the main file is a plain SQLite image.
//
// A big transaction is not held in memory: pages that exist are spilled to the log, new pages go to
// the main file and are not logged at all.

import { storageError } from '../../src/contract/errors.ts';
import { isDiskFull } from '../file/file.ts';
import type { DatabaseFile } from '../vfs/database-file.ts';
import type { CheckpointFile, PendingRestore } from './checkpoint-file.ts';
import { pageSum } from './checksum.ts';
import type { CommitLog } from './commit-log.ts';
import type { MainFile } from './main-file.ts';
import { type LoggedImage, type Overlay, PAGE_BYTES, readImage, wordsOf } from './pages.ts';
import { CONTINUES, RecordWriter } from './record.ts';
import type { Redo } from './redo.ts';

/** Bytes of changed pages a transaction keeps in memory before it spills. */
export const SPILL_BYTES = 4 << 20;
/** Bytes of committed pages kept in memory, and of log, after which a checkpoint is due. */
export const CHECKPOINT_OVERLAY_BYTES = 4 << 20;
export const CHECKPOINT_LOG_BYTES = 1 << 18;
/** Overlay beyond which commits are refused while checkpoints fail for want of space. */
const OVERLAY_BYTES_MAX = 4 * CHECKPOINT_OVERLAY_BYTES;
const RUN_PAGES = 64;

/**
 * What SQLite still does after a failure. `refused`: a write failed, so the transaction must not
 * commit; reading and its sync fail. `rollingBack`: a sync failed, so what SQLite writes up to its
 * next sync only puts back what is there already.
 */
type Failed =
  | { readonly kind: 'no' }
  | { readonly kind: 'refused'; readonly error: unknown }
  | { readonly kind: 'rollingBack' };

export interface PageStoreOptions {
  readonly spillBytes: number;
  readonly checkpointOverlayBytes: number;
  readonly checkpointLogBytes: number;
}

// Shared by all objects of a worker: none is used across a turn of the event loop.
const writer = new RecordWriter();
const before = new Uint8Array(PAGE_BYTES);
const partial = new Uint8Array(PAGE_BYTES);
const run = new Uint8Array(RUN_PAGES * PAGE_BYTES);

export class PageStore implements DatabaseFile {
  readonly #main: MainFile;
  readonly #checkpoints: CheckpointFile;
  readonly #log: CommitLog;
  readonly #salt: number;
  readonly #options: PageStoreOptions;

  readonly #overlay: Overlay;
  /** Committed pages; the first `#pageCount` exist. */
  #pageCount = 0;
  /** No state that can be recovered has pages in the main file at or beyond this. */
  #mainPages: number;

  readonly #pending = new Map<number, Uint8Array>();
  readonly #spilled = new Map<number, LoggedImage>();
  /** Spilled, then cut off by a truncation: the log's last word on pages that do not exist now. */
  readonly #cut = new Map<number, LoggedImage>();
  readonly #direct = new Set<number>();
  /** Pages as the running transaction sees them. */
  #currentPages = 0;
  /** Committed pages at or beyond this were truncated away by the running transaction. */
  #visiblePages = 0;
  #failed: Failed = { kind: 'no' };
  #directAllowed: boolean | null = null;
  #wroteBeyondMain = false;
  #spillBytes: number;
  #checkpointState: 'idle' | 'running' | 'blocked' = 'idle';

  constructor(
    main: MainFile,
    checkpoints: CheckpointFile,
    log: CommitLog,
    redo: Redo,
    options: PageStoreOptions,
  ) {
    this.#main = main;
    this.#checkpoints = checkpoints;
    this.#log = log;
    this.#salt = checkpoints.salt;
    this.#options = options;
    this.#spillBytes = options.spillBytes;
    this.#overlay = redo.overlay;
    this.#mainPages = redo.pageCountMost;
    this.#setPageCount(redo.pageCount);
    main.cut(this.#mainPages);
  }

  /** Pages of the last committed state. */
  get pageCount(): number {
    return this.#pageCount;
  }

  // ---- What SQLite calls.

  read(target: Uint8Array, offset: number): boolean {
    if (this.#failed.kind === 'refused') throw this.#failed.error;
    // Rolling back reads nothing: this is the next transaction.
    this.#failed = { kind: 'no' };
    const pageIndex = Math.floor(offset / PAGE_BYTES);
    const start = offset - pageIndex * PAGE_BYTES;
    if (start + target.length > PAGE_BYTES) {
      throw storageError('INTERNAL', `read: ${target.length} bytes at ${offset} span two pages.`);
    }
    if (pageIndex >= this.#currentPages) {
      target.fill(0);
      return false;
    }
    if (target.length === PAGE_BYTES) {
      this.#readCurrent(pageIndex, target);
    } else {
      this.#readCurrent(pageIndex, partial);
      target.set(partial.subarray(start, start + target.length));
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
      this.#makeRoom(pageIndex);
    } catch (error) {
      this.rollback();
      this.#failed = { kind: 'refused', error };
      throw error;
    }
    const page = this.#pending.get(pageIndex);
    if (page === undefined) this.#pending.set(pageIndex, bytes.slice());
    else page.set(bytes);
    this.#grow(pageIndex);
  }

  truncate(sizeBytes: number): void {
    if (this.#failed.kind !== 'no') return;
    const count = Math.ceil(sizeBytes / PAGE_BYTES);
    if (count < this.#currentPages) {
      for (const pageIndex of this.#pending.keys()) {
        if (pageIndex >= count) this.#pending.delete(pageIndex);
      }
      for (const pageIndex of this.#direct) {
        if (pageIndex >= count) this.#direct.delete(pageIndex);
      }
      for (const [pageIndex, image] of this.#spilled) {
        if (pageIndex < count) continue;
        this.#spilled.delete(pageIndex);
        this.#cut.set(pageIndex, image);
      }
      this.#visiblePages = Math.min(this.#visiblePages, count);
    }
    this.#currentPages = count;
  }

  sizeBytes(): number {
    return this.#currentPages * PAGE_BYTES;
  }

  commit(): void {
    const failed = this.#failed;
    this.#failed = { kind: 'no' };
    if (failed.kind === 'rollingBack') return;
    try {
      if (failed.kind === 'refused') throw failed.error;
      this.commitAs(0, this.#log.position.sequence + 1);
    } catch (error) {
      // SQLite rolls back by writing pages, some of which held nothing and differ: were they taken
      // for a change, the rollback would need the disk.
      this.rollback();
      this.#failed = { kind: 'rollingBack' };
      throw error;
    }
  }

  // ---- What the rest of the log calls.

  /**
   * Commits the running transaction under a sequence, or does nothing when it changed nothing and
   * has no flags. When it throws, the transaction is still there, to be rolled back.
   */
  commitAs(flags: number, sequence: number): void {
    this.#fillHoles();
    if (flags === 0 && this.#log.hasOpenParts && this.#isUnchanged()) {
      this.#dropUnchanged();
      return;
    }
    if (this.#checkpointState === 'blocked' && this.#overlayBytes() > OVERLAY_BYTES_MAX) {
      throw storageError(
        'DISK_FULL',
        'commit: the main file cannot grow, and what it lacks fills the memory allowed for it.',
      );
    }
    if (this.#direct.size > 0) this.#settleDirect();
    if (this.#appendTransaction(flags, sequence)) this.#becomeCommitted();
    else this.#dropUnchanged();
  }

  /** The page of the running transaction, to be changed in place. Made of zeros beyond the end. */
  edit(pageIndex: number): Uint8Array {
    let page = this.#pending.get(pageIndex);
    if (page === undefined) {
      this.#makeRoom(pageIndex);
      page = new Uint8Array(PAGE_BYTES);
      if (pageIndex < this.#currentPages) this.#readCurrent(pageIndex, page);
      this.#pending.set(pageIndex, page);
      this.#grow(pageIndex);
    }
    return page;
  }

  /** Lets the running transaction keep more in memory: a restore touches the same pages often. */
  setSpillBytes(bytes: number | null): void {
    this.#spillBytes = bytes ?? this.#options.spillBytes;
  }

  /** Undoes the running transaction. */
  rollback(): void {
    this.#log.dropOpenParts();
    this.#forgetTransaction();
  }

  /** Reads a committed page. Only between transactions. */
  readPage(pageIndex: number, target: Uint8Array): void {
    this.#readCommitted(pageIndex, target);
  }

  // ---- Checkpoint.

  /** True when enough has gathered to bring the main file up to date. */
  get isCheckpointDue(): boolean {
    const { segment, position } = this.#checkpoints.last;
    const active = this.#log.active;
    const from = segment === active.number ? position.offset : active.base.offset;
    const logBytes = this.#log.position.offset - from;
    return (
      this.#overlayBytes() >= this.#options.checkpointOverlayBytes ||
      logBytes >= this.#options.checkpointLogBytes
    );
  }

  /**
   * Brings the main file up to the last commit, which must be durable. False when the disk is too
   * full for it: nothing is lost, it is tried again later.
   */
  checkpoint(pendingRestore: PendingRestore | null): boolean | Promise<boolean> {
    const position = this.#log.position;
    const pageCount = this.#pageCount;
    const written = [...this.#overlay.entries()].sort((a, b) => a[0] - b[0]);
    this.#checkpointState = 'running';
    try {
      this.#writeRuns(written);
      if (this.#direct.size === 0) this.#main.cut(pageCount);
      this.#main.writeSums();
      this.#log.active.writeIndex();
    } catch (error) {
      this.#checkpointState = 'blocked';
      if (isDiskFull(error)) return false;
      throw error;
    }
    const finish = () => {
      for (const [pageIndex, page] of written) {
        if (this.#overlay.get(pageIndex) === page) this.#overlay.delete(pageIndex);
      }
      this.#mainPages = Math.max(pageCount, this.#pageCount);
      const segment = this.#log.active.number;
      this.#checkpoints.writeSlot({ pageCount, pendingRestore, segment, position });
      this.#checkpointState = 'idle';
      return true;
    };
    const flushed = this.#main.flush();
    return flushed instanceof Promise ? flushed.then(finish) : finish();
  }

  /** True when the main file lacks nothing. */
  get isCheckpointed(): boolean {
    return this.#overlay.size === 0;
  }

  get isCheckpointing(): boolean {
    return this.#checkpointState === 'running';
  }

  // ---- Reading.

  #readCurrent(pageIndex: number, target: Uint8Array): void {
    const pending = this.#pending.get(pageIndex);
    if (pending !== undefined) {
      target.set(pending);
      return;
    }
    const spilled = this.#spilled.get(pageIndex);
    if (spilled !== undefined) readImage(spilled, target, pageIndex, this.#salt);
    else if (this.#direct.has(pageIndex)) this.#main.read(pageIndex, target);
    else if (pageIndex < this.#visiblePages) this.#readCommitted(pageIndex, target);
    else target.fill(0);
  }

  #readCommitted(pageIndex: number, target: Uint8Array): void {
    const page = this.#overlay.get(pageIndex);
    if (page === undefined) this.#main.read(pageIndex, target);
    else if (page instanceof Uint8Array) target.set(page);
    else readImage(page, target, pageIndex, this.#salt);
  }

  /** What the log would make of a page so far, or null when the page does not exist there. */
  #readLogged(pageIndex: number): Uint8Array | null {
    const image = this.#spilled.get(pageIndex) ?? this.#cut.get(pageIndex);
    if (image !== undefined) readImage(image, before, pageIndex, this.#salt);
    else if (pageIndex < this.#pageCount) this.#readCommitted(pageIndex, before);
    else return null;
    return before;
  }

  // ---- The running transaction.

  #grow(pageIndex: number): void {
    if (pageIndex >= this.#currentPages) this.#currentPages = pageIndex + 1;
  }

  /** Spills when one page more in memory would be too much. */
  #makeRoom(pageIndex: number): void {
    const isFull = (this.#pending.size + 1) * PAGE_BYTES > this.#spillBytes;
    if (isFull && !this.#pending.has(pageIndex)) this.#spill();
  }

  /** Moves the pages in memory to the main file (beyond its end) and to the log (all others). */
  #spill(): void {
    const header = {
      flags: CONTINUES,
      sequence: this.#log.position.sequence + 1,
      pageCountBefore: this.#pageCount,
      pageCount: this.#currentPages,
    };
    let images: [pageIndex: number, at: number, sum: number][] = [];
    const writePart = () => {
      const offset = this.#log.append(writer, header);
      for (const [pageIndex, at, sum] of images) {
        this.#spilled.set(pageIndex, { file: this.#log.active.file, offset: offset + at, sum });
        this.#cut.delete(pageIndex);
        this.#pending.delete(pageIndex);
      }
      images = [];
      writer.begin();
    };
    writer.begin();
    for (const [pageIndex, page] of this.#pending) {
      if (this.#isBeyondMain(pageIndex)) {
        this.#wroteBeyondMain = true;
        this.#main.write(pageIndex, page);
        this.#direct.add(pageIndex);
        this.#pending.delete(pageIndex);
        continue;
      }
      const at = writer.addImage(pageIndex, this.#readLogged(pageIndex), page, this.#salt);
      images.push([pageIndex, at, pageSum(wordsOf(page), pageIndex, this.#salt)]);
      if (writer.isFull) writePart();
    }
    if (!writer.isEmpty) writePart();
  }

  /** True for pages that may go straight to the main file: no recoverable state has them. */
  #isBeyondMain(pageIndex: number): boolean {
    if (pageIndex < Math.max(this.#pageCount, this.#mainPages)) return false;
    if (this.#spilled.has(pageIndex) || this.#cut.has(pageIndex)) return false;
    // Such pages must be durable before the commit that counts them is written, and a commit
    // cannot wait.
    this.#directAllowed ??= this.#flushesAtOnce();
    return this.#directAllowed;
  }

  #flushesAtOnce(): boolean {
    const flushed = this.#main.flush();
    // Only asked to learn the kind of medium; nothing depends on its success.
    if (flushed instanceof Promise) flushed.catch(() => {});
    return !(flushed instanceof Promise);
  }

  /** Makes the pages in the main file that this transaction counts durable. */
  #settleDirect(): void {
    for (const pageIndex of this.#direct) {
      const page = this.#pending.get(pageIndex);
      if (page !== undefined) this.#main.write(pageIndex, page);
    }
    this.#main.writeSums();
    void this.#main.flush();
  }

  /** Writes the record, in parts when it is big. False when there is nothing to commit. */
  #appendTransaction(flags: number, sequence: number): boolean {
    const header = { sequence, pageCountBefore: this.#pageCount, pageCount: this.#currentPages };
    const add = (pageIndex: number, after: Uint8Array | null) => {
      if (writer.isFull) {
        this.#log.append(writer, { ...header, flags: CONTINUES });
        writer.begin();
      }
      const change = { pageIndex, before: this.#readLogged(pageIndex), after };
      writer.addChange(change, this.#salt);
    };
    writer.begin();
    for (const [pageIndex, page] of this.#pending) {
      if (!this.#direct.has(pageIndex)) add(pageIndex, page);
    }
    const hasNone = writer.isEmpty && !this.#log.hasOpenParts;
    if (flags === 0 && hasNone && this.#currentPages <= this.#pageCount) return false;
    for (let i = this.#currentPages; i < this.#pageCount; i++) add(i, null);
    this.#log.append(writer, { ...header, flags });
    return true;
  }

  /** Pages the transaction skipped over are zeros, as in any file. */
  #fillHoles(): void {
    for (let i = this.#visiblePages; i < this.#currentPages; i++) {
      if (this.#pending.has(i) || this.#spilled.has(i) || this.#direct.has(i)) continue;
      this.#pending.set(i, new Uint8Array(PAGE_BYTES));
    }
  }

  #isUnchanged(): boolean {
    if (this.#currentPages > this.#pageCount) return false;
    const isSame = (pageIndex: number, page: Uint8Array) => {
      this.#readCommitted(pageIndex, before);
      return samePage(before, page);
    };
    for (const [pageIndex, page] of this.#pending) if (!isSame(pageIndex, page)) return false;
    for (const [pageIndex, image] of this.#spilled) {
      if (this.#pending.has(pageIndex)) continue;
      readImage(image, partial, pageIndex, this.#salt);
      if (!isSame(pageIndex, partial)) return false;
    }
    return true;
  }

  /**
   * Ends a transaction that left every page as it was. That the file became shorter is kept for the
   * next commit: SQLite cuts it only after the sync of the commit that emptied those pages.
   */
  #dropUnchanged(): void {
    const shorter = this.#currentPages * PAGE_BYTES;
    this.rollback();
    this.truncate(shorter);
  }

  #becomeCommitted(): void {
    for (const [pageIndex, image] of this.#spilled) this.#overlay.set(pageIndex, image);
    for (const [pageIndex, page] of this.#pending) {
      if (!this.#direct.has(pageIndex)) this.#overlay.set(pageIndex, page);
    }
    for (let i = this.#currentPages; i < this.#pageCount; i++) this.#overlay.delete(i);
    if (this.#direct.size > 0) this.#mainPages = Math.max(this.#mainPages, this.#currentPages);
    this.#wroteBeyondMain = false;
    this.#pageCount = this.#currentPages;
    this.#forgetTransaction();
  }

  #forgetTransaction(): void {
    if (this.#wroteBeyondMain) {
      // A bulk load was rolled back: give its space back now, the disk may be full.
      this.#main.cut(Math.max(this.#mainPages, this.#pageCount));
      this.#wroteBeyondMain = false;
    }
    this.#pending.clear();
    this.#spilled.clear();
    this.#cut.clear();
    this.#direct.clear();
    this.#setPageCount(this.#pageCount);
  }

  #setPageCount(count: number): void {
    this.#pageCount = count;
    this.#currentPages = count;
    this.#visiblePages = count;
  }

  #overlayBytes(): number {
    return this.#overlay.size * PAGE_BYTES;
  }

  /** Writes pages to their places, neighbours together. */
  #writeRuns(pages: [pageIndex: number, page: unknown][]): void {
    for (let first = 0; first < pages.length; ) {
      const start = pages[first]![0];
      let count = 0;
      while (count < RUN_PAGES && pages[first + count]?.[0] === start + count) {
        const target = run.subarray(count * PAGE_BYTES, (count + 1) * PAGE_BYTES);
        this.#readCommitted(start + count, target);
        count++;
      }
      this.#main.write(start, run.subarray(0, count * PAGE_BYTES));
      first += count;
    }
  }
}

function samePage(a: Uint8Array, b: Uint8Array): boolean {
  const left = wordsOf(a);
  const right = wordsOf(b);
  for (let i = 0; i < left.length; i++) if (left[i] !== right[i]) return false;
  return true;
}
