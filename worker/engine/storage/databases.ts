// The databases that a host has open, in one instance of SQLite.
//
// WebAssembly's memory grows and never shrinks. So when the last database is closed and memory has grown, the instance
// is replaced by a new one, and the browser frees the memory of the old one.
//
// Invariant: an instance is replaced only when this host has no database open in it.

import type { DatabaseFile } from '../file/file.ts';
import type { ObjectFiles } from '../log/object-files.ts';
import { Database, type DatabaseEvents } from '../sql/database.ts';
import type { Limits, OwnLimits } from '../sql/query-limits.ts';
import type { Sqlite } from '../vfs/sqlite-module.ts';

/** An instance with at most this memory is kept; it is twice the initial memory. */
const KEPT_BYTES = 16 * 1024 * 1024;

export class Databases {
  #sqlite: Sqlite;
  readonly #limits: Limits;
  #openCount = 0;

  constructor(sqlite: Sqlite, limits: Limits) {
    this.#sqlite = sqlite;
    this.#limits = limits;
  }

  /** Opens a database; limits that are passed replace the host's. @throws CORRUPT, IO, DISK_FULL */
  open(
    files: Pick<ObjectFiles, 'file'>,
    events: DatabaseEvents,
    given: OwnLimits = {},
  ): LogDatabase {
    const onClosed = () => {
      this.#openCount -= 1;
      if (this.#openCount === 0) this.#giveMemoryBack();
    };
    const limits = { ...this.#limits, ...given };
    const opened = openLogDatabase(this.#sqlite, files, events, limits, onClosed);
    this.#openCount += 1;
    return opened;
  }

  #giveMemoryBack(): void {
    if (this.#sqlite.memory.u8.length <= KEPT_BYTES) return;
    try {
      this.#sqlite = this.#sqlite.renew();
    } catch {
      // The device has no memory for a new instance, so keep using this one.
    }
  }
}

// ---- SQLite on an object's log: the database is opened through the VFS, which knows the file until the database is
// closed.

export interface LogDatabase {
  readonly database: Database;
  /** Attaches another file as schema `schema`, until the database is closed. @throws CORRUPT, IO */
  attach(file: DatabaseFile, schema: string): void;
  /** Closes the database as soon as none of its calls is on the stack. */
  close(): void;
}

/** Opens a database on a file; calls `onClosed` after it was closed. @throws CORRUPT, IO, DISK_FULL */
export function openLogDatabase(
  sqlite: Sqlite,
  files: Pick<ObjectFiles, 'file'>,
  events: DatabaseEvents,
  limits?: Limits,
  onClosed: () => void = () => {},
): LogDatabase {
  const { vfs } = sqlite;
  const name = vfs.attach(files.file);
  const names = [name];
  try {
    const lastVfsError = () => {
      for (const each of names) {
        const error = vfs.takeError(each);
        if (error !== undefined) return error;
      }
      return undefined;
    };
    const options = { lastVfsError, ...(limits !== undefined && { limits }) };
    const database = new Database(sqlite, name, vfs.name, events, options);
    return {
      database,
      attach(file, schema) {
        const attached = vfs.attach(file);
        names.push(attached);
        database.attach(attached, schema);
      },
      close() {
        database.close(() => {
          for (const each of names) vfs.detach(each);
          onClosed();
        });
      },
    };
  } catch (error) {
    vfs.detach(name);
    throw error;
  }
}
