// Compares and sorts keys as SQLite does: the entries of an index, and the rows of a table without rowid.
//
// A query of SQLite compares two columns. Many keys are sorted by a temporary table with such a key, on the connection
// that reads the states; the table holds each key once.
//
// Invariant: two keys are equal exactly if a unique index of SQLite could not contain both.

import { type Cell, sameCell } from '../sql/cells.ts';
import type { Database } from '../sql/database.ts';

export type Collation = 'BINARY' | 'NOCASE' | 'RTRIM';

/** The collation and direction of one column of a key. */
export interface KeyColumn {
  readonly collation: Collation;
  readonly isDescending: boolean;
}

/** The columns of a key in their order. */
export type KeyColumns = readonly KeyColumn[];

export type Key = readonly Cell[];

export class KeyOrder {
  readonly #database: Database;
  /** Names of the empty temporary tables with such keys, by their definition. */
  readonly #tables = new Map<string, string>();

  /** In `database`, temporary tables are created by trusted statements. */
  constructor(database: Database) {
    this.#database = database;
  }

  /** Returns a negative number if `a` comes first. Both keys must have as many columns as the order. */
  compare(a: Key, b: Key, columns: KeyColumns): number {
    for (const [i, { collation, isDescending }] of columns.entries()) {
      const result = this.#compareCells(a[i]!, b[i]!, collation);
      if (result !== 0) return isDescending ? -result : result;
    }
    return 0;
  }

  /** Returns the keys in order, each once. Keys with NULL are left out; tables without rowid have none. */
  sorted(keys: readonly Key[], columns: KeyColumns): readonly Key[] {
    if (keys.length < 2) return keys;
    const database = this.#database;
    const table = this.#tableOf(columns);
    database.run('BEGIN');
    try {
      const places = columns.map(() => '?').join();
      const insert = database.statement(`INSERT OR IGNORE INTO ${table} VALUES (${places})`);
      for (const key of keys) {
        key.forEach((cell, i) => void insert.bindCell(i + 1, cell));
        insert.step();
      }
      const select = database.statement(`SELECT * FROM ${table} ORDER BY ${termsOf(columns)}`);
      const sorted: Key[] = [];
      while (select.step()) sorted.push(columns.map((_, i) => select.columnCell(i)));
      return sorted;
    } finally {
      if (database.inTransaction) database.run('ROLLBACK');
    }
  }

  #tableOf(columns: KeyColumns): string {
    const names = columns.map((_, i) => `k${i}`).join();
    const definition = `(${names}, PRIMARY KEY (${termsOf(columns)})) WITHOUT ROWID`;
    let table = this.#tables.get(definition);
    if (table === undefined) {
      table = `temp.keys_${this.#tables.size}`;
      this.#database.runOnce(`CREATE TABLE ${table} ${definition}`);
      this.#tables.set(definition, table);
    }
    return table;
  }

  #compareCells(a: Cell, b: Cell, collation: Collation): number {
    if (sameCell(a, b)) return 0;
    const statement = this.#database.statement(
      `SELECT CASE WHEN ?1 IS ?2 COLLATE ${collation} THEN 0 ` +
        `WHEN ?1 < ?2 COLLATE ${collation} OR ?1 IS NULL THEN -1 ELSE 1 END`,
    );
    statement.bindCell(1, a);
    statement.bindCell(2, b);
    statement.step();
    const result = statement.columnNumber(0);
    statement.reset();
    return result;
  }
}

function termsOf(columns: KeyColumns): string {
  const terms = columns.map(
    ({ collation, isDescending }, i) => `k${i} COLLATE ${collation}${isDescending ? ' DESC' : ''}`,
  );
  return terms.join();
}
