// Restore: goes back to an earlier state by applying the old bytes of every later record, from the
// newest on.
//
// The changes form one transaction with a record of its own, so that a restore can be undone too. Its
// cost depends on what changed since then, not on the size of the database.

import { nextTimeline } from './bookmark.ts';
import type { PendingRestore } from './checkpoint-file.ts';
import type { CommitLog } from './commit-log.ts';
import type { PageStore } from './page-store.ts';
import { PAGE_BYTES, wordsOf } from './pages.ts';
import { entriesOf, MARKER, parseHeader, RESTORE } from './record.ts';
import { damagedSegment, type Segment } from './segment.ts';
import type { LogPosition } from './segment-header.ts';
import { findTarget, type Place, prunedHistory } from './target-search.ts';

/** Bytes of changed pages a restore keeps in memory: adjacent commits often change the same pages. */
const RESTORE_SPILL_BYTES = 64 << 20;

/** Bytes of records kept in memory between verifying and undoing them; the rest is read twice. */
const HELD_BYTES = 8 << 20;

/**
 * Commits the state after the target's sequence. The commit is not flushed.
 *
 * @throws BOOKMARK_UNAVAILABLE if the history does not go back far enough, BOOKMARK_INVALID if
 *   another commit has the sequence now, CORRUPT if the history is damaged. Nothing is committed then.
 */
export async function restore(
  target: PendingRestore,
  log: CommitLog,
  pages: PageStore,
): Promise<void> {
  const place = await findTarget(target, log);
  pages.setSpillBytes(RESTORE_SPILL_BYTES);
  try {
    await undoBackTo(place, log, pages);
    pages.commitAs(RESTORE, nextTimeline(log.position.sequence));
  } catch (error) {
    pages.rollback();
    throw error;
  } finally {
    pages.setSpillBytes(null);
  }
}

/** Undoes every record after the place, segment by segment, in the running transaction. */
async function undoBackTo(place: Place, log: CommitLog, pages: PageStore): Promise<void> {
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
function endBefore({ base }: Segment): LogPosition {
  return { ...base, offset: Number.POSITIVE_INFINITY };
}

/** Undoes every record between two positions of a segment, in ranges that the index knows. */
function undoSegment(
  segment: Segment,
  from: LogPosition,
  until: LogPosition,
  pages: PageStore,
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

function undoRecord(bytes: Uint8Array, pages: PageStore): void {
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
