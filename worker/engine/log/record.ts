// A record of the commit log: one committed transaction, or one part of a large one.
//
// For every changed page it contains the byte ranges that differ, with old and new bytes: the new
// bytes redo after a crash, the old bytes undo for a restore. Redo and undo are idempotent, so they
// repair pages that were torn in the main file. Layout: docs/commit-log-format.md.
//
// Numbers are little-endian, the byte order of every engine that runs WebAssembly. Records are encoded into a buffer
// and decoded from one; reading and writing files is the caller's work.

import { storageError } from '../../../src/shared/contract/errors.ts';
import { type Checksum, wordsOf } from './checksum.ts';
import { DELTA, DeltaEntry } from './page-delta.ts';
import { PAGE_BYTES, PAGE_WORDS } from './pages.ts';

/** Offsets of the fields of a record's header, in bytes. */
export const RECORD = {
  sum: 0,
  magic: 8,
  length: 12,
  sequence: 16,
  timeMs: 24,
  durableSequence: 32,
  previousSum: 40,
  flags: 48,
  epoch: 52,
  pageCountBefore: 56,
  pageCount: 60,
} as const;
export const RECORD_HEADER_BYTES = 64;
export const RECORD_MAGIC = 0x434c4f47;

/** Size of a page's entry before its ranges: page index, new checksum, info. */
const ENTRY_HEADER_BYTES = 12;

/** Size of a range before its old and new bytes: first word, number of words. */
const RANGE_HEADER_BYTES = 4;

/** Offsets of the fields in the body of a marker, in bytes. */
const MARKER_BODY = { sequence: 0, sum: 8 } as const;
const MARKER_BODY_BYTES = 16;

/** Offset of an annotation's length in the annotation, in bytes. */
export const ANNOTATION_LENGTH = 4;

/** Flag: another part of the same transaction follows. */
export const CONTINUES = 1;
/** Flag: the transaction is a restore, and completes the pending one. */
export const RESTORE = 2;
/** Flag: the record is not a transaction; its body sets or cancels the pending restore. */
export const MARKER = 4;
/** Flag: the transaction replaced the object's state with that of a branch (promote). */
export const PROMOTE = 8;
/** Flag: an annotation follows the record's header. */
export const ANNOTATED = 16;

/**
 * Flag: the record replaces several commits in a folded segment. It has only old bytes. In place of the last durable
 * commit, it stores the checksum of the replaced record, by which bookmarks and the chain of records know the commit.
 */
export const FOLDED = 32;

/** Flag of an entry: the page did not exist before. Ranges contain only new bytes, and the old page is zeros. */
const FRESH = 1 << 16;
/** Flag of an entry: the page does not exist afterwards. Ranges contain only old bytes, and the new page is zeros. */
const GONE = 1 << 17;
const RANGE_COUNT_MASK = 0xffff;

/** A part is written once it is longer than this; a large transaction is a sequence of parts. */
export const PART_BYTES = 1 << 20;

/**
 * Maximum size of a page's entry: one range over the whole page. Several ranges are only used where they are smaller.
 */
const ENTRY_BYTES_MAX = ENTRY_HEADER_BYTES + RANGE_HEADER_BYTES + 2 * PAGE_BYTES;

/** The header of a record, except for the fields that the writer computes. */
export interface RecordHeader {
  readonly sequence: number;
  readonly timeMs: number;
  /** The last sequence that was known to be durable when this record was written. */
  readonly durableSequence: number;
  /** Checksum of the record before this one: a chain that leftover records cannot join. */
  readonly previousSum: number;
  readonly flags: number;
  /** Random number of this opening: repeating a commit after a crash gives a different record. */
  readonly epoch: number;
  readonly pageCountBefore: number;
  readonly pageCount: number;
}

/** A record read from a log. */
export interface Record extends RecordHeader {
  /** The checksum that identifies the record. A folded record has the checksum of the record that it replaces. */
  readonly sum: number;
  /** Checksum of the record's bytes. */
  readonly bytesSum: number;
  /** Size of the whole record in bytes, a multiple of eight. */
  readonly length: number;
}

/** The words of a page of zeros; do not write to it. */
export const ZERO_WORDS = new Uint32Array(PAGE_WORDS);

/** How one page changes. `before` or `after` is null if the page does not exist then. */
export interface PageChange {
  readonly pageIndex: number;
  readonly before: Uint8Array | null;
  readonly after: Uint8Array | null;
}

/**
 * Builds records in one buffer, shared by all objects of a worker: a record is begun, filled and
 * written within one turn of the event loop.
 */
export class RecordWriter {
  #bytes = new Uint8Array(1 << 16);
  #words = new Uint32Array(this.#bytes.buffer);
  #halves = new Uint16Array(this.#bytes.buffer);
  #doubles = new Float64Array(this.#bytes.buffer);
  #start = RECORD_HEADER_BYTES;
  #end = RECORD_HEADER_BYTES;

  begin(annotation: Uint8Array | null = null): void {
    this.#start = RECORD_HEADER_BYTES;
    if (annotation !== null) {
      this.#bytes.set(annotation, RECORD_HEADER_BYTES);
      this.#start += annotation.length;
    }
    this.#end = this.#start;
  }

  get isEmpty(): boolean {
    return this.#end === this.#start;
  }

  /** True if the record should be written before more is added. */
  get isFull(): boolean {
    return this.#end >= PART_BYTES;
  }

  /**
   * Adds the entry of a page, or nothing if the page does not change. Returns true if the entry holds the whole new page,
   * so that nothing else is needed to redo it.
   */
  addChange(change: PageChange, checksum: Checksum): boolean {
    this.#reserve(ENTRY_BYTES_MAX + 8);
    const { pageIndex } = change;
    const before = change.before === null ? null : wordsOf(change.before);
    const after = change.after === null ? null : wordsOf(change.after);
    const start = this.#end >> 2;
    const isReplaced = looksReplaced(before ?? ZERO_WORDS, after ?? ZERO_WORDS);
    const rangeCount = isReplaced ? this.#addWhole(before, after) : this.#addRanges(before, after);
    const isFresh = before === null;
    const isGone = after === null;
    if (rangeCount === 0 && !isFresh && !isGone) return false;
    this.#words[start] = pageIndex;
    this.#words[start + 1] = isGone ? 0 : checksum.ofPage(after, pageIndex);
    this.#words[start + 2] = rangeCount | (isFresh ? FRESH : 0) | (isGone ? GONE : 0);
    return !isGone && (isReplaced || isFresh);
  }

  /**
   * Adds a whole page, so that its new image can be read back from the log. Returns the image's
   * offset in the record.
   */
  addImage(
    pageIndex: number,
    before: Uint8Array | null,
    after: Uint8Array,
    checksum: Checksum,
  ): number {
    this.#reserve(ENTRY_BYTES_MAX + 8);
    const start = this.#end >> 2;
    this.#words[start] = pageIndex;
    this.#words[start + 1] = checksum.ofPage(wordsOf(after), pageIndex);
    this.#words[start + 2] = 1 | (before === null ? FRESH : 0);
    this.#halves[(start + 3) * 2] = 0;
    this.#halves[(start + 3) * 2 + 1] = PAGE_WORDS;
    let at = this.#end + ENTRY_HEADER_BYTES + RANGE_HEADER_BYTES;
    if (before !== null) {
      this.#bytes.set(before, at);
      at += PAGE_BYTES;
    }
    this.#bytes.set(after, at);
    this.#end = at + PAGE_BYTES;
    return at;
  }

  /** Adds a whole entry that the caller has encoded, such as the differences of pages. */
  addEntry(bytes: Uint8Array): void {
    this.#reserve((bytes.length & ~7) + 16);
    this.#bytes.set(bytes, this.#end);
    this.#end += bytes.length;
  }

  /** Adds only the old words of a page, for a folded record. `isFresh` says that the page did not exist. */
  addOld(pageIndex: number, isFresh: boolean, eachOld: (use: EachRange) => void): void {
    this.#reserve(ENTRY_BYTES_MAX + 8);
    const start = this.#end >> 2;
    let at = start + ENTRY_HEADER_BYTES / 4;
    let rangeCount = 0;
    eachOld((first, count, words, from) => {
      this.#words[at++] = first | (count << 16);
      for (let i = 0; i < count; i++) this.#words[at++] = words[from + i]!;
      rangeCount++;
    });
    this.#words[start] = pageIndex;
    this.#words[start + 1] = 0;
    this.#words[start + 2] = rangeCount | (isFresh ? FRESH : 0);
    this.#end = at << 2;
  }

  /** Adds the body of a marker: the sequence and checksum of the pending restore. */
  addMarker(sequence: number, sum: number): void {
    this.#reserve(MARKER_BODY_BYTES);
    const view = new DataView(this.#bytes.buffer, this.#end);
    view.setFloat64(MARKER_BODY.sequence, sequence, true);
    view.setFloat64(MARKER_BODY.sum, sum, true);
    this.#end += MARKER_BODY_BYTES;
  }

  /** Completes the record and returns its bytes, valid until the next `begin`. */
  finish(
    header: RecordHeader,
    checksum: Checksum,
  ): { readonly bytes: Uint8Array; readonly sum: number } {
    if (this.#end & 4) {
      this.#words[this.#end >> 2] = 0;
      this.#end += 4;
    }
    const words = this.#words;
    words[RECORD.magic >> 2] = RECORD_MAGIC;
    words[RECORD.length >> 2] = this.#end;
    this.#doubles[RECORD.sequence >> 3] = header.sequence;
    this.#doubles[RECORD.timeMs >> 3] = header.timeMs;
    this.#doubles[RECORD.durableSequence >> 3] = header.durableSequence;
    this.#doubles[RECORD.previousSum >> 3] = header.previousSum;
    const isAnnotated = this.#start > RECORD_HEADER_BYTES;
    words[RECORD.flags >> 2] = header.flags | (isAnnotated ? ANNOTATED : 0);
    words[RECORD.epoch >> 2] = header.epoch;
    words[RECORD.pageCountBefore >> 2] = header.pageCountBefore;
    words[RECORD.pageCount >> 2] = header.pageCount;
    const sum = checksum.ofRecord(words, RECORD.magic >> 2, this.#end >> 2);
    this.#doubles[RECORD.sum >> 3] = sum;
    return { bytes: this.#bytes.subarray(0, this.#end), sum };
  }

  /** Adds one range over the whole page. */
  #addWhole(before: Uint32Array | null, after: Uint32Array | null): number {
    const words = this.#words;
    let at = (this.#end + ENTRY_HEADER_BYTES) >> 2;
    this.#halves[at * 2] = 0;
    this.#halves[at * 2 + 1] = PAGE_WORDS;
    at++;
    if (before !== null) words.set(before, at);
    if (before !== null) at += PAGE_WORDS;
    if (after !== null) words.set(after, at);
    if (after !== null) at += PAGE_WORDS;
    this.#end = at << 2;
    return 1;
  }

  #addRanges(before: Uint32Array | null, after: Uint32Array | null): number {
    const oldWords = before ?? ZERO_WORDS;
    const newWords = after ?? ZERO_WORDS;
    const words = this.#words;
    let at = (this.#end + ENTRY_HEADER_BYTES) >> 2;
    let count = 0;
    let i = nextDifference(oldWords, newWords, 0);
    while (i < PAGE_WORDS) {
      const start = i;
      while (i < PAGE_WORDS && oldWords[i] !== newWords[i]) i++;
      this.#halves[at * 2] = start;
      this.#halves[at * 2 + 1] = i - start;
      at++;
      if (before !== null) for (let k = start; k < i; k++) words[at++] = oldWords[k]!;
      if (after !== null) for (let k = start; k < i; k++) words[at++] = newWords[k]!;
      count++;
      i = nextDifference(oldWords, newWords, i);
    }
    if (count > 0 || before === null || after === null) this.#end = at << 2;
    return count;
  }

  #reserve(moreBytes: number): void {
    // The new length stays a multiple of eight, so that every typed array can view it.
    if (this.#end + moreBytes <= this.#bytes.length) return;
    const buffer = new ArrayBuffer(this.#bytes.length * 2 + moreBytes);
    const grown = new Uint8Array(buffer);
    grown.set(this.#bytes.subarray(0, this.#end));
    this.#bytes = grown;
    this.#words = new Uint32Array(buffer);
    this.#halves = new Uint16Array(buffer);
    this.#doubles = new Float64Array(buffer);
  }
}

/**
 * True if at least `samples` of 32 sampled bytes differ, or if the page is new or removed. A word that is typed into a
 * text shifts all bytes behind it, so most bytes of the page differ.
 */
export function differsMuch({ before, after }: PageChange, samples = 2): boolean {
  if (before === null || after === null) return true;
  let differing = 0;
  for (let i = SAMPLE_BYTES - 1; i < PAGE_BYTES; i += SAMPLE_BYTES) {
    if (before[i] !== after[i] && ++differing === samples) return true;
  }
  return false;
}

/** Returns the length of the entry that `addChange` adds, in bytes. */
export function rangeBytes(change: PageChange): number {
  const before = change.before === null ? ZERO_WORDS : wordsOf(change.before);
  const after = change.after === null ? ZERO_WORDS : wordsOf(change.after);
  const sides = Number(change.before !== null) + Number(change.after !== null);
  const head = ENTRY_HEADER_BYTES + RANGE_HEADER_BYTES;
  if (looksReplaced(before, after)) return head + sides * PAGE_BYTES;
  let bytes = ENTRY_HEADER_BYTES;
  for (let i = nextDifference(before, after, 0); i < PAGE_WORDS; ) {
    const start = i;
    while (i < PAGE_WORDS && before[i] !== after[i]) i++;
    bytes += RANGE_HEADER_BYTES + sides * 4 * (i - start);
    i = nextDifference(before, after, i);
  }
  return bytes;
}

/** Finds the first word, from `from` on, in which two pages differ; returns `PAGE_WORDS` if there is none. */
export function nextDifference(a: Uint32Array, b: Uint32Array, from: number): number {
  let i = from;
  while (i < PAGE_WORDS && i % 8 !== 0) {
    if (a[i] !== b[i]) return i;
    i++;
  }
  // Compare eight words at a time: every commit compares its pages, and few of their words differ.
  for (; i < PAGE_WORDS; i += 8) {
    const differs =
      (a[i]! ^ b[i]!) |
      (a[i + 1]! ^ b[i + 1]!) |
      (a[i + 2]! ^ b[i + 2]!) |
      (a[i + 3]! ^ b[i + 3]!) |
      (a[i + 4]! ^ b[i + 4]!) |
      (a[i + 5]! ^ b[i + 5]!) |
      (a[i + 6]! ^ b[i + 6]!) |
      (a[i + 7]! ^ b[i + 7]!);
    if (differs === 0) continue;
    while (a[i] === b[i]) i++;
    return i;
  }
  return PAGE_WORDS;
}

/**
 * Distance between the words of a page that `looksReplaced` compares. It leaves out word 0: in an overflow page that is
 * the number of the next page, which stays when SQLite stores a new large value in the pages of the old one.
 */
const SAMPLE_WORDS = 32;
const SAMPLE_BYTES = 4 * SAMPLE_WORDS;

/**
 * True if no sampled word is equal. Such a page usually holds a large value that was overwritten, so it is logged whole
 * without a search for equal ranges. If the page has equal words between the samples, they are logged too.
 */
function looksReplaced(before: Uint32Array, after: Uint32Array): boolean {
  for (let i = SAMPLE_WORDS; i < PAGE_WORDS; i += SAMPLE_WORDS)
    if (before[i] === after[i]) return false;
  return before[PAGE_WORDS - 1] !== after[PAGE_WORDS - 1];
}

// A buffer into which each header is copied: that takes a tenth of the time of a DataView for every record.
const headerBytes = new Uint8Array(RECORD_HEADER_BYTES);
const headerWords = new Uint32Array(headerBytes.buffer);
const headerDoubles = new Float64Array(headerBytes.buffer);

/**
 * Reads the header of the record at the beginning of `bytes`; null if the magic number is missing or
 * the length is impossible. The checksum is not verified.
 */
export function parseHeader(bytes: Uint8Array): Record | null {
  if (bytes.length < RECORD_HEADER_BYTES) return null;
  headerBytes.set(bytes.subarray(0, RECORD_HEADER_BYTES));
  if (headerWords[RECORD.magic >> 2] !== RECORD_MAGIC) return null;
  const length = headerWords[RECORD.length >> 2]!;
  if (length < RECORD_HEADER_BYTES || (length & 7) !== 0) return null;
  const flags = headerWords[RECORD.flags >> 2]!;
  const isFolded = (flags & FOLDED) !== 0;
  const bytesSum = headerDoubles[RECORD.sum >> 3]!;
  const durableSequence = headerDoubles[RECORD.durableSequence >> 3]!;
  return {
    sum: isFolded ? durableSequence : bytesSum,
    bytesSum,
    length,
    sequence: headerDoubles[RECORD.sequence >> 3]!,
    timeMs: headerDoubles[RECORD.timeMs >> 3]!,
    durableSequence: isFolded ? 0 : durableSequence,
    previousSum: headerDoubles[RECORD.previousSum >> 3]!,
    flags,
    epoch: headerWords[RECORD.epoch >> 2]!,
    pageCountBefore: headerWords[RECORD.pageCountBefore >> 2]!,
    pageCount: headerWords[RECORD.pageCount >> 2]!,
  };
}

/** True if the bytes of a whole record match its checksum. */
export function isIntact(bytes: Uint8Array, record: Record, checksum: Checksum): boolean {
  const words = wordsOf(bytes);
  return checksum.ofRecord(words, RECORD.magic >> 2, record.length >> 2) === record.bytesSum;
}

/** Returns the annotation of a record whose beginning is in `bytes`; null if it has none. */
export function annotationIn(bytes: Uint8Array, { flags }: Record): Uint8Array | null {
  if ((flags & ANNOTATED) === 0) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset + RECORD_HEADER_BYTES);
  const length = view.getUint16(ANNOTATION_LENGTH, true);
  return bytes.subarray(RECORD_HEADER_BYTES, RECORD_HEADER_BYTES + length);
}

/** Returns the offset of a record's first page entry, or of a marker's body. */
function bodyStart(bytes: Uint8Array, record: Record): number {
  return RECORD_HEADER_BYTES + (annotationIn(bytes, record)?.length ?? 0);
}

/** Reads the sequence and the checksum in the body of a marker. */
export function markerBody(bytes: Uint8Array, record: Record): { sequence: number; sum: number } {
  const view = new DataView(bytes.buffer, bytes.byteOffset + bodyStart(bytes, record));
  return {
    sequence: view.getFloat64(MARKER_BODY.sequence, true),
    sum: view.getFloat64(MARKER_BODY.sum, true),
  };
}

/**
 * A callback for each of several ranges: `count` words of a page, from `start` on, which begin at `from` in
 * `words`.
 */
export type EachRange = (start: number, count: number, words: Uint32Array, from: number) => void;

/** The entry of one page in the bytes of a record. */
export class PageEntry {
  readonly kind = 'page';
  readonly pageIndex: number;
  /** Checksum of the page after the transaction; meaningless if the page is gone. */
  readonly newSum: number;
  readonly isFresh: boolean;
  readonly isGone: boolean;
  readonly #words: Uint32Array;
  readonly #at: number;
  readonly #rangeCount: number;
  readonly #hasOnlyOld: boolean;

  /** Reads the entry at word `at`; `hasOnlyOld` says that it belongs to a folded record. */
  constructor(words: Uint32Array, at: number, hasOnlyOld = false) {
    const info = words[at + 2]!;
    this.pageIndex = words[at]!;
    this.newSum = words[at + 1]!;
    this.isFresh = (info & FRESH) !== 0;
    this.isGone = (info & GONE) !== 0;
    this.#rangeCount = info & RANGE_COUNT_MASK;
    this.#hasOnlyOld = hasOnlyOld;
    this.#words = words;
    this.#at = at + ENTRY_HEADER_BYTES / 4;
  }

  /** Word offset of the new image if the entry contains the whole page, otherwise -1. */
  get imageWord(): number {
    if (this.#rangeCount !== 1 || this.isGone || this.#hasOnlyOld) return -1;
    if (this.#words[this.#at]! >>> 16 !== PAGE_WORDS) return -1;
    return this.#at + 1 + (this.isFresh ? 0 : PAGE_WORDS);
  }

  /** Puts the new bytes into a page with the old ones (zeros if the page is new). */
  redo(page: Uint32Array): void {
    this.#apply(page, 'new');
  }

  /** Puts the old bytes into a page with the new ones (zeros if the page was removed). */
  undo(page: Uint32Array): void {
    this.#apply(page, 'old');
  }

  /** Passes the old words of each range to `use`. */
  eachOld(use: EachRange): void {
    this.#eachRange('old', use);
  }

  /** Returns the word offset after the entry. */
  end(): number {
    return this.#eachRange('new', null);
  }

  #apply(page: Uint32Array, side: 'old' | 'new'): void {
    this.#eachRange(side, (start, count, words, from) => {
      page.set(words.subarray(from, from + count), start);
    });
  }

  #eachRange(side: 'old' | 'new', use: EachRange | null): number {
    const words = this.#words;
    const copies = this.isFresh || this.isGone || this.#hasOnlyOld ? 1 : 2;
    let at = this.#at;
    for (let range = 0; range < this.#rangeCount; range++) {
      const start = words[at]! & 0xffff;
      const count = words[at]! >>> 16;
      at++;
      if (!(start + count <= PAGE_WORDS && at + count * copies <= words.length)) {
        throw storageError('CORRUPT', 'history: a record of the log has an impossible range.');
      }
      const from = side === 'new' && copies === 2 ? at + count : at;
      if (use !== null) use(start, count, words, from);
      at += count * copies;
    }
    return at;
  }
}

/** Returns the entries of a record, in order. @throws CORRUPT */
export function entriesOf(bytes: Uint8Array, record: Record): (PageEntry | DeltaEntry)[] {
  const entries: (PageEntry | DeltaEntry)[] = [];
  if ((record.flags & MARKER) !== 0) return entries;
  const words = wordsOf(bytes);
  let at = bodyStart(bytes, record) >> 2;
  const end = record.length >> 2;
  while (end - at >= ENTRY_HEADER_BYTES / 4) {
    if ((words[at + 2]! & DELTA) !== 0) {
      const entry = new DeltaEntry(bytes, at);
      entries.push(entry);
      at = entry.end;
    } else {
      const entry = new PageEntry(words, at, (record.flags & FOLDED) !== 0);
      entries.push(entry);
      at = entry.end();
    }
  }
  return entries;
}
