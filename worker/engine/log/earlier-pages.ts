// Collects the pages of an earlier state, as the words in which they differ from the present pages.
//
// Records are added from the oldest on. The first record that changes a word holds the original word, so a page
// that was changed often takes no more memory than a page that was changed once.
//
// Invariant: words that no added record has changed are the same in the earlier and the present state.

import { wordsOf } from './checksum.ts';
import { type EachPage, PAGE_WORDS } from './pages.ts';
import { type EachRange, entriesOf, MARKER, type PageEntry, type Record } from './record.ts';
import { CHUNK_WORDS, WordSlab } from './slab.ts';

/** Locates the collected words of one page. */
interface EarlierPage {
  /** Number of the bits that say which words an added record has changed; `ALL_KNOWN` if every word was changed. */
  known: number;
  /** Number of the last kept range of words, which refers to the one before; `NO_RANGE` if there is none. */
  range: number;
}

/** Passes each range of old words of one page to `use`. */
export type EachOld = (use: EachRange) => void;

const ALL_KNOWN = -1;
const NO_RANGE = -1;

/** Number of words for the bits of one page: one bit per word. */
const KNOWN_WORDS = PAGE_WORDS / 32;
/** A range begins with two words: the number of the previous range; its first word in the page and its length. */
const RANGE_HEADER_WORDS = 2;

// One buffer for all objects of a worker: every use ends within one turn of the event loop.
const wholePage = new Uint32Array(PAGE_WORDS);

export class EarlierPages {
  readonly #pages = new Map<number, EarlierPage>();
  readonly #known = new WordSlab();
  #ranges = new WordSlab();
  /** The page whose changes are being added. */
  #changed: EarlierPage = { known: ALL_KNOWN, range: NO_RANGE };
  #pageCount: number;
  #isEmpty = true;
  #isWhole = true;

  /** Starts with the present state, which has `pageCount` pages. */
  constructor(pageCount: number) {
    this.#pageCount = pageCount;
  }

  /** Number of pages in the earlier state. */
  get pageCount(): number {
    return this.#pageCount;
  }

  /** Memory of the collected words, in bytes. */
  get heldBytes(): number {
    return this.#ranges.takenWords * 4;
  }

  /** Adds the changes of the next newer record; its bytes may be overwritten afterwards. */
  add(bytes: Uint8Array, record: Record): void {
    if ((record.flags & MARKER) !== 0) return;
    if (this.#isEmpty) this.#pageCount = record.pageCountBefore;
    this.#isEmpty = false;
    for (const entry of entriesOf(bytes, record)) this.#addEntry(entry);
  }

  /** Lists the pages of the earlier state that may differ from the present ones, in order. */
  pageIndexes(): number[] {
    const indexes: number[] = [];
    for (const [pageIndex, { range }] of this.#pages) {
      if (pageIndex < this.#pageCount && range !== NO_RANGE) indexes.push(pageIndex);
    }
    return indexes.sort((a, b) => a - b);
  }

  /** Turns a present page into the earlier one, in place. */
  readonly apply: EachPage = (bytes, pageIndex) => {
    const page = wordsOf(bytes);
    this.#eachRange(this.#pages.get(pageIndex)?.range ?? NO_RANGE, (start, count, words, from) => {
      for (let i = 0; i < count; i++) page[start + i] = words[from + i]!;
    });
  };

  /** Passes each page with collected words to `use`, and each page that did not exist before its first change. */
  eachPage(use: (pageIndex: number, isFresh: boolean, eachOld: EachOld) => void): void {
    for (const [pageIndex, { known, range }] of this.#pages) {
      const isFresh = range === NO_RANGE && known === ALL_KNOWN;
      if (range === NO_RANGE && !isFresh) continue;
      use(pageIndex, isFresh, (useRange) => this.#eachRange(range, useRange));
    }
  }

  #eachRange(last: number, use: EachRange): void {
    let range = last;
    while (range !== NO_RANGE) {
      const chunk = this.#ranges.chunkOf(range);
      const at = range % CHUNK_WORDS;
      const start = chunk[at + 1]! & 0xffff;
      const count = chunk[at + 1]! >>> 16;
      use(start, count, chunk, at + RANGE_HEADER_WORDS);
      range = chunk[at]! | 0;
    }
  }

  /** True if no words have been dropped. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** Drops the words, after they were applied to every page. Which words were changed stays known. */
  dropWords(): void {
    this.#isWhole = false;
    for (const page of this.#pages.values()) page.range = NO_RANGE;
    this.#ranges = new WordSlab();
  }

  #addEntry(entry: PageEntry): void {
    const page = this.#pages.get(entry.pageIndex) ?? this.#addPage(entry.pageIndex);
    if (page.known === ALL_KNOWN) return;
    this.#changed = page;
    if (entry.isGone) {
      wholePage.fill(0);
      entry.undo(wholePage);
      this.#keep(0, PAGE_WORDS, wholePage, 0);
    } else if (!entry.isFresh) {
      entry.eachOld(this.#keep);
    }
    // This record holds the whole old page, or says that there was none: later records add nothing to it.
    if (entry.isGone || entry.isFresh) page.known = ALL_KNOWN;
  }

  #addPage(pageIndex: number): EarlierPage {
    const page = { known: this.#known.take(KNOWN_WORDS), range: NO_RANGE };
    this.#pages.set(pageIndex, page);
    return page;
  }

  /** Collects the words of a range that no older record has changed. */
  readonly #keep: EachRange = (start, count, words, from) => {
    const page = this.#changed;
    const known = this.#known.chunkOf(page.known);
    const bits = page.known % CHUNK_WORDS;
    for (let i = 0; i < count; ) {
      const first = i;
      while (i < count && markKnown(known, bits, start + i)) i++;
      if (i > first) this.#keepRange(page, start + first, i - first, words, from + first);
      while (i < count && isKnown(known, bits, start + i)) i++;
    }
  };

  #keepRange(page: EarlierPage, start: number, count: number, words: Uint32Array, from: number) {
    const range = this.#ranges.take(RANGE_HEADER_WORDS + count);
    const chunk = this.#ranges.chunkOf(range);
    let at = range % CHUNK_WORDS;
    chunk[at++] = page.range;
    chunk[at++] = start | (count << 16);
    for (let i = 0; i < count; i++) chunk[at++] = words[from + i]!;
    page.range = range;
  }
}

/** Sets the bit of a word; returns false if it was already set. */
function markKnown(known: Uint32Array, bits: number, word: number): boolean {
  if (isKnown(known, bits, word)) return false;
  known[bits + (word >>> 5)]! |= 1 << (word & 31);
  return true;
}

function isKnown(known: Uint32Array, bits: number, word: number): boolean {
  return (known[bits + (word >>> 5)]! & (1 << (word & 31))) !== 0;
}
