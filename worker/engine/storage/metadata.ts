// Reads and writes the hidden table of the object's metadata. Its only entry today is the time of the alarm.
//
// The table and the key are workerd's own (`_cf_METADATA`, 1 = alarm in nanoseconds), so that an
// alarm moves with the file. The first write creates the table, as with the table of keys.

import { type Database, HiddenTable } from '../sql/database.ts';

const COLUMNS = '( key INTEGER PRIMARY KEY, value BLOB )';
const GET = 'SELECT value FROM _cf_METADATA WHERE key = 1 AND value IS NOT NULL';
const SET =
  'INSERT INTO _cf_METADATA VALUES (1, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value';
const NANOSECONDS = 1_000_000n;

export class Metadata {
  readonly #database: Database;
  readonly #table: HiddenTable;

  constructor(database: Database) {
    this.#database = database;
    this.#table = new HiddenTable(database, '_cf_METADATA', COLUMNS);
  }

  /** The alarm's time in milliseconds, or null if none is set. */
  get alarm(): number | null {
    if (!this.#table.exists) return null;
    const statement = this.#database.statement(GET);
    const time = statement.step() ? Number(statement.columnInt64(0) / NANOSECONDS) : null;
    statement.reset();
    return time;
  }

  /** Stores the alarm's time, or null for no alarm. The caller has opened a transaction. */
  setAlarm(timeMs: number | null): void {
    if (timeMs === null && !this.#table.exists) return;
    this.#table.create();
    const statement = this.#database.statement(SET);
    if (timeMs === null) statement.bindNull(1);
    else statement.bindInt64(1, BigInt(timeMs) * NANOSECONDS);
    try {
      statement.step();
    } finally {
      statement.reset();
    }
  }

  /** Creates the table. The caller has opened a transaction. */
  create(): void {
    this.#table.create();
  }

  get exists(): boolean {
    return this.#table.exists;
  }

  /** Called after a rollback or a reset, which may have removed the table. */
  invalidate(): void {
    this.#table.forget();
  }
}
