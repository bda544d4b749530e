// The history of an object: the segments before the active one, until they are pruned.
//
// Invariants: they have no gap, and a segment that opening may need is never pruned.
//
// Opening and removing files is asynchronous, but a commit that needs room on a full disk is not. So
// `maintain` opens the oldest segments ahead, and later removes the emptied ones.

import { discard, type FileDirectory, openAhead, type SyncFile } from '../file/file.ts';
import { assert } from '../file/invariant.ts';
import type { Checksum } from './checksum.ts';
import type { LogPosition } from './log-position.ts';
import { damagedSegment, isEmptied, Segment, segmentName } from './segment.ts';

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
  /** What folded segments stand for. */
  readonly spans: Spans;
  /** The oldest segment that opening may read. */
  readonly firstNeeded: () => number;
  /** The sequence of the oldest moment that a branch needs; infinite: there is none. */
  readonly pinnedSequence: () => number;
}

/** How much of the history is kept. What exceeds either bound is discarded. */
export interface KeptHistory {
  /** Finds the sequence of the commit that it goes back to. */
  readonly from: () => Promise<number>;
  /** Bytes of the segments. */
  readonly bytes: number;
}

export class SealedSegments {
  readonly spans: Spans;
  /** By the number of a folded segment: how much smaller it is than those it stands for. */
  readonly #savedBytes = new Map<number, number>();
  readonly #directory: FileDirectory;
  readonly #checksum: Checksum;
  readonly #firstNeeded: () => number;
  readonly #pinnedSequence: () => number;
  /** The segment after all of these. */
  readonly #active: () => Segment;
  /** The first segment that a restore needs. */
  readonly #keptFrom: () => number;
  /** The oldest segments, open. */
  readonly #ready: OpenSegment[];
  /** Files that were emptied, and are to be removed. */
  readonly #emptied: string[] = [];
  #oldest: number;
  #oldestBase: LogPosition | null = null;
  /** A segment has ended since `maintain` looked for what is not kept any more. */
  #hasGrown = false;

  constructor(history: History, active: () => Segment, keptFrom: () => number) {
    this.spans = history.spans;
    this.#directory = history.directory;
    this.#checksum = history.checksum;
    this.#firstNeeded = history.firstNeeded;
    this.#pinnedSequence = history.pinnedSequence;
    this.#active = active;
    this.#keptFrom = keptFrom;
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
    assert(sealed.number === this.#active().number - 1, 'a segment would be missing in the log');
    if (sealed.number === this.#nextToOpen && this.#ready.length < READY) {
      this.#ready.push({ number: sealed.number, file: sealed.file });
    } else {
      sealed.file.close();
    }
    this.#findOldestBase();
    this.#hasGrown = true;
  }

  /** Empties the oldest segment, and gives its space back. False if it is needed, or it is not open. */
  pruneOldest(): boolean {
    const victim = this.#ready[0];
    if (victim === undefined) return false;
    if (victim.number >= Math.min(this.#firstNeeded(), this.#keptFrom())) return false;
    if (this.#isPinned(victim)) return false;
    assert(
      this.spans.of(victim.number).first === this.#oldest && victim.number < this.#active().number,
      'a segment was pruned that is not the oldest one',
    );
    discard(victim.file);
    this.#ready.shift();
    this.#emptied.push(this.spans.nameOf(victim.number));
    this.#oldest = victim.number + 1;
    this.#findOldestBase();
    return true;
  }

  /** True when `maintain` has work to do. */
  get needsMaintenance(): boolean {
    const count = this.#active().number - this.#oldest;
    if ((this.#hasGrown && count >= 2) || this.#emptied.length > 0) return true;
    const opened = this.#ready.length;
    if (opened >= Math.min(READY, count)) return false;
    return opened < this.spans.countOf(this.#oldest, this.#active().number);
  }

  /**
   * Opens the oldest segments, and removes those that are not kept: all their commits come before the one whose state
   * is, or the segments take too many bytes. The newest one stays, so that the last commit can be undone.
   */
  async maintain(kept: KeptHistory): Promise<void> {
    this.#hasGrown = false;
    await this.#openOldest();
    await this.#readSaved();
    const keptSequence = this.#ready.length >= 2 ? await kept.from() : 0;
    while (this.#ready.length >= 2) {
      if (this.#isKept(keptSequence, kept.bytes) || !this.pruneOldest()) break;
      await this.#openOldest();
    }
    for (let name = this.#emptied[0]; name !== undefined; name = this.#emptied[0]) {
      await this.#directory.remove(name);
      this.#emptied.shift();
    }
  }

  /** Bytes of this segment and those between it and the active one. */
  bytesFrom({ number, precedingBytes }: Segment): number {
    let bytes = this.#active().precedingBytes - precedingBytes;
    for (const [folded, saved] of this.#savedBytes) if (folded >= number) bytes -= saved;
    return bytes;
  }

  /** The segments before this one may be changed: neither opening, nor a restore, nor a branch needs their records. */
  get firstFixed(): number {
    const newest = this.spans.of(this.#active().number - 1).first;
    return Math.min(newest, this.#firstNeeded(), this.#keptFrom());
  }

  /** Opens the file of a folded segment that is being made. */
  openFolded(span: Span): Promise<SyncFile> {
    return this.#directory.open(foldedName(span));
  }

  /** The folded segment, whose header is durable, stands for its span from now on: removes the files of that. */
  async replace(span: Span, { file }: Segment, savedBytes: number): Promise<void> {
    const replaced: string[] = [];
    for (let number = span.last; number >= span.first; number = this.spans.before(number)) {
      replaced.push(this.spans.nameOf(number));
      this.#savedBytes.delete(number);
    }
    const at = this.#ready.findIndex(({ number }) => number >= span.first);
    if (at >= 0) for (const segment of this.#ready.splice(at)) segment.file.close();
    file.close();
    this.spans.add(span);
    this.#savedBytes.set(span.last, savedBytes);
    this.#findOldestBase();
    for (const name of replaced) await this.#directory.remove(name);
  }

  /** Removes the file of a folded segment that stands for nothing. */
  async abandon(span: Span, { file }: Segment): Promise<void> {
    file.close();
    await this.#directory.remove(foldedName(span));
  }

  /**
   * Passes a segment to `use`, after opening its file if necessary; null if it was pruned.
   *
   * @throws CORRUPT if its header is damaged.
   */
  async withSegment<T>(within: number, use: (segment: Segment | null) => T): Promise<T> {
    const number = this.spans.keyOf(within);
    if (number < this.#oldest) return use(null);
    return this.#withFile(number, (segment) => use(this.#readWhole(segment)));
  }

  close(): void {
    for (const { file } of this.#ready) file.close();
  }

  /** True if a branch needs what the segment, which is the oldest, has changed. */
  #isPinned({ number }: OpenSegment): boolean {
    const pinned = this.#pinnedSequence();
    if (pinned === Number.POSITIVE_INFINITY) return false;
    const [, second] = this.#ready;
    const next =
      number + 1 === this.#active().number ? this.#active() : second && this.#read(second);
    return !next || next.base.sequence > pinned;
  }

  /** Passes the file of a segment to `use`, after opening it if necessary. */
  async #withFile<T>(number: number, use: (segment: OpenSegment) => T): Promise<T> {
    const open = this.#ready.find((segment) => segment.number === number);
    if (open !== undefined) return use(open);
    const file = await this.#directory.open(this.spans.nameOf(number));
    try {
      return use({ number, file });
    } finally {
      file.close();
    }
  }

  /** True unless the oldest segment, which is not the only one, can be pruned. Damage ends that: it is not removed. */
  #isKept(sequence: number, bytes: number): boolean {
    const oldest = this.#ready.slice(0, 2);
    // What is before a pruned segment was pruned too: a power failure has undone its removal.
    if (oldest.some((segment) => this.#isEmptied(segment))) return false;
    const [first, second] = oldest.map((segment) => this.#read(segment));
    if (!second) return true;
    // Every commit in the oldest segment is at or before the state where the second one begins.
    const isOld = second.base.sequence <= sequence;
    const isTooMuch = !!first && this.bytesFrom(first) > bytes;
    return !isOld && !isTooMuch;
  }

  #isEmptied({ number, file }: OpenSegment): boolean {
    return isEmptied(file, this.spans.of(number).minutes);
  }

  get #nextToOpen(): number {
    return this.spans.keyOf((this.#ready.at(-1)?.number ?? this.#oldest - 1) + 1);
  }

  #read({ number, file }: OpenSegment): Segment | null {
    return Segment.read(number, file, this.#checksum);
  }

  #readWhole(segment: OpenSegment): Segment | null {
    const found = this.#read(segment);
    if (found !== null || segment.number < this.#oldest) return found;
    // An empty file is a pruned segment: power may fail before the older ones are removed.
    if (this.#isEmptied(segment)) return null;
    throw damagedSegment(segment.number);
  }

  #findOldestBase(): void {
    const active = this.#active();
    const first = this.#ready[0];
    if (this.#oldest === active.number) this.#oldestBase = active.base;
    else if (first && this.spans.of(first.number).first === this.#oldest)
      this.#oldestBase = this.#read(first)?.base ?? null;
    else this.#oldestBase = null;
  }

  /** One that was pruned, or that is damaged, counts for nothing: whoever reads it is told. */
  async #readSaved(): Promise<void> {
    this.spans.dropBefore(this.#oldest);
    for (const number of this.#savedBytes.keys()) {
      if (number < this.#oldest) this.#savedBytes.delete(number);
    }
    for (const { last } of this.spans.folded) {
      if (this.#savedBytes.has(last)) continue;
      const read = (segment: OpenSegment) => this.#read(segment)?.folded?.savedBytes ?? 0;
      this.#savedBytes.set(last, await this.#withFile(last, read));
    }
  }

  async #openOldest(): Promise<void> {
    for (;;) {
      const number = this.#nextToOpen;
      if (number >= this.#active().number || this.#ready.length >= READY) break;
      const file = await openAhead(this.#directory, this.spans.nameOf(number));
      if (file === null) break;
      // The log may have rotated, or pruned segments, while the file was opening.
      if (number === this.#nextToOpen) this.#ready.push({ number, file });
      else file.close();
    }
    this.#findOldestBase();
  }
}

// ---- Which segments a folded one stands for. A number without a folded segment is a segment of its own. Invariant: spans do
// not overlap, and a folded segment has the number of the last segment that it stands for.

/** Consecutive segments, from `first` to `last`; `minutes`: of which one state in so many minutes is kept; 0: all are. */
export interface Span {
  readonly first: number;
  readonly last: number;
  readonly minutes: number;
}

const NAME = /^fold-([0-9a-f]{8})-([0-9a-f]{8})-([0-9]{1,4})$/;

/** File name of the folded segment that stands for a span. */
export function foldedName({ first, last, minutes }: Span): string {
  return `fold-${segmentName(first).slice(4)}-${segmentName(last).slice(4)}-${minutes}`;
}

/** The span in the name of a folded segment; null for any other file. */
export function foldedSpan(name: string): Span | null {
  const [, first, last, minutes] = NAME.exec(name) ?? [];
  if (first === undefined || last === undefined || minutes === undefined) return null;
  return {
    first: Number.parseInt(first, 16),
    last: Number.parseInt(last, 16),
    minutes: Number.parseInt(minutes, 10),
  };
}

/** True if a segment belongs to both. */
export function overlap(one: Span, other: Span): boolean {
  return one.first <= other.last && other.first <= one.last;
}

export class Spans {
  #folded: readonly Span[];

  constructor(folded: readonly Span[] = []) {
    this.#folded = folded;
  }

  get folded(): readonly Span[] {
    return this.#folded;
  }

  /** The span to which a segment belongs. */
  of(number: number): Span {
    const found = this.#folded.find(({ first, last }) => first <= number && number <= last);
    return found ?? { first: number, last: number, minutes: 0 };
  }

  /** The number under which a segment, or the folded one that stands for it, is read. */
  keyOf(number: number): number {
    return this.of(number).last;
  }

  /** The number before that of a segment. */
  before(number: number): number {
    return this.of(number).first - 1;
  }

  /** The number after that of a segment. */
  after(number: number): number {
    return this.keyOf(this.of(number).last + 1);
  }

  /** Name of the file with a segment's records. */
  nameOf(number: number): string {
    const span = this.#folded.find(({ first, last }) => first <= number && number <= last);
    return span === undefined ? segmentName(number) : foldedName(span);
  }

  /** How many files contain the segments from one number up to another, without it. */
  countOf(from: number, end: number): number {
    const within = this.#folded.filter(({ first, last }) => first >= from && last < end);
    return within.reduce((count, { first, last }) => count - (last - first), end - from);
  }

  /** A folded segment stands for these from now on, also for the folded ones among them. */
  add(span: Span): void {
    this.#folded = [...this.#folded.filter((other) => !overlap(other, span)), span];
  }

  /** Forgets the spans before a segment. */
  dropBefore(number: number): void {
    this.#folded = this.#folded.filter(({ last }) => last >= number);
  }
}
