// Collects the pages of an earlier state as differences from the present pages.
//
// Records are added from the newest to the oldest, so for each word, the record that was added last holds the value.
// However often a page was changed, it takes the memory of one page; of four pages if its bytes moved: then the place of
// each byte in the present pages is stored, and `resolve` reads the bytes there.
//
// Invariants: bytes that no added record has changed are equal in the earlier and the present state. All pages of a
// record are undone at once, because the record copies bytes from the pages after the record.

import { assert } from '../../../src/shared/contract/invariant.ts';
import { wordsOf } from './checksum.ts';
import { damagedDelta } from './delta.ts';
import { DELTA_PAGES_MAX, type DeltaEntry, type EarlierPage } from './page-delta.ts';
import { type EachPage, PAGE_BYTES, PAGE_WORDS } from './pages.ts';
import { type EachRange, entriesOf, MARKER, type PageEntry, type Record } from './record.ts';
import { CHUNK_WORDS, WordSlab } from './slab.ts';

/** The content of one page in the earlier state, as far as it is collected. */
type Earlier =
  /** The page did not exist in the earlier state. */
  | { readonly kind: 'absent' }
  /**
   * Some words of the page, as numbers of ranges in the order in which they were added. A later range overrides an
   * earlier one.
   */
  | { readonly kind: 'ranges'; readonly ranges: number[]; words: number }
  /**
   * Some words of the page. One bit per word says whether the word is known; all other words equal those of the present
   * page.
   */
  | { readonly kind: 'words'; readonly words: Uint32Array; readonly known: Uint32Array }
  /**
   * All bytes of the page. Each is an offset in the present pages that `#slots` lists, or a negative number: -1 minus
   * the byte.
   */
  | { readonly kind: 'moved'; readonly sources: Int32Array };

const ABSENT: Earlier = { kind: 'absent' };
/** A range begins with one word that stores the index of the range's first word in the page, and the range's length. */
const RANGE_HEADER_WORDS = 1;
/** A page whose ranges have more words than this is stored as a whole page. */
const RANGE_WORDS_MAX = PAGE_WORDS / 2;
/** Number of words for the bits of one page: one bit per word. */
const KNOWN_WORDS = PAGE_WORDS / 32;
/** Maximum number of present pages in `#slots`: offsets in these pages are 31-bit numbers. */
const SLOTS_MAX = 2 ** 31 / PAGE_BYTES;
/** Maximum number of unused arrays of offsets that are kept for reuse. */
const SPARE_MAX = 64;

/** Passes each range of old words of one page to `use`. */
export type EachOld = (use: EachRange) => void;

/** Reads a present page into `target`. */
export type ReadPage = (pageIndex: number, target: Uint8Array) => void;

/** Some pages whose bytes moved, with the present pages that contain these bytes. */
export interface MovedGroup {
  readonly pages: readonly EarlierPage[];
  /**
   * The present pages with the bytes. The offsets in `sources` of a page count through them, one page after the other.
   */
  readonly sourcePages: readonly number[];
}

export class EarlierPages {
  readonly #pages = new Map<number, Earlier>();
  #ranges = new WordSlab();
  /** The present pages that contain bytes of moved pages, and the index of each page in that list. */
  #slots: number[] = [];
  readonly #slotOf = new Map<number, number>();
  readonly #spare: Int32Array[] = [];
  #wholePages = 0;
  #movedPages = 0;
  #pageCount: number;
  #isWhole = true;

  /** Starts with the present state, which has `pageCount` pages. */
  constructor(pageCount: number) {
    this.#pageCount = pageCount;
  }

  /** Number of pages in the earlier state. */
  get pageCount(): number {
    return this.#pageCount;
  }

  /** Memory of the collected pages, in bytes. */
  get heldBytes(): number {
    const words = this.#ranges.takenWords + this.#wholePages * (PAGE_WORDS + KNOWN_WORDS);
    return 4 * (words + this.#movedPages * PAGE_BYTES);
  }

  /** Adds the changes of the next older record. The caller may overwrite `bytes` afterwards. @throws CORRUPT */
  addOlder(bytes: Uint8Array, record: Record): void {
    if ((record.flags & MARKER) !== 0) return;
    const entries = entriesOf(bytes, record);
    const moved = new Map<number, Int32Array>();
    for (const entry of entries) if (entry.kind === 'delta') this.#readMoved(entry, moved);
    for (const entry of entries) if (entry.kind === 'page') this.#addEntry(entry);
    for (const entry of entries) {
      if (entry.kind === 'page' || entry.isOnlyOld) continue;
      for (const { pageIndex, oldAt } of entry.pages) if (oldAt < 0) this.#set(pageIndex, ABSENT);
    }
    for (const [pageIndex, sources] of moved) this.#set(pageIndex, { kind: 'moved', sources });
    this.#pageCount = record.pageCountBefore;
  }

  /** Adds the pages of a still older state, which were collected as differences from this earlier state. */
  addOlderPages(older: EarlierPages): void {
    const moved = new Map<number, Int32Array>();
    for (const [pageIndex, page] of older.#pages) {
      if (page.kind !== 'moved') continue;
      const sources = this.#takeSources();
      for (let at = 0; at < PAGE_BYTES; at++) {
        const source = page.sources[at]!;
        const from = older.#slots[Math.floor(source / PAGE_BYTES)]!;
        if (source < 0) sources[at] = source;
        else this.#copySources(sources, at, from, source % PAGE_BYTES, 1);
      }
      moved.set(pageIndex, sources);
    }
    older.eachPage((pageIndex, isFresh, eachOld) => {
      if (isFresh) this.#set(pageIndex, ABSENT);
      else
        eachOld((start, count, words, from) =>
          this.#addRange(pageIndex, start, count, words, from),
        );
    });
    for (const [pageIndex, sources] of moved) this.#set(pageIndex, { kind: 'moved', sources });
    this.#pageCount = older.pageCount;
  }

  /**
   * Reads the bytes of moved pages from the present pages. After this call, the present pages may change, and `apply`
   * needs no page but the one that it changes.
   */
  resolve(read: ReadPage): void {
    if (this.#movedPages === 0) return;
    const present = new Map<number, Uint8Array>();
    const presentPage = (slot: number) => {
      let page = present.get(slot);
      if (page === undefined) {
        page = new Uint8Array(PAGE_BYTES);
        read(this.#slots[slot]!, page);
        present.set(slot, page);
      }
      return page;
    };
    for (const [pageIndex, page] of this.#pages) {
      if (page.kind !== 'moved') continue;
      const bytes = new Uint8Array(PAGE_BYTES);
      for (let at = 0; at < PAGE_BYTES; at++) {
        const source = page.sources[at]!;
        bytes[at] =
          source < 0
            ? -1 - source
            : presentPage(Math.floor(source / PAGE_BYTES))[source % PAGE_BYTES]!;
      }
      this.#set(pageIndex, wholePage(wordsOf(bytes)));
    }
    this.#slots = [];
    this.#slotOf.clear();
  }

  /** Lists the pages of the earlier state that may differ from the present ones, in order. */
  pageIndexes(): number[] {
    const indexes: number[] = [];
    for (const [pageIndex, { kind }] of this.#pages) {
      if (pageIndex < this.#pageCount && kind !== 'absent') indexes.push(pageIndex);
    }
    return indexes.sort((a, b) => a - b);
  }

  /** Turns a present page into the earlier one, in place. */
  readonly apply: EachPage = (bytes, pageIndex) => {
    const page = this.#pages.get(pageIndex);
    if (page === undefined) return;
    assert(page.kind !== 'moved', 'the bytes of an earlier page were not read');
    const target = wordsOf(bytes);
    this.#eachRange(page, (start, count, words, from) => {
      for (let i = 0; i < count; i++) target[start + i] = words[from + i]!;
    });
  };

  /**
   * Passes each page with old words, and each page that did not exist, to `use`. Pages whose bytes moved are skipped.
   */
  eachPage(use: (pageIndex: number, isFresh: boolean, eachOld: EachOld) => void): void {
    for (const [pageIndex, page] of this.#pages) {
      if (page.kind === 'moved') continue;
      const isMany = page.kind === 'ranges' && page.ranges.length > 1;
      const known = isMany ? this.#keepWhole(pageIndex, page) : page;
      use(pageIndex, page.kind === 'absent', (useRange) => this.#eachRange(known, useRange));
    }
  }

  /**
   * Passes the pages whose bytes moved to `use`, in groups that fit into one entry each.
   *
   * @throws CORRUPT if the bytes of one page lie in more pages than an entry may have: such a record was made on
   *   purpose
   */
  eachMoved(use: (moved: MovedGroup) => void): void {
    let pages: EarlierPage[] = [];
    let slots = new Map<number, number>();
    const finish = () => {
      if (pages.length > 0)
        use({ pages, sourcePages: [...slots.keys()].map((slot) => this.#slots[slot]!) });
      pages = [];
      slots = new Map();
    };
    for (const [pageIndex, page] of this.#pages) {
      if (page.kind !== 'moved') continue;
      const own = new Set<number>();
      for (const source of page.sources) if (source >= 0) own.add(Math.floor(source / PAGE_BYTES));
      if (own.size >= DELTA_PAGES_MAX) throw damagedDelta();
      if (pages.length + 1 + slots.size + own.size > DELTA_PAGES_MAX) finish();
      for (const slot of own) if (!slots.has(slot)) slots.set(slot, slots.size);
      const sources = page.sources.map((source) => {
        if (source < 0) return source;
        return slots.get(Math.floor(source / PAGE_BYTES))! * PAGE_BYTES + (source % PAGE_BYTES);
      });
      pages.push({ pageIndex, sources });
    }
    finish();
  }

  /** True if `drop` was never called, so that no collected page is missing. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /**
   * Drops the collected pages. Call it after they were applied to every page; the results are the present pages from
   * now on.
   */
  drop(): void {
    this.#isWhole = false;
    this.#pages.clear();
    this.#ranges = new WordSlab();
    this.#slots = [];
    this.#slotOf.clear();
    this.#wholePages = 0;
    this.#movedPages = 0;
  }

  #eachRange(page: Earlier, use: EachRange): void {
    if (page.kind === 'ranges') {
      for (const range of page.ranges) {
        const chunk = this.#ranges.chunkOf(range);
        const at = range % CHUNK_WORDS;
        use(chunk[at]! & 0xffff, chunk[at]! >>> 16, chunk, at + RANGE_HEADER_WORDS);
      }
    } else if (page.kind === 'words') {
      for (let start = 0; start < PAGE_WORDS; ) {
        let end = start;
        while (end < PAGE_WORDS && isKnown(page.known, end)) end++;
        if (end > start) use(start, end - start, page.words, start);
        start = end + 1;
      }
    }
  }

  #addEntry(entry: PageEntry): void {
    const { pageIndex } = entry;
    if (entry.isFresh) {
      this.#set(pageIndex, ABSENT);
      return;
    }
    if (entry.isGone) this.#set(pageIndex, wholePage(new Uint32Array(PAGE_WORDS)));
    entry.eachOld((start, count, words, from) =>
      this.#addRange(pageIndex, start, count, words, from),
    );
  }

  #addRange(
    pageIndex: number,
    start: number,
    count: number,
    words: Uint32Array,
    from: number,
  ): void {
    let page = this.#pages.get(pageIndex);
    if (page === undefined) page = this.#set(pageIndex, { kind: 'ranges', ranges: [], words: 0 });
    // If a newer record created the page, its content before that record counts as zeros.
    if (page.kind === 'absent') page = this.#set(pageIndex, wholePage(new Uint32Array(PAGE_WORDS)));
    if (page.kind === 'ranges' && page.words + count > RANGE_WORDS_MAX) {
      page = this.#keepWhole(pageIndex, page);
    }
    if (page.kind === 'ranges') {
      const range = this.#ranges.take(RANGE_HEADER_WORDS + count);
      const chunk = this.#ranges.chunkOf(range);
      let at = range % CHUNK_WORDS;
      chunk[at++] = start | (count << 16);
      for (let i = 0; i < count; i++) chunk[at++] = words[from + i]!;
      page.ranges.push(range);
      page.words += count;
    } else if (page.kind === 'words') {
      setWords(page, start, count, words, from);
    } else {
      for (let i = 0; i < count; i++) setSources(page.sources, start + i, words[from + i]!);
    }
  }

  /** Stores a page as words instead of ranges from now on. */
  #keepWhole(pageIndex: number, page: Earlier) {
    const whole = {
      kind: 'words' as const,
      words: new Uint32Array(PAGE_WORDS),
      known: new Uint32Array(KNOWN_WORDS),
    };
    this.#eachRange(page, (start, count, words, from) =>
      setWords(whole, start, count, words, from),
    );
    this.#set(pageIndex, whole);
    return whole;
  }

  /** Reads the old bytes of an entry as places in the present pages, into one array for each page. */
  #readMoved(entry: DeltaEntry, moved: Map<number, Int32Array>): void {
    for (const { pageIndex, oldAt } of entry.pages) {
      if (oldAt >= 0) moved.set(pageIndex, this.#takeSources());
    }
    entry.undo({
      copy: (pageIndex, at, from, fromAt, length) =>
        this.#copySources(moved.get(pageIndex)!, at, from, fromAt, length),
      literal: (pageIndex, at, bytes, from, length) => {
        const sources = moved.get(pageIndex)!;
        for (let i = 0; i < length; i++) sources[at + i] = -1 - bytes[from + i]!;
      },
    });
  }

  /** Sets the places of bytes that a record copied from a page: the places where they lie in the present pages. */
  #copySources(
    sources: Int32Array,
    at: number,
    pageIndex: number,
    from: number,
    length: number,
  ): void {
    let page = this.#pages.get(pageIndex);
    if (page?.kind === 'ranges') page = this.#keepWhole(pageIndex, page);
    if (page?.kind === 'moved') {
      sources.set(page.sources.subarray(from, from + length), at);
      return;
    }
    if (page?.kind === 'absent') {
      sources.fill(-1, at, at + length);
      return;
    }
    const first = this.#takeSlot(pageIndex) * PAGE_BYTES;
    for (let i = 0; i < length; i++) sources[at + i] = first + from + i;
    if (page === undefined) return;
    const bytes = new Uint8Array(page.words.buffer, page.words.byteOffset, PAGE_BYTES);
    for (let i = 0; i < length; i++) {
      if (isKnown(page.known, (from + i) >>> 2)) sources[at + i] = -1 - bytes[from + i]!;
    }
  }

  /** Returns the index of a present page in `#slots`; adds the page if it is not listed. */
  #takeSlot(pageIndex: number): number {
    let slot = this.#slotOf.get(pageIndex);
    if (slot === undefined) {
      slot = this.#slots.length;
      if (slot >= SLOTS_MAX) throw damagedDelta();
      this.#slots.push(pageIndex);
      this.#slotOf.set(pageIndex, slot);
    }
    return slot;
  }

  #takeSources(): Int32Array {
    return this.#spare.pop() ?? new Int32Array(PAGE_BYTES);
  }

  #set<Next extends Earlier>(pageIndex: number, next: Next): Next {
    const last = this.#pages.get(pageIndex);
    this.#wholePages += Number(next.kind === 'words') - Number(last?.kind === 'words');
    this.#movedPages += Number(next.kind === 'moved') - Number(last?.kind === 'moved');
    if (last?.kind === 'moved' && this.#spare.length < SPARE_MAX) this.#spare.push(last.sources);
    this.#pages.set(pageIndex, next);
    return next;
  }
}

/** Makes a page of kind `words` in which every word is known. */
function wholePage(words: Uint32Array) {
  return { kind: 'words' as const, words, known: new Uint32Array(KNOWN_WORDS).fill(0xffff_ffff) };
}

function setWords(
  page: { readonly words: Uint32Array; readonly known: Uint32Array },
  start: number,
  count: number,
  words: Uint32Array,
  from: number,
): void {
  for (let i = 0; i < count; i++) page.words[start + i] = words[from + i]!;
  for (let word = start; word < start + count; word++) {
    page.known[word >>> 5]! |= 1 << (word & 31);
  }
}

function setSources(sources: Int32Array, word: number, value: number): void {
  for (let byte = 0; byte < 4; byte++)
    sources[4 * word + byte] = -1 - ((value >>> (8 * byte)) & 0xff);
}

function isKnown(known: Uint32Array, word: number): boolean {
  return (known[word >>> 5]! & (1 << (word & 31))) !== 0;
}
