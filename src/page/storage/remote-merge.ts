// Implements `merge` on a page: the worker lists the conflicts, the page decides them, and the worker merges with the
// decisions.
//
// Decisions are valid for the state in which the conflicts were listed. If the object has changed meanwhile, the worker
// lists the conflicts anew, and they are decided again.

import { bothSignals, untilAborted } from '../../shared/calls/stubs/with-signal.ts';
import type {
  ConflictError,
  MergeOptions,
  MergeResult,
  StorageConflict,
  WireConflict,
} from '../../shared/contract/changes.ts';
import type { Decisions } from '../../shared/contract/decisions.ts';
import { storageError } from '../../shared/contract/errors.ts';
import { LISTED_CONFLICTS_MAX } from '../../shared/contract/limits.ts';
import { decodeValue } from '../../shared/values/value.ts';
import { decodedChange } from './remote-diff.ts';
import type { SessionCalls } from './session.ts';

/** Maximum number of times that conflicts are decided, if the object changes each time meanwhile. */
const ROUNDS_MAX = 10;

/** Merges a branch in the state that it has at the first attempt, even if the merge is repeated. @throws as `mergeWith` */
export function mergeBranch(
  calls: SessionCalls,
  branch: string,
  onConflict: MergeOptions['onConflict'],
): Promise<string | null> {
  let bookmark: string | null = null;
  return mergeWith(calls, onConflict, async (decisions) => {
    const result = await calls.call({ op: 'mergeBranch', branch, bookmark, decisions });
    bookmark = result.branchBookmark;
    return result;
  });
}

/**
 * Merges, and lets `onConflict` decide conflicts. @throws CONFLICT, INVALID_ARGUMENT, and the errors of `merge` and of
 * `onConflict`
 */
export async function mergeWith(
  { signal, session }: SessionCalls,
  onConflict: MergeOptions['onConflict'],
  merge: (decisions: Decisions | null) => Promise<MergeResult>,
): Promise<string | null> {
  const ended = bothSignals(signal, session.ending);
  if (onConflict !== undefined && typeof onConflict !== 'function') checkDecision(onConflict);
  let decisions: Decisions | null =
    typeof onConflict === 'string' ? { at: null, each: [onConflict] } : null;
  for (let round = 0; ; round++) {
    const result = await merge(decisions);
    if (result.conflictCount === 0) return result.bookmark;
    // A constraint refuses all changes together, so no single one can be decided.
    const isOfAll = result.conflicts.some(({ reason }) => reason === 'constraint');
    const isDecided = decisions?.at === result.bookmark || typeof onConflict !== 'function';
    const isListed = result.conflicts.length === result.conflictCount;
    if (isOfAll || isDecided || !isListed || round === ROUNDS_MAX)
      throw conflictError('merge', result);
    const each: Decisions['each'][number][] = [];
    for (const conflict of result.conflicts) {
      // The wait for a decision ends when the handle is closed.
      const decision = (async () => onConflict(conflictOf(conflict)))();
      each.push(checkDecision(await untilAborted(decision, ended)));
    }
    decisions = { at: result.bookmark, each };
  }
}

/** Makes the error for changes that were not made because of conflicts. */
export function conflictError(
  operation: string,
  { conflicts, conflictCount }: MergeResult,
): ConflictError {
  const first = conflicts[0]!;
  const error = storageError(
    'CONFLICT',
    `${operation}: ${conflictCount} of the changes cannot be made, the first one in ${placeOf(first)}: ` +
      `${REASONS[first.reason]}. Nothing was changed; error.conflicts lists them.`,
  );
  const listed = conflicts.slice(0, LISTED_CONFLICTS_MAX).map(conflictOf);
  return Object.assign(error, { conflicts: listed }) as unknown as ConflictError;
}

const REASONS: Readonly<Record<WireConflict['reason'], string>> = {
  changed: 'it was changed otherwise meanwhile',
  rows: 'the table has other rows by now',
  unnamed: 'its rows cannot be named',
  constraint:
    'a unique index, a foreign key, a check or another definition refuses it; change the data that it meets, then call again',
};

function placeOf({ change }: WireConflict): string {
  if (change.kind === 'key') return `the key "${change.key}"`;
  if (change.kind === 'alarm') return 'the alarm';
  if (change.kind === 'schema') return `the ${change.type} "${change.name}"`;
  return `the table "${change.table}"`;
}

function conflictOf({ reason, change, now }: WireConflict): StorageConflict {
  const isValue = change.kind === 'key' && now instanceof Uint8Array;
  return { reason, change: decodedChange(change), now: isValue ? decodeValue(now) : now };
}

function checkDecision(decision: unknown): 'ours' | 'theirs' {
  if (decision === 'ours' || decision === 'theirs') return decision;
  throw storageError(
    'INVALID_ARGUMENT',
    `merge: onConflict is 'ours', 'theirs', or a function that returns one of them, not ${String(decision)}.`,
  );
}
