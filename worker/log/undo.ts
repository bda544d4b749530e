// Undo: applies the old bytes of the records after a place, from the newest on.
//
// Records are collected and undone page by page, in the order of the file: each page is read once, neighbours together.
//
// Invariant: the records of a range are verified before one of them is undone. Does not know what
// becomes of the pages: a restore commits them, a past state keeps them in memory.

import type { CommitLog } from './commit-log.ts';
import { type EachPage, PAGE_BYTES, wordsOf } from './pages.ts';
import { entriesOf, MARKER, type PageEntry, parseHeader } from './record.ts';
import { damagedSegment, type Segment } from './segment.ts';
import type { LogPosition } from './segment-header.ts';
import { type Place, prunedHistory } from './target-search.ts';
import { HeldRange } from './window-reader.ts';

/** Bytes of records collected in memory until they are undone; of a longer range, the rest is read twice. */
const HELD_BYTES = 32 << 20;

/** The pages that are taken back to an earlier state. */
export interface UndonePages {
  /**
   * Passes each page to `change`, to be changed in place. Zeros beyond the end. The indexes are in order. `isLast`: no
   * other change is expected.
   */
  editAll(pageIndexes: readonly number[], change: EachPage, isLast: boolean): void;
  truncate(sizeBytes: number): void;
}

/**
 * Undoes every record between the place and the end of the log. The newest segment is read before this
 * returns, older ones when their files are open.
 *
 * @throws BOOKMARK_UNAVAILABLE if a segment was pruned meanwhile, CORRUPT if the history is damaged
 */
export async function undoBackTo(
  place: Place,
  log: CommitLog,
  pages: UndonePages,
  heldBytes = HELD_BYTES,
): Promise<void> {
  const undoing = new Undoing(pages, heldBytes);
  let end = log.position;
  for (let number = log.active.number; number >= place.segment; number--) {
    const until = end;
    end = await log.withSegment(number, (segment) => {
      if (segment === null) throw prunedHistory();
      const from = number === place.segment ? place.position : segment.base;
      undoSegment(segment, from, until, undoing);
      return endBefore(segment);
    });
  }
  undoing.apply(true);
}

/** The end of the segment before this one: only the checksum of its last record is known. */
export function endBefore({ base }: Segment): LogPosition {
  return { ...base, offset: Number.POSITIVE_INFINITY };
}

/** Collects every record between two positions of a segment, in ranges that the index knows. */
function undoSegment(
  segment: Segment,
  from: LogPosition,
  until: LogPosition,
  undoing: Undoing,
): void {
  const starts = segment.positions().filter((known) => known.offset > from.offset);
  let end = until;
  for (const start of [from, ...starts].reverse()) {
    for (const { offset, length, bytes } of readRange(segment, start, end, undoing).reverse()) {
      undoing.add(bytes ?? segment.read(offset, length));
    }
    end = start;
  }
}

interface RangeRecord {
  readonly offset: number;
  readonly length: number;
  /** Null if the records before it are as many as may be held. */
  readonly bytes: Uint8Array | null;
}

/**
 * The records of a range, which are verified before one of them is undone. What fits in the room is read at once and
 * stays in memory: copies of records one by one took longer than the records. @throws CORRUPT
 */
function readRange(
  segment: Segment,
  start: LogPosition,
  end: LogPosition,
  { room }: Undoing,
): RangeRecord[] {
  const found: RangeRecord[] = [];
  // A segment that lost its end may be shorter than what its index knows.
  const lengthBytes = Math.max(0, Math.min(end.offset, segment.file.sizeBytes()) - start.offset);
  const held = lengthBytes <= room ? new HeldRange(segment.file, start.offset, lengthBytes) : null;
  let sum = start.sum;
  for (const { record, bytes, offset } of segment.records(start, end.offset, held)) {
    if (sum === end.sum) break;
    found.push({ offset, length: record.length, bytes: held === null ? null : bytes });
    sum = record.sum;
  }
  if (sum !== end.sum) throw damagedSegment(segment.number);
  return found;
}

/** Records that are collected, from the newest on, and undone together. */
class Undoing {
  readonly #pages: UndonePages;
  /** What undoes each page, in this order. */
  readonly #entries = new Map<number, PageEntry[]>();
  readonly #heldBytesMax: number;
  #heldBytes = 0;
  #pageCount = 0;

  constructor(pages: UndonePages, heldBytesMax: number) {
    this.#pages = pages;
    this.#heldBytesMax = heldBytesMax;
  }

  /** How many bytes of records may be held beside those that are. */
  get room(): number {
    return this.#heldBytesMax - this.#heldBytes;
  }

  /** Adds the next older record, whose bytes stay. */
  add(bytes: Uint8Array): void {
    const record = parseHeader(bytes)!;
    if ((record.flags & MARKER) !== 0) return;
    for (const entry of entriesOf(bytes, record)) this.#addEntry(entry);
    this.#pageCount = record.pageCountBefore;
    this.#heldBytes += bytes.length;
    if (this.#heldBytes >= this.#heldBytesMax) this.apply(false);
  }

  /** Undoes what is collected. `isLast`: there is nothing older. */
  apply(isLast: boolean): void {
    if (this.#heldBytes === 0) return;
    // Pages beyond the end would be read in vain.
    const exist = [...this.#entries.keys()].filter((pageIndex) => pageIndex < this.#pageCount);
    this.#pages.editAll(
      exist.sort((a, b) => a - b),
      (page, pageIndex) => {
        for (const entry of this.#entries.get(pageIndex)!) {
          if (entry.isGone) page.fill(0);
          entry.undo(wordsOf(page));
        }
      },
      isLast,
    );
    this.#pages.truncate(this.#pageCount * PAGE_BYTES);
    this.#entries.clear();
    this.#heldBytes = 0;
  }

  #addEntry(entry: PageEntry): void {
    // A page that did not exist before is removed when the number of pages is set.
    if (entry.isFresh) return;
    const newer = this.#entries.get(entry.pageIndex);
    if (newer === undefined) this.#entries.set(entry.pageIndex, [entry]);
    else newer.push(entry);
  }
}
