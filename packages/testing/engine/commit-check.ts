// Compares commits of a simulated object, each read at its own moment, with the expected states.
//
// Invariant: a commit is one whole expected state, of that state's author, even in the middle of a turn.

import { isStorageError } from '../../../src/shared/contract/errors.ts';
import type { CommitAuthor } from '../../../src/shared/contract/storage.ts';
import type { BookmarkedCommit } from '../../../worker/engine/log/object-files.ts';
import { HISTORY_TURNS_MAX } from '../simulate/world/settle.ts';
import { difference } from './contents.ts';
import { SimulationFailure, type State } from './history.ts';
import type { SimulatedObject } from './simulated-object.ts';

const ALWAYS = { fromMs: Number.NEGATIVE_INFINITY, toMs: Number.POSITIVE_INFINITY, before: null };

/** Whether all commits must still be stored, or some may have been pruned. */
export type Retention = 'all' | 'perhaps';

/**
 * Checks that the commits since a bookmark are exactly these states. Returns how many were compared.
 *
 * @throws SimulationFailure; the errors of reading
 */
export async function checkCommits(
  object: SimulatedObject,
  since: string,
  states: readonly State[],
  kept: Retention,
): Promise<number> {
  const listed = await newestCommits(object, states.length + 1, kept);
  const commits = listed.filter(({ bookmark }) => sequenceOf(bookmark) > sequenceOf(since));
  const isRight =
    kept === 'all' ? commits.length === states.length : commits.length <= states.length;
  if (!isRight) {
    const made = commits.map(({ by }) => textOf(by ?? null)).reverse();
    const expected = states.map(({ by }) => textOf(by));
    throw new SimulationFailure(
      `a turn has the commits (${made.join(', ')}), not (${expected.join(', ')})`,
    );
  }
  let compared = 0;
  for (const [i, commit] of commits.entries()) {
    compared += await checkCommit(object, commit, [states.at(-1 - i)!], kept);
  }
  return compared;
}

/**
 * Checks that the newest commits are some of these states. Returns how many were compared. @throws as `checkCommits`
 */
export async function checkNewest(
  object: SimulatedObject,
  count: number,
  states: readonly State[],
  kept: Retention,
): Promise<number> {
  let compared = 0;
  for (const commit of await newestCommits(object, count, kept)) {
    compared += await checkCommit(object, commit, states, kept);
  }
  return compared;
}

async function newestCommits(
  object: SimulatedObject,
  limit: number,
  kept: Retention,
): Promise<BookmarkedCommit[]> {
  const listed = object.storage.past.commits({ ...ALWAYS, limit });
  try {
    // Listing may take long, because it waits until the history has been thinned.
    return await object.outcome('history', listed, HISTORY_TURNS_MAX);
  } catch (error) {
    if (kept === 'all' || !isExplainedByPruning(error)) throw error;
    return [];
  }
}

async function checkCommit(
  object: SimulatedObject,
  { bookmark, by: author }: BookmarkedCommit,
  states: readonly State[],
  kept: Retention,
): Promise<number> {
  const by = author ?? null;
  const opened = object.outcome('at', object.storage.past.open(bookmark), HISTORY_TURNS_MAX);
  const storage = await opened.catch((error: unknown) => {
    if (kept === 'all' || !isExplainedByPruning(error)) throw error;
  });
  if (storage === undefined) return 0;
  try {
    const wrong = states.map(({ contents, by: expected }) => {
      const isOf = expected === undefined || textOf(expected) === textOf(by);
      return isOf ? difference({ storage }, contents) : `it is not of ${textOf(expected)}`;
    });
    if (wrong.includes(null)) return 1;
    const reasons = [...new Set(wrong)].slice(0, 5).join('; ');
    throw new SimulationFailure(`the commit of ${textOf(by)} is no whole state: ${reasons}`);
  } catch (error) {
    if (isStorageError(error) && object.isBroken) return 0; // the moment has ended with the object
    throw error;
  } finally {
    storage.close();
  }
}

/**
 * Returns whether pruned history explains the error. A gap in pruned history looks like damage, so it may be CORRUPT.
 */
function isExplainedByPruning(error: unknown): boolean {
  return isStorageError(error) && ['BOOKMARK_UNAVAILABLE', 'CORRUPT'].includes(error.code);
}

function textOf(by: CommitAuthor | null | undefined): string {
  if (by === undefined) return 'anybody';
  if (by === null) return 'nobody';
  return [by.kind, by.method, by.connection, by.label].filter(Boolean).join(' ');
}

/** Returns the part of a bookmark that names a commit. The markers after it have no order. */
function sequenceOf(bookmark: string): string {
  return bookmark.slice(0, 17);
}
