// SQLite on an object's log: the database opened through the VFS, and forgotten by it when closed.

import type { ObjectStore } from '../log/object-store.ts';
import { Database, type DatabaseEvents } from '../sql/database.ts';
import type { LogVfs } from '../vfs/log-vfs.ts';
import type { Sqlite } from '../vfs/sqlite-module.ts';

export interface LogDatabase {
  readonly database: Database;
  close(): void;
}

/** @throws CORRUPT, IO, DISK_FULL */
export function openLogDatabase(
  sqlite: Sqlite,
  vfs: LogVfs,
  store: Pick<ObjectStore, 'file'>,
  events: DatabaseEvents,
): LogDatabase {
  const name = vfs.attach(store.file);
  try {
    const lastVfsError = () => vfs.takeError(name);
    const database = new Database(sqlite, name, vfs.name, events, { lastVfsError });
    return {
      database,
      close() {
        database.close();
        vfs.detach(name);
      },
    };
  } catch (error) {
    vfs.detach(name);
    throw error;
  }
}
