// Finding the commit of a time: by halving the row of segments, then by the sparse index of one.

import { storageError } from '../../src/contract/errors.ts';
import type { Bookmark } from './bookmark.ts';
import type { CommitLog } from './commit-log.ts';
import { MARKER } from './record.ts';
import { damagedSegment, type LogPosition, positionAfter, type Segment } from './segment.ts';

/**
 * The last commit at or before a time. Its sum is 0 when it is known by its sequence only.
 *
 * @throws BOOKMARK_UNAVAILABLE when history does not reach back so far, CORRUPT when it is damaged.
 */
export async function findTime(timeMs: number, log: CommitLog): Promise<Bookmark> {
  let low = log.oldest;
  let high = log.active.number;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const place = await log.withSegment(middle, (segment) => {
      // Pruned: what lies before it leads nowhere.
      if (segment === null) return 'gone';
      return segment.base.timeMs <= timeMs ? 'before' : 'after';
    });
    if (place === 'gone') low = middle + 1;
    else if (place === 'before') low = middle;
    else high = middle - 1;
  }
  const isNewest = low === log.active.number;
  const next = isNewest ? null : await log.withSegment(low + 1, (segment) => segment?.base ?? null);
  return log.withSegment(low, (segment) => {
    const isWhole = segment !== null && (isNewest || next !== null);
    const isBefore = isWhole && segment.base.timeMs <= timeMs;
    // Before the object existed it was empty, and that is a moment one can go back to.
    if (segment?.base.sequence === 0 && segment.base.timeMs > timeMs)
      return { ...segment.base, sum: 0 };
    if (!isBefore) {
      throw storageError(
        'BOOKMARK_UNAVAILABLE',
        `bookmark for ${timeMs}: the history of that time was pruned.`,
      );
    }
    return lastCommit(segment, timeMs, next ?? log.position);
  });
}

/** `end`: the place behind the last commit of the segment; its sum tells when records are missing. */
function lastCommit(segment: Segment, timeMs: number, end: LogPosition): Bookmark {
  let position = segment.lastPosition((known) => known.timeMs <= timeMs);
  let last: Bookmark = { ...position, sum: 0 };
  for (const found of segment.records(position)) {
    const { record } = found;
    if (record.timeMs > timeMs) return last;
    if ((record.flags & MARKER) === 0) last = record;
    position = positionAfter(found) ?? position;
  }
  if (position.sum !== end.sum) throw damagedSegment(segment.number);
  return last;
}
