// Keeps and prunes the segments before the active one, which are an object's history.
//
// Invariants: the segments have no gap, and a segment that the next opening may need is never pruned.
//
// Opening and removing files is asynchronous, but a commit that needs room on a full disk is not. So
// `maintain` opens the oldest segments ahead, and later removes the emptied ones.

import { assert } from '../../../src/shared/contract/invariant.ts';
import { discard, type FileDirectory, openAhead, type SyncFile } from '../file/file.ts';
import type { Checksum } from './checksum.ts';
import type { LogPosition } from './log-position.ts';
import { damagedSegment, isEmptied, Segment, segmentName } from './segment.ts';

/** Number of the oldest segments that are kept open, so that they can be pruned on a full disk. */
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
  /** The segments that each folded segment replaces. */
  readonly spans: Spans;
  /** Returns the oldest segment that the next opening may read. */
  readonly firstNeeded: () => number;
  /** Returns the sequence of the oldest state that a branch needs; infinite if there is none. */
  readonly pinnedSequence: () => number;
}

/** Limits of the history; segments beyond either limit are discarded. */
export interface KeptHistory {
  /** Finds the sequence of the oldest commit to keep. */
  readonly from: () => Promise<number>;
  /** Maximum size of all segments, in bytes. */
  readonly bytes: number;
}

export class SealedSegments {
  readonly spans: Spans;
  /** The bytes that folding has saved in each folded segment, by its number. */
  readonly #savedBytes = new Map<number, number>();
  readonly #directory: FileDirectory;
  readonly #checksum: Checksum;
  readonly #firstNeeded: () => number;
  readonly #pinnedSequence: () => number;
  /** Returns the active segment, which follows these. */
  readonly #active: () => Segment;
  /** Returns the first segment that a restore needs. */
  readonly #keptFrom: () => number;
  /** The open files of the oldest segments. */
  readonly #ready: OpenSegment[];
  /** Names of emptied files that `maintain` will remove. */
  readonly #emptied: string[] = [];
  #oldest: number;
  #oldestBase: LogPosition | null = null;
  /** True if a segment was added since `maintain` last pruned. */
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

  /** The position of the oldest state in the history; null until `maintain` has read it. */
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

  /** Empties the oldest segment to free its space. Returns false if the segment is needed, or its file is not open. */
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
   * Opens the oldest segments, and removes those beyond the limits: all their commits come before the oldest commit to
   * keep, or the segments take too many bytes. The newest segment always stays, so that the last commit can be undone.
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

  /** Returns the size of this segment and of all segments between it and the active one. */
  bytesFrom({ number, precedingBytes }: Segment): number {
    let bytes = this.#active().precedingBytes - precedingBytes;
    for (const [folded, saved] of this.#savedBytes) if (folded >= number) bytes -= saved;
    return bytes;
  }

  /** The first segment whose records an opening, a restore or a branch may need; earlier ones may be folded. */
  get firstFixed(): number {
    const newest = this.spans.of(this.#active().number - 1).first;
    return Math.min(newest, this.#firstNeeded(), this.#keptFrom());
  }

  /** Opens a file for a new folded segment. */
  openFolded(span: Span): Promise<SyncFile> {
    return this.#directory.open(foldedName(span));
  }

  /** Replaces the segments of a span by a folded segment, whose header is durable, and removes their files. */
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

  /** Removes the file of a folded segment that has not replaced its span. */
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

  /** True if a branch needs the changes of this segment, the oldest one. */
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

  /** True if the oldest segment must be kept; at least two are open. A damaged segment is always kept. */
  #isKept(sequence: number, bytes: number): boolean {
    const oldest = this.#ready.slice(0, 2);
    // Segments before a pruned one were pruned too; a power failure has undone their removal.
    if (oldest.some((segment) => this.#isEmptied(segment))) return false;
    const [first, second] = oldest.map((segment) => this.#read(segment));
    if (!first || !second) return true;
    // Every commit in the oldest segment is at or before the state where the second one begins.
    const isOld = second.base.sequence <= sequence;
    const isTooMuch = this.bytesFrom(first) > bytes;
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
    // An empty file is a pruned segment that a power failure has brought back.
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

  /** Reads how many bytes each folded segment saves. Pruned and damaged ones count as 0; reading them reports that. */
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

// ---- The spans of segments that folded segments replace. A segment that was not folded is a span of its own.
// Invariant: spans do not overlap, and a folded segment has the number of the last segment that it replaces.

/**
 * The segments from `first` to `last`. Thinning has kept one state for every `minutes` minutes of these segments; if
 * `minutes` is 0, it has kept all states.
 */
export interface Span {
  readonly first: number;
  readonly last: number;
  readonly minutes: number;
}

const NAME = /^fold-([0-9a-f]{8})-([0-9a-f]{8})-([0-9]{1,4})$/;

/** Returns the file name of the folded segment that replaces a span. */
export function foldedName({ first, last, minutes }: Span): string {
  return `fold-${segmentName(first).slice(4)}-${segmentName(last).slice(4)}-${minutes}`;
}

/** Parses the file name of a folded segment; returns null for any other file. */
export function foldedSpan(name: string): Span | null {
  const [, first, last, minutes] = NAME.exec(name) ?? [];
  if (first === undefined || last === undefined || minutes === undefined) return null;
  return {
    first: Number.parseInt(first, 16),
    last: Number.parseInt(last, 16),
    minutes: Number.parseInt(minutes, 10),
  };
}

/** True if at least one segment belongs to both spans. */
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

  /** Returns the span to which a segment belongs. */
  of(number: number): Span {
    const found = this.#folded.find(({ first, last }) => first <= number && number <= last);
    return found ?? { first: number, last: number, minutes: 0 };
  }

  /** Returns the number of the segment to read: the segment itself, or the folded one that replaces it. */
  keyOf(number: number): number {
    return this.of(number).last;
  }

  /** Returns the last segment before the span of this one. */
  before(number: number): number {
    return this.of(number).first - 1;
  }

  /** Returns the first segment after the span of this one. */
  after(number: number): number {
    return this.keyOf(this.of(number).last + 1);
  }

  /** Returns the name of the file with a segment's records. */
  nameOf(number: number): string {
    const span = this.#folded.find(({ first, last }) => first <= number && number <= last);
    return span === undefined ? segmentName(number) : foldedName(span);
  }

  /** Counts the files that contain the segments from `from` up to `end`, which is excluded. */
  countOf(from: number, end: number): number {
    const within = this.#folded.filter(({ first, last }) => first >= from && last < end);
    return within.reduce((count, { first, last }) => count - (last - first), end - from);
  }

  /** Records that a folded segment replaces this span, including folded segments in it. */
  add(span: Span): void {
    this.#folded = [...this.#folded.filter((other) => !overlap(other, span)), span];
  }

  /** Forgets the spans before a segment. */
  dropBefore(number: number): void {
    this.#folded = this.#folded.filter(({ last }) => last >= number);
  }
}
