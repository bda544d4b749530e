// SQLite for the simulations. It is watched: using a pointer after its end is a failure, whatever the effect.
// One per process.

import type { Sqlite } from '../../../worker/engine/vfs/sqlite-module.ts';
import { withLivePointers } from '../worker/live-pointers.ts';
import { type RefusingAllocator, startRefusingSqlite } from '../worker/refusing-allocator.ts';

export interface WatchedSqlite {
  readonly sqlite: Sqlite;
  /** The allocator of its memory. */
  readonly allocator: RefusingAllocator;
  /** The violations since the last call. */
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
