// The history of an object: the segments before the active one, oldest first, until they are pruned.
//
// Keeps true: they have no gap, and one that opening may need is never pruned.
//
// Opening and removing files is asynchronous, and a commit that needs room on a full disk is not: the
// oldest segments are opened ahead, and what was emptied is removed later, by `maintain`.

import type { FileDirectory, SyncFile } from '../file/file.ts';
import type { Checksum } from './checksum.ts';
import { damagedSegment, type LogPosition, Segment, segmentName } from './segment.ts';

/** How many of the oldest segments are kept open, to be pruned when the disk is full. */
const READY = 4;

export interface OpenSegment {
  readonly number: number;
  readonly file: SyncFile;
}

export interface History {
  readonly directory: FileDirectory;
  readonly checksum: Checksum;
  /** The first of them that are open already, without gap. */
  readonly opened: OpenSegment[];
  /** Number of the oldest segment that exists. */
  readonly oldest: number;
  /** The oldest segment that opening may read. */
  readonly firstNeeded: () => number;
}

export class SealedSegments {
  readonly #directory: FileDirectory;
  readonly #checksum: Checksum;
  readonly #firstNeeded: () => number;
  /** The segment behind all of these. */
  readonly #active: () => Segment;
  /** The oldest, open. */
  readonly #ready: OpenSegment[];
  readonly #emptied: OpenSegment[] = [];
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

  /** Number of the oldest segment; the active one when there is no other. */
  get oldest(): number {
    return this.#oldest;
  }

  /** The oldest state history reaches; null when `maintain` has yet to look. */
  get oldestBase(): LogPosition | null {
    return this.#oldestBase;
  }

  /** Takes the segment that was active until now, and closes it unless it is the next to go. */
  add(sealed: Segment): void {
    if (sealed.number === this.#nextToOpen && this.#ready.length < READY) {
      this.#ready.push({ number: sealed.number, file: sealed.file });
    } else {
      sealed.file.close();
    }
    this.#findOldestBase();
  }

  /** Empties the oldest segment that nothing needs. False when there is none at hand. */
  pruneOldest(): boolean {
    const victim = this.#ready[0];
    if (victim === undefined || victim.number >= this.#firstNeeded()) return false;
    victim.file.truncate(0);
    this.#ready.shift();
    this.#emptied.push(victim);
    this.#oldest = victim.number + 1;
    this.#findOldestBase();
    return true;
  }

  /** True when `maintain` has something to do. */
  get needsMaintenance(): boolean {
    const count = this.#active().number - this.#oldest;
    return this.#emptied.length > 0 || this.#ready.length < Math.min(READY, count);
  }

  /** Opens the oldest ahead, and removes those whose every commit is older than `keepFromMs`. */
  async maintain(keepFromMs: number): Promise<void> {
    await this.#openOldest();
    while (this.#ready.length >= 2) {
      // Everything in the oldest is older than the state the second begins with.
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
   * Lends a segment to `use`, opening its file when need be; null when it was pruned.
   *
   * @throws CORRUPT when its header is damaged.
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
    // An empty file was pruned: power may go before the older ones are gone as well.
    const isPruned = segment.number < this.#oldest || segment.file.sizeBytes() === 0;
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
      const file = await this.#directory.open(segmentName(number));
      // The log may have rotated, or pruned segments, while the file was being opened.
      if (number === this.#nextToOpen) this.#ready.push({ number, file });
      else file.close();
    }
    this.#findOldestBase();
  }
}
