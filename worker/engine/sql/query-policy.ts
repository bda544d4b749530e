// What user SQL may do, and who learns of it: arguments of each call, as the Regulator of workerd's statements. The
// database keeps none, so that no caller can leave its own behind for another one.

import type { TableRows } from './point-lookup.ts';
import type { QueryAccess, TableSet } from './query-tables.ts';
import type { ToldRow } from './row-watch.ts';

/** What the statements of one call may do. */
export interface QueryPolicy {
  /** The error of a statement that would write; null: statements may write. */
  readonly refusal: (() => Error) | null;
  /** Collects what the statements read, for the watcher; null: nobody wants to know. */
  readonly reads: QueryReads | null;
}

export interface QueryReads {
  addTables(tables: TableSet): void;
  addRows(rows: TableRows): void;
}

/** Learns what the statements of one call touch. */
export interface QueryWatcher {
  /** A statement is about to run, which touches these tables. */
  onQuery(access: QueryAccess, reads?: QueryReads | null): void;
  /** A row of a table whose rows are told (`QueryAccess.byRow`) is about to change. */
  readonly onRow: ToldRow;
}
