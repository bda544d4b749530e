// The commit log: every committed transaction of one object, once, in a row of segments.
//
// It is the journal, the point of durability and the history. A commit is one write at the end of
// the newest segment; a flush makes all before it durable. A new segment begins only when everything
// is durable and checkpointed, so that a flush concerns one file.
//
// Keeps true: durable.sequence <= position.sequence; segments `oldest`..`active` have no gap; a
// segment that opening may need is never given up.
//
// Opening and removing files is asynchronous and a commit is not: the next segment, and the oldest
// ones (to be given up when the disk is full), are opened ahead by `maintain`.

import { type FileDirectory, isDiskFull, type SyncFile } from '../file/file.ts';
import type { Checksum } from './checksum.ts';
import { type LoggedImage, readImage } from './pages.ts';
import { CONTINUES, type RecordWriter } from './record.ts';
import { damagedSegment, type LogPosition, Segment, segmentName } from './segment.ts';

/** A segment that has grown beyond this is followed by a new one. */
export const SEGMENT_BYTES = 8 << 20;

/** Zeros written ahead of the log, so that a flush need not record a new file size. */
const AHEAD_BYTES_MIN = 1 << 16;
const AHEAD_BYTES_MAX = 1 << 20;
const ZEROS = new Uint8Array(AHEAD_BYTES_MAX);

/** How many of the oldest segments are kept open, to be given up when the disk is full. */
const GIVE_UP_READY = 4;

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

export interface OpenSegment {
  readonly number: number;
  readonly file: SyncFile;
}

export interface LogParts {
  readonly directory: FileDirectory;
  readonly environment: LogEnvironment;
  readonly checksum: Checksum;
  readonly segmentBytes: number;
  readonly active: Segment;
  /** End of the last commit, in the active segment. */
  readonly position: LogPosition;
  readonly spare: OpenSegment | null;
  /** Segments before the active one that are open, oldest first and without gap. */
  readonly opened: OpenSegment[];
  /** Number of the oldest segment that exists. */
  readonly oldest: number;
  /** The oldest segment opening may read. */
  readonly firstNeeded: () => number;
}

export class CommitLog {
  readonly checksum: Checksum;
  readonly #parts: LogParts;
  readonly #life: number;
  #active: Segment;
  #position: LogPosition;
  #durable: LogPosition;
  /** End and sum of the parts of a transaction that is not committed yet. */
  #openEnd: number;
  #openSum: number;
  #capacity: number;
  #spare: OpenSegment | null;
  /** The oldest segments, open, ready to be given up. */
  #givable: OpenSegment[];
  #emptied: OpenSegment[] = [];
  #oldest: number;
  #oldestBase: LogPosition | null = null;

  constructor(parts: LogParts) {
    this.checksum = parts.checksum;
    this.#parts = parts;
    this.#life = parts.environment.randomUint32();
    this.#active = parts.active;
    this.#position = parts.position;
    this.#durable = parts.position;
    this.#openEnd = parts.position.offset;
    this.#openSum = parts.position.sum;
    this.#capacity = parts.active.file.sizeBytes();
    this.#spare = parts.spare;
    this.#givable = parts.opened;
    this.#oldest = parts.oldest;
    this.#findOldestBase();
  }

  /** Place after the last commit. */
  get position(): LogPosition {
    return this.#position;
  }

  /** Place after the last commit that is known to be flushed. */
  get durable(): LogPosition {
    return this.#durable;
  }

  get active(): Segment {
    return this.#active;
  }

  /** True while parts of a transaction are written that is not committed. */
  get hasOpenParts(): boolean {
    return this.#openEnd !== this.#position.offset;
  }

  /** The oldest state history reaches; null when `maintain` has yet to look. */
  get oldestBase(): LogPosition | null {
    return this.#oldestBase;
  }

  get oldest(): number {
    return this.#oldest;
  }

  /** Time of a commit made now: never before an earlier one, whatever the clock does. */
  timeMs(): number {
    return Math.max(this.#position.timeMs, Math.floor(this.#parts.environment.now()));
  }

  /**
   * Writes a record at the end of the log: one write. Returns where in the active segment it begins.
   * Without CONTINUES the transaction is committed when this returns.
   *
   * @throws DISK_FULL when all history that can be given up is gone, IO. Nothing is committed then.
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
        life: this.#life,
      },
      this.checksum,
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

  /**
   * Reads a page that lies whole in the active segment.
   *
   * @throws CORRUPT when it is not the one that was written.
   */
  readImage(image: LoggedImage, target: Uint8Array, pageIndex: number): void {
    readImage(this.#active.file, image, target, pageIndex, this.checksum);
  }

  /** Forgets the parts written since the last commit. */
  dropOpenParts(): void {
    this.#openEnd = this.#position.offset;
    this.#openSum = this.#position.sum;
  }

  /** Makes every commit so far durable. */
  flush(): void | Promise<void> {
    const reached = this.#position;
    const active = this.#active;
    const flushed = active.file.flush();
    if (flushed instanceof Promise) {
      return flushed.then(() => {
        // Of two flushes under way the later may be overtaken, even by the next segment; and what
        // it covers may have been taken back.
        const isNews = this.#active === active && reached.offset > this.#durable.offset;
        if (isNews && reached.offset <= this.#position.offset) this.#durable = reached;
      });
    }
    this.#durable = reached;
  }

  /** True when the active segment is large enough to be followed by another. */
  get isSegmentFull(): boolean {
    return this.#position.offset >= this.#parts.segmentBytes;
  }

  /** True when the next segment may begin, as far as the log knows. */
  get canRoll(): boolean {
    const isDurable = this.#position === this.#durable;
    return this.isSegmentFull && this.#spare !== null && isDurable && !this.hasOpenParts;
  }

  /**
   * Begins the next segment. `canRoll`, and the main file holds every page: nothing may refer to an
   * image in the segment that ends. On a full disk the active segment simply goes on.
   */
  roll(): void {
    const spare = this.#spare!;
    let next: Segment;
    try {
      next = Segment.create(spare.number, spare.file, this.#position, this.checksum);
    } catch (error) {
      if (isDiskFull(error)) return;
      throw error;
    }
    const sealed = this.#active;
    this.#spare = null;
    this.#active = next;
    this.#position = next.base;
    this.#durable = next.base;
    // Known without asking the file: a call that fails here would leave the log between two segments.
    this.#capacity = next.base.offset;
    this.dropOpenParts();
    this.#keepOrClose(sealed);
  }

  /** Writes zeros ahead of the log when it nears the end of its file; a full disk is no matter. */
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

  /** Empties the oldest segment that nothing needs. False when there is none at hand. */
  giveUpOldest(): boolean {
    const victim = this.#givable[0];
    if (victim === undefined || victim.number >= this.#parts.firstNeeded()) return false;
    victim.file.truncate(0);
    this.#givable.shift();
    this.#emptied.push(victim);
    this.#oldest = victim.number + 1;
    this.#findOldestBase();
    return true;
  }

  /** True when `maintain` has something to do. */
  get needsMaintenance(): boolean {
    return (
      (this.#spare === null && this.#position.offset >= this.#parts.segmentBytes / 2) ||
      this.#emptied.length > 0 ||
      this.#givable.length < Math.min(GIVE_UP_READY, this.#active.number - this.#oldest)
    );
  }

  /**
   * Opens the next segment and the oldest ones ahead, and removes those whose every commit is older
   * than `keepFromMs`.
   */
  async maintain(keepFromMs: number): Promise<void> {
    const { directory } = this.#parts;
    if (this.#spare === null && this.#position.offset >= this.#parts.segmentBytes / 2) {
      const number = this.#active.number + 1;
      this.#spare = { number, file: await directory.open(segmentName(number)) };
    }
    await this.#openOldest();
    while (this.#givable.length >= 2) {
      // Everything in the oldest is older than the state the second begins with.
      const second = this.#read(this.#givable[1]!);
      if (second === null || second.base.timeMs >= keepFromMs || !this.giveUpOldest()) break;
      await this.#openOldest();
    }
    for (let victim = this.#emptied[0]; victim !== undefined; victim = this.#emptied[0]) {
      victim.file.close();
      await directory.remove(segmentName(victim.number));
      this.#emptied.shift();
    }
  }

  /** Makes sure that commits which were not flushed do not come back. */
  cutToDurable(): void | Promise<void> {
    this.#position = this.#durable;
    this.dropOpenParts();
    this.#active.file.truncate(this.#durable.offset);
    return this.#active.file.flush();
  }

  /**
   * Lends a segment of the history to `use`, opening its file when need be; null when it was given
   * up.
   *
   * @throws CORRUPT when its header is damaged.
   */
  async withSegment<T>(number: number, use: (segment: Segment | null) => T): Promise<T> {
    if (number === this.#active.number) return use(this.#active);
    if (number < this.#oldest) return use(null);
    const open = this.#givable.find((segment) => segment.number === number);
    if (open !== undefined) return use(this.#readHistory(open));
    const file = await this.#parts.directory.open(segmentName(number));
    try {
      return use(this.#readHistory({ number, file }));
    } finally {
      file.close();
    }
  }

  close(): void {
    this.#active.file.close();
    this.#spare?.file.close();
    for (const { file } of [...this.#givable, ...this.#emptied]) file.close();
  }

  #read({ number, file }: OpenSegment): Segment | null {
    return Segment.read(number, file, this.checksum);
  }

  #readHistory(segment: OpenSegment): Segment | null {
    const found = this.#read(segment);
    // An empty file was given up: power may go before the older ones are gone as well.
    const isGivenUp = segment.number < this.#oldest || segment.file.sizeBytes() === 0;
    if (found === null && !isGivenUp) throw damagedSegment(segment.number);
    return found;
  }

  #write(bytes: Uint8Array, offset: number): void {
    for (;;) {
      try {
        this.#active.file.write(bytes, offset);
        return;
      } catch (error) {
        // What the failed write left must not be found by the next opening.
        this.#cutBehind(offset);
        if (!isDiskFull(error) || !this.giveUpOldest()) throw error;
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

  #findOldestBase(): void {
    const first = this.#givable[0];
    if (this.#oldest === this.#active.number) this.#oldestBase = this.#active.base;
    else if (first?.number === this.#oldest) this.#oldestBase = this.#read(first)?.base ?? null;
    else this.#oldestBase = null;
  }

  async #openOldest(): Promise<void> {
    for (;;) {
      const number = (this.#givable.at(-1)?.number ?? this.#oldest - 1) + 1;
      if (number >= this.#active.number || this.#givable.length >= GIVE_UP_READY) break;
      const file = await this.#parts.directory.open(segmentName(number));
      // The log may have rolled, or given segments up, while the file was being opened.
      if (number === (this.#givable.at(-1)?.number ?? this.#oldest - 1) + 1) {
        this.#givable.push({ number, file });
      } else {
        file.close();
      }
    }
    this.#findOldestBase();
  }

  /** Keeps a sealed segment open when it is the next to be given up. */
  #keepOrClose(sealed: Segment): void {
    const next = (this.#givable.at(-1)?.number ?? this.#oldest - 1) + 1;
    if (sealed.number === next && this.#givable.length < GIVE_UP_READY) {
      this.#givable.push({ number: sealed.number, file: sealed.file });
    } else {
      sealed.file.close();
    }
    this.#findOldestBase();
  }
}
