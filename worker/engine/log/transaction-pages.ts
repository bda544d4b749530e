// Keeps the changed pages of the running transaction until it commits: in memory, in the log, or in the main file
// beyond every page that recovery may read. All other pages are read from the committed state.
//
// Invariant: a large transaction is not kept in memory. Existing pages are spilled to the log; new pages go to the main
// file and are not logged.

import { isStorageError } from '../../../src/shared/contract/errors.ts';
import { assert } from '../../../src/shared/contract/invariant.ts';
import { type Checksum, wordsOf } from './checksum.ts';
import type { Append, CommitLog } from './commit-log.ts';
import type { CommittedPages } from './committed-pages.ts';
import type { MainFile } from './main-file.ts';
import { MovedPages } from './moved-pages.ts';
import { COUNTER_WORDS, type EachPage, type LoggedImage, PAGE_BYTES, PAGE_WORDS } from './pages.ts';
import { CONTINUES, differsMuch, nextDifference, type PageChange, RecordWriter } from './record.ts';

import { Slab } from './slab.ts';

/** Bytes of changed pages that a transaction keeps in memory before it spills. */
export const SPILL_BYTES = 4 << 20;
/**
 * Maximum number of original copies of pages that are edited in place; other originals are read again for the record.
 */
const ORIGINALS_MAX = (32 << 20) / PAGE_BYTES;

/** Maximum number of replaced pages whose memory is reused: enough for a value of 128 KB. */
const SPARE_MAX = 64;

// One writer for all objects of a worker: every use ends within one turn of the event loop.
const writer = new RecordWriter();
const before = new Uint8Array(PAGE_BYTES);
const changedPage = new Uint8Array(PAGE_BYTES);

/** The fields of all records of a transaction. */
type RecordFacts = Omit<Append, 'flags'>;

/**
 * The content that a page has after redoing the log so far, without the unwritten changes: an image in the log, a copy
 * in memory, or null if it is the committed content.
 */
type Before = LoggedImage | Uint8Array | null;

/**
 * A page of the transaction.
 * `memory`: the page is in memory; the next record will contain its change from `before`.
 * `logged`: the page is in memory, and the log contains its change.
 * `spilled`: the page is only in the log, as a whole image.
 * `direct`: the page is in the main file and not logged; `bytes` holds it if it was changed again.
 * `cut`: the page was truncated after a change of it was logged.
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
  /** Number of pages in memory, of direct pages, and of pages with an original copy. */
  #inMemory = 0;
  #direct = 0;
  #copies = 0;
  #wroteDirect = false;
  /** Pages that the records of this transaction hold whole. */
  #held: number[] = [];
  /** Collects pages whose bytes moved; null before the first transaction of which much differs. */
  #movedPages: MovedPages | null = null;
  /** Pages that the records of this transaction hold as differences. */
  #moved: number[] = [];
  /** Replaced pages whose memory is reused, because allocating a page takes longer than copying it. */
  readonly #spare: Uint8Array[] = [];
  /** Number of database pages in the running transaction. */
  #pageCount: number;
  /** Index from which on committed pages are not visible, because the transaction has truncated them. */
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

  /** Writes a page. @throws DISK_FULL, IO if pages must be spilled */
  write(pageIndex: number, bytes: Uint8Array): void {
    const held = this.#bytesInMemory(pageIndex);
    if (held !== null) {
      held.set(bytes);
      return;
    }
    this.#makeRoom();
    this.#putInMemory(pageIndex, this.#copyOf(bytes));
  }

  /**
   * Lets `change` edit each page in place; pages beyond the end begin as zeros. The indexes must be in order. `isLast`
   * says that the pages will hardly change again: then each change is logged at once, while the page is in the
   * processor's cache, and no original copy is kept.
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

  /** Fills pages that the transaction skipped with zeros, as a file system does. */
  fillHoles(): void {
    for (let i = this.#visiblePages; i < this.#pageCount; i++) {
      const page = this.#pages.get(i);
      if (page === undefined || page.kind === 'cut')
        this.#putInMemory(i, new Uint8Array(PAGE_BYTES));
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
   * Writes the transaction to the log, in several parts if it is large: the last part commits it. Returns false, and
   * writes nothing, if there is nothing to commit. SQLite also counts a transaction whose statements were all undone; a
   * change of that count alone is not committed.
   */
  append(flags: number, sequence: number, annotation: Uint8Array | null): boolean {
    if (this.hasDirect) this.#flushDirect();
    const header = {
      sequence,
      pageCountBefore: this.#committed.pageCount,
      pageCount: this.#pageCount,
    };
    if (this.#held.length > 0) this.#held = [];
    if (this.#moved.length > 0) this.#moved = [];
    let moved: MovedPages | null = null;
    const add = (pageIndex: number, after: Uint8Array | null) => {
      const change = { pageIndex, before: this.#readLogged(pageIndex), after };
      if (!this.#committed.mayHoldDeltas || !differsMuch(change)) {
        this.#addAlone(change, header, annotation);
        return;
      }
      moved ??= this.#beginMovedPages();
      if (!moved.collect(change)) this.#addAlone(change, header, annotation);
      else if (moved.isFull) this.#addMoved(moved, header, annotation);
    };
    const first = this.#pages.get(0);
    const isCounted = first?.kind === 'memory' && this.#isCountedOnly(first.bytes);
    writer.begin(annotation);
    for (const [pageIndex, page] of this.#pages) {
      if (page.kind === 'memory' && !(isCounted && page === first)) add(pageIndex, page.bytes);
    }
    if (moved !== null) this.#addMoved(moved, header, annotation);
    const isEmpty = writer.isEmpty && !this.#log.hasOpenParts;
    if (flags === 0 && isEmpty && this.#pageCount <= this.#committed.pageCount) return false;
    if (isCounted) add(0, first.bytes);
    for (let i = this.#pageCount; i < this.#committed.pageCount; i++) add(i, null);
    if (moved !== null) this.#addMoved(moved, header, annotation);
    this.#log.append(writer, { ...header, flags });
    return true;
  }

  /** Lists the committed pages that the transaction replaces or removes. */
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
    for (const pageIndex of this.#held) this.#committed.becomeExact(pageIndex, false);
    for (const pageIndex of this.#moved) this.#committed.becomeExact(pageIndex, true);
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

  /** Asserts that the counts equal the number of pages of each kind, and that each page is where its kind says. */
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

  /** Returns the bytes of a page in memory, for a change in place; null if the page is not in memory. */
  #bytesInMemory(pageIndex: number): Uint8Array | null {
    const page = this.#pages.get(pageIndex);
    if (page?.kind !== 'logged') return bytesOf(page);
    // Copy the page, because the next record contains its change from here.
    this.#set(pageIndex, { kind: 'memory', bytes: page.bytes, before: page.bytes.slice() });
    return page.bytes;
  }

  /** Puts a page that is not in memory yet into memory. */
  #putInMemory(pageIndex: number, bytes: Uint8Array): void {
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

  /** Returns a page for a change in place, reading it into memory if necessary. */
  #edit(pageIndex: number): Uint8Array {
    const held = this.#bytesInMemory(pageIndex);
    if (held !== null) return held;
    this.#makeRoom();
    const bytes = new Uint8Array(PAGE_BYTES);
    if (pageIndex < this.#pageCount) this.read(pageIndex, bytes);
    this.#putInMemory(pageIndex, bytes);
    return bytes;
  }

  #copyOf(bytes: Uint8Array): Uint8Array {
    const page = this.#spare.pop();
    if (page === undefined) return bytes.slice();
    page.set(bytes);
    return page;
  }

  /**
   * Returns the content of the page after redoing the log so far. The next change of the page starts from this content.
   */
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
        return null; // direct pages are not logged
    }
  }

  /** Reads the content that a page has after redoing the log so far; null if it would not exist. */
  #readLogged(pageIndex: number): Uint8Array | null {
    const logged = this.#beforeOf(this.#pages.get(pageIndex));
    if (logged instanceof Uint8Array) return logged;
    if (logged !== null) this.#log.readImage(logged, before, pageIndex);
    else if (pageIndex < this.#committed.pageCount) this.#committed.read(pageIndex, before);
    else return null;
    return before;
  }

  /** Adds the entry of one page to the record. If the current part is full, it is written first. */
  #addAlone(change: PageChange, header: RecordFacts, annotation: Uint8Array | null): void {
    if (writer.isFull) {
      this.#log.append(writer, { ...header, flags: CONTINUES });
      writer.begin(annotation);
    }
    if (writer.addChange(change, this.#checksum)) this.#held.push(change.pageIndex);
  }

  /** Adds the collected pages to the record. */
  #addMoved(moved: MovedPages, header: RecordFacts, annotation: Uint8Array | null): void {
    const written = moved.write(writer, (change) => this.#addAlone(change, header, annotation));
    this.#moved.push(...written);
  }

  /** Begins to collect the pages of this transaction whose bytes moved. */
  #beginMovedPages(): MovedPages {
    this.#movedPages ??= new MovedPages(
      this.#committed,
      this.#checksum,
      (pageIndex) => pageIndex < this.#visiblePages && !this.#pages.has(pageIndex),
    );
    this.#movedPages.begin();
    return this.#movedPages;
  }

  /** True if `bytes`, the first page, differ from the content of that page in the log only in the count of commits. */
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

  /** Writes the collected part to the log, and begins the next one. */
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
  #flushDirect(): void {
    for (const [pageIndex, page] of this.#pages) {
      if (page.kind === 'direct' && page.bytes !== null) this.#writeDirect(pageIndex, page.bytes);
    }
    this.#main.flushAtOnce();
  }

  #writeDirect(pageIndex: number, page: Uint8Array): void {
    this.#main.write(pageIndex, page);
    this.#main.setSum(pageIndex, page);
  }

  /**
   * Frees the disk space of a bulk load that was rolled back. The space is freed at once, because the disk may be full.
   */
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

/** True if two versions of the first page of a database differ at most in the counts of commits. */
function equalsButForCounters(a: Uint8Array, b: Uint8Array): boolean {
  const [one, other] = [wordsOf(a), wordsOf(b)];
  let from = 0;
  for (const counter of COUNTER_WORDS) {
    if (nextDifference(one, other, from) < counter) return false;
    from = counter + 1;
  }
  return nextDifference(one, other, from) === PAGE_WORDS;
}

/** Returns the content of a page in memory; null if the page is not in memory. */
function bytesOf(page: TransactionPage | undefined): Uint8Array | null {
  return page === undefined || page.kind === 'spilled' || page.kind === 'cut' ? null : page.bytes;
}

/** True if memory also holds an original copy of the page. */
function hasCopy(page: TransactionPage | undefined): boolean {
  const isChanged = page?.kind === 'memory' || page?.kind === 'cut';
  return isChanged && page.before instanceof Uint8Array;
}
