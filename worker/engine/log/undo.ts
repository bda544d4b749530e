// Undo: reads the records after a place, and takes pages back to the state that they began with.
//
// Invariant: every record is verified before it is used, and the chain of their checksums to its end before the
// last of them is undone. Does not know the use of the pages: a restore commits them, a past state keeps them
// in memory.

import type { CommitLog } from './commit-log.ts';
import { EarlierPages } from './earlier-pages.ts';
import type { LogPosition } from './log-position.ts';
import { damagedSegment, type FoundRecord, type Segment } from './segment.ts';
import { type Place, prunedHistory } from './target-search.ts';

/** Bytes of earlier pages collected in memory until they are undone. */
export const UNDO_BYTES = 32 << 20;

/** The pages that are taken back to an earlier state. */
export interface UndonePages {
  readonly pageCount: number;
  /** Makes pages the earlier ones. Others are expected to follow. */
  undo(earlier: EarlierPages): void;
}

/**
 * Collects the words that undo every record between the place and the end of the log as it is now: the caller undoes
 * it. Words beyond `undoBytes` are undone meanwhile.
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

/** The checksum with which a segment begins that was created meanwhile. */
function baseSum(number: number, log: CommitLog): Promise<number> {
  return log.withSegment(number, (segment) => {
    if (segment === null) throw prunedHistory();
    return segment.base.sum;
  });
}

/**
 * The records from a position to the one with a checksum, in order: parts of a transaction that was dropped may
 * follow it. Their bytes are valid until the next one. @throws CORRUPT if it is not found
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
