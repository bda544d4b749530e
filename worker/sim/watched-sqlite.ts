// SQLite for the simulations. It is watched: using a pointer after its end is a failure, whatever the effect.
// One per process.

import { withLivePointers } from '../testing/live-pointers.ts';
import { loadSqliteInNode } from '../testing/sqlite.ts';
import type { Sqlite } from '../vfs/sqlite-module.ts';

export interface WatchedSqlite {
  readonly sqlite: Sqlite;
  /** The violations since the last call. */
  takeViolations(): string[];
}

export async function loadWatchedSqlite(): Promise<WatchedSqlite> {
  const violations: string[] = [];
  const module = await loadSqliteInNode();
  return {
    sqlite: withLivePointers(module, (found) => void violations.push(found)),
    takeViolations: () => violations.splice(0),
  };
}
