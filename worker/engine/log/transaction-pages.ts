// The pages of the running transaction, wherever they are until it commits: in memory, in the log, or in the main file
// beyond every page that recovery may read. All others are in the committed state.
//
// Invariant: a large transaction is not kept in memory. Existing pages are spilled to the log; new
// pages go to the main file and are not logged. Knows nothing of SQLite's calls.

import { isStorageError } from '../../../src/shared/contract/errors.ts';
import { assert } from '../file/invariant.ts';
import { type Checksum, wordsOf } from './checksum.ts';
import type { CommitLog } from './commit-log.ts';
import type { CommittedPages } from './committed-pages.ts';
import type { MainFile } from './main-file.ts';
import { COUNTER_WORDS, type EachPage, type LoggedImage, PAGE_BYTES, PAGE_WORDS } from './pages.ts';
import { CONTINUES, nextDifference, RecordWriter } from './record.ts';

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
const changedPage = new Uint8Array(PAGE_BYTES);

/**
 * The page as redoing the log so far gives it: an image in the log, a copy in memory (of many pages, so that they are
 * not read again), or null: as in the committed state.
 */
type Before = LoggedImage | Uint8Array | null;

/**
 * A page of the transaction.
 * `memory`: in memory. `before`: for the next record, which contains the change from there.
 * `logged`: in memory, and its change is in the log.
 * `spilled`: only in the log, as a whole image.
 * `direct`: in the main file, and not logged. `bytes`: changed again since, and in memory.
 * `cut`: truncated, after the log got something of it.
 */
type TransactionPage =
  | { readonly kind: 'memory'; readonly bytes: Uint8Array; readonly before: Before }
  | { readonly kind: 'logged'; readonly bytes: Uint8Array }
  | { readonly kind: 'spilled'; readonly image: LoggedImage }
  | { readonly kind: 'direct'; readonly bytes: Uint8Array | null }
  | { readonly kind: 'cut'; readonly before: LoggedImage | Uint8Array };

export class TransactionPages {
  readonly #committed: CommittedPages;
  readonly #main: MainFile;
  readonly #log: CommitLog;
  readonly #checksum: Checksum;
  readonly #spillBytesDefault: number;
  readonly #isChecked: boolean;
  #spillBytes: number;

  readonly #pages = new Map<number, TransactionPage>();
  /** How many of them are in memory, are direct, and have a copy of the earlier page. */
  #inMemory = 0;
  #direct = 0;
  #copies = 0;
  #wroteDirect = false;
  /** Replaced pages, for the next ones: new memory for a page takes longer than its copy. */
  readonly #spare: Uint8Array[] = [];
  /** Number of pages as the running transaction sees it. */
  #pageCount: number;
  /** The running transaction has truncated committed pages at or beyond this index. */
  #visiblePages: number;

  constructor(
    committed: CommittedPages,
    main: MainFile,
    log: CommitLog,
    spillBytes: number,
    isChecked: boolean,
  ) {
    this.#isChecked = isChecked;
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
    return this.#direct > 0;
  }

  /** Sets how much a transaction keeps in memory; null for the default. */
  setSpillBytes(bytes: number | null): void {
    this.#spillBytes = bytes ?? this.#spillBytesDefault;
  }

  read(pageIndex: number, target: Uint8Array): void {
    const page = this.#pages.get(pageIndex);
    const bytes = bytesOf(page);
    if (bytes !== null) target.set(bytes);
    else if (page?.kind === 'spilled') this.#log.readImage(page.image, target, pageIndex);
    else if (page?.kind === 'direct') this.#main.read(pageIndex, target);
    else if (pageIndex < this.#visiblePages) this.#committed.read(pageIndex, target);
    else target.fill(0);
  }

  /** @throws DISK_FULL, IO, if pages must be spilled. */
  write(pageIndex: number, bytes: Uint8Array): void {
    const held = this.#held(pageIndex);
    if (held !== null) {
      held.set(bytes);
      return;
    }
    this.#makeRoom();
    this.#hold(pageIndex, this.#copyOf(bytes));
  }

  /**
   * Passes each page to `change`, to be changed in place. Zeros beyond the end. The indexes are in order. `isLast`: the
   * pages hardly change again, so their changes go to the log while the page is in the processor's cache, and no copy
   * of the earlier page is kept.
   */
  editAll(pageIndexes: readonly number[], change: EachPage, isLast: boolean): void {
    const changed = new Slab();
    const originals = new Slab();
    const isCommitted = (pageIndex: number) =>
      pageIndex < this.#visiblePages && !this.#pages.has(pageIndex);
    const committed = pageIndexes.filter(isCommitted);
    const others = pageIndexes.filter((pageIndex) => !isCommitted(pageIndex));
    writer.begin();
    this.#committed.readAll(committed, (original, pageIndex) => {
      if (writer.isFull || this.#isFull) this.#appendPart();
      this.#makeRoom();
      const bytes = changed.copy(original);
      change(bytes, pageIndex);
      if (isLast) {
        writer.addChange({ pageIndex, before: original, after: bytes }, this.#checksum);
        this.#set(pageIndex, { kind: 'logged', bytes });
      } else {
        const before = this.#copies < ORIGINALS_MAX ? originals.copy(original) : null;
        this.#set(pageIndex, { kind: 'memory', bytes, before });
      }
    });
    this.#appendPart();
    for (const pageIndex of others) change(this.#edit(pageIndex), pageIndex);
  }

  truncate(pageCount: number): void {
    if (pageCount < this.#pageCount) {
      for (const [pageIndex, page] of this.#pages) {
        if (pageIndex < pageCount) continue;
        const before = this.#beforeOf(page);
        this.#set(pageIndex, before === null ? undefined : { kind: 'cut', before });
      }
      this.#visiblePages = Math.min(this.#visiblePages, pageCount);
    }
    this.#pageCount = pageCount;
  }

  /** Fills pages that the transaction skipped with zeros, as in any file. */
  fillHoles(): void {
    for (let i = this.#visiblePages; i < this.#pageCount; i++) {
      const page = this.#pages.get(i);
      if (page === undefined || page.kind === 'cut') this.#hold(i, new Uint8Array(PAGE_BYTES));
    }
  }

  /** True if every page equals its committed content, but for the count of commits in the first one. */
  isUnchanged(): boolean {
    if (this.#pageCount > this.#committed.pageCount) return false;
    for (const [pageIndex, page] of this.#pages) {
      if (page.kind === 'cut') continue;
      this.read(pageIndex, changedPage);
      this.#committed.read(pageIndex, before);
      const isSame = pageIndex === 0 ? equalsButForCounters : equals;
      if (!isSame(before, changedPage)) return false;
    }
    return true;
  }

  /**
   * Writes the transaction to the log, in several parts if it is large: the last part commits it.
   * Returns false, and writes nothing, if there is nothing to commit. SQLite counts a transaction whose statements were
   * all undone; a change of that count alone is nothing.
   */
  append(flags: number, sequence: number, annotation: Uint8Array | null): boolean {
    if (this.hasDirect) this.#settleDirect();
    const header = {
      sequence,
      pageCountBefore: this.#committed.pageCount,
      pageCount: this.#pageCount,
    };
    const add = (pageIndex: number, after: Uint8Array | null) => {
      if (writer.isFull) {
        this.#log.append(writer, { ...header, flags: CONTINUES });
        writer.begin(annotation);
      }
      const change = { pageIndex, before: this.#readLogged(pageIndex), after };
      writer.addChange(change, this.#checksum);
    };
    const first = this.#pages.get(0);
    const isCounted = first?.kind === 'memory' && this.#isCountedOnly(first.bytes);
    writer.begin(annotation);
    for (const [pageIndex, page] of this.#pages) {
      if (page.kind === 'memory' && !(isCounted && page === first)) add(pageIndex, page.bytes);
    }
    const isEmpty = writer.isEmpty && !this.#log.hasOpenParts;
    if (flags === 0 && isEmpty && this.#pageCount <= this.#committed.pageCount) return false;
    if (isCounted) add(0, first.bytes);
    for (let i = this.#pageCount; i < this.#committed.pageCount; i++) add(i, null);
    this.#log.append(writer, { ...header, flags });
    return true;
  }

  /** The committed pages that the transaction replaces or removes. Those beyond their end are new. */
  *replacedPages(): Generator<number> {
    const { pageCount } = this.#committed;
    for (const pageIndex of this.#pages.keys()) if (pageIndex < pageCount) yield pageIndex;
    for (let i = this.#pageCount; i < pageCount; i++) if (!this.#pages.has(i)) yield i;
  }

  /** Moves every page to the committed state, and begins the next transaction. */
  becomeCommitted(): void {
    if (this.#isChecked) this.#check();
    for (const [pageIndex, page] of this.#pages) {
      if (page.kind === 'cut' || page.kind === 'direct') continue;
      const replaced = this.#committed.put(
        pageIndex,
        page.kind === 'spilled' ? page.image : page.bytes,
      );
      if (replaced !== null && this.#spare.length < SPARE_MAX) this.#spare.push(replaced);
    }
    this.#committed.settle(this.#pageCount, this.hasDirect);
    this.#wroteDirect = false;
    this.#clear();
  }

  /** Drops every page, even if the disk fails, and begins the next transaction. */
  forget(): void {
    if (this.#isChecked) this.#check();
    if (this.#wroteDirect) this.#giveBackSpace();
    this.#clear();
  }

  #clear(): void {
    this.#pages.clear();
    this.#inMemory = 0;
    this.#direct = 0;
    this.#copies = 0;
    this.#pageCount = this.#committed.pageCount;
    this.#visiblePages = this.#committed.pageCount;
  }

  /** The counts are those of the pages, and each page is where its kind says. */
  #check(): void {
    let [inMemory, direct, copies] = [0, 0, 0];
    for (const [pageIndex, page] of this.#pages) {
      if (bytesOf(page) !== null) inMemory++;
      if (page.kind === 'direct') direct++;
      if (hasCopy(page)) copies++;
      const isCut = page.kind === 'cut';
      assert(isCut || pageIndex < this.#pageCount, 'a page lies beyond the end of the database');
      assert(
        page.kind !== 'direct' || pageIndex >= this.#committed.pageCount,
        'a committed page is direct',
      );
    }
    const isCounted =
      [this.#inMemory, this.#direct, this.#copies].join() === [inMemory, direct, copies].join();
    assert(isCounted, 'the pages of a transaction are miscounted');
  }

  #set(pageIndex: number, next: TransactionPage | undefined): void {
    const last = this.#pages.get(pageIndex);
    this.#inMemory += Number(bytesOf(next) !== null) - Number(bytesOf(last) !== null);
    this.#direct += Number(next?.kind === 'direct') - Number(last?.kind === 'direct');
    this.#copies += Number(hasCopy(next)) - Number(hasCopy(last));
    if (next === undefined) this.#pages.delete(pageIndex);
    else this.#pages.set(pageIndex, next);
  }

  /** The bytes of a page that is in memory, to be changed; null for any other. */
  #held(pageIndex: number): Uint8Array | null {
    const page = this.#pages.get(pageIndex);
    if (page?.kind !== 'logged') return bytesOf(page);
    // The next record contains the earlier page.
    this.#set(pageIndex, { kind: 'memory', bytes: page.bytes, before: page.bytes.slice() });
    return page.bytes;
  }

  /** Keeps the content of a page that is not in memory there. */
  #hold(pageIndex: number, bytes: Uint8Array): void {
    const page = this.#pages.get(pageIndex);
    const isDirect = page?.kind === 'direct';
    this.#set(
      pageIndex,
      isDirect
        ? { kind: 'direct', bytes }
        : { kind: 'memory', bytes, before: this.#beforeOf(page) },
    );
    if (pageIndex >= this.#pageCount) this.#pageCount = pageIndex + 1;
  }

  /** A page that is in memory, was spilled, or does not exist. */
  #edit(pageIndex: number): Uint8Array {
    const held = this.#held(pageIndex);
    if (held !== null) return held;
    this.#makeRoom();
    const bytes = new Uint8Array(PAGE_BYTES);
    if (pageIndex < this.#pageCount) this.read(pageIndex, bytes);
    this.#hold(pageIndex, bytes);
    return bytes;
  }

  #copyOf(bytes: Uint8Array): Uint8Array {
    const page = this.#spare.pop();
    if (page === undefined) return bytes.slice();
    page.set(bytes);
    return page;
  }

  /** The log's copy of a page, once it is changed or cut. */
  #beforeOf(page: TransactionPage | undefined): Before {
    switch (page?.kind) {
      case 'memory':
      case 'cut':
        return page.before;
      case 'logged':
        return page.bytes;
      case 'spilled':
        return page.image;
      default:
        return null; // nothing of a direct page is logged
    }
  }

  /** A page as redoing the log so far would give it; null if it would not exist. */
  #readLogged(pageIndex: number): Uint8Array | null {
    const logged = this.#beforeOf(this.#pages.get(pageIndex));
    if (logged instanceof Uint8Array) return logged;
    if (logged !== null) this.#log.readImage(logged, before, pageIndex);
    else if (pageIndex < this.#committed.pageCount) this.#committed.read(pageIndex, before);
    else return null;
    return before;
  }

  /** True if these bytes of the first page differ from what the log has in the count of commits alone. */
  #isCountedOnly(bytes: Uint8Array): boolean {
    const logged = this.#readLogged(0);
    return logged !== null && equalsButForCounters(logged, bytes);
  }

  /** True if one more page in memory would exceed the limit. */
  get #isFull(): boolean {
    return (this.#inMemory + 1) * PAGE_BYTES > this.#spillBytes;
  }

  /** Spills if one more page in memory would exceed the limit. */
  #makeRoom(): void {
    if (this.#isFull) this.#spill();
  }

  /** Writes the part that has been collected, and begins the next one. */
  #appendPart(): void {
    if (!writer.isEmpty) this.#log.append(writer, this.#partHeader());
    writer.begin();
  }

  #partHeader() {
    return {
      flags: CONTINUES,
      sequence: this.#log.nextSequence,
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
        this.#set(pageIndex, { kind: 'spilled', image: { offset: offset + at, sum } });
      }
      images = [];
      writer.begin();
    };
    writer.begin();
    for (const [pageIndex, page] of this.#pages) {
      const bytes = bytesOf(page);
      if (bytes === null) continue;
      if (page.kind === 'direct' || this.#isBeyondMain(pageIndex, page)) {
        this.#wroteDirect = true;
        this.#writeDirect(pageIndex, bytes);
        this.#set(pageIndex, { kind: 'direct', bytes: null });
        continue;
      }
      const at = writer.addImage(pageIndex, this.#readLogged(pageIndex), bytes, this.#checksum);
      images.push([pageIndex, at, this.#checksum.ofPage(wordsOf(bytes), pageIndex)]);
      if (writer.isFull) writePart();
    }
    if (!writer.isEmpty) writePart();
  }

  /**
   * True for pages that may go directly to the main file, because no recoverable state contains them.
   * They must be durable before the commit that counts them is written, and a commit cannot wait, so
   * the file must flush inside the call.
   */
  #isBeyondMain(pageIndex: number, page: TransactionPage): boolean {
    if (!this.#main.flushesAtOnce || pageIndex < this.#committed.reachOfMain) return false;
    return this.#beforeOf(page) === null;
  }

  /** Makes this transaction's pages in the main file durable. */
  #settleDirect(): void {
    for (const [pageIndex, page] of this.#pages) {
      if (page.kind === 'direct' && page.bytes !== null) this.#writeDirect(pageIndex, page.bytes);
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

function equals(a: Uint8Array, b: Uint8Array): boolean {
  return nextDifference(wordsOf(a), wordsOf(b), 0) === PAGE_WORDS;
}

/** For the first page of a database. */
function equalsButForCounters(a: Uint8Array, b: Uint8Array): boolean {
  const [one, other] = [wordsOf(a), wordsOf(b)];
  let from = 0;
  for (const counter of COUNTER_WORDS) {
    if (nextDifference(one, other, from) < counter) return false;
    from = counter + 1;
  }
  return nextDifference(one, other, from) === PAGE_WORDS;
}

/** The content of a page that is in memory. */
function bytesOf(page: TransactionPage | undefined): Uint8Array | null {
  return page === undefined || page.kind === 'spilled' || page.kind === 'cut' ? null : page.bytes;
}

/** True if memory has the earlier page, too. */
function hasCopy(page: TransactionPage | undefined): boolean {
  const isChanged = page?.kind === 'memory' || page?.kind === 'cut';
  return isChanged && page.before instanceof Uint8Array;
}
