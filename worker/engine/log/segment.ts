// A segment of the commit log: one file with a header, a sparse index and records. Only the active segment, the newest
// one, is written.
//
// Invariants: records are chained by their checksums, so that reading stops at the first record that is torn, missing
// or left over from an earlier epoch. The remains of a failed write are cut off before a flush ends, so that no opening
// finds them. Callers know where the log ends. Layout: docs/commit-log-format.md.

import { storageError } from '../../../src/shared/contract/errors.ts';
import { assert } from '../../../src/shared/contract/invariant.ts';
import { isDiskFull, type SyncFile, WINDOW_BYTES, WindowReader } from '../file/file.ts';

import { ANNOTATION_BYTES_MAX } from './annotation.ts';
import { type Checksum, wordsOf } from './checksum.ts';
import type { LogPosition } from './log-position.ts';
import { PAGE_BYTES } from './pages.ts';

import {
  CONTINUES,
  isIntact,
  parseHeader,
  RECORD,
  RECORD_HEADER_BYTES,
  RECORD_MAGIC,
  type Record,
} from './record.ts';

/** Offsets of the header's fields, in bytes. */
const HEADER = {
  sum: 0,
  magic: 8,
  version: 12,
  number: 16,
  pageBytes: 20,
  baseSequence: 24,
  baseTimeMs: 32,
  baseSum: 40,
  precedingBytes: 48,
  spacingSeconds: 56,
  savedKilobytes: 60,
  end: 64,
} as const;
const SEGMENT_MAGIC = 0x434c5347;
/** The version of the header's layout. The version of the records is that of the object, in the checkpoint file. */
const SEGMENT_VERSION = 3;

/** Size of the header with its index; the first record begins here. */
export const SEGMENT_HEADER_BYTES = 4096;

/** Offsets of the index in the segment's header, in bytes. */
const INDEX = { sum: 64, count: 72, entries: 80 } as const;

/** Offsets in an entry of the index, in bytes. */
const ENTRY = { offset: 0, sequence: 8, timeMs: 16, sum: 24 } as const;
const ENTRY_BYTES = 32;
export const INDEX_ENTRIES_MAX = Math.floor((SEGMENT_HEADER_BYTES - INDEX.entries) / ENTRY_BYTES);

/** Distance in the log between two entries of the index, in bytes. It doubles each time the index is full. */
const SPACING_BYTES = 1 << 16;

/**
 * When only headers are read, records up to this size are verified too, because they are read along with the header.
 */
const VERIFIED_BYTES = 1 << 16;

/** Bytes per write when a file is written again. */
const REWRITE_BYTES = 1 << 20;

/** Zeros that are written after the end of the log, so that a flush need not store a new file size. */
const AHEAD_BYTES_MIN = 1 << 16;
const AHEAD_BYTES_MAX = 1 << 20;
const ZEROS = new Uint8Array(AHEAD_BYTES_MAX);
/** Records begin at multiples of this. */
const RECORD_STEP_BYTES = 8;
const SCANNED_BYTES = 1 << 12;

/** The data in the header of a folded segment: see folding.ts. */
export interface Folded {
  /** The spacing of the states that thinning keeps: one in each such span. */
  readonly spacingMs: number;
  /** The number of bytes by which the folded segment is smaller than the segments that it replaces. */
  readonly savedBytes: number;
}

/** A record and its offset. `bytes` are valid until the next record is read. */
export interface FoundRecord {
  readonly record: Record;
  readonly bytes: Uint8Array;
  readonly offset: number;
}

/**
 * Bytes that a failed write has left behind the end of the log, perhaps all of its bytes. `uncut`: the file could not be
 * truncated there, so the next flush tries again. `cut`: change number `change` has truncated the file, and may not be
 * flushed yet.
 */
type Remains =
  | { readonly kind: 'none' }
  | { readonly kind: 'uncut' }
  | { readonly kind: 'cut'; readonly change: number };

const NO_REMAINS: Remains = { kind: 'none' };

/** Returns the file name of a segment. */
export function segmentName(number: number): string {
  return `log-${number.toString(16).padStart(8, '0')}`;
}

/** Parses the number in a segment's file name; returns null for any other file. */
export function segmentNumber(name: string): number | null {
  return /^log-[0-9a-f]{8}$/.test(name) ? Number.parseInt(name.slice(4), 16) : null;
}

export class Segment {
  readonly number: number;
  readonly file: SyncFile;
  /** The position before the first record. */
  readonly base: LogPosition;
  /** Size of all segments before this one, including pruned ones, in bytes. */
  readonly precedingBytes: number;
  /** The header data of a folded segment; null if this segment is not folded. */
  readonly folded: Folded | null;
  readonly #index: SegmentIndex;
  readonly #checksum: Checksum;
  /** Size of the file; null until it is known. */
  #capacity: number | null = null;
  /** Number of changes of the file since it was opened, and number of those that are flushed. */
  #changes = 0;
  #flushed = 0;
  #remains: Remains = NO_REMAINS;

  private constructor(
    number: number,
    file: SyncFile,
    base: LogPosition,
    precedingBytes: number,
    index: SegmentIndex,
    checksum: Checksum,
    folded: Folded | null = null,
  ) {
    this.number = number;
    this.file = file;
    this.base = base;
    this.precedingBytes = precedingBytes;
    this.folded = folded;
    this.#index = index;
    this.#checksum = checksum;
  }

  /** Begins a segment in an empty or abandoned file: writes its header, without a flush. */
  static create(
    number: number,
    file: SyncFile,
    last: Omit<LogPosition, 'offset'>,
    checksum: Checksum,
    precedingBytes = 0,
  ): Segment {
    const base = { ...last, offset: SEGMENT_HEADER_BYTES };
    if (file.sizeBytes() > 0) file.truncate(0);
    file.write(headerBytes(number, base, precedingBytes, checksum), 0);
    const index = new SegmentIndex();
    const created = new Segment(number, file, base, precedingBytes, index, checksum);
    // Set the size without asking for it: a call that fails here would leave the log between two segments.
    created.#capacity = SEGMENT_HEADER_BYTES;
    created.#changes = 1;
    return created;
  }

  /**
   * Begins a folded segment that will replace this segment and later ones. It has no header until `writeFolded`, so
   * until then it replaces nothing.
   */
  beginFolded(number: number, file: SyncFile): Segment {
    file.truncate(0);
    const { base, precedingBytes } = this;
    const index = new SegmentIndex();
    const begun = new Segment(number, file, base, precedingBytes, index, this.#checksum);
    begun.#capacity = SEGMENT_HEADER_BYTES;
    return begun;
  }

  /** Reads a segment's header; null if it is missing, torn, or belongs to another object. */
  static read(number: number, file: SyncFile, checksum: Checksum): Segment | null {
    const header = new Uint8Array(SEGMENT_HEADER_BYTES);
    if (file.read(header, 0) < SEGMENT_HEADER_BYTES) return null;
    const base = parseBase(header, number, checksum);
    if (base === null) return null;
    const view = new DataView(header.buffer);
    const preceding = view.getFloat64(HEADER.precedingBytes, true);
    const spacingMs = view.getUint32(HEADER.spacingSeconds, true) * 1000;
    const savedBytes = view.getUint32(HEADER.savedKilobytes, true) * 1024;
    const folded = spacingMs === 0 ? null : { spacingMs, savedBytes };
    const index = SegmentIndex.read(header, checksum);
    return new Segment(number, file, base, preceding, index, checksum, folded);
  }

  /** Size of the file, in bytes. */
  get sizeBytes(): number {
    return this.#readCapacity();
  }

  /** True if every change of the file is flushed. */
  get isFlushed(): boolean {
    return this.#flushed === this.#changes;
  }

  /** True while the remains of a failed write could not be cut off. */
  get hasUncutRemains(): boolean {
    return this.#remains.kind === 'uncut';
  }

  /** True while remains of a failed write could come back after a power failure. */
  get hasRemains(): boolean {
    return this.#remains.kind !== 'none';
  }

  /**
   * Writes a record at the end of the log. The remains of a failed write are cut off. `makeRoom` prunes history on a
   * full disk, and returns false if there is none to prune.
   *
   * @throws DISK_FULL, IO
   */
  append(bytes: Uint8Array, end: number, makeRoom: () => boolean): void {
    const capacity = this.#readCapacity();
    assert(end >= SEGMENT_HEADER_BYTES && end <= capacity, 'a record leaves a gap in the log');
    this.#changes++;
    for (;;) {
      try {
        this.file.write(bytes, end);
        break;
      } catch (error) {
        this.#cutRemains(end);
        if (!isDiskFull(error) || !makeRoom()) throw error;
      }
    }
    // The record overwrites the remains, but it may be shorter than they are.
    if (this.#remains.kind === 'uncut') this.#remains = { kind: 'cut', change: this.#changes };
    this.#capacity = Math.max(this.#capacity ?? capacity, end + bytes.length);
  }

  /** Cuts off everything from an offset on, without a flush. */
  cutAt(end: number): void {
    this.#remains = { kind: 'uncut' };
    const change = ++this.#changes;
    this.file.truncate(end);
    this.#capacity = end;
    this.#remains = { kind: 'cut', change };
  }

  /** Extends the file with zeros when the log approaches its end, up to a size. Ignored when the disk is full. */
  growAhead(end: number, sizeBytesMax: number): void {
    const capacity = this.#readCapacity();
    if (capacity - end >= AHEAD_BYTES_MIN / 4 || capacity >= sizeBytesMax) return;
    const wanted = Math.min(AHEAD_BYTES_MAX, Math.max(AHEAD_BYTES_MIN, end));
    const bytes = Math.min(wanted, sizeBytesMax - capacity);
    this.#changes++;
    try {
      this.file.write(ZEROS.subarray(0, bytes), capacity);
      this.#capacity = capacity + bytes;
    } catch (error) {
      if (!isDiskFull(error)) throw error;
      this.file.truncate(end);
      this.#capacity = end;
    }
  }

  /**
   * Prepares a flush: cuts off the remains of a failed write. `end` is the end of the log. Returns the number of
   * changes that the flush covers.
   */
  beforeFlush(end: number): number {
    if (this.#remains.kind === 'uncut') this.cutAt(end);
    return this.#changes;
  }

  /** Records that a flush, which covers this many changes, has ended. */
  flushed(changes: number): void {
    assert(changes <= this.#changes, 'a flush covers changes that were not made');
    this.#flushed = Math.max(this.#flushed, changes);
    const remains = this.#remains;
    if (remains.kind === 'cut' && remains.change <= this.#flushed) this.#remains = NO_REMAINS;
  }

  /** Writes the file's bytes up to an offset once more, and cuts it there, so that the next flush stores both. */
  rewrite(end: number): void {
    for (let at = 0; at < end; at += REWRITE_BYTES) {
      this.file.write(this.read(at, Math.min(REWRITE_BYTES, end - at)), at);
    }
    // Bytes that were cut off may still be on disk, where an opening would find them; so cut again.
    this.cutAt(end);
  }

  /** Reads a record again, at a known offset. */
  read(offset: number, length: number): Uint8Array {
    const bytes = new Uint8Array(length);
    this.file.read(bytes, offset);
    return bytes;
  }

  /** Offers the position after a commit to the index, which keeps only some of them. */
  note(position: LogPosition): void {
    this.#index.note(position, this.base);
  }

  /** Writes the index into the header, without a flush: a lost index only costs time. */
  writeIndex(): void {
    this.#changes++;
    this.#index.write(this.file, this.#checksum);
  }

  /** Writes the header of a folded segment, whose records are flushed. The caller flushes it. */
  writeFolded(folded: Folded): void {
    const { number, base, precedingBytes } = this;
    this.file.write(headerBytes(number, base, precedingBytes, this.#checksum, folded), 0);
    this.#index.write(this.file, this.#checksum);
  }

  /** Drops index entries beyond the end of the log. */
  cutIndex(end: number): void {
    this.#index.cut(end);
  }

  /** Returns the known positions in order: the base and the entries of the index. */
  positions(): LogPosition[] {
    return [this.base, ...this.#index.entries];
  }

  /** Returns the last known position that a test accepts; the base if it accepts none. */
  lastPosition(accepts: (position: LogPosition) => boolean): LogPosition {
    let found = this.base;
    for (const entry of this.#index.entries) {
      if (!accepts(entry)) break;
      found = entry;
    }
    return found;
  }

  /**
   * Cuts off the bytes after the end of the log, unless they are zeros written ahead. Otherwise a later
   * write that a crash tears could complete a torn record, and recovery would replay it.
   */
  cutBehind(end: number): void {
    if (!isZeroFrom(this.file, end)) this.file.truncate(end);
  }

  /**
   * Reads the headers and annotations of the records from a position on, in order. It ends like `records`, but only
   * small records are read and verified whole; of a large record, only the header's place in the chain is verified.
   */
  *headers(from: LogPosition, end = Number.POSITIVE_INFINITY): Generator<FoundRecord> {
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
      const headBytes = Math.min(record.length, RECORD_HEADER_BYTES + ANNOTATION_BYTES_MAX);
      const bytes = reader.view(offset, headBytes);
      if (bytes === null) return;
      yield { record, bytes, offset };
      offset += record.length;
      sum = record.sum;
    }
  }

  /**
   * Reads every intact record from a position on, in order. Ends at the first record that is not in the chain, or that
   * begins at or after `end`.
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

  /** Cuts off the remains of a failed write, so that the next opening does not find them. */
  #cutRemains(end: number): void {
    try {
      this.cutAt(end);
    } catch {
      // Ignore this error: the caller throws the first one, and the next flush tries again.
    }
  }

  #readCapacity(): number {
    this.#capacity ??= this.file.sizeBytes();
    return this.#capacity;
  }
}

/** Returns the position after a record that ends a transaction; null after a part that does not end one. */
export function positionAfter(found: FoundRecord): LogPosition | null {
  const { record, offset } = found;
  if ((record.flags & CONTINUES) !== 0) return null;
  const { sequence, timeMs, sum, length } = record;
  return { offset: offset + length, sequence, timeMs, sum };
}

/** Makes the error for a segment whose content is not what was written. */
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
  for (let at = offset; ; at += RECORD_STEP_BYTES) {
    at = nextMagic(reader, at, size);
    const head = at + RECORD_HEADER_BYTES <= size ? reader.view(at, RECORD_HEADER_BYTES) : null;
    if (head === null) return false;
    const record = parseHeader(head);
    if (record === null || record.durableSequence <= sequence) continue;
    const bytes = reader.view(at, record.length);
    if (bytes !== null && isIntact(bytes, record, checksum)) return true;
  }
}

/**
 * Finds the next offset from `from` on with the magic number of a record; returns `size` if there is none. An opening
 * searches up to a megabyte of zeros with it, in code that the browser has not optimized yet, so the loop is minimal.
 */
function nextMagic(reader: WindowReader, from: number, size: number): number {
  for (let start = from; start + RECORD_HEADER_BYTES <= size; ) {
    const length = Math.min(SCANNED_BYTES, size - start);
    const bytes = reader.view(start, length);
    if (bytes === null) return size;
    const words = wordsOf(bytes);
    for (let i = RECORD.magic >> 2; i < words.length; i += RECORD_STEP_BYTES >> 2) {
      if (words[i] === RECORD_MAGIC) return start + i * 4 - RECORD.magic;
    }
    start += length - RECORD.magic; // so that the next bytes read begin with the magic number
  }
  return size;
}

/**
 * True if the file belongs to a pruned segment, which was emptied, or to a folded one whose header was never written. A
 * file of zeros counts as empty. `minutes` is that of the segment's span: 0 if it is not folded.
 */
export function isEmptied(file: SyncFile, minutes: number): boolean {
  return isZeroFrom(file, 0, minutes > 0 ? SEGMENT_HEADER_BYTES : file.sizeBytes());
}

/** True when a file holds nothing but zeros from `offset` on, up to `end`. */
export function isZeroFrom(file: SyncFile, offset: number, end = file.sizeBytes()): boolean {
  const reader = new WindowReader(file);
  const size = Math.min(file.sizeBytes(), end);
  for (let at = offset; at < size; at += WINDOW_BYTES) {
    const bytes = reader.view(at, Math.min(WINDOW_BYTES, size - at));
    if (bytes === null) return false;
    const words = wordsOf(bytes);
    for (let i = 0; i < words.length; i++) if (words[i] !== 0) return false;
    for (let i = words.length * 4; i < bytes.length; i++) if (bytes[i] !== 0) return false;
  }
  return true;
}

/**
 * The sparse index of a segment: some positions between commits, in order, so that a commit is found without reading
 * the whole segment. It only saves time: if it is lost or torn, it is empty, and reading begins at the first record.
 */
class SegmentIndex {
  #entries: LogPosition[] = [];
  #spacingBytes = SPACING_BYTES;

  /** Reads the index from a segment's header. */
  static read(header: Uint8Array<ArrayBuffer>, checksum: Checksum): SegmentIndex {
    const index = new SegmentIndex();
    const view = new DataView(header.buffer);
    if (view.getFloat64(INDEX.sum, true) !== indexSum(header, checksum)) return index;
    const count = Math.min(view.getUint32(INDEX.count, true), INDEX_ENTRIES_MAX);
    for (let i = 0; i < count; i++) {
      const at = INDEX.entries + i * ENTRY_BYTES;
      index.#entries.push({
        offset: view.getFloat64(at + ENTRY.offset, true),
        sequence: view.getFloat64(at + ENTRY.sequence, true),
        timeMs: view.getFloat64(at + ENTRY.timeMs, true),
        sum: view.getFloat64(at + ENTRY.sum, true),
      });
    }
    while (index.#spacingBytes * INDEX_ENTRIES_MAX < (index.#entries.at(-1)?.offset ?? 0)) {
      index.#spacingBytes *= 2;
    }
    return index;
  }

  get entries(): readonly LogPosition[] {
    return this.#entries;
  }

  /**
   * Offers the position after a commit, which follows all earlier ones; only some are kept. `base` is where records
   * begin.
   */
  note(position: LogPosition, base: LogPosition): void {
    const last = this.#entries.at(-1) ?? base;
    if (position.offset - last.offset < this.#spacingBytes) return;
    if (this.#entries.length === INDEX_ENTRIES_MAX) {
      this.#entries = this.#entries.filter((_, i) => i % 2 === 1);
      this.#spacingBytes *= 2;
    }
    this.#entries.push(position);
  }

  /** Drops entries beyond the end of the log. */
  cut(end: number): void {
    this.#entries = this.#entries.filter((entry) => entry.offset <= end);
  }

  /** Writes the index into the header of the segment's file, without a flush. */
  write(file: SyncFile, checksum: Checksum): void {
    const header = new Uint8Array(SEGMENT_HEADER_BYTES);
    const view = new DataView(header.buffer);
    view.setUint32(INDEX.count, this.#entries.length, true);
    this.#entries.forEach((entry, i) => {
      const at = INDEX.entries + i * ENTRY_BYTES;
      view.setFloat64(at + ENTRY.offset, entry.offset, true);
      view.setFloat64(at + ENTRY.sequence, entry.sequence, true);
      view.setFloat64(at + ENTRY.timeMs, entry.timeMs, true);
      view.setFloat64(at + ENTRY.sum, entry.sum, true);
    });
    view.setFloat64(INDEX.sum, indexSum(header, checksum), true);
    file.write(header.subarray(INDEX.sum), INDEX.sum);
  }
}

/** Encodes the header of a segment with an empty index. */
function headerBytes(
  number: number,
  base: LogPosition,
  precedingBytes: number,
  checksum: Checksum,
  folded: Folded = { spacingMs: 0, savedBytes: 0 },
): Uint8Array {
  const header = new Uint8Array(SEGMENT_HEADER_BYTES);
  const view = new DataView(header.buffer);
  view.setUint32(HEADER.magic, SEGMENT_MAGIC, true);
  view.setUint32(HEADER.version, SEGMENT_VERSION, true);
  view.setUint32(HEADER.number, number, true);
  view.setUint32(HEADER.pageBytes, PAGE_BYTES, true);
  view.setFloat64(HEADER.baseSequence, base.sequence, true);
  view.setFloat64(HEADER.baseTimeMs, base.timeMs, true);
  view.setFloat64(HEADER.baseSum, base.sum, true);
  view.setFloat64(HEADER.precedingBytes, precedingBytes, true);
  view.setUint32(HEADER.spacingSeconds, folded.spacingMs / 1000, true);
  view.setUint32(HEADER.savedKilobytes, Math.max(0, Math.floor(folded.savedBytes / 1024)), true);
  view.setFloat64(HEADER.sum, headerSum(header, checksum), true);
  return header;
}

/** Decodes the position before the first record; null if the header is torn, or has another object's salt or number. */
function parseBase(
  header: Uint8Array<ArrayBuffer>,
  number: number,
  checksum: Checksum,
): LogPosition | null {
  const view = new DataView(header.buffer);
  if (view.getUint32(HEADER.magic, true) !== SEGMENT_MAGIC) return null;
  if (view.getUint32(HEADER.version, true) !== SEGMENT_VERSION) return null;
  if (view.getUint32(HEADER.number, true) !== number) return null;
  if (view.getFloat64(HEADER.sum, true) !== headerSum(header, checksum)) return null;
  return {
    offset: SEGMENT_HEADER_BYTES,
    sequence: view.getFloat64(HEADER.baseSequence, true),
    timeMs: view.getFloat64(HEADER.baseTimeMs, true),
    sum: view.getFloat64(HEADER.baseSum, true),
  };
}

function headerSum(header: Uint8Array, checksum: Checksum): number {
  return checksum.ofRecord(wordsOf(header), HEADER.magic >> 2, HEADER.end >> 2);
}

function indexSum(header: Uint8Array, checksum: Checksum): number {
  return checksum.ofRecord(wordsOf(header), INDEX.count >> 2, SEGMENT_HEADER_BYTES >> 2);
}
