// SQLite for the simulations. Every use of a pointer after its end counts as a failure, whatever its effect. There is
// one per process.

import type { Sqlite } from '../../../worker/engine/vfs/sqlite-module.ts';
import { withLivePointers } from '../worker/live-pointers.ts';
import { type RefusingAllocator, startRefusingSqlite } from '../worker/refusing-allocator.ts';

export interface WatchedSqlite {
  readonly sqlite: Sqlite;
  /** The allocator of SQLite's memory, which can refuse requests. */
  readonly allocator: RefusingAllocator;
  /** Returns the violations since the last call. */
  takeViolations(): string[];
}

export function loadWatchedSqlite(): WatchedSqlite {
  const violations: string[] = [];
  const { sqlite, allocator } = startRefusingSqlite();
  return {
    sqlite: withLivePointers(sqlite, (found) => void violations.push(found)),
    allocator,
    takeViolations: () => violations.splice(0),
  };
}
