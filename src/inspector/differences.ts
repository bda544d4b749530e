// What differs between an earlier moment and now: keys, tables, rows.
//
// Bounded: of keys and of each table, the first thousand are compared, and what is beyond is told as such.

import type { SqlStorageValue, StorageHandle, StorageMoment } from '../contract/storage.ts';
import { fingerprintOf } from './stored-value.ts';
import { type Readable, rowsQuery, type Table, tablesOf, valuesOf } from './tables.ts';

/** How many keys, and rows of a table, are compared. */
export const COMPARED_MAX = 1000;

export type DifferenceKind = 'added' | 'removed' | 'changed';

/** Since the moment: added, removed or changed. */
export interface Difference<T> {
  readonly name: string;
  readonly kind: DifferenceKind;
  readonly past: T | undefined;
  readonly now: T | undefined;
}

export interface TableDifference {
  readonly name: string;
  readonly kind: DifferenceKind;
  readonly columns: readonly string[];
  readonly rows: readonly Difference<readonly SqlStorageValue[]>[];
  /** More rows exist than were compared. */
  readonly isCut: boolean;
}

export interface Differences {
  readonly keys: readonly Difference<unknown>[];
  readonly areKeysCut: boolean;
  readonly tables: readonly TableDifference[];
}

export async function differencesOf(past: StorageMoment, now: StorageHandle): Promise<Differences> {
  const [before, after] = await Promise.all([keysOf(past), keysOf(now)]);
  const [pastTables, nowTables] = await Promise.all([tablesOf(past), tablesOf(now)]);
  const names = new Set([...pastTables, ...nowTables].map(({ name }) => name));
  const tables: TableDifference[] = [];
  for (const name of [...names].sort()) {
    const old = pastTables.find((table) => table.name === name && table.kind === 'table');
    const current = nowTables.find((table) => table.name === name && table.kind === 'table');
    if (old === undefined && current === undefined) continue;
    const difference = await tableDifference(name, [past, old], [now, current]);
    if (difference.kind !== 'changed' || difference.rows.length > 0) tables.push(difference);
  }
  return {
    keys: compare(before, after),
    areKeysCut: before.size === COMPARED_MAX || after.size === COMPARED_MAX,
    tables,
  };
}

function keysOf(source: Readable): Promise<Map<string, unknown>> {
  return source.list({ limit: COMPARED_MAX });
}

type Side = readonly [source: Readable, table: Table | undefined];

async function tableDifference(name: string, past: Side, now: Side): Promise<TableDifference> {
  const [before, after] = await Promise.all([rowsOf(past), rowsOf(now)]);
  const kind = past[1] === undefined ? 'added' : now[1] === undefined ? 'removed' : 'changed';
  const columns = (now[1] ?? past[1])!.columns.map((column) => column.name);
  const isCut = before.size === COMPARED_MAX || after.size === COMPARED_MAX;
  return { name, kind, columns, rows: compare(before, after), isCut };
}

/** The first rows of a table, by their keys. */
async function rowsOf([source, table]: Side): Promise<Map<string, SqlStorageValue[]>> {
  if (table === undefined) return new Map();
  const choice = { sort: null, filter: '' };
  const [query] = rowsQuery(table, choice, 0, COMPARED_MAX);
  const rows = await source.sql.exec(query).toArray();
  const { length } = table.columns;
  return new Map(
    rows.map((row) => {
      const values = valuesOf(table, row);
      return [values.slice(length).join(', '), values.slice(0, length)];
    }),
  );
}

function compare<T>(past: ReadonlyMap<string, T>, now: ReadonlyMap<string, T>): Difference<T>[] {
  const found: Difference<T>[] = [];
  for (const name of new Set([...past.keys(), ...now.keys()])) {
    const [old, current] = [past.get(name), now.get(name)];
    const kind = !past.has(name) ? 'added' : now.has(name) ? 'changed' : 'removed';
    if (kind === 'changed' && fingerprintOf(old) === fingerprintOf(current)) continue;
    found.push({ name, kind, past: old, now: current });
  }
  return found;
}
