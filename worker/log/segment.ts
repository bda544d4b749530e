// A segment of the commit log: a file of some megabytes with a header, a sparse index and a sequence
// of records. The index finds a position without reading the whole segment.
//
// Invariant: records are chained by their checksums, so that reading stops at the first record that
// is torn, missing or left over from an earlier epoch. The index only saves time: without it, reading
// begins at the segment's first record. Layout: docs/commit-log-format.md.

import { storageError } from '../../src/contract/errors.ts';
import type { SyncFile } from '../file/file.ts';
import type { Checksum } from './checksum.ts';
import { wordsOf } from './pages.ts';
import {
  CONTINUES,
  isIntact,
  parseHeader,
  RECORD,
  RECORD_HEADER_BYTES,
  RECORD_MAGIC,
  type Record,
} from './record.ts';

/** Byte offsets of the segment header: fixed part, then the index, each with its own checksum. */
const SEGMENT = {
  sum: 0,
  magic: 8,
  version: 12,
  number: 16,
  pageBytes: 20,
  baseSequence: 24,
  baseTimeMs: 32,
  baseSum: 40,
  indexSum: 64,
  indexCount: 72,
  index: 80,
} as const;
export const SEGMENT_HEADER_BYTES = 4096;
const SEGMENT_MAGIC = 0x434c5347;

/** Byte offsets of one entry of the index. */
const INDEX = { offset: 0, sequence: 8, timeMs: 16, sum: 24 } as const;
const INDEX_ENTRY_BYTES = 32;
export const INDEX_ENTRIES_MAX = Math.floor(
  (SEGMENT_HEADER_BYTES - SEGMENT.index) / INDEX_ENTRY_BYTES,
);

/** Log bytes between two entries of the index; doubled each time the index is full. */
const INDEX_SPACING_BYTES = 1 << 16;

/** A position between two commits of a segment, and the last commit before it. */
export interface LogPosition {
  readonly offset: number;
  readonly sequence: number;
  readonly timeMs: number;
  /** Checksum of the record before the position. */
  readonly sum: number;
}

/** A record and its offset. `bytes` are valid until the next record is read. */
export interface FoundRecord {
  readonly record: Record;
  readonly bytes: Uint8Array;
  readonly offset: number;
}

/** File name of a segment. */
export function segmentName(number: number): string {
  return `log-${number.toString(16).padStart(8, '0')}`;
}

/** The segment number in a file name; null for any other file. */
export function segmentNumber(name: string): number | null {
  return /^log-[0-9a-f]{8}$/.test(name) ? Number.parseInt(name.slice(4), 16) : null;
}

// All readers share one buffer, because reading never spans turns of the event loop.
const WINDOW_BYTES = 1 << 18;
let windowBytes = new Uint8Array(WINDOW_BYTES);

export class Segment {
  readonly number: number;
  readonly file: SyncFile;
  /** State before the first record. */
  readonly base: LogPosition;
  readonly #checksum: Checksum;
  #index: LogPosition[] = [];
  #spacingBytes = INDEX_SPACING_BYTES;

  private constructor(number: number, file: SyncFile, base: LogPosition, checksum: Checksum) {
    this.number = number;
    this.file = file;
    this.base = base;
    this.#checksum = checksum;
  }

  /** Begins a segment in an empty or abandoned file: writes its header, without a flush. */
  static create(
    number: number,
    file: SyncFile,
    last: Omit<LogPosition, 'offset'>,
    checksum: Checksum,
  ) {
    const base = { ...last, offset: SEGMENT_HEADER_BYTES };
    const segment = new Segment(number, file, base, checksum);
    if (file.sizeBytes() > 0) file.truncate(0);
    const header = new Uint8Array(SEGMENT_HEADER_BYTES);
    const view = new DataView(header.buffer);
    view.setUint32(SEGMENT.magic, SEGMENT_MAGIC, true);
    view.setUint32(SEGMENT.version, checksum.version, true);
    view.setUint32(SEGMENT.number, number, true);
    view.setUint32(SEGMENT.pageBytes, 4096, true);
    view.setFloat64(SEGMENT.baseSequence, base.sequence, true);
    view.setFloat64(SEGMENT.baseTimeMs, base.timeMs, true);
    view.setFloat64(SEGMENT.baseSum, base.sum, true);
    view.setFloat64(SEGMENT.sum, headerSum(header, checksum), true);
    file.write(header, 0);
    return segment;
  }

  /** Reads a segment's header; null if it is missing, torn, or belongs to another object. */
  static read(number: number, file: SyncFile, checksum: Checksum): Segment | null {
    const header = new Uint8Array(SEGMENT_HEADER_BYTES);
    if (file.read(header, 0) < SEGMENT_HEADER_BYTES) return null;
    const view = new DataView(header.buffer);
    if (view.getUint32(SEGMENT.magic, true) !== SEGMENT_MAGIC) return null;
    if (view.getUint32(SEGMENT.version, true) !== checksum.version) return null;
    if (view.getUint32(SEGMENT.number, true) !== number) return null;
    if (view.getFloat64(SEGMENT.sum, true) !== headerSum(header, checksum)) return null;
    const segment = new Segment(
      number,
      file,
      {
        offset: SEGMENT_HEADER_BYTES,
        sequence: view.getFloat64(SEGMENT.baseSequence, true),
        timeMs: view.getFloat64(SEGMENT.baseTimeMs, true),
        sum: view.getFloat64(SEGMENT.baseSum, true),
      },
      checksum,
    );
    if (view.getFloat64(SEGMENT.indexSum, true) === indexSum(header, checksum)) {
      segment.#readIndex(view);
    }
    return segment;
  }

  /** Reads a record again, at a known offset. */
  read(offset: number, length: number): Uint8Array {
    const bytes = new Uint8Array(length);
    this.file.read(bytes, offset);
    return bytes;
  }

  /** Offers the end of a commit to the index, which keeps few of them. */
  note(position: LogPosition): void {
    const last = this.#index.at(-1) ?? this.base;
    if (position.offset - last.offset < this.#spacingBytes) return;
    if (this.#index.length === INDEX_ENTRIES_MAX) {
      this.#index = this.#index.filter((_, i) => i % 2 === 1);
      this.#spacingBytes *= 2;
    }
    this.#index.push(position);
  }

  /** Writes the index into the header, without a flush: a lost index only costs time. */
  writeIndex(): void {
    const header = new Uint8Array(SEGMENT_HEADER_BYTES);
    const view = new DataView(header.buffer);
    view.setUint32(SEGMENT.indexCount, this.#index.length, true);
    this.#index.forEach((entry, i) => {
      const at = SEGMENT.index + i * INDEX_ENTRY_BYTES;
      view.setFloat64(at + INDEX.offset, entry.offset, true);
      view.setFloat64(at + INDEX.sequence, entry.sequence, true);
      view.setFloat64(at + INDEX.timeMs, entry.timeMs, true);
      view.setFloat64(at + INDEX.sum, entry.sum, true);
    });
    view.setFloat64(SEGMENT.indexSum, indexSum(header, this.#checksum), true);
    this.file.write(header.subarray(SEGMENT.indexSum), SEGMENT.indexSum);
  }

  /** Known positions in order: the base and the entries of the index. */
  positions(): LogPosition[] {
    return [this.base, ...this.#index];
  }

  /** Drops index entries beyond the end of the log. */
  cutIndex(end: number): void {
    this.#index = this.#index.filter((entry) => entry.offset <= end);
  }

  /** The last known position that a test accepts; the base if it accepts none. */
  lastPosition(accepts: (position: LogPosition) => boolean): LogPosition {
    let found = this.base;
    for (const entry of this.#index) {
      if (!accepts(entry)) break;
      found = entry;
    }
    return found;
  }

  /**
   * Cuts off what follows the end of the log, unless it is zeros written ahead. Otherwise a later write
   * that a crash tears could complete a torn record, and recovery would replay it.
   */
  cutBehind(end: number): void {
    if (!isZeroFrom(this.file, end)) this.file.truncate(end);
  }

  /**
   * Every intact record from a position on, in order. Ends at the first record that is not in the
   * chain, or that begins at or after `end`.
   */
  *records(from: LogPosition, end = Number.POSITIVE_INFINITY): Generator<FoundRecord> {
    let { offset, sum } = from;
    const reader = new WindowReader(this.file, end);
    while (offset < end) {
      const head = reader.view(offset, RECORD_HEADER_BYTES);
      const record = head === null ? null : parseHeader(head);
      if (record === null || record.previousSum !== sum) return;
      const bytes = reader.view(offset, record.length);
      if (bytes === null || !isIntact(bytes, record, this.#checksum)) return;
      yield { record, bytes, offset };
      offset += record.length;
      sum = record.sum;
    }
  }

  #readIndex(view: DataView): void {
    const count = Math.min(view.getUint32(SEGMENT.indexCount, true), INDEX_ENTRIES_MAX);
    for (let i = 0; i < count; i++) {
      const at = SEGMENT.index + i * INDEX_ENTRY_BYTES;
      this.#index.push({
        offset: view.getFloat64(at + INDEX.offset, true),
        sequence: view.getFloat64(at + INDEX.sequence, true),
        timeMs: view.getFloat64(at + INDEX.timeMs, true),
        sum: view.getFloat64(at + INDEX.sum, true),
      });
    }
    while (this.#spacingBytes * INDEX_ENTRIES_MAX < (this.#index.at(-1)?.offset ?? 0)) {
      this.#spacingBytes *= 2;
    }
  }
}

/** The position after a record that ends a transaction; null after any other part. */
export function positionAfter(found: FoundRecord): LogPosition | null {
  const { record, offset } = found;
  if ((record.flags & CONTINUES) !== 0) return null;
  const { sequence, timeMs, sum, length } = record;
  return { offset: offset + length, sequence, timeMs, sum };
}

/** The error of reading a segment that differs from what was written. */
export function damagedSegment(number: number) {
  return storageError('CORRUPT', `history: segment ${number} of the log is damaged.`);
}

/**
 * True if a record after `offset` proves that a commit after `sequence` was durable. That commit is
 * then missing because of damage, not because of a crash.
 */
export function provesFlushed(
  file: SyncFile,
  offset: number,
  sequence: number,
  checksum: Checksum,
): boolean {
  const reader = new WindowReader(file);
  const size = file.sizeBytes();
  for (let at = offset; at + RECORD_HEADER_BYTES <= size; at += 8) {
    const head = reader.view(at, RECORD_HEADER_BYTES);
    if (head === null) return false;
    if (wordsOf(head)[RECORD.magic >> 2] !== RECORD_MAGIC) continue;
    const record = parseHeader(head);
    if (record === null || record.durableSequence <= sequence) continue;
    const bytes = reader.view(at, record.length);
    if (bytes !== null && isIntact(bytes, record, checksum)) return true;
  }
  return false;
}

/**
 * True for the file of a pruned segment, which was emptied. Zeros that were written ahead of the log may
 * reach the disk after that, if power fails.
 */
export function isEmptied(file: SyncFile): boolean {
  return isZeroFrom(file, 0);
}

/** True when a file holds nothing but zeros from `offset` on. */
function isZeroFrom(file: SyncFile, offset: number): boolean {
  const reader = new WindowReader(file);
  const size = file.sizeBytes();
  for (let at = offset; at < size; at += WINDOW_BYTES) {
    const bytes = reader.view(at, Math.min(WINDOW_BYTES, size - at));
    if (bytes === null) return false;
    for (let i = 0; i < bytes.length; i++) if (bytes[i] !== 0) return false;
  }
  return true;
}

function headerSum(header: Uint8Array, checksum: Checksum): number {
  return checksum.ofRecord(wordsOf(header), SEGMENT.magic >> 2, SEGMENT.indexSum >> 2);
}

function indexSum(header: Uint8Array, checksum: Checksum): number {
  return checksum.ofRecord(wordsOf(header), SEGMENT.indexCount >> 2, SEGMENT_HEADER_BYTES >> 2);
}

/** Reads ranges of a file through the shared buffer, with read-ahead. */
class WindowReader {
  readonly #file: SyncFile;
  readonly #end: number;
  #start = 0;
  #length = 0;
  #buffer = windowBytes;

  /** `end` bounds only the read-ahead. */
  constructor(file: SyncFile, end = Number.POSITIVE_INFINITY) {
    this.#file = file;
    this.#end = end;
  }

  /** Bytes of the file, valid until the next call; null if the file is shorter. */
  view(offset: number, length: number): Uint8Array | null {
    // Another reader may have used, or replaced, the shared buffer since.
    const held = this.#buffer === windowBytes && windowOwner === this;
    if (!held || offset < this.#start || offset + length > this.#start + this.#length) {
      if (length > windowBytes.length) {
        if (offset + length > this.#file.sizeBytes()) return null;
        windowBytes = new Uint8Array((length + WINDOW_BYTES) & ~7);
      }
      windowOwner = this;
      this.#buffer = windowBytes;
      this.#start = offset;
      const ahead = Math.min(windowBytes.length, Math.max(length, this.#end - offset));
      this.#length = this.#file.read(windowBytes.subarray(0, ahead), offset);
      if (this.#length < length) return null;
    }
    const at = offset - this.#start;
    return this.#buffer.subarray(at, at + length);
  }
}
let windowOwner: WindowReader | null = null;
