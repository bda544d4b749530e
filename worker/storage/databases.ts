// The databases that a host has open, in one instance of SQLite.
//
// WebAssembly's memory grows and never shrinks. So when the last database is closed, and memory has grown, the instance is
// given up for a fresh one, and the browser takes its memory back.
//
// Invariant: an instance is given up only when this host has no database open in it.

import type { ObjectFiles } from '../log/object-files.ts';
import type { DatabaseEvents } from '../sql/database.ts';
import type { Limits } from '../sql/query-limits.ts';
import type { Sqlite } from '../vfs/sqlite-module.ts';
import { type LogDatabase, openLogDatabase } from './log-database.ts';

/** Memory that is not worth a fresh instance, in bytes: twice what one begins with. */
const KEPT_BYTES = 16 * 1024 * 1024;

export class Databases {
  #sqlite: Sqlite;
  readonly #limits: Limits;
  #openCount = 0;

  constructor(sqlite: Sqlite, limits: Limits) {
    this.#sqlite = sqlite;
    this.#limits = limits;
  }

  /** @throws CORRUPT, IO, DISK_FULL */
  open(files: Pick<ObjectFiles, 'file'>, events: DatabaseEvents): LogDatabase {
    const onClosed = () => {
      this.#openCount -= 1;
      if (this.#openCount === 0) this.#giveMemoryBack();
    };
    const opened = openLogDatabase(this.#sqlite, files, events, this.#limits, onClosed);
    this.#openCount += 1;
    return opened;
  }

  #giveMemoryBack(): void {
    if (this.#sqlite.memory.u8.length <= KEPT_BYTES) return;
    try {
      this.#sqlite = this.#sqlite.renew();
    } catch {
      // The device has no memory for another one; this one is sound, and is used on.
    }
  }
}
