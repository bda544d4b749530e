// Two moments of an object, compared for the screen: the changes in groups, of each as many as a reader looks at.
//
// The walk is bounded. The counts are exact, also of the changes that are not read.

import type {
  ChangeCount,
  ChangeCounts,
  KeyChange,
  RowChange,
  StorageChange,
  StorageDiff,
} from '@ctx-storage/core/storage';

/** How many changes of a group are shown. */
export const SHOWN_MAX = 100;
/** How many changes are read. A table behind them is shown with its counts alone. */
const READ_MAX = 5000;

/** The changes of one table, or of the keys. */
export interface ChangeGroup<Change> {
  readonly count: ChangeCount;
  /** The first of them. */
  readonly shown: readonly Change[];
}

export interface Compared {
  /** Definitions and the alarm. */
  readonly other: readonly Exclude<StorageChange, { readonly kind: 'key' | 'row' | 'table' }>[];
  readonly keys: ChangeGroup<KeyChange>;
  readonly tables: ReadonlyMap<string, ChangeGroup<RowChange>>;
  /** Tables that differ, and whose rows cannot be named. */
  readonly unnamed: readonly string[];
}

/** Reads the changes. `isOver` ends the reading early. @throws as a walk over the changes */
export async function compare(diff: StorageDiff, isOver: () => boolean): Promise<Compared> {
  const counts = await diff.count();
  const other: Compared['other'][number][] = [];
  const keys: KeyChange[] = [];
  const tables = new Map<string, RowChange[]>();
  const take = (change: StorageChange): boolean => {
    if (change.kind === 'table') return false;
    if (change.kind === 'key') return keys.length < SHOWN_MAX && keys.push(change) > 0;
    if (change.kind !== 'row') return other.push(change) > 0;
    const rows = tables.get(change.table) ?? [];
    tables.set(change.table, rows);
    return rows.length < SHOWN_MAX && rows.push(change) > 0;
  };
  let wanted = wantedOf(counts);
  let read = 0;
  for await (const change of wanted > 0 ? diff : []) {
    if (take(change)) wanted -= 1;
    read += 1;
    if (wanted === 0 || read === READ_MAX || isOver()) break;
  }
  return {
    other,
    keys: { count: counts.keys, shown: keys },
    tables: new Map(
      Object.entries(counts.tables).map(([name, count]) => [
        name,
        { count, shown: tables.get(name) ?? [] },
      ]),
    ),
    unnamed: counts.unnamed,
  };
}

/** How many of the changes are shown: once they are read, the walk ends. */
function wantedOf({ schema, alarm, keys, tables }: ChangeCounts): number {
  const groups = [keys, ...Object.values(tables)];
  return groups.reduce((sum, count) => sum + Math.min(totalOf(count), SHOWN_MAX), schema + alarm);
}

/** How many changes a count holds. */
export function totalOf({ added, changed, removed }: ChangeCount): number {
  return added + changed + removed;
}

/** The number of all changes. */
export function sizeOf({ other, keys, tables, unnamed }: Compared): number {
  const rows = [...tables.values()].reduce((sum, { count }) => sum + totalOf(count), 0);
  return other.length + totalOf(keys.count) + rows + unnamed.length;
}

/** How much of the equal beginning of two texts is kept. */
const CONTEXT_CHARS = 24;

/**
 * Two texts that differ, both without most of what they begin with in common, if that is long: their difference is to be
 * in view.
 */
export function excerpts(before: string, after: string): readonly [string, string] {
  const most = Math.min(before.length, after.length);
  let same = 0;
  while (same < most && before[same] === after[same]) same += 1;
  if (same <= 2 * CONTEXT_CHARS) return [before, after];
  let from = same - CONTEXT_CHARS;
  // Not between the halves of a character.
  if (/[\udc00-\udfff]/.test(before[from]!)) from -= 1;
  return [`…${before.slice(from)}`, `…${after.slice(from)}`];
}
