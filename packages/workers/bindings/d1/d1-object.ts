// The data of one D1 database: the tables of its storage.
//
// Invariant: the statements of a call take effect together or not at all.

import { statementsIn, withoutLastComments } from '@ctx-storage/core/contract';
import { storageError } from '@ctx-storage/core/errors';
import { DurableObject } from '@ctx-storage/worker/realm';

/** A number, text, null or bytes. */
export type D1Value = number | string | null | Uint8Array;

export interface D1Query {
  readonly sql: string;
  readonly params: readonly D1Value[];
}

export interface D1Meta {
  readonly served_by: string;
  /** In milliseconds. */
  readonly duration: number;
  readonly changes: number;
  readonly last_row_id: number;
  readonly changed_db: boolean;
  /** In bytes. */
  readonly size_after: number;
  readonly rows_read: number;
  readonly rows_written: number;
}

/** A result; bytes in rows are arrays of numbers. */
export interface D1Rows {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
  readonly meta: D1Meta;
}

/** Failures are values, because an error of another object would have marks of the call. */
export type D1Answer =
  | { readonly results: readonly D1Rows[]; readonly bookmark: string | null }
  | { readonly error: string };

export interface D1Migration {
  /** Of its file. */
  readonly name: string;
  readonly sql: string;
}

type Counts = { changes: number; lastRowId: number };

const COUNTS = 'SELECT total_changes() AS changes, last_insert_rowid() AS lastRowId';

/** In the form that wrangler makes; `table` is quoted. */
const migrationTable = (table: string) => `
  CREATE TABLE IF NOT EXISTS ${table}(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT UNIQUE,
    applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL);`;

export class D1Object extends DurableObject {
  /** `bookmark` of the answer is null unless it is asked for. */
  async query(given: readonly D1Query[], asksBookmark: boolean): Promise<D1Answer> {
    const queries = given.filter(({ sql }) => hasStatement(sql));
    if (queries.length === 0) return { error: 'No SQL statements detected.' };
    const { storage } = this.ctx;
    try {
      const results = storage.transactionSync(() => queries.map((query) => this.#run(query)));
      return { results, bookmark: asksBookmark ? await storage.getCurrentBookmark() : null };
    } catch (error) {
      return { error: factOf(error) };
    }
  }

  /**
   * Applies those that are not applied. Each takes effect with its row in the table `tableName`, or fails with neither.
   *
   * @throws MIGRATION_FAILED that names the file
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
          `D1: the migration ${name} failed and left no change: ${factOf(error)} Correct the file; no statement runs ` +
            'before all migrations are applied.',
          { cause: error },
        );
      }
    }
  }

  #run({ sql, params }: D1Query): D1Rows {
    const start = performance.now();
    const sizeBefore = this.#sql.databaseSize;
    const earlier = ONE_SELECT.test(sql) ? undefined : this.#counts();
    const cursor = this.#sql.exec(sql, ...params);
    const rows = [...cursor.raw()].map((row) => row.map(plain));
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

function factOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.replace(/^exec\(\): /, '');
}

/** A single statement that changes nothing. */
const ONE_SELECT = /^\s*select\b[^;]*$/i;

/** Whether more is left than comments that follow white space at the start of a line, which D1 leaves out. */
function hasStatement(sql: string): boolean {
  let isAfterBlank = false;
  return sql.split('\n').some((line) => {
    const text = line.trimStart();
    const isComment = text.startsWith('--') && (isAfterBlank || text.length < line.length);
    isAfterBlank = text === '';
    return !isAfterBlank && !isComment;
  });
}

/** As JSON has it. */
function plain(value: unknown): unknown {
  if (value instanceof ArrayBuffer) return [...new Uint8Array(value)];
  if (typeof value !== 'number') return value;
  return Number.isFinite(value) ? value + 0 : null; // no -0
}
