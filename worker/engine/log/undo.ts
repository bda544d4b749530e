// Undo: reads the records after a position, and collects the old words that take the pages back to that state. A
// restore commits the result; a past state keeps it in memory.
//
// Invariant: every record is verified before it is used, and the chain of checksums is verified to its end before the
// last words are applied.

import type { CommitLog } from './commit-log.ts';
import { EarlierPages } from './earlier-pages.ts';
import type { LogPosition } from './log-position.ts';
import { damagedSegment, type FoundRecord, type Segment } from './segment.ts';
import { type Place, prunedHistory } from './target-search.ts';

/** Maximum bytes of earlier pages that are collected in memory before they are applied. */
export const UNDO_BYTES = 32 << 20;

/** The pages to which earlier words are applied. */
export interface UndonePages {
  readonly pageCount: number;
  /** Turns pages into the earlier ones; more calls may follow. */
  undo(earlier: EarlierPages): void;
}

/**
 * Collects the words that undo every record between the place and the present end of the log; the caller applies them.
 * If they exceed `undoBytes`, those collected so far are applied to `pages` first.
 *
 * @throws BOOKMARK_UNAVAILABLE if a segment was pruned meanwhile, CORRUPT if the history is damaged
 */
export async function undoBackTo(
  place: Place,
  log: CommitLog,
  pages: UndonePages,
  undoBytes: number,
): Promise<EarlierPages> {
  const end = log.position;
  const last = log.active.number;
  const earlier = new EarlierPages(pages.pageCount);
  const { spans } = log.sealed;
  for (let number = place.segment; number <= last; number = spans.after(number)) {
    const next = spans.after(number);
    const known = number === last ? end.sum : place.bases.get(next);
    const sum = known ?? (await baseSum(next, log));
    await log.withSegment(number, (segment) => {
      if (segment === null) throw prunedHistory();
      const from = number === place.segment ? place.position : segment.base;
      for (const { bytes, record } of recordsUntil(segment, from, sum)) {
        earlier.add(bytes, record);
        if (earlier.heldBytes < undoBytes) continue;
        pages.undo(earlier);
        earlier.dropWords();
      }
    });
  }
  return earlier;
}

/** Reads the checksum at the beginning of a segment that was created meanwhile. */
function baseSum(number: number, log: CommitLog): Promise<number> {
  return log.withSegment(number, (segment) => {
    if (segment === null) throw prunedHistory();
    return segment.base.sum;
  });
}

/**
 * Reads the records from a position to the record with the checksum `end`, in order; parts of a dropped transaction may
 * follow that one. A record's bytes are valid until the next one is read. @throws CORRUPT if it is not found
 */
function* recordsUntil(segment: Segment, from: LogPosition, end: number): Generator<FoundRecord> {
  let { sum } = from;
  if (sum === end) return;
  for (const found of segment.records(from)) {
    yield found;
    sum = found.record.sum;
    if (sum === end) return;
  }
  throw damagedSegment(segment.number);
}
