// Finds the position that a restore goes back to: the end of the last commit that it keeps.
//
// A bookmark names a record by its sequence and its checksum. The markers after a commit have its
// sequence too, so the position is behind all records of that sequence, and one of them must have the
// checksum. They may lie in two segments: the commit at the end of one, its markers in the next.

import { storageError } from '../../../src/shared/contract/errors.ts';
import { formatBookmark } from './bookmark.ts';
import type { PendingRestore } from './checkpoint-file.ts';
import type { CommitLog } from './commit-log.ts';
import { type LogPosition, timelineStart } from './log-position.ts';
import { damagedSegment, positionAfter, type Segment } from './segment.ts';

/** A position in one segment of the log. */
export interface Place {
  readonly segment: number;
  readonly position: LogPosition;
}

/**
 * Finds the position after the commit that a restore keeps last.
 *
 * @throws BOOKMARK_UNAVAILABLE if the history does not go back far enough, BOOKMARK_INVALID if
 *   another commit has the sequence now, CORRUPT if the history is damaged.
 */
export async function findTarget(target: PendingRestore, log: CommitLog): Promise<Place> {
  const { number, end, isNamed } = await findSegment(target, log);
  return log.withSegment(number, (segment) => {
    if (segment === null || segment.base.sequence > target.sequence) throw prunedHistory();
    const kept = readKept(segment, target, end);
    if (isFoldedAway(kept, target)) throw foldedAway(kept.position, log);
    const isAnyCommit = target.sum === 0 || segment.base.sequence === target.sequence;
    if (!isAnyCommit && !isNamed && !kept.isNamed) {
      throw storageError(
        'BOOKMARK_INVALID',
        'The commit of that bookmark was never flushed and is not part of the history.',
      );
    }
    return { segment: number, position: kept.position };
  });
}

/**
 * True if thinning has folded the commit into a later one. Only thinning leaves gaps in the sequences of a timeline,
 * and it always keeps a timeline's last commit.
 */
function isFoldedAway({ position, next }: Kept, { sequence }: PendingRestore): boolean {
  return position.sequence < sequence && next !== null && timelineStart(next) <= sequence;
}

function foldedAway(position: LogPosition, { checksum }: CommitLog) {
  return storageError(
    'BOOKMARK_UNAVAILABLE',
    'The state of that moment was given up when the history was thinned (history.thin). The nearest one before it is ' +
      `of ${new Date(position.timeMs).toISOString()}: ${formatBookmark(position, checksum)}`,
  );
}

export function prunedHistory() {
  return storageError('BOOKMARK_UNAVAILABLE', 'The history of that moment was pruned.');
}

interface Found {
  readonly number: number;
  /** The position at the end of the segment. In an older segment, only the checksum of its last record is known. */
  readonly end: LogPosition;
  /** True if the bookmark names a marker at the beginning of this segment or of a later one. */
  readonly isNamed: boolean;
}

/** Finds the segment with the target's commit, or the segment that begins with its state. */
async function findSegment(target: PendingRestore, log: CommitLog): Promise<Found> {
  let number = log.active.number;
  let end = log.position;
  let isNamed = false;
  const { sealed } = log;
  for (; sealed.spans.of(number).first > sealed.oldest; number = sealed.spans.before(number)) {
    const found = await log.withSegment(number, (segment) => {
      if (segment === null) throw prunedHistory();
      return { base: segment.base, hasMarker: beginsWithMarker(segment, target) };
    });
    isNamed ||= found.hasMarker;
    // Compare strictly, so that the commit itself is read and its checksum compared.
    if (found.base.sequence < target.sequence) break;
    // If the previous segment was pruned, the history begins with the base of this one, which is the commit's state.
    if (
      found.base.sequence === target.sequence &&
      (await isPruned(sealed.spans.before(number), log))
    )
      break;
    end = found.base;
  }
  return { number, end, isNamed };
}

interface Kept {
  readonly position: LogPosition;
  readonly isNamed: boolean;
  /** The sequence of the next record; null if the segment has none. */
  readonly next: number | null;
}

/** Reads the records up to the target. `isNamed` says whether the bookmark names one of them. */
function readKept(segment: Segment, target: PendingRestore, end: LogPosition): Kept {
  const { sequence, sum } = target;
  let position = segment.lastPosition((known) => known.sequence < sequence);
  let isNamed = false;
  for (const found of segment.records(position)) {
    if (found.record.sequence > sequence) return { position, isNamed, next: found.record.sequence };
    if (found.record.sum === sum) isNamed = true;
    position = positionAfter(found) ?? position;
  }
  // If the records end too early, the history is damaged, even if the bookmark is invalid too.
  if (position.sum !== end.sum) throw damagedSegment(segment.number);
  return { position, isNamed, next: null };
}

/**
 * True if the bookmark names a marker at the beginning of the segment. A marker has the sequence of
 * the commit before it, here the last commit of the previous segment.
 */
function beginsWithMarker(segment: Segment, { sequence, sum }: PendingRestore): boolean {
  if (segment.base.sequence !== sequence) return false;
  for (const { record } of segment.records(segment.base)) {
    if (record.sequence !== sequence) return false;
    if (record.sum === sum) return true;
  }
  return false;
}

function isPruned(number: number, log: CommitLog): Promise<boolean> {
  return log.withSegment(number, (segment) => segment === null);
}
