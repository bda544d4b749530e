// Lists the commits of the history, newest first, from the headers of their records.
//
// It begins at the segment of the range's end and goes back in ranges that the sparse index knows, so its
// cost depends on the commits that it lists, not on the history. Authors are read from the commits' annotations.

import type { CommitAuthor } from '../../../src/shared/contract/storage.ts';
import { authorIn } from './annotation.ts';
import type { CommitLog } from './commit-log.ts';
import type { LogPosition } from './log-position.ts';
import { timelineStart } from './log-position.ts';
import { annotationIn, CONTINUES, MARKER, PROMOTE, RESTORE } from './record.ts';
import { damagedSegment, type Segment } from './segment.ts';
import { type Dated, lastSegment } from './time-search.ts';

/** Chooses the commits to list. */
export interface CommitRange {
  /** Lists only commits from `fromMs` to `toMs`, both included, in milliseconds. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Lists only commits with a smaller sequence than this. */
  readonly beforeSequence: number;
  /** Maximum number of commits; the newest ones are listed. */
  readonly limit: number;
}

/** A commit as the log stores it. */
export interface ListedCommit {
  readonly sequence: number;
  readonly timeMs: number;
  /** Checksum of the commit's last record. */
  readonly sum: number;
  /** Size of all records of the commit in the log, in bytes. */
  readonly bytes: number;
  /** Number of database pages after the commit. */
  readonly pageCount: number;
  readonly isRestore: boolean;
  readonly isPromote: boolean;
  /** The author of the commit. */
  readonly by?: CommitAuthor;
}

/**
 * Lists the commits of a range, the newest first. Pruned commits are left out.
 *
 * @throws CORRUPT if the history of the range is damaged
 */
export async function listCommits(range: CommitRange, log: CommitLog): Promise<ListedCommit[]> {
  const listed: ListedCommit[] = [];
  const newest = { number: log.active.number, end: log.position };
  // Times may decrease from one timeline to the next, so only the last timeline is searched by time.
  const timeline = timelineStart(log.position.sequence);
  const mayBeBefore = ({ sequence, timeMs }: LogPosition) =>
    sequence < range.beforeSequence && (sequence < timeline || timeMs <= range.toMs);
  const oldest = timelineStart(log.sealed.oldestBase?.sequence ?? 0);
  const isPast = ({ sequence, timeMs }: LogPosition) =>
    timelineStart(sequence) === oldest && timeMs < range.fromMs;
  let number = Math.min(await lastSegment(mayBeBefore, log), newest.number);
  let end: LogPosition | null = newest.end;
  if (number < newest.number) {
    end = await log.withSegment(number + 1, (next) => next && endBefore(next));
  }
  while (end !== null && number >= log.sealed.oldest && listed.length < range.limit) {
    if (isPast(end)) break;
    const until: LogPosition = end;
    end = await log.withSegment(number, (segment) => {
      if (segment === null) return null;
      addCommits(segment, until, range, isPast, listed);
      return endBefore(segment);
    });
    number = log.sealed.spans.before(number);
  }
  return listed.slice(0, range.limit);
}

/** Returns the position at the end of the previous segment; of its last record, only the checksum is known. */
function endBefore({ base }: Segment): LogPosition {
  return { ...base, offset: Number.POSITIVE_INFINITY };
}

/** Adds the commits of one segment to the list until the limit is reached. */
function addCommits(
  segment: Segment,
  until: LogPosition,
  range: CommitRange,
  isPast: (end: LogPosition) => boolean,
  listed: ListedCommit[],
): void {
  const starts = segment.positions().filter((known) => known.offset < until.offset);
  let end = until;
  for (const start of starts.reverse()) {
    if (listed.length >= range.limit || isPast(end)) return;
    const mayHold =
      start.sequence < range.beforeSequence &&
      (isLaterTimeline(end, start) || (start.timeMs <= range.toMs && end.timeMs >= range.fromMs));
    const commits = mayHold ? readCommits(segment, start, end) : [];
    listed.push(...commits.filter((commit) => isWithin(commit, range)).reverse());
    end = start;
  }
}

/** Reads the commits between two positions of a segment. @throws CORRUPT */
function readCommits(segment: Segment, start: LogPosition, end: LogPosition): ListedCommit[] {
  const commits: ListedCommit[] = [];
  let { sum } = start;
  let last: Dated = start;
  let bytes = 0;
  for (const { record, bytes: head } of segment.headers(start, end.offset)) {
    if (sum === end.sum) break;
    if (record.sequence < last.sequence) break;
    if (record.timeMs < last.timeMs && !isLaterTimeline(record, last)) break;
    const { sequence, timeMs, flags, pageCount } = record;
    sum = record.sum;
    last = record;
    if ((flags & MARKER) !== 0) continue;
    bytes += record.length;
    if ((flags & CONTINUES) !== 0) continue;
    const isRestore = (flags & RESTORE) !== 0;
    const isPromote = (flags & PROMOTE) !== 0;
    const annotation = annotationIn(head, record);
    const by = annotation === null ? undefined : authorIn(annotation);
    if (by === null) throw damagedSegment(segment.number);
    const facts = { sequence, timeMs, sum, bytes, pageCount, isRestore, isPromote };
    commits.push({ ...facts, ...(by && { by }) });
    bytes = 0;
  }
  if (sum !== end.sum) throw damagedSegment(segment.number);
  return commits;
}

function isLaterTimeline(one: Dated, other: Dated): boolean {
  return timelineStart(one.sequence) > other.sequence;
}

function isWithin({ timeMs, sequence }: ListedCommit, range: CommitRange): boolean {
  const isInTime = timeMs >= range.fromMs && timeMs <= range.toMs;
  return isInTime && sequence < range.beforeSequence;
}
