// Finds the commit at a time: by binary search over the segments, then by the sparse index of one.

import { storageError } from '../../src/contract/errors.ts';
import type { Bookmark } from './bookmark.ts';
import type { CommitLog } from './commit-log.ts';
import { MARKER } from './record.ts';
import { damagedSegment, positionAfter, type Segment } from './segment.ts';
import type { LogPosition } from './segment-header.ts';

/**
 * The last commit at or before a time. Its checksum is 0 if only its sequence is known.
 *
 * @throws BOOKMARK_UNAVAILABLE if the history does not go back far enough, CORRUPT if it is damaged.
 */
export async function findTime(timeMs: number, log: CommitLog): Promise<Bookmark> {
  const low = await lastSegment((base) => base.timeMs <= timeMs, log);
  const isNewest = low === log.active.number;
  const next = isNewest ? null : await log.withSegment(low + 1, (segment) => segment?.base ?? null);
  return log.withSegment(low, (segment) => {
    const isWhole = segment !== null && (isNewest || next !== null);
    const isBefore = isWhole && segment.base.timeMs <= timeMs;
    // Before it was created, the object was empty; a restore can go back to that state.
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

/** The number of the last segment whose base the test accepts; of the oldest one if it accepts none. */
export async function lastSegment(
  accepts: (base: LogPosition) => boolean,
  log: CommitLog,
): Promise<number> {
  let low = log.oldest;
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
  return low;
}

/** `end`: the position after the segment's last commit; its checksum reveals missing records. */
function lastCommit(segment: Segment, timeMs: number, end: LogPosition): Bookmark {
  let position = segment.lastPosition((known) => known.timeMs <= timeMs);
  let last: Bookmark = { ...position, sum: 0 };
  for (const found of segment.records(position)) {
    const { record } = found;
    if (record.timeMs > timeMs) return last;
    const after = positionAfter(found);
    // A part of a transaction names no state: the commit may come after the time.
    if (after === null) continue;
    if ((record.flags & MARKER) === 0) last = record;
    position = after;
  }
  if (position.sum !== end.sum) throw damagedSegment(segment.number);
  return last;
}
