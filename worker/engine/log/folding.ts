// Thins the history: replaces several old segments by one folded segment. It keeps the last commit of each minute or
// hour, together with the old bytes of the commits that it replaces.
//
// It also keeps the last commit of the segments and of each timeline; restores, promotes and markers, and the commit
// before each of them; and commits that a branch or a pending restore needs. A kept commit keeps its sequence, time,
// author and checksum, so its bookmark stays valid, and the chain of checksums fits the next segment.
//
// Invariant: a folded segment counts only once its header is written; its records are durable before the header, and
// the header is durable before the old segments are removed. Each call does a bounded part of the work. This file is
// loaded later, in late.js, with its own copies of shared classes, so it must not use instanceof on objects of the
// worker.

import { isStorageError, storageError } from '../../../src/shared/contract/errors.ts';
import type { CommitLog } from './commit-log.ts';
import type { EarlierPages, MovedGroup } from './earlier-pages.ts';
import { type LogPosition, timelineStart } from './log-position.ts';
import {
  ANNOTATED,
  CONTINUES,
  FOLDED,
  MARKER,
  PROMOTE,
  RESTORE,
  type Record,
  type RecordWriter,
} from './record.ts';
import type { Span } from './sealed-segments.ts';
import type { Folded, FoundRecord, Segment } from './segment.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

/**
 * For each stage, the age from which commits are thinned, and the length of time of which one commit is kept. The
 * oldest stage comes first.
 */
const STAGES = [
  { afterMs: 7 * DAY_MS, spacingMs: HOUR_MS },
  { afterMs: DAY_MS, spacingMs: MINUTE_MS },
] as const;

/** If the history takes more than this part of its allowed bytes, thinning does not wait for the age. */
const PRESSURE = 0.5;
/** Maximum number of segments that are folded into one. */
const FOLDED_MAX = 8;
/**
 * Maximum number of segments that are folded into one when few bytes are left, so that the fold ends before those are
 * used up.
 */
const URGENT_MAX = 2;
/** If the folded segment before the chosen segments is smaller than this, it is folded again together with them. */
const SMALL_BYTES = 2 << 20;
/** Number of log bytes that one call reads, and number of old bytes that are collected before they are written. */
const PORTION_BYTES = 1 << 19;
const PART_BYTES = 1 << 20;

/** Functions and classes that the worker passes in, so that late.js does not contain them again. */
export interface FoldingParts {
  readonly writer: RecordWriter;
  readonly earlierPages: (pageCount: number) => EarlierPages;
  /** Encodes an entry for pages whose bytes moved. */
  readonly encodeEarlier: (moved: MovedGroup) => Uint8Array;
  readonly annotationIn: (bytes: Uint8Array, record: Record) => Uint8Array | null;
  readonly markerBody: (bytes: Uint8Array, record: Record) => MarkerBody;
}

interface MarkerBody {
  readonly sequence: number;
  readonly sum: number;
}

/** The limits of thinning. */
export interface ThinningBounds {
  /** The time of the wall clock or of the last commit, whichever is earlier. */
  readonly nowMs: number;
  /** Bytes of history that may be kept. */
  readonly bytes: number;
  /** Sequences of the commits that branches and restores need. */
  readonly named: readonly number[];
  /** Segments with later commits than this are not folded. */
  readonly untilSequence: number;
}

/** A segment of the history whose header was read. */
interface Known {
  readonly key: number;
  readonly base: LogPosition;
  readonly folded: Folded | null;
  readonly sizeBytes: number;
}

interface Choice {
  readonly sources: readonly Known[];
  readonly spacingMs: number;
  readonly end: LogPosition;
}

export class Folding {
  readonly #log: CommitLog;
  readonly #parts: FoldingParts;
  /** Segments that were read before; their headers do not change. */
  readonly #known = new Map<number, Known>();
  /** Numbers of segments that cannot be read. */
  readonly #damaged = new Set<number>();
  #fold: Fold | null = null;

  constructor(log: CommitLog, parts: FoldingParts) {
    this.#log = log;
    this.#parts = parts;
  }

  /**
   * Does the next part of the work; returns false if there is none.
   *
   * @throws DISK_FULL, IO: nothing has changed
   */
  async step(bounds: () => ThinningBounds): Promise<boolean> {
    const fold = this.#fold ?? (await this.#begin(bounds()));
    if (fold === null) return false;
    this.#fold = fold;
    const isPossible = () => fold.isPossible(bounds());
    let isOver = true;
    try {
      if (isPossible()) isOver = await fold.step(isPossible);
    } catch (error) {
      if (!isStorageError(error) || error.code !== 'CORRUPT') throw error;
      this.#damaged.add(fold.source.key); // reading the history reports the damage
    } finally {
      if (isOver) await this.#end(fold);
    }
    return true;
  }

  /** Closes the unfinished file, which the next opening removes. */
  close(): void {
    this.#fold?.close();
    this.#fold = null;
  }

  async #end(fold: Fold): Promise<void> {
    this.#fold = null;
    for (const { key } of fold.sources) this.#known.delete(key);
    await fold.end();
  }

  async #begin(bounds: ThinningBounds): Promise<Fold | null> {
    const choice = await this.#choose(bounds);
    if (choice === null) return null;
    const span = {
      first: this.#log.sealed.spans.of(choice.sources[0]!.key).first,
      last: choice.sources.at(-1)!.key,
      minutes: choice.spacingMs / MINUTE_MS,
    };
    return Fold.begin(this.#log, this.#parts, choice, span, bounds.named);
  }

  /** Chooses the oldest segments that can be folded; null if there are none. */
  async #choose(bounds: ThinningBounds): Promise<Choice | null> {
    const { sealed } = this.#log;
    for (const key of this.#known.keys()) if (key < sealed.oldest) this.#known.delete(key);
    const list: Known[] = [];
    const first = sealed.spans.keyOf(sealed.oldest);
    for (let key = first; key < sealed.firstFixed; key = sealed.spans.after(key)) {
      const known = await this.#read(key);
      if (known === null) break;
      list.push(known);
    }
    const last = list.at(-1);
    const end = last && (await this.#read(sealed.spans.after(last.key)));
    if (!end) return null;
    const ends = [...list.slice(1), end].map(({ base }) => base);
    const mayFold = (i: number) =>
      ends[i]!.sequence <= bounds.untilSequence && !this.#damaged.has(list[i]!.key);
    let most = FOLDED_MAX;
    const choose = (spacingMs: number, accepts: (i: number) => boolean): Choice | null => {
      const from = list.findIndex((_, i) => accepts(i) && mayFold(i));
      if (from < 0) return null;
      let to = from + 1;
      while (to < list.length && to < from + most && accepts(to) && mayFold(to)) to++;
      const before = list[from - 1];
      const joins =
        before?.folded?.spacingMs === spacingMs &&
        before.sizeBytes < Math.min(SMALL_BYTES, bounds.bytes / 16);
      const start = joins && mayFold(from - 1) ? from - 1 : from;
      return { sources: list.slice(start, to), spacingMs, end: ends[to - 1]! };
    };
    const spacingOf = (i: number) => list[i]!.folded?.spacingMs ?? 0;
    for (const { afterMs, spacingMs } of STAGES) {
      const isOld = (i: number) => ends[i]!.timeMs <= bounds.nowMs - afterMs;
      const chosen = choose(spacingMs, (i) => spacingOf(i) < spacingMs && isOld(i));
      if (chosen !== null) return chosen;
    }
    const bytes = await sealed.withSegment(first, (oldest) => oldest && sealed.bytesFrom(oldest));
    if ((bytes ?? 0) <= bounds.bytes * PRESSURE) return null;
    most = URGENT_MAX;
    return (
      choose(MINUTE_MS, (i) => spacingOf(i) === 0) ??
      choose(HOUR_MS, (i) => spacingOf(i) === MINUTE_MS)
    );
  }

  /** Reads the header of a segment; returns null if the segment was pruned or the header is damaged. */
  async #read(key: number): Promise<Known | null> {
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    try {
      return await this.#log.withSegment(key, (segment) => {
        if (segment === null) return null;
        const { base, folded, sizeBytes } = segment;
        const read = { key, base, folded, sizeBytes };
        this.#known.set(key, read);
        return read;
      });
    } catch (error) {
      if (isStorageError(error) && error.code === 'CORRUPT') return null;
      throw error;
    }
  }
}

/** A record that ends a commit, or a marker. */
interface Ended {
  readonly record: Record;
  readonly annotation: Uint8Array | null;
  readonly marker: MarkerBody | null;
}

interface UnreadRecord {
  readonly record: Record;
  readonly bytes: Uint8Array;
}

/** A folded segment while it is being written. */
class Fold {
  readonly sources: readonly Known[];
  readonly #log: CommitLog;
  readonly #parts: FoldingParts;
  readonly #choice: Choice;
  readonly #span: Span;
  readonly #named: string;
  readonly #keeps: ReadonlySet<number>;
  readonly #target: Segment;
  /** The source segment that is being read, and the position in it. */
  #source = 0;
  #from: LogPosition;
  /** The end of the records in the folded segment. */
  #end: LogPosition;
  #pages: EarlierPages | null = null;
  /** Records after the last written record, in order, that are not collected in `#pages` yet. */
  #unread: UnreadRecord[] = [];
  #unreadBytes = 0;
  #last: Ended | null = null;
  #previous: Record | null = null;
  #isReplaced = false;

  private constructor(
    log: CommitLog,
    parts: FoldingParts,
    choice: Choice,
    span: Span,
    named: readonly number[],
    target: Segment,
  ) {
    this.sources = choice.sources;
    this.#log = log;
    this.#parts = parts;
    this.#choice = choice;
    this.#span = span;
    this.#named = String(named);
    this.#keeps = new Set(named);
    this.#target = target;
    this.#from = target.base;
    this.#end = target.base;
  }

  /** Begins the fold; returns null if the first segment was pruned meanwhile. */
  static async begin(
    log: CommitLog,
    parts: FoldingParts,
    choice: Choice,
    span: Span,
    named: readonly number[],
  ): Promise<Fold | null> {
    const file = await log.sealed.openFolded(span);
    let target: Segment | null = null;
    try {
      target = await log.withSegment(
        span.first,
        (first) => first?.beginFolded(span.last, file) ?? null,
      );
    } finally {
      if (target === null) file.close();
    }
    return target && new Fold(log, parts, choice, span, named, target);
  }

  /** The segment whose records are being read. */
  get source(): Known {
    return this.sources[this.#source]!;
  }

  /** True until a segment of the fold is pruned or needed for an opening, or branches or restores need other states. */
  isPossible({ named, untilSequence }: ThinningBounds): boolean {
    const { sealed } = this.#log;
    const isThere = this.#span.first >= sealed.oldest && this.#span.last < sealed.firstFixed;
    return isThere && String(named) === this.#named && this.#choice.end.sequence <= untilSequence;
  }

  /** Reads a part of the segments; returns true once the folded segment has replaced them, or cannot replace them. */
  async step(isPossible: () => boolean): Promise<boolean> {
    const { source } = this;
    const next = this.sources[this.#source + 1]?.base ?? this.#choice.end;
    const isAtEnd = await this.#log.withSegment(source.key, (segment) =>
      segment === null ? false : this.#read(segment, next),
    );
    if (!isAtEnd) return false;
    this.#source++;
    const following = this.sources[this.#source];
    if (following !== undefined) {
      this.#from = following.base;
      return false;
    }
    this.#keep(this.#last!);
    await this.#replace(isPossible);
    return true;
  }

  close(): void {
    this.#target.file.close();
  }

  /** Removes the file of the folded segment unless that segment has replaced its source segments. */
  async end(): Promise<void> {
    if (!this.#isReplaced) await this.#log.sealed.abandon(this.#span, this.#target);
  }

  /** Folds the next records of a segment; returns true at its end, `next`, where the following segment begins. */
  #read(segment: Segment, next: LogPosition): boolean {
    const start = this.#from.offset;
    for (const found of segment.records(this.#from)) {
      const { record, offset } = found;
      this.#add(found);
      this.#from = { ...this.#from, offset: offset + record.length, sum: record.sum };
      if (record.sum === next.sum) return true;
      if (this.#from.offset - start >= PORTION_BYTES) return false;
    }
    throw storageError('CORRUPT', `history: segment ${segment.number} of the log is damaged.`);
  }

  #add({ record, bytes }: FoundRecord): void {
    const last = this.#last;
    const previous = this.#previous;
    const begins = ((previous?.flags ?? 0) & CONTINUES) === 0;
    if (begins && last !== null && this.#isToBeKept(last.record, record)) this.#keep(last);
    else if (this.#isFull) this.#writePart(previous!);
    this.#previous = record;
    const isMarker = (record.flags & MARKER) !== 0;
    if (!isMarker) {
      this.#unread.push({ record, bytes: bytes.slice() });
      this.#unreadBytes += bytes.length;
      if (this.#unreadBytes >= PART_BYTES) this.#collect();
    }
    if ((record.flags & CONTINUES) !== 0) return;
    this.#last = {
      record,
      annotation: this.#parts.annotationIn(bytes, record)?.slice() ?? null,
      marker: isMarker ? this.#parts.markerBody(bytes, record) : null,
    };
  }

  get #isFull(): boolean {
    return (this.#pages?.heldBytes ?? 0) >= PART_BYTES;
  }

  /** Collects the records read since the last time, the newest first. */
  #collect(): void {
    if (this.#unread.length === 0) return;
    const pages = this.#parts.earlierPages(this.#unread.at(-1)!.record.pageCount);
    for (const { bytes, record } of this.#unread.reverse()) pages.addOlder(bytes, record);
    if (this.#pages !== null) pages.addOlderPages(this.#pages);
    this.#pages = pages;
    this.#unread = [];
    this.#unreadBytes = 0;
  }

  /** True if the commit `last`, which is followed by the record `next`, must be kept. */
  #isToBeKept(last: Record, next: Record): boolean {
    const isSpecial = ({ flags }: Record) => (flags & (MARKER | RESTORE | PROMOTE)) !== 0;
    const { spacingMs } = this.#choice;
    return (
      isSpecial(last) ||
      isSpecial(next) ||
      // If a restore has several parts, only the last one is marked as a restore and has its sequence.
      (next.flags & CONTINUES) !== 0 ||
      this.#keeps.has(last.sequence) ||
      timelineStart(last.sequence) !== timelineStart(next.sequence) ||
      Math.floor(last.timeMs / spacingMs) !== Math.floor(next.timeMs / spacingMs)
    );
  }

  /** Writes a kept commit or marker, with the old bytes of all records read since the last kept one. */
  #keep({ record, annotation, marker }: Ended): void {
    const { writer } = this.#parts;
    writer.begin(annotation);
    if (marker === null) {
      this.#writePages(record);
    } else {
      writer.addMarker(marker.sequence, marker.sum);
      this.#write(record);
    }
    const { sequence, timeMs } = record;
    this.#end = { ...this.#end, sequence, timeMs };
    this.#target.note(this.#end);
    this.#pages = null;
    this.#last = null;
  }

  /** Writes the bytes collected so far as a part of the next kept commit. */
  #writePart(record: Record): void {
    this.#parts.writer.begin();
    const flags = (record.flags & ~(RESTORE | PROMOTE | ANNOTATED)) | CONTINUES;
    this.#writePages({ ...record, flags });
    this.#pages = null;
  }

  #writePages(record: Record): void {
    this.#collect();
    const pages = this.#pages!;
    const { writer, encodeEarlier } = this.#parts;
    pages.eachPage((pageIndex, isFresh, eachOld) => writer.addOld(pageIndex, isFresh, eachOld));
    pages.eachMoved((moved) => writer.addEntry(encodeEarlier(moved)));
    this.#write({ ...record, pageCountBefore: pages.pageCount });
  }

  #write(record: Record): void {
    const header = {
      ...record,
      flags: record.flags | FOLDED,
      durableSequence: record.sum,
      previousSum: this.#end.sum,
    };
    const { bytes } = this.#parts.writer.finish(header, this.#log.checksum);
    this.#target.append(bytes, this.#end.offset, () => false);
    this.#end = { ...this.#end, offset: this.#end.offset + bytes.length, sum: record.sum };
  }

  /**
   * Flushes the records, writes and flushes the header, then removes the old segments. Checks after each flush whether
   * a restore was requested meanwhile.
   */
  async #replace(isPossible: () => boolean): Promise<void> {
    const target = this.#target;
    const { spacingMs, sources } = this.#choice;
    const replaced = sources.reduce((bytes, { sizeBytes, folded }) => {
      return bytes + sizeBytes + (folded?.savedBytes ?? 0);
    }, 0);
    const savedBytes = replaced - target.sizeBytes;
    await target.file.flush();
    if (!isPossible()) return;
    target.writeFolded({ spacingMs, savedBytes });
    await target.file.flush();
    if (!isPossible()) return;
    this.#isReplaced = true;
    await this.#log.sealed.replace(this.#span, target, savedBytes);
  }
}
