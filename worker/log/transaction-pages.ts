// The pages of the running transaction, wherever they are until it commits.
//
// A page is looked up in `pending` (in memory), `spilled` (in the log, not committed), `direct` (in
// the main file, beyond every page that recovery may read), then in the committed state.
//
// Invariant: a large transaction is not kept in memory. Existing pages are spilled to the log; new
// pages go to the main file and are not logged. Knows nothing of SQLite's calls.

import { isStorageError } from '../../src/contract/errors.ts';
import type { Checksum } from './checksum.ts';
import type { CommitLog } from './commit-log.ts';
import type { CommittedPages } from './committed-pages.ts';
import type { MainFile } from './main-file.ts';
import {
  type EachPage,
  type LoggedImage,
  nextDifference,
  PAGE_BYTES,
  PAGE_WORDS,
  wordsOf,
} from './pages.ts';
import { CONTINUES, RecordWriter } from './record.ts';
import { Slab } from './slab.ts';

/** Bytes of changed pages a transaction keeps in memory before it spills. */
export const SPILL_BYTES = 4 << 20;
/** How many pages that are edited in place are kept as they were; the rest is read again for the record. */
const ORIGINALS_MAX = (32 << 20) / PAGE_BYTES;

/** How many replaced pages wait to be used again: those of a value of 128 KB, and some. */
const SPARE_MAX = 64;

// Shared by all objects of a worker: never in use across turns of the event loop.
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
  /** Of the pages in memory, those whose changes are in the log. */
  readonly #logged = new Set<number>();
  /** Pages that were changed after what the log has of them: many of them, so that they are not read again. */
  readonly #originals = new Map<number, Uint8Array>();
  readonly #spilled = new Map<number, LoggedImage>();
  /** Spilled, then truncated: the newest logged images of pages that do not exist now. */
  readonly #cut = new Map<number, LoggedImage>();
  readonly #direct = new Set<number>();
  #wroteDirect = false;
  /** Replaced pages, for the next ones: new memory for a page takes longer than its copy. */
  readonly #spare: Uint8Array[] = [];
  /** Number of pages as the running transaction sees it. */
  #pageCount: number;
  /** The running transaction has truncated committed pages at or beyond this index. */
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

  /** True while the main file contains pages of this transaction, after the committed ones. */
  get hasDirect(): boolean {
    return this.#direct.size > 0;
  }

  /** Sets how much a transaction keeps in memory; null for the default. */
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

  /** @throws DISK_FULL, IO, if pages must be spilled. */
  write(pageIndex: number, bytes: Uint8Array): void {
    this.#makeRoom(pageIndex);
    this.#keepLogged(pageIndex);
    const page = this.#pending.get(pageIndex);
    if (page === undefined) this.#pending.set(pageIndex, this.#copyOf(bytes));
    else page.set(bytes);
    this.#grow(pageIndex);
  }

  /**
   * Passes each page to `change`, to be changed in place. Zeros beyond the end. The indexes are in order. `isLast`: the
   * pages hardly change again, so their changes go to the log while the page is in the processor's cache, and no
   * copy of what it was is kept.
   */
  editAll(pageIndexes: readonly number[], change: EachPage, isLast: boolean): void {
    const changed = new Slab();
    const originals = new Slab();
    const isCommitted = (pageIndex: number) =>
      pageIndex < this.#visiblePages &&
      !this.#pending.has(pageIndex) &&
      !this.#spilled.has(pageIndex);
    const committed = pageIndexes.filter(isCommitted);
    const others = pageIndexes.filter((pageIndex) => !isCommitted(pageIndex));
    writer.begin();
    this.#committed.readAll(committed, (bytes, pageIndex) => {
      if (writer.isFull || this.#isFull) this.#appendPart();
      this.#makeRoom(pageIndex);
      const page = changed.copy(bytes);
      this.#pending.set(pageIndex, page);
      change(page, pageIndex);
      if (isLast) {
        writer.addChange({ pageIndex, before: bytes, after: page }, this.#checksum);
        this.#logged.add(pageIndex);
      } else if (this.#originals.size < ORIGINALS_MAX) {
        this.#originals.set(pageIndex, originals.copy(bytes));
      }
    });
    this.#appendPart();
    for (const pageIndex of others) change(this.#edit(pageIndex), pageIndex);
  }

  truncate(pageCount: number): void {
    if (pageCount < this.#pageCount) {
      for (const pageIndex of this.#pending.keys()) {
        if (pageIndex < pageCount) continue;
        this.#keepLogged(pageIndex);
        this.#pending.delete(pageIndex);
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

  /** Fills pages that the transaction skipped with zeros, as in any file. */
  fillHoles(): void {
    for (let i = this.#visiblePages; i < this.#pageCount; i++) {
      if (this.#pending.has(i) || this.#spilled.has(i) || this.#direct.has(i)) continue;
      this.#pending.set(i, new Uint8Array(PAGE_BYTES));
    }
  }

  /** True if every page equals its committed content. */
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
   * Writes the transaction to the log, in several parts if it is large: the last part commits it.
   * Returns false, and writes nothing, if there is nothing to commit.
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
      if (!this.#direct.has(pageIndex) && !this.#logged.has(pageIndex)) add(pageIndex, page);
    }
    const isEmpty = writer.isEmpty && !this.#log.hasOpenParts;
    if (flags === 0 && isEmpty && this.#pageCount <= this.#committed.pageCount) return false;
    for (let i = this.#pageCount; i < this.#committed.pageCount; i++) add(i, null);
    this.#log.append(writer, { ...header, flags });
    return true;
  }

  /** The committed pages that the transaction replaces or removes. Those beyond their end are new. */
  *replacedPages(): Generator<number> {
    const { pageCount } = this.#committed;
    for (const pageIndex of this.#spilled.keys()) if (pageIndex < pageCount) yield pageIndex;
    for (const pageIndex of this.#pending.keys()) if (pageIndex < pageCount) yield pageIndex;
    for (let i = this.#pageCount; i < pageCount; i++) yield i;
  }

  /** Moves every page to the committed state, and begins the next transaction. */
  becomeCommitted(): void {
    for (const [pageIndex, image] of this.#spilled) this.#committed.put(pageIndex, image);
    for (const [pageIndex, page] of this.#pending) {
      if (this.#direct.has(pageIndex)) continue;
      const replaced = this.#committed.put(pageIndex, page);
      if (replaced !== null && this.#spare.length < SPARE_MAX) this.#spare.push(replaced);
    }
    this.#committed.settle(this.#pageCount, this.#direct.size > 0);
    this.#wroteDirect = false;
    this.forget();
  }

  /** Drops every page, even if the disk fails, and begins the next transaction. */
  forget(): void {
    if (this.#wroteDirect) this.#giveBackSpace();
    this.#pending.clear();
    this.#logged.clear();
    this.#originals.clear();
    this.#spilled.clear();
    this.#cut.clear();
    this.#direct.clear();
    this.#pageCount = this.#committed.pageCount;
    this.#visiblePages = this.#committed.pageCount;
  }

  /** A page that is in memory, was spilled, or does not exist. */
  #edit(pageIndex: number): Uint8Array {
    this.#keepLogged(pageIndex);
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

  #copyOf(bytes: Uint8Array): Uint8Array {
    const page = this.#spare.pop();
    if (page === undefined) return bytes.slice();
    page.set(bytes);
    return page;
  }

  #grow(pageIndex: number): void {
    if (pageIndex >= this.#pageCount) this.#pageCount = pageIndex + 1;
  }

  /** A page as redoing the log so far would give it; null if it would not exist. */
  #readLogged(pageIndex: number): Uint8Array | null {
    const image = this.#spilled.get(pageIndex) ?? this.#cut.get(pageIndex);
    const original = this.#logged.has(pageIndex)
      ? this.#pending.get(pageIndex)
      : this.#originals.get(pageIndex);
    if (image !== undefined) this.#log.readImage(image, before, pageIndex);
    else if (original !== undefined) return original;
    else if (pageIndex < this.#committed.pageCount) this.#committed.read(pageIndex, before);
    else return null;
    return before;
  }

  /** Before a page is changed or removed whose content is in the log: the next record contains what it was. */
  #keepLogged(pageIndex: number): void {
    if (!this.#logged.delete(pageIndex)) return;
    this.#originals.set(pageIndex, this.#pending.get(pageIndex)!.slice());
  }

  /** True if one more page in memory would exceed the limit. */
  get #isFull(): boolean {
    return (this.#pending.size + 1) * PAGE_BYTES > this.#spillBytes;
  }

  /** Spills if one more page in memory would exceed the limit. */
  #makeRoom(pageIndex: number): void {
    if (this.#isFull && !this.#pending.has(pageIndex)) this.#spill();
  }

  /** Writes the part that has been collected, and begins the next one. */
  #appendPart(): void {
    if (!writer.isEmpty) this.#log.append(writer, this.#partHeader());
    writer.begin();
  }

  #partHeader() {
    return {
      flags: CONTINUES,
      sequence: this.#log.position.sequence + 1,
      pageCountBefore: this.#committed.pageCount,
      pageCount: this.#pageCount,
    };
  }

  /** Moves the pages in memory to the main file (those beyond its end) and to the log (the rest). */
  #spill(): void {
    const header = this.#partHeader();
    let images: [pageIndex: number, at: number, sum: number][] = [];
    const writePart = () => {
      const offset = this.#log.append(writer, header);
      for (const [pageIndex, at, sum] of images) {
        this.#spilled.set(pageIndex, { offset: offset + at, sum });
        this.#cut.delete(pageIndex);
        this.#pending.delete(pageIndex);
        this.#logged.delete(pageIndex);
      }
      images = [];
      writer.begin();
    };
    writer.begin();
    for (const [pageIndex, page] of this.#pending) {
      if (this.#isBeyondMain(pageIndex)) {
        this.#wroteDirect = true;
        this.#writeDirect(pageIndex, page);
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
   * True for pages that may go directly to the main file, because no recoverable state contains them.
   * They must be durable before the commit that counts them is written, and a commit cannot wait, so
   * the file must flush inside the call.
   */
  #isBeyondMain(pageIndex: number): boolean {
    if (!this.#main.flushesAtOnce || pageIndex < this.#committed.reachOfMain) return false;
    return !this.#spilled.has(pageIndex) && !this.#cut.has(pageIndex);
  }

  /** Makes this transaction's pages in the main file durable. */
  #settleDirect(): void {
    for (const pageIndex of this.#direct) {
      const page = this.#pending.get(pageIndex);
      if (page !== undefined) this.#writeDirect(pageIndex, page);
    }
    this.#main.flushAtOnce();
  }

  #writeDirect(pageIndex: number, page: Uint8Array): void {
    this.#main.write(pageIndex, page);
    this.#main.setSum(pageIndex, page);
  }

  /** Returns the space of a bulk load that was rolled back, at once, because the disk may be full. */
  #giveBackSpace(): void {
    this.#wroteDirect = false;
    try {
      this.#main.cut(this.#committed.reachOfMain);
    } catch (error) {
      // No state contains those pages, and the next checkpoint or opening cuts them off.
      if (!isStorageError(error)) throw error;
    }
  }
}

function samePage(a: Uint8Array, b: Uint8Array): boolean {
  return nextDifference(wordsOf(a), wordsOf(b), 0) === PAGE_WORDS;
}
