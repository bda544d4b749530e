// Reads the first keys and tables of an object at one moment for the page to show, and finds which of them differ from
// another moment.

import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import type { Compared } from '../../packages/inspector/compared.ts';
import { cellText } from '../../packages/inspector/grid.tsx';
import { fingerprintOf, lineOf } from '../../packages/inspector/stored-value.ts';
import {
  countQuery,
  rowsQuery,
  type Table,
  tablesOf,
  valuesOf,
} from '../../packages/inspector/tables.ts';
import type { StorageHandle, StorageMoment } from '../../src/index.ts';

import { LETTERS, shortened } from './calls.ts';

/** How many keys, tables, and rows of a table are shown; the inspector shows all. */
export const SHOWN = { keys: 50, tables: 8, rows: 50 } as const;

export interface ShownKey {
  readonly key: string;
  readonly text: string;
  /** A text that is the same for equal values. */
  readonly print: string;
}

export interface ShownRow {
  /** A text that identifies the row at every moment. */
  readonly id: string;
  readonly texts: readonly string[];
  /** A text for each cell that is the same for equal cells. */
  readonly prints: readonly string[];
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

export async function readState(source: StorageHandle | StorageMoment): Promise<State> {
  const [found, all] = await Promise.all([
    source.list<unknown>({ limit: SHOWN.keys + 1 }),
    tablesOf(source),
  ]);
  const tables = all.filter(({ kind }) => kind === 'table').slice(0, SHOWN.tables);
  return {
    keys: [...found].slice(0, SHOWN.keys).map(([key, value]) => ({
      key,
      text: lineOf(value),
      print: printOf(value),
    })),
    hasMoreKeys: found.size > SHOWN.keys,
    tables: await Promise.all(tables.map((table) => readTable(source, table))),
  };
}

const ALL = { sort: null, filter: '' } as const;

async function readTable(source: StorageHandle | StorageMoment, table: Table): Promise<ShownTable> {
  const [rows, { n }] = await Promise.all([
    source.sql.exec(...rowsQuery(table, ALL, 0, SHOWN.rows)).toArray(),
    source.sql.exec<{ n: number }>(...countQuery(table, ALL)).one(),
  ]);
  const columns = table.columns.map(({ name }) => shortened(name, LETTERS.name));
  return {
    name: shortened(table.name, LETTERS.name),
    columns,
    rows: rows.map((row) => {
      const values = valuesOf(table, row);
      const cells = values.slice(0, columns.length);
      return {
        id: idOf(values.slice(columns.length).map(printOf)),
        texts: cells.map(cellText),
        prints: cells.map(printOf),
      };
    }),
    count: n,
  };
}

export type Change = 'added' | 'changed' | 'removed';

/** The differences between two moments. */
export interface Differences {
  readonly keys: ReadonlyMap<string, Change>;
  readonly tables: ReadonlyMap<string, TableDifferences>;
  /** The tables that differ and whose rows cannot be identified. */
  readonly unnamed: readonly string[];
}

export interface TableDifferences {
  /** The columns that identify a row. A name that no column has stands for the row's number. */
  readonly columns: readonly string[];
  readonly rows: ReadonlyMap<string, Change>;
}

export function differencesOf({ keys, tables, unnamed }: Compared): Differences {
  return {
    unnamed: unnamed.map((name) => shortened(name, LETTERS.name)),
    keys: new Map(keys.shown.map(({ key, before, after }) => [key, changeOf(before, after)])),
    tables: new Map(
      [...tables].map(([name, { shown }]) => {
        const columns = Object.keys(shown[0]?.key ?? {});
        const rows = shown.map(({ key, before, after }): [string, Change] => [
          idOf(columns.map((column) => printOf(key[column]))),
          changeOf(before ?? undefined, after ?? undefined),
        ]);
        const names = columns.map((column) => shortened(column, LETTERS.name));
        return [shortened(name, LETTERS.name), { columns: names, rows: new Map(rows) }];
      }),
    ),
  };
}

/** Returns the change of one row. */
export function changeOfRow(
  { tables }: Differences,
  { name, columns }: ShownTable,
  { id, prints }: ShownRow,
): Change | null {
  const changes = tables.get(name);
  if (changes === undefined) return null;
  // A row without a primary key is identified by its number, which is in none of its columns.
  const places = changes.columns.map((column) => columns.indexOf(column));
  const key = places.includes(-1) ? id : idOf(places.map((place) => prints[place]!));
  return changes.rows.get(key) ?? null;
}

/** A text for comparison that would be longer than this is replaced by its digest. */
const PRINT_LETTERS_MAX = 200;

function printOf(value: unknown): string {
  const print = fingerprintOf(value);
  return print.length > PRINT_LETTERS_MAX ? bytesToHex(sha256(utf8ToBytes(print))) : print;
}

const idOf = (prints: readonly string[]) => prints.join('\n');

function changeOf(before: unknown, after: unknown): Change {
  if (before === undefined) return 'added';
  return after === undefined ? 'removed' : 'changed';
}
