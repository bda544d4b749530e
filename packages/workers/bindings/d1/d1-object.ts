// The object that keeps the data of one D1 database, in the tables of its storage.
//
// Invariant: the statements of a call take effect together or not at all.

import { statementsIn, withoutLastComments } from '@ctx-storage/core/contract';
import { storageError } from '@ctx-storage/core/errors';
import { DurableObject } from '@ctx-storage/worker/realm';

/** A value that a statement can be bound to. */
export type D1Value = number | string | null | Uint8Array;

export interface D1Query {
  readonly sql: string;
  readonly params: readonly D1Value[];
}

export interface D1Meta {
  readonly served_by: string;
  /** The time that the statement took, in milliseconds. */
  readonly duration: number;
  readonly changes: number;
  readonly last_row_id: number;
  readonly changed_db: boolean;
  /** The size of the database after the statement, in bytes. */
  readonly size_after: number;
  readonly rows_read: number;
  readonly rows_written: number;
}

/** The result of one statement. Values that are bytes become arrays of numbers in its rows. */
export interface D1Rows {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
  readonly meta: D1Meta;
}

/**
 * The results of a call, or its failure as a value: an error that an object throws would reach the caller with extra
 * members.
 */
export type D1Answer =
  | { readonly results: readonly D1Rows[]; readonly bookmark: string | null }
  | { readonly error: string };

export interface D1Migration {
  /** The name of the migration's file, which the table of applied migrations lists. */
  readonly name: string;
  readonly sql: string;
}

type Counts = { changes: number; lastRowId: number };

const COUNTS = 'SELECT total_changes() AS changes, last_insert_rowid() AS lastRowId';

/** Returns the statement that makes the table of applied migrations as wrangler makes it. `table` is a quoted name. */
const migrationTable = (table: string) => `
  CREATE TABLE IF NOT EXISTS ${table}(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT UNIQUE,
    applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL);`;

export class D1Object extends DurableObject {
  /** Runs the queries in one transaction. The answer has a bookmark only if `wantsBookmark` is true. */
  async query(given: readonly D1Query[], wantsBookmark: boolean): Promise<D1Answer> {
    const queries = given.filter(({ sql }) => hasStatement(sql));
    if (queries.length === 0) return { error: 'No SQL statements detected.' };
    const { storage } = this.ctx;
    try {
      const results = storage.transactionSync(() => queries.map((query) => this.#run(query)));
      return { results, bookmark: wantsBookmark ? await storage.getCurrentBookmark() : null };
    } catch (error) {
      return { error: messageOf(error) };
    }
  }

  /**
   * Applies the migrations that the table `tableName` does not list. Each adds its own row there in the same
   * transaction.
   *
   * @throws MIGRATION_FAILED that names the file; the migrations before it stay applied
   */
  migrate(migrations: readonly D1Migration[], tableName: string): void {
    const table = `"${tableName.replaceAll('"', '""')}"`;
    this.#sql.exec(migrationTable(table));
    const rows = this.#sql.exec<{ name: string }>(`SELECT name FROM ${table}`).toArray();
    const applied = new Set(rows.map(({ name }) => name));
    for (const { name, sql } of migrations) {
      if (applied.has(name)) continue;
      try {
        this.ctx.storage.transactionSync(() => {
          for (const statement of statementsIn(sql).map(withoutLastComments)) {
            if (statement !== '') this.#sql.exec(statement);
          }
          this.#sql.exec(`INSERT INTO ${table}(name) VALUES (?)`, name);
        });
      } catch (error) {
        throw storageError(
          'MIGRATION_FAILED',
          `D1: the migration ${name} failed and left no change: ${messageOf(error)} Correct the file; no statement runs ` +
            'before all migrations are applied.',
          { cause: error },
        );
      }
    }
  }

  #run({ sql, params }: D1Query): D1Rows {
    const start = performance.now();
    const sizeBefore = this.#sql.databaseSize;
    const earlier = SINGLE_SELECT.test(sql) ? undefined : this.#counts();
    const cursor = this.#sql.exec(sql, ...params);
    const rows = [...cursor.raw()].map((row) => row.map(toJsonValue));
    const { changes, lastRowId } = this.#counts();
    const before = earlier ?? { changes, lastRowId };
    const size_after = this.#sql.databaseSize;
    return {
      columns: cursor.columnNames,
      rows,
      meta: {
        served_by: 'miniflare.db',
        duration: performance.now() - start,
        changes: changes - before.changes,
        last_row_id: lastRowId,
        changed_db:
          changes !== before.changes || lastRowId !== before.lastRowId || size_after !== sizeBefore,
        size_after,
        rows_read: cursor.rowsRead,
        rows_written: cursor.rowsWritten,
      },
    };
  }

  #counts(): Counts {
    return this.#sql.exec<Counts>(COUNTS).one();
  }

  get #sql() {
    return this.ctx.storage.sql;
  }
}

function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.replace(/^exec\(\): /, '');
}

/** Matches a text that is one SELECT, which changes no counts, so that they need not be read before it. */
const SINGLE_SELECT = /^\s*select\b[^;]*$/i;

/**
 * Returns whether a text has a statement. Like D1, it ignores only comments that follow white space or a blank line.
 */
function hasStatement(sql: string): boolean {
  let isAfterBlank = false;
  return sql.split('\n').some((line) => {
    const text = line.trimStart();
    const isComment = text.startsWith('--') && (isAfterBlank || text.length < line.length);
    isAfterBlank = text === '';
    return !isAfterBlank && !isComment;
  });
}

/** Converts a value of a row to the form that D1 gives it in JSON. */
function toJsonValue(value: unknown): unknown {
  if (value instanceof ArrayBuffer) return [...new Uint8Array(value)];
  if (typeof value !== 'number') return value;
  return Number.isFinite(value) ? value + 0 : null; // adding 0 makes 0 of -0
}
