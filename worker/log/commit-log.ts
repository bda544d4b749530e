// The commit log: every committed transaction of one object, exactly once, in a sequence of segments.
//
// It is the journal, the point of durability and the history. A commit is one write at the end of
// the newest segment; a flush makes everything before it durable. A new segment begins only when
// everything is durable and checkpointed, so that a flush concerns one file.
//
// Invariant: the segments from `oldest` to `active` have no gap.
//
// Opening a file is asynchronous and a commit is not, so `maintain` opens the next segment ahead.

import { isDiskFull, openAhead } from '../file/file.ts';
import type { Flush, Flushing } from '../file/flushing.ts';
import type { Checksum } from './checksum.ts';
import { type Append, LogEnd, type LogEnvironment } from './log-end.ts';
import { type LoggedImage, readImage } from './pages.ts';
import type { RecordWriter } from './record.ts';
import { type History, type OpenSegment, SealedSegments } from './sealed-segments.ts';
import { Segment, segmentName } from './segment.ts';
import type { LogPosition } from './segment-header.ts';

/** A segment that has grown beyond this is followed by a new one. */
export const SEGMENT_BYTES = 8 << 20;

export interface LogParts extends History {
  readonly environment: LogEnvironment;
  readonly segmentBytes: number;
  readonly active: Segment;
  /** End of the last commit, in the active segment. */
  readonly position: LogPosition;
  readonly spare: OpenSegment | null;
}

export class CommitLog {
  readonly checksum: Checksum;
  readonly #parts: LogParts;
  readonly #end: LogEnd;
  readonly #sealed: SealedSegments;
  /** The next segment, open and empty. */
  #spare: OpenSegment | null;

  constructor(parts: LogParts) {
    const { active, position, checksum, environment } = parts;
    this.checksum = checksum;
    this.#parts = parts;
    this.#end = new LogEnd(active, position, checksum, environment, () => this.pruneOldest());
    this.#sealed = new SealedSegments(parts, () => this.active);
    this.#spare = parts.spare;
  }

  /** Position after the last commit. */
  get position(): LogPosition {
    return this.#end.position;
  }

  /** Position after the last commit that is known to be durable. */
  get durable(): LogPosition {
    return this.#end.durable;
  }

  get isDurable(): boolean {
    return this.#end.isDurable;
  }

  /** True if a flush has work to do: commits, or remains of a failed write that power could bring back. */
  get needsFlush(): boolean {
    return this.#end.needsFlush;
  }

  get active(): Segment {
    return this.#end.active;
  }

  /** True while parts of an uncommitted transaction are in the log. */
  get hasOpenParts(): boolean {
    return this.#end.hasOpenParts;
  }

  /** The oldest state in the history; null until `maintain` has looked. */
  get oldestBase(): LogPosition | null {
    return this.#sealed.oldestBase;
  }

  /** Number of the oldest segment. */
  get oldest(): number {
    return this.#sealed.oldest;
  }

  /** Time of a commit made now. Never decreases, even if the clock goes back. */
  timeMs(): number {
    return this.#end.timeMs();
  }

  /** Runs a task as at a time: what it appends has that time. */
  atTime(timeMs: number, task: () => void): void {
    this.#end.atTime(timeMs, task);
  }

  /**
   * Writes a record at the end of the log, in one write. Returns its offset in the active segment.
   * Without the flag CONTINUES, the transaction is committed when this returns.
   *
   * @throws DISK_FULL once all prunable history is pruned, IO. Nothing is committed then.
   */
  append(writer: RecordWriter, what: Append): number {
    return this.#end.append(writer, what);
  }

  /**
   * Reads a page whose image is in the active segment.
   *
   * @throws CORRUPT if it is not the page that was written.
   */
  readImage(image: LoggedImage, target: Uint8Array, pageIndex: number): void {
    readImage(this.active.file, image, target, pageIndex, this.checksum);
  }

  /** Drops the parts written since the last commit. */
  dropOpenParts(): void {
    this.#end.dropOpenParts();
  }

  /** Makes every commit so far durable. */
  flush(): Flushing<void> {
    return this.#end.flush();
  }

  /** Removes commits that are not durable, so that they do not return at the next opening. */
  cutToDurable(): Flush {
    return this.#end.cutToDurable();
  }

  /** Extends the file with zeros when the log approaches its end. */
  growAhead(): void {
    this.#end.growAhead();
  }

  /** Writes the index of the active segment, without a flush. */
  writeIndex(): void {
    this.#end.writeIndex();
  }

  /** True if the active segment may end, once it is flushed. */
  get canRotate(): boolean {
    const isFull = this.position.offset >= this.#parts.segmentBytes;
    return isFull && this.#spare !== null && this.isDurable && !this.hasOpenParts;
  }

  /** True when a power failure can change nothing in the active segment. */
  get isFlushed(): boolean {
    return this.#end.isFlushed;
  }

  /**
   * Begins the next segment. Requires `canRotate`, `isFlushed`, and a main file that contains every page:
   * nothing may refer to an image in the segment that ends. On a full disk, the active segment continues.
   */
  rotate(): void {
    const spare = this.#spare!;
    let next: Segment;
    try {
      next = Segment.create(spare.number, spare.file, this.position, this.checksum);
    } catch (error) {
      if (isDiskFull(error)) return;
      throw error;
    }
    const sealed = this.active;
    this.#spare = null;
    this.#end.begin(next);
    this.#sealed.add(sealed);
  }

  /** From now on, the segments from this one on are not pruned; null: those that recovery does not need may be. */
  keepFrom(number: number | null): void {
    this.#sealed.keepFrom(number);
  }

  /** Empties the oldest segment, to make room. False if it is needed, or it is not open. */
  pruneOldest(): boolean {
    const isPruned = this.#sealed.pruneOldest();
    if (isPruned) this.#parts.environment.historyPruned?.();
    return isPruned;
  }

  /** True when `maintain` has work to do. */
  get needsMaintenance(): boolean {
    return this.#needsSpare || this.#sealed.needsMaintenance;
  }

  /**
   * Opens the next segment and the oldest ones before they are needed, unless too many files are open,
   * and removes segments whose commits are all older than `keepFromMs`.
   */
  async maintain(keepFromMs: number): Promise<void> {
    if (this.#needsSpare) {
      const number = this.active.number + 1;
      const file = await openAhead(this.#parts.directory, segmentName(number));
      if (file !== null) this.#spare = { number, file };
    }
    await this.#sealed.maintain(keepFromMs);
  }

  /**
   * Passes a segment to `use`, after opening its file if necessary; null if it was pruned.
   *
   * @throws CORRUPT if its header is damaged.
   */
  async withSegment<T>(number: number, use: (segment: Segment | null) => T): Promise<T> {
    if (number === this.active.number) return use(this.active);
    return this.#sealed.withSegment(number, use);
  }

  close(): void {
    this.active.file.close();
    this.#spare?.file.close();
    this.#sealed.close();
  }

  get #needsSpare(): boolean {
    return this.#spare === null && this.position.offset >= this.#parts.segmentBytes / 2;
  }
}
