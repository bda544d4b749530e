// The keys and tables of an object at one moment, as the page shows them: the first of each, and which of them differ
// from another moment.

import type { RemoteStorage, SqlStorageValue, StorageMoment } from '../../src/index.ts';
import type { Compared } from '../../src/tools/inspector/compared.ts';
import { cellText } from '../../src/tools/inspector/grid.tsx';
import { fingerprintOf, lineOf } from '../../src/tools/inspector/stored-value.ts';
import {
  countQuery,
  rowsQuery,
  type Table,
  tablesOf,
  valuesOf,
} from '../../src/tools/inspector/tables.ts';

/** Most keys, tables and rows of a table that are shown; the inspector shows all. */
const KEYS_MAX = 50;
const TABLES_MAX = 8;
const ROWS_MAX = 50;

export interface ShownKey {
  readonly key: string;
  readonly text: string;
  /** The same for equal values. */
  readonly print: string;
}

export interface ShownRow {
  /** The same for the same row at every moment. */
  readonly id: string;
  readonly cells: readonly SqlStorageValue[];
  readonly texts: readonly string[];
}

export interface ShownTable {
  readonly name: string;
  readonly columns: readonly string[];
  readonly rows: readonly ShownRow[];
  readonly count: number;
}

export interface State {
  readonly keys: readonly ShownKey[];
  readonly hasMoreKeys: boolean;
  readonly tables: readonly ShownTable[];
}

export async function readState(source: RemoteStorage | StorageMoment): Promise<State> {
  const [found, all] = await Promise.all([
    source.list<unknown>({ limit: KEYS_MAX + 1 }),
    tablesOf(source),
  ]);
  const tables = all.filter(({ kind }) => kind === 'table').slice(0, TABLES_MAX);
  return {
    keys: [...found].slice(0, KEYS_MAX).map(([key, value]) => ({
      key,
      text: lineOf(value),
      print: fingerprintOf(value),
    })),
    hasMoreKeys: found.size > KEYS_MAX,
    tables: await Promise.all(tables.map((table) => readTable(source, table))),
  };
}

const ALL = { sort: null, filter: '' } as const;

async function readTable(source: RemoteStorage | StorageMoment, table: Table): Promise<ShownTable> {
  const [rows, { n }] = await Promise.all([
    source.sql.exec(...rowsQuery(table, ALL, 0, ROWS_MAX)).toArray(),
    source.sql.exec<{ n: number }>(...countQuery(table, ALL)).one(),
  ]);
  const columns = table.columns.map(({ name }) => name);
  return {
    name: table.name,
    columns,
    rows: rows.map((row) => {
      const values = valuesOf(table, row);
      const cells = values.slice(0, columns.length);
      return { id: fingerprintOf(values.slice(columns.length)), cells, texts: cells.map(cellText) };
    }),
    count: n,
  };
}

export type Change = 'added' | 'changed' | 'removed';

/** What differs between two moments, for the keys and rows on screen. */
export interface Differences {
  ofKey(key: string): Change | null;
  ofRow(table: ShownTable, row: ShownRow): Change | null;
  /** Tables that differ, and whose rows cannot be named. */
  readonly unnamed: readonly string[];
}

export function differencesOf({ keys, tables, unnamed }: Compared): Differences {
  const changedKeys = new Map(
    keys.shown.map(({ key, before, after }) => [key, changeOf(before, after)]),
  );
  const changedRows = new Map(
    [...tables].map(([name, { shown }]) => {
      const columns = Object.keys(shown[0]?.key ?? {});
      const rows = shown.map(({ key, before, after }): [string, Change] => [
        fingerprintOf(columns.map((column) => key[column])),
        changeOf(before ?? undefined, after ?? undefined),
      ]);
      return [name, { columns, rows: new Map(rows) }];
    }),
  );
  return {
    unnamed,
    ofKey: (key) => changedKeys.get(key) ?? null,
    ofRow({ name, columns }, { id, cells }) {
      const changes = changedRows.get(name);
      if (changes === undefined) return null;
      // A row without a primary key is named by a number that is none of its columns.
      const places = changes.columns.map((column) => columns.indexOf(column));
      const key = places.includes(-1) ? id : fingerprintOf(places.map((place) => cells[place]));
      return changes.rows.get(key) ?? null;
    },
  };
}

function changeOf(before: unknown, after: unknown): Change {
  if (before === undefined) return 'added';
  return after === undefined ? 'removed' : 'changed';
}
