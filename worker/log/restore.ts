// Restore: goes back to an earlier state by applying the old bytes of every later record, from the
// newest on.
//
// The changes form one transaction with a record of its own, so that a restore can be undone too. Its
// cost depends on what changed since then, not on the size of the database.

import { storageError } from '../../src/contract/errors.ts';
import { nextTimeline } from './bookmark.ts';
import type { PendingRestore } from './checkpoint-file.ts';
import type { CommitLog } from './commit-log.ts';
import type { PageStore } from './page-store.ts';
import { PAGE_BYTES, wordsOf } from './pages.ts';
import { entriesOf, MARKER, parseHeader, RESTORE } from './record.ts';
import { damagedSegment, type LogPosition, positionAfter, type Segment } from './segment.ts';

/** Bytes of changed pages a restore keeps in memory: adjacent commits often change the same pages. */
const RESTORE_SPILL_BYTES = 64 << 20;

/** Bytes of records kept in memory between verifying and undoing them; the rest is read twice. */
const HELD_BYTES = 8 << 20;

interface Place {
  readonly segment: number;
  readonly position: LogPosition;
}

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
  const place = await findPlace(target, log);
  pages.setSpillBytes(RESTORE_SPILL_BYTES);
  try {
    let next: LogPosition | null = log.position;
    for (let number = log.active.number; number >= place.segment; number--) {
      const until: LogPosition = next!;
      next = await log.withSegment(number, (segment) => {
        if (segment === null) throw pruned();
        const from = number === place.segment ? place.position : segment.base;
        undoSegment(segment, from, until, pages);
        // Of the previous segment's end, only the checksum of the last record is known.
        return { ...segment.base, offset: Number.POSITIVE_INFINITY };
      });
    }
    pages.commitAs(RESTORE, nextTimeline(log.position.sequence));
  } catch (error) {
    pages.rollback();
    throw error;
  } finally {
    pages.setSpillBytes(null);
  }
}

/** The position after the last commit to keep. */
async function findPlace(target: PendingRestore, log: CommitLog): Promise<Place> {
  let number = log.active.number;
  let end = log.position;
  let isMarked = false;
  for (; number > log.oldest; number--) {
    const base = await log.withSegment(number, (segment) => {
      if (segment === null) throw pruned();
      isMarked ||= beginsWithMarker(segment, target);
      return segment.base;
    });
    // Strictly smaller, so that the commit itself is read and its checksum compared.
    if (base.sequence < target.sequence) break;
    // If the segment before was pruned, history begins with this base, the state of the commit.
    if (base.sequence === target.sequence && (await isPruned(number - 1, log))) break;
    end = base;
  }
  return log.withSegment(number, (segment) => {
    if (segment === null || segment.base.sequence > target.sequence) {
      throw pruned();
    }
    let position = segment.lastPosition((known) => known.sequence < target.sequence);
    let isFound = isMarked || target.sum === 0 || segment.base.sequence === target.sequence;
    let isPassed = false;
    for (const found of segment.records(position)) {
      isPassed = found.record.sequence > target.sequence;
      if (isPassed) break;
      if (found.record.sum === target.sum) isFound = true;
      position = positionAfter(found) ?? position;
    }
    // If the records end too early, the history is damaged, even if the bookmark is invalid too.
    if (!isPassed && position.sum !== end.sum) throw damagedSegment(number);
    if (!isFound) {
      throw storageError(
        'BOOKMARK_INVALID',
        'restore: the commit of that bookmark was never flushed and is not part of the history.',
      );
    }
    return { segment: number, position };
  });
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

/** Undoes every record between two positions of a segment, in the running transaction. */
function undoSegment(
  segment: Segment,
  from: LogPosition,
  until: LogPosition,
  pages: PageStore,
): void {
  const places = segment.positions().filter((known) => known.offset > from.offset);
  let end: LogPosition | null = until;
  for (const start of [from, ...places].reverse()) {
    undoRange(segment, start, end, pages);
    end = start;
  }
}

function undoRange(segment: Segment, start: LogPosition, end: LogPosition, pages: PageStore): void {
  const found: { readonly offset: number; readonly length: number; bytes: Uint8Array | null }[] =
    [];
  let sum = start.sum;
  let held = 0;
  for (const { record, bytes, offset } of segment.records(start, end.offset)) {
    if (sum === end.sum) break;
    const { length } = record;
    held += length;
    found.push({ offset, length, bytes: held <= HELD_BYTES ? bytes.slice() : null });
    sum = record.sum;
  }
  if (sum !== end.sum) throw damagedSegment(segment.number);
  for (const { offset, length, bytes } of found.reverse()) {
    undoRecord(bytes ?? segment.read(offset, length), pages);
  }
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

function isPruned(number: number, log: CommitLog): Promise<boolean> {
  return log.withSegment(number, (segment) => segment === null);
}

function pruned() {
  return storageError('BOOKMARK_UNAVAILABLE', 'restore: the history of that moment was pruned.');
}
