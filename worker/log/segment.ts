// A segment of the commit log: a file of some megabytes with a header, a sparse index and a sequence
// of records.
//
// Invariant: records are chained by their checksums, so that reading stops at the first record that
// is torn, missing or left over from an earlier epoch. Layout: docs/commit-log-format.md.

import { storageError } from '../../src/contract/errors.ts';
import type { SyncFile } from '../file/file.ts';
import type { Checksum } from './checksum.ts';
import { CONTINUES, isIntact, parseHeader, RECORD_HEADER_BYTES, type Record } from './record.ts';
import {
  headerBytes,
  type LogPosition,
  parseBase,
  SEGMENT_HEADER_BYTES,
} from './segment-header.ts';
import { SegmentIndex } from './segment-index.ts';
import { isZeroFrom } from './segment-remains.ts';
import { WindowReader } from './window-reader.ts';

/** A record and its offset. `bytes` are valid until the next record is read. */
export interface FoundRecord {
  readonly record: Record;
  readonly bytes: Uint8Array;
  readonly offset: number;
}

/** Records up to this size are verified when only their headers are wanted: they are read with them. */
const VERIFIED_BYTES = 1 << 16;

/** File name of a segment. */
export function segmentName(number: number): string {
  return `log-${number.toString(16).padStart(8, '0')}`;
}

/** The segment number in a file name; null for any other file. */
export function segmentNumber(name: string): number | null {
  return /^log-[0-9a-f]{8}$/.test(name) ? Number.parseInt(name.slice(4), 16) : null;
}

export class Segment {
  readonly number: number;
  readonly file: SyncFile;
  /** State before the first record. */
  readonly base: LogPosition;
  readonly #index: SegmentIndex;
  readonly #checksum: Checksum;

  private constructor(
    number: number,
    file: SyncFile,
    base: LogPosition,
    index: SegmentIndex,
    checksum: Checksum,
  ) {
    this.number = number;
    this.file = file;
    this.base = base;
    this.#index = index;
    this.#checksum = checksum;
  }

  /** Begins a segment in an empty or abandoned file: writes its header, without a flush. */
  static create(
    number: number,
    file: SyncFile,
    last: Omit<LogPosition, 'offset'>,
    checksum: Checksum,
  ): Segment {
    const base = { ...last, offset: SEGMENT_HEADER_BYTES };
    if (file.sizeBytes() > 0) file.truncate(0);
    file.write(headerBytes(number, base, checksum), 0);
    return new Segment(number, file, base, new SegmentIndex(), checksum);
  }

  /** Reads a segment's header; null if it is missing, torn, or belongs to another object. */
  static read(number: number, file: SyncFile, checksum: Checksum): Segment | null {
    const header = new Uint8Array(SEGMENT_HEADER_BYTES);
    if (file.read(header, 0) < SEGMENT_HEADER_BYTES) return null;
    const base = parseBase(header, number, checksum);
    if (base === null) return null;
    return new Segment(number, file, base, SegmentIndex.read(header, checksum), checksum);
  }

  /** Reads a record again, at a known offset. */
  read(offset: number, length: number): Uint8Array {
    const bytes = new Uint8Array(length);
    this.file.read(bytes, offset);
    return bytes;
  }

  /** Offers the end of a commit to the index, which keeps few of them. */
  note(position: LogPosition): void {
    this.#index.note(position, this.base);
  }

  /** Writes the index into the header, without a flush: a lost index only costs time. */
  writeIndex(): void {
    this.#index.write(this.file, this.#checksum);
  }

  /** Drops index entries beyond the end of the log. */
  cutIndex(end: number): void {
    this.#index.cut(end);
  }

  /** Known positions in order: the base and the entries of the index. */
  positions(): LogPosition[] {
    return [this.base, ...this.#index.entries];
  }

  /** The last known position that a test accepts; the base if it accepts none. */
  lastPosition(accepts: (position: LogPosition) => boolean): LogPosition {
    let found = this.base;
    for (const entry of this.#index.entries) {
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
   * The headers of the records from a position on, in order. Ends like `records`, but only small records are
   * read and verified whole: of a large one, the chain tells that its header has its place.
   */
  *headers(
    from: LogPosition,
    end = Number.POSITIVE_INFINITY,
  ): Generator<Pick<FoundRecord, 'record' | 'offset'>> {
    let { offset, sum } = from;
    const reader = new WindowReader(this.file, end);
    while (offset < end) {
      const head = reader.view(offset, RECORD_HEADER_BYTES);
      const record = head === null ? null : parseHeader(head);
      if (record === null || record.previousSum !== sum) return;
      if (record.length <= VERIFIED_BYTES) {
        const bytes = reader.view(offset, record.length);
        if (bytes === null || !isIntact(bytes, record, this.#checksum)) return;
      }
      yield { record, offset };
      offset += record.length;
      sum = record.sum;
    }
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
