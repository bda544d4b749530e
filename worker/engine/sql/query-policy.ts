// Declares what user SQL may do, and who learns of its reads. Each call passes its policy as an argument, like the
// Regulator of workerd's statements. The database stores no policy, so a caller cannot leave its own to the next one.

import type { TableRows } from './point-lookup.ts';
import type { QueryAccess, TableSet } from './query-tables.ts';
import type { ToldRow } from './row-watch.ts';

/** What the statements of one call may do. */
export interface QueryPolicy {
  /** Makes the error of a statement that would write; null if statements may write. */
  readonly refusal: (() => Error) | null;
  /** Collects what the statements read, for the watcher; null if no live read runs. */
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
