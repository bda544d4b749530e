// The history of an object: the segments before the active one, until they are pruned.
//
// Invariants: they have no gap, and a segment that opening may need is never pruned.
//
// Opening and removing files is asynchronous, but a commit that needs room on a full disk is not. So
// `maintain` opens the oldest segments ahead, and later removes those that were emptied.

import { type FileDirectory, openAhead, type SyncFile } from '../file/file.ts';
import type { Checksum } from './checksum.ts';
import { damagedSegment, Segment, segmentName } from './segment.ts';
import type { LogPosition } from './segment-header.ts';
import { isEmptied } from './segment-remains.ts';

/** How many of the oldest segments are kept open, so that they can be pruned on a full disk. */
const READY = 4;

export interface OpenSegment {
  readonly number: number;
  readonly file: SyncFile;
}

export interface History {
  readonly directory: FileDirectory;
  readonly checksum: Checksum;
  /** The oldest segments that are already open, without a gap. */
  readonly opened: OpenSegment[];
  /** Number of the oldest existing segment. */
  readonly oldest: number;
  /** The oldest segment that opening may read. */
  readonly firstNeeded: () => number;
}

export class SealedSegments {
  readonly #directory: FileDirectory;
  readonly #checksum: Checksum;
  readonly #firstNeeded: () => number;
  /** The segment after all of these. */
  readonly #active: () => Segment;
  /** The oldest segments, open. */
  readonly #ready: OpenSegment[];
  readonly #emptied: OpenSegment[] = [];
  #keptFrom = Number.POSITIVE_INFINITY;
  #oldest: number;
  #oldestBase: LogPosition | null = null;

  constructor(history: History, active: () => Segment) {
    this.#directory = history.directory;
    this.#checksum = history.checksum;
    this.#firstNeeded = history.firstNeeded;
    this.#active = active;
    this.#ready = history.opened;
    this.#oldest = history.oldest;
    this.#findOldestBase();
  }

  /** Number of the oldest segment; that of the active one if there is no other. */
  get oldest(): number {
    return this.#oldest;
  }

  /** The oldest state in the history; null until `maintain` has looked. */
  get oldestBase(): LogPosition | null {
    return this.#oldestBase;
  }

  /** Adds the segment that was active until now. Closes it unless it belongs to the oldest ones. */
  add(sealed: Segment): void {
    if (sealed.number === this.#nextToOpen && this.#ready.length < READY) {
      this.#ready.push({ number: sealed.number, file: sealed.file });
    } else {
      sealed.file.close();
    }
    this.#findOldestBase();
  }

  /** From now on, the segments from this one on are not pruned; null: those that recovery does not need may be. */
  keepFrom(number: number | null): void {
    this.#keptFrom = number ?? Number.POSITIVE_INFINITY;
  }

  /** Empties the oldest segment. False if it is needed, or it is not open. */
  pruneOldest(): boolean {
    const victim = this.#ready[0];
    if (victim === undefined) return false;
    if (victim.number >= Math.min(this.#firstNeeded(), this.#keptFrom)) return false;
    victim.file.truncate(0);
    this.#ready.shift();
    this.#emptied.push(victim);
    this.#oldest = victim.number + 1;
    this.#findOldestBase();
    return true;
  }

  /** True when `maintain` has work to do. */
  get needsMaintenance(): boolean {
    const count = this.#active().number - this.#oldest;
    return this.#emptied.length > 0 || this.#ready.length < Math.min(READY, count);
  }

  /** Opens the oldest segments, and removes those whose commits are all older than `keepFromMs`. */
  async maintain(keepFromMs: number): Promise<void> {
    await this.#openOldest();
    while (this.#ready.length >= 2) {
      // Every commit in the oldest segment is at or before the state where the second one begins.
      const second = this.#read(this.#ready[1]!);
      if (second === null || second.base.timeMs >= keepFromMs || !this.pruneOldest()) break;
      await this.#openOldest();
    }
    for (let victim = this.#emptied[0]; victim !== undefined; victim = this.#emptied[0]) {
      victim.file.close();
      await this.#directory.remove(segmentName(victim.number));
      this.#emptied.shift();
    }
  }

  /**
   * Passes a segment to `use`, after opening its file if necessary; null if it was pruned.
   *
   * @throws CORRUPT if its header is damaged.
   */
  async withSegment<T>(number: number, use: (segment: Segment | null) => T): Promise<T> {
    if (number < this.#oldest) return use(null);
    const open = this.#ready.find((segment) => segment.number === number);
    if (open !== undefined) return use(this.#readWhole(open));
    const file = await this.#directory.open(segmentName(number));
    try {
      return use(this.#readWhole({ number, file }));
    } finally {
      file.close();
    }
  }

  close(): void {
    for (const { file } of [...this.#ready, ...this.#emptied]) file.close();
  }

  get #nextToOpen(): number {
    return (this.#ready.at(-1)?.number ?? this.#oldest - 1) + 1;
  }

  #read({ number, file }: OpenSegment): Segment | null {
    return Segment.read(number, file, this.#checksum);
  }

  #readWhole(segment: OpenSegment): Segment | null {
    const found = this.#read(segment);
    // An empty file is a pruned segment: power may fail before the older ones are removed.
    const isPruned = segment.number < this.#oldest || isEmptied(segment.file);
    if (found === null && !isPruned) throw damagedSegment(segment.number);
    return found;
  }

  #findOldestBase(): void {
    const active = this.#active();
    const first = this.#ready[0];
    if (this.#oldest === active.number) this.#oldestBase = active.base;
    else if (first?.number === this.#oldest) this.#oldestBase = this.#read(first)?.base ?? null;
    else this.#oldestBase = null;
  }

  async #openOldest(): Promise<void> {
    for (;;) {
      const number = this.#nextToOpen;
      if (number >= this.#active().number || this.#ready.length >= READY) break;
      const file = await openAhead(this.#directory, segmentName(number));
      if (file === null) break;
      // The log may have rotated, or pruned segments, while the file was opening.
      if (number === this.#nextToOpen) this.#ready.push({ number, file });
      else file.close();
    }
    this.#findOldestBase();
  }
}
