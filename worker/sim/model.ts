// What the database must hold: the plain data beside the real one, and how the two are compared.

import type { Database } from '@sqlite.org/sqlite-wasm';

/** Contents of the simulated database; never changed once made. */
export interface Model {
  readonly entries: ReadonlyMap<string, string>;
  readonly tables: ReadonlySet<string>;
}

export const EMPTY: Model = { entries: new Map(), tables: new Set() };

export const ENTRIES_TABLE = 'entries';
export const CREATE_ENTRIES = `CREATE TABLE ${ENTRIES_TABLE}(k TEXT PRIMARY KEY, v TEXT) WITHOUT ROWID`;

/** What is wrong with the database, measured by the model; null when nothing is. */
export function difference(db: Database, model: Model): string | null {
  const integrity = db.selectValue('PRAGMA integrity_check');
  if (integrity !== 'ok') return `integrity_check: ${String(integrity)}`;
  const tables = new Set(
    db.selectValues("SELECT name FROM sqlite_schema WHERE type = 'table'") as string[],
  );
  const expected = [...model.tables].sort().join();
  const found = [...tables].sort().join();
  if (found !== expected) return `tables are ${found}, not ${expected}`;
  if (!tables.has(ENTRIES_TABLE)) return null;
  const rows = db.selectArrays(`SELECT k, v FROM ${ENTRIES_TABLE}`) as [string, string][];
  if (rows.length !== model.entries.size) {
    return `${rows.length} rows, not ${model.entries.size}`;
  }
  for (const [key, value] of rows) {
    if (model.entries.get(key) !== value) return `the value of ${key} is wrong`;
  }
  return null;
}
