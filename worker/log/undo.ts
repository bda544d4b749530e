// Undo: applies the old bytes of the records after a place, from the newest on.
//
// Invariant: the records of a range are verified before one of them is undone. Does not know what
// becomes of the pages: a restore commits them, a past state keeps them in memory.

import type { CommitLog } from './commit-log.ts';
import { PAGE_BYTES, wordsOf } from './pages.ts';
import { entriesOf, MARKER, parseHeader } from './record.ts';
import { damagedSegment, type Segment } from './segment.ts';
import type { LogPosition } from './segment-header.ts';
import { type Place, prunedHistory } from './target-search.ts';

/** Bytes of records kept in memory between verifying and undoing them; the rest is read twice. */
const HELD_BYTES = 8 << 20;

/** The pages that are taken back to an earlier state. */
export interface UndonePages {
  /** A page to be changed in place. Zeros beyond the end. */
  edit(pageIndex: number): Uint8Array;
  truncate(sizeBytes: number): void;
}

/**
 * Undoes every record between the place and the end of the log. The newest segment is undone before
 * this returns, older ones when their files are open.
 *
 * @throws BOOKMARK_UNAVAILABLE if a segment was pruned meanwhile, CORRUPT if the history is damaged
 */
export async function undoBackTo(place: Place, log: CommitLog, pages: UndonePages): Promise<void> {
  let end = log.position;
  for (let number = log.active.number; number >= place.segment; number--) {
    const until = end;
    end = await log.withSegment(number, (segment) => {
      if (segment === null) throw prunedHistory();
      const from = number === place.segment ? place.position : segment.base;
      undoSegment(segment, from, until, pages);
      return endBefore(segment);
    });
  }
}

/** The end of the segment before this one: only the checksum of its last record is known. */
export function endBefore({ base }: Segment): LogPosition {
  return { ...base, offset: Number.POSITIVE_INFINITY };
}

/** Undoes every record between two positions of a segment, in ranges that the index knows. */
function undoSegment(
  segment: Segment,
  from: LogPosition,
  until: LogPosition,
  pages: UndonePages,
): void {
  const starts = segment.positions().filter((known) => known.offset > from.offset);
  let end = until;
  for (const start of [from, ...starts].reverse()) {
    for (const { offset, length, bytes } of readRange(segment, start, end).reverse()) {
      undoRecord(bytes ?? segment.read(offset, length), pages);
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

/** The records of a range, which are verified before one of them is undone. @throws CORRUPT */
function readRange(segment: Segment, start: LogPosition, end: LogPosition): RangeRecord[] {
  const found: RangeRecord[] = [];
  let sum = start.sum;
  let heldBytes = 0;
  for (const { record, bytes, offset } of segment.records(start, end.offset)) {
    if (sum === end.sum) break;
    const { length } = record;
    heldBytes += length;
    found.push({ offset, length, bytes: heldBytes <= HELD_BYTES ? bytes.slice() : null });
    sum = record.sum;
  }
  if (sum !== end.sum) throw damagedSegment(segment.number);
  return found;
}

function undoRecord(bytes: Uint8Array, pages: UndonePages): void {
  const record = parseHeader(bytes)!;
  if ((record.flags & MARKER) !== 0) return;
  for (const entry of entriesOf(bytes, record)) {
    // A page that did not exist before is removed by the truncation below.
    if (entry.isFresh) continue;
    const page = pages.edit(entry.pageIndex);
    if (entry.isGone) page.fill(0);
    entry.undo(wordsOf(page));
  }
  pages.truncate(record.pageCountBefore * PAGE_BYTES);
}
