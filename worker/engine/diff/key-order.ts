// The order of keys, which SQLite itself decides: of the entries of an index, and of the rows of a table without rowid.
//
// Two columns are compared by a query. Many keys are put in order by a table of their own, on the connection that reads
// the states: it keeps each key once.
//
// Invariant: two keys are the same exactly if SQLite would not have both in such an index.

import { type Cell, sameCell } from '../sql/cells.ts';
import type { Database } from '../sql/database.ts';

export type Collation = 'BINARY' | 'NOCASE' | 'RTRIM';

/** How one column of a key is compared. */
export interface KeyColumn {
  readonly collation: Collation;
  readonly isDescending: boolean;
}

/** The columns of a key, the first one first. */
export type KeyColumns = readonly KeyColumn[];

export type Key = readonly Cell[];

export class KeyOrder {
  readonly #database: Database;
  /** Tables with such keys, which have no rows, by their definition. */
  readonly #tables = new Map<string, string>();

  /** `database`: trusted statements may make temporary tables in it. */
  constructor(database: Database) {
    this.#database = database;
  }

  /** Negative: `a` comes first. Keys with as many columns as the order has. */
  compare(a: Key, b: Key, columns: KeyColumns): number {
    for (const [i, { collation, isDescending }] of columns.entries()) {
      const result = this.#compareCells(a[i]!, b[i]!, collation);
      if (result !== 0) return isDescending ? -result : result;
    }
    return 0;
  }

  /** The keys in order, each once. Keys with NULL, which no table without rowid has, are left out. */
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
