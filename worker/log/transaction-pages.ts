// The pages of the running transaction, wherever they are kept until it commits.
//
// A page is looked for in `pending` (in memory), `spilled` (in the log, not committed), `direct` (in
// the main file, behind every page that a recovery may look at), then in the committed state.
//
// Keeps true: a big transaction is not held in memory: pages that exist are spilled to the log, new
// pages go to the main file and are not logged at all. Knows nothing of SQLite's calls.

import { isStorageError } from '../../src/contract/errors.ts';
import type { Checksum } from './checksum.ts';
import type { CommitLog } from './commit-log.ts';
import type { CommittedPages } from './committed-pages.ts';
import type { MainFile } from './main-file.ts';
import { type LoggedImage, PAGE_BYTES, wordsOf } from './pages.ts';
import { CONTINUES, RecordWriter } from './record.ts';

/** Bytes of changed pages a transaction keeps in memory before it spills. */
export const SPILL_BYTES = 4 << 20;

// Shared by all objects of a worker: none is used across a turn of the event loop.
const writer = new RecordWriter();
const before = new Uint8Array(PAGE_BYTES);
const spilledPage = new Uint8Array(PAGE_BYTES);

export class TransactionPages {
  readonly #committed: CommittedPages;
  readonly #main: MainFile;
  readonly #log: CommitLog;
  readonly #checksum: Checksum;
  readonly #spillBytesDefault: number;
  #spillBytes: number;

  readonly #pending = new Map<number, Uint8Array>();
  readonly #spilled = new Map<number, LoggedImage>();
  /** Spilled, then cut off by a truncation: the log's last word on pages that do not exist now. */
  readonly #cut = new Map<number, LoggedImage>();
  readonly #direct = new Set<number>();
  #wroteDirect = false;
  /** Pages as the running transaction sees them. */
  #pageCount: number;
  /** Committed pages at or beyond this were truncated away by the running transaction. */
  #visiblePages: number;

  constructor(committed: CommittedPages, main: MainFile, log: CommitLog, spillBytes: number) {
    this.#committed = committed;
    this.#main = main;
    this.#log = log;
    this.#checksum = log.checksum;
    this.#spillBytesDefault = spillBytes;
    this.#spillBytes = spillBytes;
    this.#pageCount = committed.pageCount;
    this.#visiblePages = committed.pageCount;
  }

  get pageCount(): number {
    return this.#pageCount;
  }

  /** True while pages of this transaction lie behind the committed ones in the main file. */
  get hasDirect(): boolean {
    return this.#direct.size > 0;
  }

  /** Lets the transaction keep more in memory: a restore touches the same pages often. */
  setSpillBytes(bytes: number | null): void {
    this.#spillBytes = bytes ?? this.#spillBytesDefault;
  }

  read(pageIndex: number, target: Uint8Array): void {
    const pending = this.#pending.get(pageIndex);
    if (pending !== undefined) {
      target.set(pending);
      return;
    }
    const spilled = this.#spilled.get(pageIndex);
    if (spilled !== undefined) this.#log.readImage(spilled, target, pageIndex);
    else if (this.#direct.has(pageIndex)) this.#main.read(pageIndex, target);
    else if (pageIndex < this.#visiblePages) this.#committed.read(pageIndex, target);
    else target.fill(0);
  }

  /** @throws DISK_FULL, IO, when pages had to be spilled. */
  write(pageIndex: number, bytes: Uint8Array): void {
    this.#makeRoom(pageIndex);
    const page = this.#pending.get(pageIndex);
    if (page === undefined) this.#pending.set(pageIndex, bytes.slice());
    else page.set(bytes);
    this.#grow(pageIndex);
  }

  /** A page, to be changed in place. Zeros beyond the end. */
  edit(pageIndex: number): Uint8Array {
    let page = this.#pending.get(pageIndex);
    if (page === undefined) {
      this.#makeRoom(pageIndex);
      page = new Uint8Array(PAGE_BYTES);
      if (pageIndex < this.#pageCount) this.read(pageIndex, page);
      this.#pending.set(pageIndex, page);
      this.#grow(pageIndex);
    }
    return page;
  }

  truncate(pageCount: number): void {
    if (pageCount < this.#pageCount) {
      for (const pageIndex of this.#pending.keys()) {
        if (pageIndex >= pageCount) this.#pending.delete(pageIndex);
      }
      for (const pageIndex of this.#direct) {
        if (pageIndex >= pageCount) this.#direct.delete(pageIndex);
      }
      for (const [pageIndex, image] of this.#spilled) {
        if (pageIndex < pageCount) continue;
        this.#spilled.delete(pageIndex);
        this.#cut.set(pageIndex, image);
      }
      this.#visiblePages = Math.min(this.#visiblePages, pageCount);
    }
    this.#pageCount = pageCount;
  }

  /** Makes pages that the transaction skipped over zeros, as in any file. */
  fillHoles(): void {
    for (let i = this.#visiblePages; i < this.#pageCount; i++) {
      if (this.#pending.has(i) || this.#spilled.has(i) || this.#direct.has(i)) continue;
      this.#pending.set(i, new Uint8Array(PAGE_BYTES));
    }
  }

  /** True when every page is as it was committed. */
  isUnchanged(): boolean {
    if (this.#pageCount > this.#committed.pageCount) return false;
    const isSame = (pageIndex: number, page: Uint8Array) => {
      this.#committed.read(pageIndex, before);
      return samePage(before, page);
    };
    for (const [pageIndex, page] of this.#pending) if (!isSame(pageIndex, page)) return false;
    for (const [pageIndex, image] of this.#spilled) {
      if (this.#pending.has(pageIndex)) continue;
      this.#log.readImage(image, spilledPage, pageIndex);
      if (!isSame(pageIndex, spilledPage)) return false;
    }
    return true;
  }

  /**
   * Writes the transaction to the log, in several parts when it is big: with the last part it is
   * committed. Returns false, and writes nothing, when there is nothing to commit.
   */
  append(flags: number, sequence: number): boolean {
    if (this.#direct.size > 0) this.#settleDirect();
    const header = {
      sequence,
      pageCountBefore: this.#committed.pageCount,
      pageCount: this.#pageCount,
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
    const isEmpty = writer.isEmpty && !this.#log.hasOpenParts;
    if (flags === 0 && isEmpty && this.#pageCount <= this.#committed.pageCount) return false;
    for (let i = this.#pageCount; i < this.#committed.pageCount; i++) add(i, null);
    this.#log.append(writer, { ...header, flags });
    return true;
  }

  /** Hands every page to the committed state, and begins the next transaction. */
  becomeCommitted(): void {
    for (const [pageIndex, image] of this.#spilled) this.#committed.put(pageIndex, image);
    for (const [pageIndex, page] of this.#pending) {
      if (!this.#direct.has(pageIndex)) this.#committed.put(pageIndex, page);
    }
    this.#committed.settle(this.#pageCount, this.#direct.size > 0);
    this.#wroteDirect = false;
    this.forget();
  }

  /** Drops every page, whatever the disk does, and begins the next transaction. */
  forget(): void {
    if (this.#wroteDirect) this.#giveBackSpace();
    this.#pending.clear();
    this.#spilled.clear();
    this.#cut.clear();
    this.#direct.clear();
    this.#pageCount = this.#committed.pageCount;
    this.#visiblePages = this.#committed.pageCount;
  }

  #grow(pageIndex: number): void {
    if (pageIndex >= this.#pageCount) this.#pageCount = pageIndex + 1;
  }

  /** What the log would make of a page so far, or null when the page does not exist there. */
  #readLogged(pageIndex: number): Uint8Array | null {
    const image = this.#spilled.get(pageIndex) ?? this.#cut.get(pageIndex);
    if (image !== undefined) this.#log.readImage(image, before, pageIndex);
    else if (pageIndex < this.#committed.pageCount) this.#committed.read(pageIndex, before);
    else return null;
    return before;
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
      pageCountBefore: this.#committed.pageCount,
      pageCount: this.#pageCount,
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
        this.#wroteDirect = true;
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

  /**
   * True for pages that may go straight to the main file: no recoverable state has them. They must be
   * durable before the commit that counts them is written, and a commit cannot wait.
   */
  #isBeyondMain(pageIndex: number): boolean {
    if (!this.#main.flushesAtOnce || pageIndex < this.#committed.reachOfMain) return false;
    return !this.#spilled.has(pageIndex) && !this.#cut.has(pageIndex);
  }

  /** Makes the pages in the main file that this transaction counts durable. */
  #settleDirect(): void {
    for (const pageIndex of this.#direct) {
      const page = this.#pending.get(pageIndex);
      if (page !== undefined) this.#main.write(pageIndex, page);
    }
    this.#main.writeSums();
    this.#main.flushAtOnce();
  }

  /** A bulk load was rolled back: gives its space back now, the disk may be full. */
  #giveBackSpace(): void {
    this.#wroteDirect = false;
    try {
      this.#main.cut(this.#committed.reachOfMain);
    } catch (error) {
      // Nothing counts those pages, and the next checkpoint or opening cuts them off.
      if (!isStorageError(error)) throw error;
    }
  }
}

function samePage(a: Uint8Array, b: Uint8Array): boolean {
  const left = wordsOf(a);
  const right = wordsOf(b);
  for (let i = 0; i < left.length; i++) if (left[i] !== right[i]) return false;
  return true;
}
