// Finds the commit at a time: by binary search over the segments, then by the sparse index of one.
//
// Within a timeline, times never decrease. Between two of them they do when the wall clock was set back (corrections.ts),
// so a search names the timelines that it is about.

import type { Bookmark } from './bookmark.ts';
import type { CommitLog } from './commit-log.ts';
import type { LogPosition } from './log-position.ts';
import { CONTINUES, MARKER } from './record.ts';
import { damagedSegment, positionAfter, type Segment } from './segment.ts';

/** The common fields of a commit and a position. */
export type Dated = Pick<LogPosition, 'sequence' | 'timeMs'>;

/** Two neighbours of the history. */
export interface Neighbours {
  /** The last commit of the kind that was searched; its checksum is 0 if only its sequence is known. */
  readonly last: Bookmark;
  /** The commit after it; null: there is none. */
  readonly next: Dated | null;
}

/**
 * The last commit that the test accepts, and the one after it. The test accepts every commit up to one of them, and
 * none after. Null if the history does not go back to it; before the first commit of all, the object was empty.
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

/** The number of the last segment whose base the test accepts; of the oldest one if it accepts none. */
export async function lastSegment(
  accepts: (base: LogPosition) => boolean,
  log: CommitLog,
): Promise<number> {
  let low = log.sealed.oldest;
  let high = log.active.number;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const place = await log.withSegment(middle, (segment) => {
      // Pruned: the segments before it are unreachable too.
      if (segment === null) return 'gone';
      return accepts(segment.base) ? 'before' : 'after';
    });
    if (place === 'gone') low = middle + 1;
    else if (place === 'before') low = middle;
    else high = middle - 1;
  }
  return log.sealed.spans.keyOf(low);
}

/** `end`: the position after the segment's last commit; its checksum reveals missing records. */
function neighboursIn(
  segment: Segment,
  accepts: (commit: Dated) => boolean,
  end: LogPosition,
): Neighbours {
  let position = segment.lastPosition(accepts);
  let last: Bookmark = { ...position, sum: 0 };
  for (const found of segment.records(position)) {
    const { record } = found;
    // A part of a transaction names no state, and a marker is no commit.
    const isCommit = (record.flags & (CONTINUES | MARKER)) === 0;
    if (isCommit && !accepts(record)) return { last, next: record };
    if (isCommit) last = record;
    position = positionAfter(found) ?? position;
  }
  if (position.sum !== end.sum) throw damagedSegment(segment.number);
  return { last, next: null };
}
