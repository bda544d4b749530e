// The running transaction of a database, as SQLite writes it, and how it becomes a commit.
//
// A page is looked for in `pending` (in memory), `spilled` (in the log, not committed), `direct` (in
// the main file, behind every page that a recovery may look at), then in the committed state.
//
// Keeps true: a commit is one write to the log, whatever was written before it. A big transaction is
// not held in memory: pages that exist are spilled to the log, new pages go to the main file and are
// not logged at all. One that fails is gone at once.

import { isStorageError, storageError } from '../../src/contract/errors.ts';
import type { DatabaseFile } from '../file/database-file.ts';
import type { PendingRestore } from './checkpoint-file.ts';
import type { Checksum } from './checksum.ts';
import type { CommitLog } from './commit-log.ts';
import type { CommittedPages } from './committed-pages.ts';
import type { MainFile } from './main-file.ts';
import { type LoggedImage, PAGE_BYTES, wordsOf } from './pages.ts';
import { CONTINUES, RecordWriter } from './record.ts';

/** Bytes of changed pages a transaction keeps in memory before it spills. */
export const SPILL_BYTES = 4 << 20;
/**
 * What SQLite still does after a failure. `refused`: a write failed, so the transaction must not
 * commit; reading and its sync fail. `rollingBack`: a sync failed, so what SQLite writes up to its
 * next sync only puts back what is there already. `ended`: the files are closed, or about to be.
 */
type Failed =
  | { readonly kind: 'no' }
  | { readonly kind: 'refused'; readonly error: unknown }
  | { readonly kind: 'rollingBack' }
  | { readonly kind: 'ended' };

// Shared by all objects of a worker: none is used across a turn of the event loop.
const writer = new RecordWriter();
const before = new Uint8Array(PAGE_BYTES);
const partial = new Uint8Array(PAGE_BYTES);

export class PageStore implements DatabaseFile {
  /** What the transaction started from. */
  readonly committed: CommittedPages;
  readonly #main: MainFile;
  readonly #log: CommitLog;
  readonly #checksum: Checksum;
  readonly #spillBytes: number;

  readonly #pending = new Map<number, Uint8Array>();
  readonly #spilled = new Map<number, LoggedImage>();
  /** Spilled, then cut off by a truncation: the log's last word on pages that do not exist now. */
  readonly #cut = new Map<number, LoggedImage>();
  readonly #direct = new Set<number>();
  /** Pages as the running transaction sees them. */
  #currentPages: number;
  /** Committed pages at or beyond this were truncated away by the running transaction. */
  #visiblePages: number;
  #isHeld = false;
  #failed: Failed = { kind: 'no' };
  #directAllowed: boolean | null = null;
  #wroteBeyondMain = false;
  #spillBytesNow: number;

  constructor(committed: CommittedPages, main: MainFile, log: CommitLog, spillBytes: number) {
    this.committed = committed;
    this.#main = main;
    this.#log = log;
    this.#checksum = log.checksum;
    this.#spillBytes = spillBytes;
    this.#spillBytesNow = spillBytes;
    this.#currentPages = committed.pageCount;
    this.#visiblePages = committed.pageCount;
  }

  // ---- What SQLite calls.

  read(target: Uint8Array, offset: number): boolean {
    if (this.#failed.kind === 'refused') throw this.#failed.error;
    if (this.#failed.kind === 'ended') throw ended('read');
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
    if (this.#isHeld) return;
    const failed = this.#failed;
    if (failed.kind === 'ended') throw ended('commit');
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

  endRollback(): void {
    if (this.#isHeld || this.#failed.kind === 'ended') return;
    this.#failed = { kind: 'no' };
    this.#dropUnchanged();
  }

  // ---- What the rest of the log calls.

  /** While held, commits of SQLite gather in one running transaction; the end of it commits them. */
  set isHeld(isHeld: boolean) {
    this.#isHeld = isHeld;
    if (!isHeld) this.commit();
  }

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
    this.committed.refuseWhenBlocked();
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
    this.#spillBytesNow = bytes ?? this.#spillBytes;
  }

  /** Undoes the running transaction, whatever the disk does. */
  rollback(): void {
    this.#log.dropOpenParts();
    this.#forgetTransaction();
    this.#giveBackSpace();
  }

  /** The last: SQLite may call on, but reaches no file any more and commits nothing. */
  end(): void {
    if (this.#failed.kind === 'ended') return;
    this.#failed = { kind: 'ended' };
    this.#log.dropOpenParts();
  }

  /** Begins the next segment of the log, unless some page lies in this one only. */
  rollLog(): void {
    if (this.#log.canRoll && this.committed.isCheckpointed) this.#log.roll();
  }

  /** A checkpoint that spares what the running transaction has in the main file. */
  checkpoint(pendingRestore: PendingRestore | null): boolean | Promise<boolean> {
    return this.committed.checkpoint(pendingRestore, this.#direct.size === 0);
  }

  // ---- Reading.

  #readCurrent(pageIndex: number, target: Uint8Array): void {
    const pending = this.#pending.get(pageIndex);
    if (pending !== undefined) {
      target.set(pending);
      return;
    }
    const spilled = this.#spilled.get(pageIndex);
    if (spilled !== undefined) this.#log.readImage(spilled, target, pageIndex);
    else if (this.#direct.has(pageIndex)) this.#main.read(pageIndex, target);
    else if (pageIndex < this.#visiblePages) this.committed.read(pageIndex, target);
    else target.fill(0);
  }

  /** What the log would make of a page so far, or null when the page does not exist there. */
  #readLogged(pageIndex: number): Uint8Array | null {
    const image = this.#spilled.get(pageIndex) ?? this.#cut.get(pageIndex);
    if (image !== undefined) this.#log.readImage(image, before, pageIndex);
    else if (pageIndex < this.committed.pageCount) this.committed.read(pageIndex, before);
    else return null;
    return before;
  }

  // ---- The running transaction.

  #grow(pageIndex: number): void {
    if (pageIndex >= this.#currentPages) this.#currentPages = pageIndex + 1;
  }

  /** Spills when one page more in memory would be too much. */
  #makeRoom(pageIndex: number): void {
    const isFull = (this.#pending.size + 1) * PAGE_BYTES > this.#spillBytesNow;
    if (isFull && !this.#pending.has(pageIndex)) this.#spill();
  }

  /** Moves the pages in memory to the main file (beyond its end) and to the log (all others). */
  #spill(): void {
    const header = {
      flags: CONTINUES,
      sequence: this.#log.position.sequence + 1,
      pageCountBefore: this.committed.pageCount,
      pageCount: this.#currentPages,
    };
    let images: [pageIndex: number, at: number, sum: number][] = [];
    const writePart = () => {
      const offset = this.#log.append(writer, header);
      for (const [pageIndex, at, sum] of images) {
        this.#spilled.set(pageIndex, { offset: offset + at, sum });
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
      const at = writer.addImage(pageIndex, this.#readLogged(pageIndex), page, this.#checksum);
      images.push([pageIndex, at, this.#checksum.ofPage(wordsOf(page), pageIndex)]);
      if (writer.isFull) writePart();
    }
    if (!writer.isEmpty) writePart();
  }

  /** True for pages that may go straight to the main file: no recoverable state has them. */
  #isBeyondMain(pageIndex: number): boolean {
    if (pageIndex < this.committed.reachOfMain) return false;
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
    const header = {
      sequence,
      pageCountBefore: this.committed.pageCount,
      pageCount: this.#currentPages,
    };
    const add = (pageIndex: number, after: Uint8Array | null) => {
      if (writer.isFull) {
        this.#log.append(writer, { ...header, flags: CONTINUES });
        writer.begin();
      }
      const change = { pageIndex, before: this.#readLogged(pageIndex), after };
      writer.addChange(change, this.#checksum);
    };
    writer.begin();
    for (const [pageIndex, page] of this.#pending) {
      if (!this.#direct.has(pageIndex)) add(pageIndex, page);
    }
    const hasNone = writer.isEmpty && !this.#log.hasOpenParts;
    if (flags === 0 && hasNone && this.#currentPages <= this.committed.pageCount) return false;
    for (let i = this.#currentPages; i < this.committed.pageCount; i++) add(i, null);
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
    if (this.#currentPages > this.committed.pageCount) return false;
    const isSame = (pageIndex: number, page: Uint8Array) => {
      this.committed.read(pageIndex, before);
      return samePage(before, page);
    };
    for (const [pageIndex, page] of this.#pending) if (!isSame(pageIndex, page)) return false;
    for (const [pageIndex, image] of this.#spilled) {
      if (this.#pending.has(pageIndex)) continue;
      this.#log.readImage(image, partial, pageIndex);
      if (!isSame(pageIndex, partial)) return false;
    }
    return true;
  }

  /**
   * Ends a transaction that leaves every page as it was. That the file became shorter is kept for the
   * next commit: SQLite cuts it only after the sync of the commit that emptied those pages.
   */
  #dropUnchanged(): void {
    const pageCount = Math.min(this.#currentPages, this.committed.pageCount);
    this.rollback();
    this.truncate(pageCount * PAGE_BYTES);
  }

  #becomeCommitted(): void {
    for (const [pageIndex, image] of this.#spilled) this.committed.put(pageIndex, image);
    for (const [pageIndex, page] of this.#pending) {
      if (!this.#direct.has(pageIndex)) this.committed.put(pageIndex, page);
    }
    this.committed.settle(this.#currentPages, this.#direct.size > 0);
    this.#wroteBeyondMain = false;
    this.#forgetTransaction();
  }

  #forgetTransaction(): void {
    this.#pending.clear();
    this.#spilled.clear();
    this.#cut.clear();
    this.#direct.clear();
    this.#currentPages = this.committed.pageCount;
    this.#visiblePages = this.committed.pageCount;
  }

  /** A bulk load was rolled back: gives its space back now, the disk may be full. */
  #giveBackSpace(): void {
    if (!this.#wroteBeyondMain) return;
    this.#wroteBeyondMain = false;
    try {
      this.#main.cut(this.committed.reachOfMain);
    } catch (error) {
      // Nothing counts those pages, and the next checkpoint or opening cuts them off.
      if (!isStorageError(error)) throw error;
    }
  }
}

function ended(operation: string) {
  return storageError('IO', `${operation}: the storage of the object is closed.`);
}

function samePage(a: Uint8Array, b: Uint8Array): boolean {
  const left = wordsOf(a);
  const right = wordsOf(b);
  for (let i = 0; i < left.length; i++) if (left[i] !== right[i]) return false;
  return true;
}
