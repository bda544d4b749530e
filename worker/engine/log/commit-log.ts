// The commit log: every committed transaction of one object, exactly once, in a sequence of segments.
//
// It is the journal, the point of durability and the history. A commit is one write at the end of
// the newest segment; a flush makes everything before it durable. A new segment begins only when
// everything is durable and checkpointed, so that a flush concerns one file.
//
// Invariants: the segments from the oldest to `active` have no gap. `durable` is at or before `position`, and both lie
// in `active`. A record that could not be written leaves nothing that an opening after the next flush would find.
//
// Opening a file is asynchronous and a commit is not, so `maintain` opens the next segment ahead.

import { assert } from '../../../src/shared/contract/invariant.ts';
import { type Flush, type Flushing, isDiskFull, openAhead, runFlushing } from '../file/file.ts';

import type { Checksum } from './checksum.ts';
import { type LogPosition, nextTimeline, timelineStart } from './log-position.ts';
import { type LoggedImage, readImage } from './pages.ts';
import { CONTINUES, MARKER, type RecordWriter } from './record.ts';
import {
  type History,
  type KeptHistory,
  type OpenSegment,
  SealedSegments,
} from './sealed-segments.ts';
import { Segment, segmentName } from './segment.ts';

/**
 * A segment that has nearly this size is followed by a new one: Chromium counts an open file, against the quota, as the
 * next power of two.
 */
export const SEGMENT_BYTES = 8 << 20;
/** The part of a segment that is left free for its last record. */
const LAST_RECORD_PART = 1 / 16;
/** Once this part of a segment is written, the next one is opened: on a full disk, the segment may end early. */
const SPARE_PART = 1 / 32;
/** If the wall clock is set back by at most this, commits have the time of the last commit until it has caught up. */
export const CLOCK_BACK_MS = 10_000;
/**
 * After a record of at least this size, no zeros are written ahead, because writing them costs more than a flush that
 * stores a new file size.
 */
const LARGE_RECORD_BYTES = 1 << 16;

/** The log's sources of time and randomness, and its notifications. */
export interface LogEnvironment {
  /** Milliseconds since 1970, by the wall clock, which may be set forward and back. */
  now(): number;
  /** A whole number below 2^32. */
  randomUint32(): number;
  /**
   * True if a call on the files has failed since the system started. After a failed flush the system may drop the
   * bytes: reads still show them, and a later flush succeeds without storing them.
   */
  readonly hasFailed?: boolean;
  /** Reports a failed call on the files that no caller learns of; `hasFailed` must be true at the next opening. */
  failed?(): void;
  /** Returns the sequence of the oldest state that a branch in memory needs; infinite if there is none. */
  pinnedSequence?(): number;
  /** Reports that the oldest segment was deleted because the disk was full. */
  historyPruned?(): void;
}

/** The fields of a record's header that the caller of `append` sets. */
export interface Append {
  readonly flags: number;
  readonly sequence: number;
  readonly pageCountBefore: number;
  readonly pageCount: number;
}

export interface LogParts extends History {
  readonly environment: LogEnvironment;
  readonly segmentBytes: number;
  readonly active: Segment;
  /** The position after the last commit, in the active segment. */
  readonly position: LogPosition;
  readonly spare: OpenSegment | null;
}

/** The parts of the uncommitted transaction that are in the log: where they end, and the checksum of the last part. */
interface OpenParts {
  readonly offset: number;
  readonly sum: number;
  /** The sequence that the transaction will have. */
  readonly sequence: number;
}

export class CommitLog {
  readonly checksum: Checksum;
  /** The segments before the active one. */
  readonly sealed: SealedSegments;
  readonly #parts: LogParts;
  readonly #environment: LogEnvironment;
  readonly #epoch: number;
  #active: Segment;
  #position: LogPosition;
  #durable: LogPosition;
  #open: OpenParts | null = null;
  /** The next segment, already open and still empty. */
  #spare: OpenSegment | null;
  /** The segments from this one on are kept until the commit of this sequence is durable. */
  #protected = { from: Number.POSITIVE_INFINITY, until: 0 };
  /** Size of the record that was written last, in bytes. */
  #recordBytes = 0;
  /** The time that `atTime` sets while it runs its task; null if the wall clock's time is used. */
  #fixedMs: number | null = null;
  #keepsTimeline = false;
  readonly #makeRoom = () => this.pruneOldest();

  constructor(parts: LogParts) {
    const { active, position, checksum, environment } = parts;
    this.checksum = checksum;
    this.#parts = parts;
    this.#environment = environment;
    this.#epoch = environment.randomUint32();
    this.#active = active;
    this.#position = position;
    this.#durable = position;
    this.#spare = parts.spare;
    this.sealed = new SealedSegments(
      parts,
      () => this.#active,
      () => this.#keptFrom,
    );
  }

  get active(): Segment {
    return this.#active;
  }

  /** The position after the last commit. */
  get position(): LogPosition {
    return this.#position;
  }

  /** The position after the last commit that is known to be durable. */
  get durable(): LogPosition {
    return this.#durable;
  }

  get isDurable(): boolean {
    // A position is an immutable value that each append replaces.
    return this.#position === this.#durable;
  }

  /** True if a flush has work to do: commits, or remains of a failed write that power could bring back. */
  get needsFlush(): boolean {
    return !this.isDurable || this.#active.hasRemains;
  }

  /** True while parts of an uncommitted transaction are in the log. */
  get hasOpenParts(): boolean {
    return this.#open !== null;
  }

  /** The time of the wall clock. */
  get nowMs(): number {
    return this.#fixedMs ?? Math.floor(this.#environment.now());
  }

  /**
   * The sequence of the next commit. Times never decrease within a timeline, so the wall clock, if it was set back,
   * begins another one.
   */
  get nextSequence(): number {
    if (this.#open !== null) return this.#open.sequence;
    const { sequence } = this.#position;
    return this.#wasSetBack && !this.#keepsTimeline ? nextTimeline(sequence) : sequence + 1;
  }

  /**
   * Keeps all further commits in this timeline, because a caller has received a bookmark that names the end of the
   * timeline.
   */
  keepTimeline(): void {
    this.#keepsTimeline = true;
  }

  /** Runs a task; the records that it writes get the given time. */
  atTime(timeMs: number, task: () => void): void {
    this.#fixedMs = timeMs;
    try {
      task();
    } finally {
      this.#fixedMs = null;
    }
  }

  /**
   * Writes a record at the end of the log, in one write. Returns its offset in the active segment.
   * Without the flag CONTINUES, the transaction is committed when this returns.
   *
   * @throws DISK_FULL once all prunable history is pruned, IO. Nothing is committed then.
   */
  append(writer: RecordWriter, what: Append): number {
    const { offset, sum: previousSum } = this.#open ?? this.#position;
    const { flags, sequence } = what;
    const isMarker = (flags & MARKER) !== 0;
    assert(!isMarker || this.#open === null, 'a marker lies between the parts of a transaction');
    assert(
      sequence > this.#position.sequence || (isMarker && sequence === this.#position.sequence),
      'a commit has a sequence that is not after the last one',
    );
    const timeMs = this.#timeMs(sequence);
    const durableSequence = this.#durable.sequence;
    const header = { ...what, timeMs, durableSequence, previousSum, epoch: this.#epoch };
    const { bytes, sum } = writer.finish(header, this.checksum);
    this.#active.append(bytes, offset, this.#makeRoom);
    this.#recordBytes = bytes.length;
    const end = offset + bytes.length;
    if ((flags & CONTINUES) !== 0) {
      this.#open = { offset: end, sum, sequence };
    } else {
      this.#open = null;
      this.#position = { offset: end, sequence, timeMs, sum };
      this.#active.note(this.#position);
    }
    return offset;
  }

  /**
   * Reads a page whose image is in the active segment.
   *
   * @throws CORRUPT if it is not the page that was written.
   */
  readImage(image: LoggedImage, target: Uint8Array, pageIndex: number): void {
    readImage(this.#active.file, image, target, pageIndex, this.checksum);
  }

  /** Drops the parts written since the last commit. */
  dropOpenParts(): void {
    this.#open = null;
  }

  /** Makes every commit so far durable, and everything else in the active segment. */
  *flush(): Flushing<void> {
    const active = this.#active;
    const reached = this.#position;
    const changes = active.beforeFlush(this.#end);
    yield active.file.flush();
    active.flushed(changes);
    if (this.#active !== active) return;
    // A later flush may have ended before this one, or the commits may have been discarded meanwhile.
    const isPast = reached.offset < this.#durable.offset;
    if (!isPast && reached.offset <= this.#position.offset) this.#durable = reached;
    assert(this.#durable.offset <= this.#position.offset, 'more is durable than is committed');
  }

  /** Removes commits that are not durable, so that they do not return at the next opening. */
  cutToDurable(): Flush {
    this.#position = this.#durable;
    this.#open = null;
    this.#active.cutAt(this.#durable.offset);
    return runFlushing(this.flush());
  }

  /**
   * Extends the file with zeros when the log approaches the file's end. Does nothing after a large record, because more
   * large records may follow.
   */
  growAhead(): void {
    if (this.#recordBytes < LARGE_RECORD_BYTES)
      this.#active.growAhead(this.#end, this.#parts.segmentBytes);
  }

  /** True if the active segment should end. */
  get isSegmentFull(): boolean {
    return this.#position.offset >= this.#parts.segmentBytes * (1 - LAST_RECORD_PART);
  }

  /** True if the active segment may end, once it is flushed. */
  get canRotate(): boolean {
    const isEmpty = this.#position.offset === this.#active.base.offset;
    return !isEmpty && this.#spare !== null && this.isDurable && this.#open === null;
  }

  /**
   * Begins the next segment. Requires `canRotate`, a flushed segment, and a main file that contains every page:
   * nothing may refer to an image in the segment that ends. On a full disk, history is pruned; then the active segment
   * continues.
   */
  rotate(): void {
    assert(this.canRotate && this.#active.isFlushed, 'a segment ended before it was durable');
    const { number, file } = this.#spare!;
    assert(number === this.#active.number + 1, 'a segment would be missing in the log');
    const precedingBytes = this.#active.precedingBytes + this.#active.sizeBytes;
    let next: Segment | undefined;
    while (next === undefined) {
      try {
        next = Segment.create(number, file, this.#position, this.checksum, precedingBytes);
      } catch (error) {
        if (!isDiskFull(error)) throw error;
        if (!this.pruneOldest()) return;
      }
    }
    const sealed = this.#active;
    this.#spare = null;
    this.#active = next;
    this.#position = next.base;
    this.#durable = next.base;
    this.sealed.add(sealed);
  }

  /**
   * Protects the segments from this one on against pruning. If `number` is null, the protection ends once everything
   * written so far is durable.
   */
  keepFrom(number: number | null): void {
    this.#protected =
      number === null
        ? { ...this.#protected, until: this.#position.sequence }
        : { from: number, until: Number.POSITIVE_INFINITY };
  }

  /** Empties the oldest segment to make room. Returns false if the segment is needed, or its file is not open. */
  pruneOldest(): boolean {
    const isPruned = this.sealed.pruneOldest();
    if (isPruned) this.#environment.historyPruned?.();
    return isPruned;
  }

  /** True when `maintain` has work to do. */
  get needsMaintenance(): boolean {
    return this.#needsSpare || this.sealed.needsMaintenance;
  }

  /**
   * Opens the next segment and the oldest ones before they are needed, unless too many files are open,
   * and removes segments that are not to be kept.
   */
  async maintain(kept: KeptHistory): Promise<void> {
    if (this.#needsSpare) {
      const number = this.#active.number + 1;
      const file = await openAhead(this.#parts.directory, segmentName(number));
      if (file !== null) this.#spare = { number, file };
    }
    await this.sealed.maintain(kept);
  }

  /**
   * Passes a segment to `use`, after opening its file if necessary; null if it was pruned.
   *
   * @throws CORRUPT if its header is damaged.
   */
  async withSegment<T>(number: number, use: (segment: Segment | null) => T): Promise<T> {
    if (number === this.#active.number) return use(this.#active);
    return this.sealed.withSegment(number, use);
  }

  close(): void {
    this.#active.file.close();
    this.#spare?.file.close();
    this.sealed.close();
  }

  /** The offset at which the next record begins. */
  get #end(): number {
    return (this.#open ?? this.#position).offset;
  }

  get #keptFrom(): number {
    const { from, until } = this.#protected;
    return this.#durable.sequence >= until ? Number.POSITIVE_INFINITY : from;
  }

  get #needsSpare(): boolean {
    return this.#spare === null && this.#position.offset >= this.#parts.segmentBytes * SPARE_PART;
  }

  /** Returns the time for a commit that is made now. */
  #timeMs(sequence: number): number {
    const { nowMs } = this;
    const last = this.#position;
    if (nowMs >= last.timeMs) return nowMs;
    const isNewTimeline = timelineStart(sequence) > last.sequence;
    return isNewTimeline && this.#wasSetBack ? nowMs : last.timeMs;
  }

  get #wasSetBack(): boolean {
    return this.nowMs < this.#position.timeMs - CLOCK_BACK_MS;
  }
}
