// The end of the log: where the next record goes, and how much of the log before it is durable.
//
// Invariants: `durable` is at or before `position`, and both lie in the active segment. A record that
// could not be written leaves nothing that an opening after the next flush would find.

import { isDiskFull } from '../file/file.ts';
import { type Flush, type Flushing, runFlushing } from '../file/flushing.ts';
import type { Checksum } from './checksum.ts';
import { CONTINUES, type RecordWriter } from './record.ts';
import type { Segment } from './segment.ts';
import type { LogPosition } from './segment-header.ts';

/** Zeros written after the end of the log, so that a flush need not record a new file size. */
const AHEAD_BYTES_MIN = 1 << 16;
const AHEAD_BYTES_MAX = 1 << 20;
const ZEROS = new Uint8Array(AHEAD_BYTES_MAX);

/** Time and randomness of the log. */
export interface LogEnvironment {
  /** Milliseconds since 1970. */
  now(): number;
  /** A whole number below 2^32. */
  randomUint32(): number;
  /** The disk was full, and the oldest segment was given up. */
  historyPruned?(): void;
}

/** The content of a record's header that its caller decides. */
export interface Append {
  readonly flags: number;
  readonly sequence: number;
  readonly pageCountBefore: number;
  readonly pageCount: number;
}

export class LogEnd {
  readonly #checksum: Checksum;
  readonly #environment: LogEnvironment;
  /** Prunes history on a full disk. Returns false if nothing can be pruned. */
  readonly #makeRoom: () => boolean;
  readonly #epoch: number;
  #active: Segment;
  #position: LogPosition;
  #durable: LogPosition;
  /** Where the parts of the uncommitted transaction end, and the checksum of the last one. */
  #openEnd: number;
  #openSum: number;
  /** Bytes of the record that was written last. */
  #recordBytes = 0;
  /** Size of the active segment's file. */
  #capacity: number;
  /** Changes of the active segment's file, how many of them are flushed, and the last that cut remains. */
  #changes = 0;
  #flushed = 0;
  #cut = 0;
  /** What a failed write left could not be cut off. */
  #hasRemains = false;
  #stoppedMs: number | null = null;

  constructor(
    active: Segment,
    position: LogPosition,
    checksum: Checksum,
    environment: LogEnvironment,
    makeRoom: () => boolean,
  ) {
    this.#checksum = checksum;
    this.#environment = environment;
    this.#makeRoom = makeRoom;
    this.#epoch = environment.randomUint32();
    this.#active = active;
    this.#position = position;
    this.#durable = position;
    this.#openEnd = position.offset;
    this.#openSum = position.sum;
    this.#capacity = active.file.sizeBytes();
  }

  get active(): Segment {
    return this.#active;
  }

  /** Position after the last commit. */
  get position(): LogPosition {
    return this.#position;
  }

  /** Position after the last commit that is known to be durable. */
  get durable(): LogPosition {
    return this.#durable;
  }

  get isDurable(): boolean {
    return this.#position === this.#durable;
  }

  /** True if a flush has work to do: commits, or remains of a failed write that power could bring back. */
  get needsFlush(): boolean {
    return !this.isDurable || this.#hasRemains || this.#flushed < this.#cut;
  }

  /** True when a power failure can change nothing in the active segment's file. */
  get isFlushed(): boolean {
    return this.#flushed === this.#changes;
  }

  /** True while parts of an uncommitted transaction are in the log. */
  get hasOpenParts(): boolean {
    return this.#openEnd !== this.#position.offset;
  }

  /** Time of a commit made now. Never decreases, even if the clock goes back. */
  timeMs(): number {
    const nowMs = this.#stoppedMs ?? Math.floor(this.#environment.now());
    return Math.max(this.#position.timeMs, nowMs);
  }

  /** Runs a task as at a time: what it appends has that time. */
  atTime(timeMs: number, task: () => void): void {
    this.#stoppedMs = timeMs;
    try {
      task();
    } finally {
      this.#stoppedMs = null;
    }
  }

  /**
   * Writes a record, in one write. Returns its offset in the active segment. Without the flag
   * CONTINUES, the transaction is committed when this returns.
   *
   * @throws DISK_FULL once all prunable history is pruned, IO. Nothing is committed then.
   */
  append(writer: RecordWriter, what: Append): number {
    const offset = this.#openEnd;
    const timeMs = this.timeMs();
    const { bytes, sum } = writer.finish(
      {
        ...what,
        timeMs,
        durableSequence: this.#durable.sequence,
        previousSum: this.#openSum,
        epoch: this.#epoch,
      },
      this.#checksum,
    );
    this.#write(bytes, offset);
    this.#openEnd = offset + bytes.length;
    this.#openSum = sum;
    this.#recordBytes = bytes.length;
    this.#hasRemains = false; // overwritten
    this.#capacity = Math.max(this.#capacity, this.#openEnd);
    if ((what.flags & CONTINUES) === 0) {
      this.#position = { offset: this.#openEnd, sequence: what.sequence, timeMs, sum };
      this.#active.note(this.#position);
    }
    return offset;
  }

  /** Drops the parts written since the last commit. */
  dropOpenParts(): void {
    this.#openEnd = this.#position.offset;
    this.#openSum = this.#position.sum;
  }

  /** Makes every commit so far durable, and everything else in the active segment. */
  *flush(): Flushing<void> {
    if (this.#hasRemains) this.#cutAt(this.#openEnd);
    const reached = this.#position;
    const active = this.#active;
    const changes = this.#changes;
    yield active.file.flush();
    if (this.#active !== active) return;
    this.#flushed = Math.max(this.#flushed, changes);
    // Meanwhile, a later flush may have overtaken this one, or its commits may have been discarded.
    const isPast = reached.offset < this.#durable.offset;
    if (!isPast && reached.offset <= this.#position.offset) this.#durable = reached;
  }

  /** Writes the index of the active segment, without a flush. */
  writeIndex(): void {
    this.#changes++;
    this.#active.writeIndex();
  }

  /** Removes commits that are not durable, so that they do not return at the next opening. */
  cutToDurable(): Flush {
    this.#position = this.#durable;
    this.dropOpenParts();
    this.#cutAt(this.#durable.offset);
    return runFlushing(this.flush());
  }

  /** Continues in another segment, which was just created. */
  begin(next: Segment): void {
    this.#active = next;
    this.#changes++;
    this.#position = next.base;
    this.#durable = next.base;
    // Not read from the file: a call that failed here would leave the log between two segments.
    this.#capacity = next.base.offset;
    this.dropOpenParts();
  }

  /**
   * Extends the file with zeros when the log approaches its end. Ignored when the disk is full. Not after a large
   * record: others may follow, and writing as many zeros costs more than a flush that records a new size.
   */
  growAhead(): void {
    if (this.#recordBytes >= AHEAD_BYTES_MIN) return;
    if (this.#capacity - this.#openEnd >= AHEAD_BYTES_MIN / 4) return;
    const bytes = Math.min(AHEAD_BYTES_MAX, Math.max(AHEAD_BYTES_MIN, this.#openEnd));
    this.#changes++;
    try {
      this.#active.file.write(ZEROS.subarray(0, bytes), this.#capacity);
      this.#capacity += bytes;
    } catch (error) {
      if (!isDiskFull(error)) throw error;
      this.#active.file.truncate(this.#openEnd);
      this.#capacity = this.#openEnd;
    }
  }

  #write(bytes: Uint8Array, offset: number): void {
    this.#changes++;
    for (;;) {
      try {
        this.#active.file.write(bytes, offset);
        return;
      } catch (error) {
        this.#cutRemains(offset);
        if (!isDiskFull(error) || !this.#makeRoom()) throw error;
      }
    }
  }

  /** The next opening must not find what a failed write left: all its bytes may have arrived. */
  #cutRemains(offset: number): void {
    this.#hasRemains = true;
    try {
      this.#cutAt(offset);
    } catch {
      // The caller throws the first error, and the next flush tries again.
    }
  }

  #cutAt(offset: number): void {
    this.#cut = ++this.#changes;
    this.#active.file.truncate(offset);
    this.#capacity = offset;
    this.#hasRemains = false;
  }
}
