// The end of the log: where the next record goes, and how much of what lies before it is durable.
//
// Keeps true: `durable` is never behind `position`, and both lie in the active segment. A record that
// could not be written leaves nothing that the next opening would find.

import { isDiskFull } from '../file/file.ts';
import type { Flush, Flushing } from '../file/flushing.ts';
import type { Checksum } from './checksum.ts';
import { CONTINUES, type RecordWriter } from './record.ts';
import type { LogPosition, Segment } from './segment.ts';

/** Zeros written ahead of the log, so that a flush need not record a new file size. */
const AHEAD_BYTES_MIN = 1 << 16;
const AHEAD_BYTES_MAX = 1 << 20;
const ZEROS = new Uint8Array(AHEAD_BYTES_MAX);

/** Time and randomness of the log. */
export interface LogEnvironment {
  /** Milliseconds since 1970. */
  now(): number;
  /** A whole number below 2^32. */
  randomUint32(): number;
}

/** What a record says beside its changes. */
export interface Append {
  readonly flags: number;
  readonly sequence: number;
  readonly pageCountBefore: number;
  readonly pageCount: number;
}

export class LogEnd {
  readonly #checksum: Checksum;
  readonly #environment: LogEnvironment;
  /** Prunes history on a full disk. False when none can be pruned. */
  readonly #makeRoom: () => boolean;
  readonly #epoch: number;
  #active: Segment;
  #position: LogPosition;
  #durable: LogPosition;
  /** End and sum of the parts of a transaction that is not committed yet. */
  #openEnd: number;
  #openSum: number;
  /** Bytes of the active segment's file that exist already. */
  #capacity: number;

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

  /** Place after the last commit. */
  get position(): LogPosition {
    return this.#position;
  }

  /** Place after the last commit that is known to be flushed. */
  get durable(): LogPosition {
    return this.#durable;
  }

  get isDurable(): boolean {
    return this.#position === this.#durable;
  }

  /** True while parts of a transaction are written that is not committed. */
  get hasOpenParts(): boolean {
    return this.#openEnd !== this.#position.offset;
  }

  /** Time of a commit made now: never before an earlier one, whatever the clock does. */
  timeMs(): number {
    return Math.max(this.#position.timeMs, Math.floor(this.#environment.now()));
  }

  /**
   * Writes a record: one write. Returns where in the active segment it begins. Without CONTINUES the
   * transaction is committed when this returns.
   *
   * @throws DISK_FULL when all history that can be pruned is gone, IO. Nothing is committed then.
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
    this.#capacity = Math.max(this.#capacity, this.#openEnd);
    if ((what.flags & CONTINUES) === 0) {
      this.#position = { offset: this.#openEnd, sequence: what.sequence, timeMs, sum };
      this.#active.note(this.#position);
    }
    return offset;
  }

  /** Forgets the parts written since the last commit. */
  dropOpenParts(): void {
    this.#openEnd = this.#position.offset;
    this.#openSum = this.#position.sum;
  }

  /** Makes every commit so far durable. */
  *flush(): Flushing<void> {
    const reached = this.#position;
    const active = this.#active;
    yield active.file.flush();
    // Meanwhile a later flush may have overtaken this one, even in the next segment, and what this
    // one covers may have been taken back.
    const isPast = this.#active !== active || reached.offset < this.#durable.offset;
    if (!isPast && reached.offset <= this.#position.offset) this.#durable = reached;
  }

  /** Makes sure that commits which were not flushed do not come back. */
  cutToDurable(): Flush {
    this.#position = this.#durable;
    this.dropOpenParts();
    this.#active.file.truncate(this.#durable.offset);
    return this.#active.file.flush();
  }

  /** Goes on in another segment, which was just created. */
  begin(next: Segment): void {
    this.#active = next;
    this.#position = next.base;
    this.#durable = next.base;
    // Known without asking the file: a call that fails here would leave the log between two segments.
    this.#capacity = next.base.offset;
    this.dropOpenParts();
  }

  /** Writes zeros ahead of the log when it nears the end of its file; a full disk does not matter. */
  growAhead(): void {
    if (this.#capacity - this.#openEnd >= AHEAD_BYTES_MIN / 4) return;
    const bytes = Math.min(AHEAD_BYTES_MAX, Math.max(AHEAD_BYTES_MIN, this.#openEnd));
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
    for (;;) {
      try {
        this.#active.file.write(bytes, offset);
        return;
      } catch (error) {
        // What the failed write left must not be found by the next opening.
        this.#cutBehind(offset);
        if (!isDiskFull(error) || !this.#makeRoom()) throw error;
      }
    }
  }

  #cutBehind(offset: number): void {
    try {
      this.#active.file.truncate(offset);
      this.#capacity = offset;
    } catch {
      // The caller is about to throw the first error; the chain of sums still ends before it.
    }
  }
}
