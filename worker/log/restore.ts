// Restore: goes back to an earlier state by applying the old bytes of every later record, from the
// newest on.
//
// The changes form one transaction with a record of its own, so that a restore can be undone too. Its
// cost depends on what changed since then, not on the size of the database.

import { nextTimeline } from './bookmark.ts';
import type { PendingRestore } from './checkpoint-file.ts';
import type { CommitLog } from './commit-log.ts';
import type { PageStore } from './page-store.ts';
import { RESTORE } from './record.ts';
import { findTarget } from './target-search.ts';
import { undoBackTo } from './undo.ts';

/** Bytes of changed pages a restore keeps in memory: adjacent commits often change the same pages. */
const RESTORE_SPILL_BYTES = 64 << 20;

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
  const place = await findTarget(target, log);
  pages.setSpillBytes(RESTORE_SPILL_BYTES);
  try {
    await undoBackTo(place, log, pages);
    pages.commitAs(RESTORE, nextTimeline(log.position.sequence));
  } catch (error) {
    pages.rollback();
    throw error;
  } finally {
    pages.setSpillBytes(null);
  }
}
