// Compares two moments of an object for the screen. The changes are grouped by table, with the first of each group.
//
// Only a limited number of changes is read. The counts are exact and include changes that are not read.

import type {
  ChangeCount,
  ChangeCounts,
  KeyChange,
  RowChange,
  StorageChange,
  StorageDiff,
} from '@ctx-storage/core/storage';

/** The most changes of a group that are shown. */
export const SHOWN_MAX = 100;
/** The most changes that are read. For tables after these changes, only the counts are shown. */
const READ_MAX = 5000;

/** The changes of one table, or of the keys. */
export interface ChangeGroup<Change> {
  readonly count: ChangeCount;
  /** The first changes of the group. */
  readonly shown: readonly Change[];
}

export interface Compared {
  /** The changes of definitions and of the alarm. */
  readonly other: readonly Exclude<StorageChange, { readonly kind: 'key' | 'row' | 'table' }>[];
  readonly keys: ChangeGroup<KeyChange>;
  readonly tables: ReadonlyMap<string, ChangeGroup<RowChange>>;
  /** The names of tables that differ and whose rows have no key. */
  readonly unnamed: readonly string[];
}

/** Reads the changes. It ends early once `isOver` returns true. @throws the errors of the diff */
export async function compare(diff: StorageDiff, isOver: () => boolean): Promise<Compared> {
  const counts = await diff.count();
  const other: Compared['other'][number][] = [];
  const keys: KeyChange[] = [];
  const tables = new Map<string, RowChange[]>();
  const addIfShown = (change: StorageChange): boolean => {
    if (change.kind === 'table') return false;
    if (change.kind === 'key') return keys.length < SHOWN_MAX && keys.push(change) > 0;
    if (change.kind !== 'row') return other.push(change) > 0;
    const rows = tables.get(change.table) ?? [];
    tables.set(change.table, rows);
    return rows.length < SHOWN_MAX && rows.push(change) > 0;
  };
  let remaining = shownCount(counts);
  let read = 0;
  for await (const change of remaining > 0 ? diff : []) {
    if (addIfShown(change)) remaining -= 1;
    read += 1;
    if (remaining === 0 || read === READ_MAX || isOver()) break;
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

/** Returns how many changes are shown. Reading ends once this many are read. */
function shownCount({ schema, alarm, keys, tables }: ChangeCounts): number {
  const groups = [keys, ...Object.values(tables)];
  return groups.reduce((sum, count) => sum + Math.min(totalOf(count), SHOWN_MAX), schema + alarm);
}

/** Returns the total number of changes in a count. */
export function totalOf({ added, changed, removed }: ChangeCount): number {
  return added + changed + removed;
}

/** Returns the number of all changes. */
export function sizeOf({ other, keys, tables, unnamed }: Compared): number {
  const rows = [...tables.values()].reduce((sum, { count }) => sum + totalOf(count), 0);
  return other.length + totalOf(keys.count) + rows + unnamed.length;
}

/** How many characters of the common beginning of two texts are kept. */
const CONTEXT_CHARS = 24;

/** Shortens a long common beginning of two texts, so that their difference is in view. */
export function excerpts(before: string, after: string): readonly [string, string] {
  const most = Math.min(before.length, after.length);
  let commonLength = 0;
  while (commonLength < most && before[commonLength] === after[commonLength]) commonLength += 1;
  if (commonLength <= 2 * CONTEXT_CHARS) return [before, after];
  let from = commonLength - CONTEXT_CHARS;
  // The texts must not be cut inside of a surrogate pair.
  if (/[\udc00-\udfff]/.test(before[from]!)) from -= 1;
  return [`…${before.slice(from)}`, `…${after.slice(from)}`];
}
