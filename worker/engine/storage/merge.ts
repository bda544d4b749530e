// Merges: applies the changes between two states of an object to its present state. A revert is a merge from the state
// after a commit to the state before it.
//
// Keys and rows are changed by diff/application; the alarm is set through the object, which also schedules it.
//
// Invariant: a merge runs inside an open transaction, which the caller rolls back if the merge throws or returns
// conflicts.

import type { WireConflict } from '../../../src/shared/contract/changes.ts';
import { CONFLICTS_MAX, type Decisions } from '../../../src/shared/contract/decisions.ts';
import { storageError } from '../../../src/shared/contract/errors.ts';
import { Application, type ChangeConflict, RefusedChanges } from '../diff/application.ts';
import type { StateDifference } from '../diff/differences.ts';
import { contentOf } from '../sql/cells.ts';
import type { Database } from '../sql/database.ts';
import { type Comparison, changeOf, KEYS_TABLE, METADATA_TABLE, namedRow } from './comparison.ts';

/** Maximum size of the changes of one merge in bytes, because all are in memory at once. */
const CHANGES_BYTES_MAX = 64 << 20;

export interface MergeTarget {
  readonly database: Database;
  /** The stored time of the alarm, in milliseconds. */
  readonly alarm: number | null;
  setAlarm(timeMs: number | null): void;
}

export interface Merged {
  /** The first conflicts, at most CONFLICTS_MAX. */
  readonly conflicts: readonly WireConflict[];
  readonly conflictCount: number;
  /** False if there was nothing to change, or there are conflicts. */
  readonly hasChanged: boolean;
}

/**
 * Merges one comparison. Returns its conflicts; if there are none, true if something has changed.
 *
 * @throws MEMORY_FULL
 */
function mergeInto(
  target: MergeTarget,
  comparison: Comparison,
  decisions: Decisions | null,
): readonly WireConflict[] | boolean {
  const changes = collect(comparison.differences.all());
  const attempt = new Application(target.database, comparison.differences);
  const decided = new Decided(decisions);
  for (const change of changes) if (!isAlarmTable(change)) attempt.add(change, false);
  const alarm = changes
    .filter(isAlarmTable)
    .map((change) => changeOf(change))
    .find((one) => one?.kind === 'alarm');
  const alarmConflict =
    alarm?.kind === 'alarm' && target.alarm !== alarm.before && target.alarm !== alarm.after
      ? alarm
      : undefined;
  const found: WireConflict[] = attempt.conflicts.map(wireConflict);
  if (alarmConflict) found.push({ reason: 'changed', change: alarmConflict, now: target.alarm });
  const open = found.filter((_, i) => decided.of(i) === undefined);
  if (open.length > 0) return open;

  const refused = new Set(attempt.conflicts.map(({ change }) => change));
  const theirs = attempt.conflicts
    .filter((_, i) => decided.of(i) === 'theirs')
    .map(({ change }) => change);
  let application = attempt;
  if (theirs.length > 0) {
    const chosen = new Set(theirs);
    application = new Application(target.database, comparison.differences);
    for (const change of changes) {
      if (isAlarmTable(change)) continue;
      if (refused.has(change) && !chosen.has(change)) application.leaveOut(change);
      else application.add(change, chosen.has(change));
    }
    if (application.conflicts.length > 0) return application.conflicts.map(wireConflict);
  }
  const takesAlarm =
    alarm?.kind === 'alarm' &&
    target.alarm !== alarm.after &&
    (!alarmConflict || decided.of(found.length - 1) === 'theirs');
  if (application.isEmpty && !takesAlarm) return false;
  try {
    application.run();
  } catch (error) {
    if (!(error instanceof RefusedChanges)) throw error;
    const { change } = error;
    return [{ reason: 'constraint', change, now: undefined }];
  }
  if (takesAlarm) target.setAlarm(alarm.after);
  return true;
}

/**
 * Merges several comparisons one after the other, each into the state that `target` returns then. A comparison is
 * opened only when it is due, because few states can be open at once. Stops at the first one with conflicts.
 *
 * @throws MEMORY_FULL
 */
export async function mergeEach(
  first: Comparison,
  others: readonly (() => Promise<Comparison>)[],
  decisions: Decisions | null,
  target: () => MergeTarget,
): Promise<Merged> {
  let hasChanged = false;
  for (const open of [() => first, ...others]) {
    const comparison = await open();
    try {
      const into = target();
      const merged = into.database.trusted(() => mergeInto(into, comparison, decisions));
      if (typeof merged === 'boolean') hasChanged ||= merged;
      else {
        const conflicts = merged.slice(0, CONFLICTS_MAX);
        return { conflicts, conflictCount: merged.length, hasChanged: false };
      }
    } finally {
      comparison.close();
    }
  }
  return { conflicts: [], conflictCount: 0, hasChanged };
}

class Decided {
  readonly #decisions: Decisions | null;

  constructor(decisions: Decisions | null) {
    this.#decisions = decisions;
  }

  /**
   * Returns how a conflict was decided; undefined if it was not decided. A decided change that cannot be made is a
   * conflict again.
   */
  of(index: number): 'ours' | 'theirs' | undefined {
    const at = this.#decisions?.at === null ? 0 : index;
    return this.#decisions?.each[at];
  }
}

function collect(differences: Iterable<StateDifference>): StateDifference[] {
  const changes: StateDifference[] = [];
  let bytes = 0;
  for (const change of differences) {
    changes.push(change);
    if (change.kind !== 'row') continue;
    for (const row of [change.before, change.after])
      for (const cell of row ?? []) bytes += cell.length;
    if (bytes > CHANGES_BYTES_MAX) {
      throw storageError(
        'MEMORY_FULL',
        `merge: the changes take more than ${CHANGES_BYTES_MAX >> 20} MiB; restore an earlier moment instead.`,
      );
    }
  }
  return changes;
}

/** True for the table of the alarm, which the object creates itself. */
function isAlarmTable({ table }: StateDifference): boolean {
  return table === METADATA_TABLE;
}

function wireConflict({ reason, change, now, shape }: ChangeConflict): WireConflict {
  const shown =
    changeOf(change) ?? ({ kind: 'table', table: 'table' in change ? change.table : '' } as const);
  if (now == null || shape === null) return { reason, change: shown, now: now ?? undefined };
  const value = shape.name === KEYS_TABLE ? contentOf(now[1]!).slice() : namedRow(now, shape);
  return { reason, change: shown, now: value };
}
