// SQLite as the simulations use it: quiet about failed steps, because failing is what is tried, and
// watched, so that a pointer used after its end is a failure whatever it did. One in a process.

import { withLivePointers } from '../testing/live-pointers.ts';
import { loadSqliteInNode } from '../testing/sqlite.ts';
import type { Sqlite } from '../vfs/sqlite-module.ts';

export interface WatchedSqlite {
  readonly sqlite: Sqlite;
  /** What may not be done and was, since it was last asked. */
  takeViolations(): string[];
}

export async function loadWatchedSqlite(): Promise<WatchedSqlite> {
  const violations: string[] = [];
  const module = await loadSqliteInNode();
  module.sqlite3.config.warn = () => {};
  module.sqlite3.config.error = () => {};
  return {
    sqlite: withLivePointers(module, (found) => void violations.push(found)),
    takeViolations: () => violations.splice(0),
  };
}
