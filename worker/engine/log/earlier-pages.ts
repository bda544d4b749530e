// The pages of an earlier state, as the words in which they differ from those of now.
//
// Records are added from the oldest on. The first record that changes a word holds the original word, so a page
// that was changed often takes no more memory than a page that was changed once.
//
// Invariant: words that no added record has changed are those of now. Knows nothing of files.

import { wordsOf } from './checksum.ts';
import { type EachPage, PAGE_WORDS } from './pages.ts';
import { type EachRange, entriesOf, MARKER, type PageEntry, type Record } from './record.ts';
import { CHUNK_WORDS, WordSlab } from './slab.ts';

/** Where the words of one page are. */
interface EarlierPage {
  /** Bits that say which of its words an added record has changed; `ALL_KNOWN` for every word. */
  known: number;
  /** The last range of words that was kept, which says where the one before is; `NO_RANGE` if there is none. */
  range: number;
}

/** Passes the old words of one page. */
export type EachOld = (use: EachRange) => void;

const ALL_KNOWN = -1;
const NO_RANGE = -1;

/** Words of the bits of a page. */
const KNOWN_WORDS = PAGE_WORDS / 32;
/** Words of a range before those of the page: where the range before it is; first word and number of words. */
const RANGE_HEADER_WORDS = 2;

// Shared by all objects of a worker: never in use across turns of the event loop.
const wholePage = new Uint32Array(PAGE_WORDS);

export class EarlierPages {
  readonly #pages = new Map<number, EarlierPage>();
  readonly #known = new WordSlab();
  #ranges = new WordSlab();
  /** The page of the entry that is being added. */
  #changed: EarlierPage = { known: ALL_KNOWN, range: NO_RANGE };
  #pageCount: number;
  #isEmpty = true;
  #isWhole = true;

  /** It begins as the state of now, with so many pages. */
  constructor(pageCount: number) {
    this.#pageCount = pageCount;
  }

  /** Number of pages in the earlier state. */
  get pageCount(): number {
    return this.#pageCount;
  }

  /** Bytes of words that are kept. */
  get heldBytes(): number {
    return this.#ranges.takenWords * 4;
  }

  /** Adds the next newer record. Its bytes are not used later. */
  add(bytes: Uint8Array, record: Record): void {
    if ((record.flags & MARKER) !== 0) return;
    if (this.#isEmpty) this.#pageCount = record.pageCountBefore;
    this.#isEmpty = false;
    for (const entry of entriesOf(bytes, record)) this.#addEntry(entry);
  }

  /** The pages of the earlier state that may differ from those of now, in order. */
  pageIndexes(): number[] {
    const indexes: number[] = [];
    for (const [pageIndex, { range }] of this.#pages) {
      if (pageIndex < this.#pageCount && range !== NO_RANGE) indexes.push(pageIndex);
    }
    return indexes.sort((a, b) => a - b);
  }

  /** Makes a page of now the earlier one. */
  readonly apply: EachPage = (bytes, pageIndex) => {
    const page = wordsOf(bytes);
    this.#eachRange(this.#pages.get(pageIndex)?.range ?? NO_RANGE, (start, count, words, from) => {
      for (let i = 0; i < count; i++) page[start + i] = words[from + i]!;
    });
  };

  /** Passes each page of which words are kept, and each that did not exist before its first change. */
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

  /** True if no words were dropped. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** Drops the words, once every page has them. The first changes stay known. */
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
    // A page that did not exist before was never one of the earlier state.
    if (entry.isGone || entry.isFresh) page.known = ALL_KNOWN;
  }

  #addPage(pageIndex: number): EarlierPage {
    const page = { known: this.#known.take(KNOWN_WORDS), range: NO_RANGE };
    this.#pages.set(pageIndex, page);
    return page;
  }

  /** Keeps those words of a range of the changed page that are not known yet. */
  readonly #keep: EachRange = (start, count, words, from) => {
    const page = this.#changed;
    const known = this.#known.chunkOf(page.known);
    const bits = page.known % CHUNK_WORDS;
    for (let i = 0; i < count; ) {
      const first = i;
      while (i < count && know(known, bits, start + i)) i++;
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

/** Makes a word known, by its bit; false if it was already. */
function know(known: Uint32Array, bits: number, word: number): boolean {
  if (isKnown(known, bits, word)) return false;
  known[bits + (word >>> 5)]! |= 1 << (word & 31);
  return true;
}

function isKnown(known: Uint32Array, bits: number, word: number): boolean {
  return (known[bits + (word >>> 5)]! & (1 << (word & 31))) !== 0;
}
