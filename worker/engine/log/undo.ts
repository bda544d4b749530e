// Undo: reads the records after a position, from the newest to the oldest, and collects the pages as they were at the
// position. A restore commits these pages; a past state keeps them in memory.
//
// Invariant: every record is verified before it is used, and the chain of checksums is verified from the position to
// the end of the log before the last pages are applied.

import type { CommitLog } from './commit-log.ts';
import { EarlierPages, type ReadPage } from './earlier-pages.ts';
import type { LogPosition } from './log-position.ts';
import type { Record } from './record.ts';
import { damagedSegment, type Segment } from './segment.ts';
import { Slab } from './slab.ts';
import { type Place, prunedHistory } from './target-search.ts';

/** Maximum bytes of earlier pages that are collected in memory before they are applied. */
export const UNDO_BYTES = 32 << 20;

/** The present pages, to which the collected earlier pages are applied. */
export interface UndonePages {
  readonly pageCount: number;
  /** Reads a page as it is now. */
  readonly readPage: ReadPage;
  /** Changes the pages to their earlier content. More calls, with older pages, may follow. */
  undo(earlier: EarlierPages): void;
}

/**
 * Collects the pages that undo every record between the place and the present end of the log; the caller applies them.
 * If they take more than `undoBytes`, the pages collected so far are first applied to `pages`.
 *
 * @throws BOOKMARK_UNAVAILABLE if a segment was pruned meanwhile, CORRUPT if the history is damaged
 */
export async function undoBackTo(
  place: Place,
  log: CommitLog,
  pages: UndonePages,
  undoBytes: number,
): Promise<EarlierPages> {
  const earlier = new EarlierPages(pages.pageCount);
  const { spans } = log.sealed;
  let end = log.position.sum;
  for (let number = log.active.number; number >= place.segment; number = spans.before(number)) {
    const isFirst = number === place.segment;
    end = await log.withSegment(number, (segment) => {
      if (segment === null) throw prunedHistory();
      const from = isFirst ? place.position : segment.base;
      for (const { bytes, record } of recordsBackFrom(segment, end, from)) {
        earlier.addOlder(bytes, record);
        if (earlier.heldBytes < undoBytes) continue;
        earlier.resolve(pages.readPage);
        pages.undo(earlier);
        earlier.drop();
      }
      return segment.base.sum;
    });
    if (!isFirst) continue;
    earlier.resolve(pages.readPage);
    return earlier;
  }
  throw prunedHistory(); // The segment was folded into another one meanwhile.
}

interface ReadRecord {
  readonly bytes: Uint8Array;
  readonly record: Record;
}

/**
 * Reads the records from the one with the checksum `end` back to the position `from`. Parts of a dropped transaction
 * may follow the record with the checksum `end`. Only the records between two entries of the segment's index are in
 * memory at once.
 *
 * @throws CORRUPT if the chain of records between `from` and `end` is broken
 */
function* recordsBackFrom(segment: Segment, end: number, from: LogPosition): Generator<ReadRecord> {
  const later = segment.positions().filter(({ offset }) => offset > from.offset);
  let last = end;
  for (const start of [from, ...later].reverse()) {
    const read = recordsUntil(segment, start, last);
    // The position of an index entry may lie behind the record with this checksum; then read from the entry before.
    if (read === null && start !== from) continue;
    if (read === null) throw damagedSegment(segment.number);
    yield* read.reverse();
    last = start.sum;
  }
}

/**
 * Reads the records from a position to the record with the checksum `end`, in order; null if no record has that
 * checksum.
 */
function recordsUntil(segment: Segment, from: LogPosition, end: number): ReadRecord[] | null {
  const slab = new Slab();
  const read: ReadRecord[] = [];
  if (from.sum === end) return read;
  for (const { record, bytes } of segment.records(from)) {
    read.push({ record, bytes: slab.copy(bytes) });
    if (record.sum === end) return read;
  }
  return null;
}
