// Redo: applies the records after the last checkpoint when an object is opened.
//
// Invariants: pages that may be torn in the main file are rebuilt from the log and verified against the checksums in
// their last record; nothing is written. Bytes are copied from a page to another only if the log has held the first
// page whole, since a page of the main file may be torn or newer than the record. The overlay refers only to the newest
// segment, because the main file contains everything before a segment once that segment begins.

import { storageError } from '../../../src/shared/contract/errors.ts';
import type { SyncFile } from '../file/file.ts';
import { type Checksum, wordsOf } from './checksum.ts';
import { damagedDelta } from './delta.ts';
import type { DeltaEntry } from './page-delta.ts';
import { corruptPage, type Overlay, PAGE_BYTES, readImage } from './pages.ts';
import { entriesOf, type PageEntry, type Record } from './record.ts';

export class Redo {
  readonly overlay: Overlay = new Map();
  /** Number of pages after the records applied so far. */
  pageCount: number;
  /** The highest number of pages after any record applied so far. */
  pageCountMost: number;
  readonly #main: SyncFile;
  readonly #checksum: Checksum;
  readonly #sums = new Map<number, number>();
  /**
   * Pages of the overlay whose bytes are known exactly after each record, because the log has held these pages whole.
   */
  readonly exact = new Set<number>();
  /** The segment being replayed. */
  #segment: SyncFile;

  /** Starts with `segment`, which contains the checkpoint's position. */
  constructor(main: SyncFile, segment: SyncFile, pageCount: number, checksum: Checksum) {
    this.#main = main;
    this.#segment = segment;
    this.#checksum = checksum;
    this.pageCount = pageCount;
    this.pageCountMost = pageCount;
  }

  /**
   * Continues with the next segment. That segment began only after the main file was flushed with everything before it.
   */
  beginSegment(segment: SyncFile): void {
    this.#segment = segment;
    this.overlay.clear();
    this.exact.clear();
  }

  /** Applies a record at `offset` of the segment. */
  apply(bytes: Uint8Array, record: Record, offset: number): void {
    for (const entry of entriesOf(bytes, record)) {
      if (entry.kind === 'delta') this.#applyDelta(entry);
      else this.#applyEntry(entry, offset);
    }
  }

  /** Ends a transaction: pages at or beyond its page count do not exist. */
  settle(pageCount: number): void {
    for (const pageIndex of this.overlay.keys()) {
      if (pageIndex < pageCount) continue;
      this.overlay.delete(pageIndex);
      this.exact.delete(pageIndex);
    }
    this.pageCount = pageCount;
    this.pageCountMost = Math.max(this.pageCountMost, pageCount);
  }

  /** Verifies the rebuilt pages. @throws CORRUPT if a page has the wrong checksum, or if the main file lacks pages. */
  verify(): void {
    for (const [pageIndex, page] of this.overlay) {
      if (!(page instanceof Uint8Array)) continue;
      if (this.#checksum.ofPage(wordsOf(page), pageIndex) !== this.#sums.get(pageIndex)) {
        throw corruptPage(pageIndex, 'the log does not match its content in the main file');
      }
    }
    let needed = this.pageCount;
    while (needed > 0 && this.overlay.has(needed - 1)) needed--;
    const held = this.#main.sizeBytes();
    if (held < needed * PAGE_BYTES) {
      throw storageError(
        'CORRUPT',
        `open: the main file has ${held} bytes; at least ${needed * PAGE_BYTES} are expected.`,
      );
    }
  }

  #applyEntry(entry: PageEntry, recordOffset: number): void {
    const { pageIndex, newSum } = entry;
    if (entry.isGone) {
      this.overlay.delete(pageIndex);
      this.exact.delete(pageIndex);
      return;
    }
    this.#sums.set(pageIndex, newSum);
    const word = entry.imageWord;
    if (word >= 0 || entry.isFresh) this.exact.add(pageIndex);
    if (word >= 0) {
      this.overlay.set(pageIndex, { offset: recordOffset + word * 4, sum: newSum });
      return;
    }
    const page = entry.isFresh ? new Uint8Array(PAGE_BYTES) : this.#page(pageIndex);
    this.overlay.set(pageIndex, page);
    entry.redo(wordsOf(page));
  }

  #applyDelta(entry: DeltaEntry): void {
    const old = new Map<number, Uint8Array>();
    const readOld = (pageIndex: number) => {
      if (!this.exact.has(pageIndex)) throw damagedDelta();
      const page = old.get(pageIndex) ?? this.#page(pageIndex);
      old.set(pageIndex, page);
      return page;
    };
    entry.redo(readOld, (pageIndex, page, newSum) => {
      this.#sums.set(pageIndex, newSum);
      this.overlay.set(pageIndex, page);
      this.exact.add(pageIndex);
    });
    for (const { pageIndex, newAt } of entry.pages) {
      if (newAt >= 0) continue;
      this.overlay.delete(pageIndex);
      this.exact.delete(pageIndex);
    }
  }

  #page(pageIndex: number): Uint8Array {
    const known = this.overlay.get(pageIndex);
    if (known instanceof Uint8Array) return known;
    const page = new Uint8Array(PAGE_BYTES);
    if (known !== undefined) readImage(this.#segment, known, page, pageIndex, this.#checksum);
    // Do not verify the page: it may be torn here, and redo repairs it.
    else this.#main.read(page, pageIndex * PAGE_BYTES);
    return page;
  }
}
