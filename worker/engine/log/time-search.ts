// Finds the last commit up to a time: by binary search over the segments, then in the sparse index of one segment.
//
// Times never decrease within a timeline. They may decrease from one timeline to the next, if the wall clock was set
// back (corrections.ts), so the test that a caller passes says which timelines it accepts.

import type { Bookmark } from './bookmark.ts';
import type { CommitLog } from './commit-log.ts';
import type { LogPosition } from './log-position.ts';
import { CONTINUES, MARKER } from './record.ts';
import { damagedSegment, positionAfter, type Segment } from './segment.ts';

/** The sequence and the time of a commit. */
export type Dated = Pick<LogPosition, 'sequence' | 'timeMs'>;

/** Two consecutive commits. */
export interface Neighbours {
  /** The last commit that the test accepts; its checksum is 0 if only its sequence is known. */
  readonly last: Bookmark;
  /** The commit after `last`; null if `last` is the newest one. */
  readonly next: Dated | null;
}

/**
 * Finds the last commit that a test accepts, and the next one. The test must accept all commits up to some commit, and
 * no later ones. Returns null if the history does not go back that far. If the test accepts no commit at all, the last
 * one is the empty object before the first commit.
 *
 * @throws CORRUPT if the history is damaged
 */
export async function findNeighbours(
  accepts: (commit: Dated) => boolean,
  log: CommitLog,
): Promise<Neighbours | null> {
  const low = await lastSegment(accepts, log);
  const isNewest = low === log.active.number;
  const end = isNewest ? null : await log.withSegment(low + 1, (segment) => segment?.base ?? null);
  return log.withSegment(low, (segment) => {
    if (segment === null || (!isNewest && end === null)) return null;
    const isWhole = accepts(segment.base) || segment.base.sequence === 0;
    return isWhole ? neighboursIn(segment, accepts, end ?? log.position) : null;
  });
}

/** Finds the last segment whose base the test accepts; the oldest segment if it accepts none. */
export async function lastSegment(
  accepts: (base: LogPosition) => boolean,
  log: CommitLog,
): Promise<number> {
  let low = log.sealed.oldest;
  let high = log.active.number;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const place = await log.withSegment(middle, (segment) => {
      // The segment was pruned, so the segments before it were pruned too.
      if (segment === null) return 'gone';
      return accepts(segment.base) ? 'before' : 'after';
    });
    if (place === 'gone') low = middle + 1;
    else if (place === 'before') low = middle;
    else high = middle - 1;
  }
  return log.sealed.spans.keyOf(low);
}

/** Searches one segment; `end` is the position after its last commit, whose checksum reveals missing records. */
function neighboursIn(
  segment: Segment,
  accepts: (commit: Dated) => boolean,
  end: LogPosition,
): Neighbours {
  let position = segment.lastPosition(accepts);
  let last: Bookmark = { ...position, sum: 0 };
  for (const found of segment.records(position)) {
    const { record } = found;
    // Skip markers, and parts that do not end a transaction: they are not commits.
    const isCommit = (record.flags & (CONTINUES | MARKER)) === 0;
    if (isCommit && !accepts(record)) return { last, next: record };
    if (isCommit) last = record;
    position = positionAfter(found) ?? position;
  }
  if (position.sum !== end.sum) throw damagedSegment(segment.number);
  return { last, next: null };
}
