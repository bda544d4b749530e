// Finding the commit of a time: by halving the row of segments, then by the sparse index of one.

import { storageError } from '../../src/contract/errors.ts';
import type { Bookmark } from './bookmark.ts';
import type { CommitLog } from './commit-log.ts';
import { MARKER } from './record.ts';
import type { Segment } from './segment.ts';

/**
 * The last commit at or before a time. Its sum is 0 when it is known by its sequence only.
 *
 * @throws BOOKMARK_UNAVAILABLE when history does not reach back so far.
 */
export async function findTime(timeMs: number, log: CommitLog): Promise<Bookmark> {
  let low = log.oldest;
  let high = log.active.number;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const place = await log.withSegment(middle, (segment) => {
      // Given up: what lies before it leads nowhere.
      if (segment === null) return 'gone';
      return segment.base.timeMs <= timeMs ? 'before' : 'after';
    });
    if (place === 'gone') low = middle + 1;
    else if (place === 'before') low = middle;
    else high = middle - 1;
  }
  return log.withSegment(low, (segment) => {
    const isBefore = segment !== null && segment.base.timeMs <= timeMs;
    // Before the object existed it was empty, and that is a moment one can go back to.
    if (segment?.base.sequence === 0 && !isBefore) return { ...segment.base, sum: 0 };
    if (!isBefore) {
      throw storageError(
        'BOOKMARK_UNAVAILABLE',
        `bookmark for ${timeMs}: the history of that time was given up.`,
      );
    }
    return lastCommit(segment, timeMs);
  });
}

function lastCommit(segment: Segment, timeMs: number): Bookmark {
  const from = segment.lastPosition((known) => known.timeMs <= timeMs);
  let last: Bookmark = { ...from, sum: 0 };
  for (const { record } of segment.records(from)) {
    if (record.timeMs > timeMs) break;
    if ((record.flags & MARKER) === 0) last = record;
  }
  return last;
}
