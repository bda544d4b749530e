// SQLite on an object's log: the database opened through the VFS, and forgotten by it when closed.

import type { ObjectFiles } from '../log/object-files.ts';
import { Database, type DatabaseEvents } from '../sql/database.ts';
import type { Limits } from '../sql/query-limits.ts';
import type { Sqlite } from '../vfs/sqlite-module.ts';

export interface LogDatabase {
  readonly database: Database;
  /** Closes it as soon as none of its calls is on the stack. */
  close(): void;
}

/** `onClosed` is called once it has been closed. @throws CORRUPT, IO, DISK_FULL */
export function openLogDatabase(
  sqlite: Sqlite,
  files: Pick<ObjectFiles, 'file'>,
  events: DatabaseEvents,
  limits?: Limits,
  onClosed: () => void = () => {},
): LogDatabase {
  const { vfs } = sqlite;
  const name = vfs.attach(files.file);
  try {
    const lastVfsError = () => vfs.takeError(name);
    const options = { lastVfsError, ...(limits !== undefined && { limits }) };
    const database = new Database(sqlite, name, vfs.name, events, options);
    return {
      database,
      close() {
        database.close(() => {
          vfs.detach(name);
          onClosed();
        });
      },
    };
  } catch (error) {
    vfs.detach(name);
    throw error;
  }
}
