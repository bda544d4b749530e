// The commit log: every committed transaction of one object, once, in a row of segments.
//
// It is the journal, the point of durability and the history. A commit is one write at the end of
// the newest segment; a flush makes all before it durable. A new segment begins only when everything
// is durable and checkpointed, so that a flush concerns one file.
//
// Keeps true: segments `oldest`..`active` have no gap.
//
// Opening a file is asynchronous and a commit is not: the next segment is opened ahead by `maintain`.

import { isDiskFull } from '../file/file.ts';
import type { Flush, Flushing } from '../file/flushing.ts';
import type { Checksum } from './checksum.ts';
import { type Append, LogEnd, type LogEnvironment } from './log-end.ts';
import { type LoggedImage, readImage } from './pages.ts';
import type { RecordWriter } from './record.ts';
import { type History, type OpenSegment, SealedSegments } from './sealed-segments.ts';
import { type LogPosition, Segment, segmentName } from './segment.ts';

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

  /** Place after the last commit. */
  get position(): LogPosition {
    return this.#end.position;
  }

  /** Place after the last commit that is known to be flushed. */
  get durable(): LogPosition {
    return this.#end.durable;
  }

  get isDurable(): boolean {
    return this.#end.isDurable;
  }

  get active(): Segment {
    return this.#end.active;
  }

  /** True while parts of a transaction are written that is not committed. */
  get hasOpenParts(): boolean {
    return this.#end.hasOpenParts;
  }

  /** The oldest state history reaches; null when `maintain` has yet to look. */
  get oldestBase(): LogPosition | null {
    return this.#sealed.oldestBase;
  }

  /** Number of the oldest segment. */
  get oldest(): number {
    return this.#sealed.oldest;
  }

  /** Time of a commit made now: never before an earlier one, whatever the clock does. */
  timeMs(): number {
    return this.#end.timeMs();
  }

  /**
   * Writes a record at the end of the log: one write. Returns where in the active segment it begins.
   * Without CONTINUES the transaction is committed when this returns.
   *
   * @throws DISK_FULL when all history that can be pruned is gone, IO. Nothing is committed then.
   */
  append(writer: RecordWriter, what: Append): number {
    return this.#end.append(writer, what);
  }

  /**
   * Reads a page that lies whole in the active segment.
   *
   * @throws CORRUPT when it is not the one that was written.
   */
  readImage(image: LoggedImage, target: Uint8Array, pageIndex: number): void {
    readImage(this.active.file, image, target, pageIndex, this.checksum);
  }

  /** Forgets the parts written since the last commit. */
  dropOpenParts(): void {
    this.#end.dropOpenParts();
  }

  /** Makes every commit so far durable. */
  flush(): Flushing<void> {
    return this.#end.flush();
  }

  /** Makes sure that commits which were not flushed do not come back. */
  cutToDurable(): Flush {
    return this.#end.cutToDurable();
  }

  /** Writes zeros ahead of the log when it nears the end of its file. */
  growAhead(): void {
    this.#end.growAhead();
  }

  /** True when the next segment may begin, as far as the log knows. */
  get canRotate(): boolean {
    const isFull = this.position.offset >= this.#parts.segmentBytes;
    return isFull && this.#spare !== null && this.isDurable && !this.hasOpenParts;
  }

  /**
   * Begins the next segment. `canRotate`, and the main file holds every page: nothing may refer to an
   * image in the segment that ends. On a full disk the active segment simply goes on.
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

  /** Empties the oldest segment that nothing needs. False when there is none at hand. */
  pruneOldest(): boolean {
    return this.#sealed.pruneOldest();
  }

  /** True when `maintain` has something to do. */
  get needsMaintenance(): boolean {
    return this.#needsSpare || this.#sealed.needsMaintenance;
  }

  /**
   * Opens the next segment and the oldest ones ahead, and removes those whose every commit is older
   * than `keepFromMs`.
   */
  async maintain(keepFromMs: number): Promise<void> {
    if (this.#needsSpare) {
      const number = this.active.number + 1;
      this.#spare = { number, file: await this.#parts.directory.open(segmentName(number)) };
    }
    await this.#sealed.maintain(keepFromMs);
  }

  /**
   * Lends a segment of the log to `use`, opening its file when need be; null when it was pruned.
   *
   * @throws CORRUPT when its header is damaged.
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
