// Applies changesets of SQLite's session extension.
//
// Invariant: a changeset is applied completely or not at all; the first conflict undoes it. Actions of foreign keys
// (ON DELETE CASCADE and so on) do not run, because the changeset itself contains the rows that they would change.

import type { Pointer, Sqlite } from '../vfs/sqlite-module.ts';
import type { Connection } from './connection.ts';
import { OK } from './sql-error.ts';

// Constants of https://sqlite.org/session/c_changeset_abort.html, and flags of sqlite3changeset_apply_v2.
const ABORT = 2;
const FOREIGN_KEY = 5;
const NO_FOREIGN_KEY_ACTIONS = 8;
/** Result codes of a changeset that a constraint refused: SQLITE_ABORT, or SQLITE_CONSTRAINT for a foreign key. */
const REFUSED_CODES = [4, 19];

/** The change that a constraint refused; a violated foreign key is reported without a table. */
export interface Refusal {
  readonly table: string | null;
}

export class Changesets {
  static readonly #ofModule = new WeakMap<Sqlite, Changesets>();

  readonly #handler: Pointer;
  #refusal: Refusal | null = null;

  private constructor(sqlite: Sqlite) {
    const { exports, memory } = sqlite;
    this.#handler = sqlite.install({
      parameters: 'iii',
      call: (_: Pointer, reason: number, iterator: Pointer) => {
        if (reason === FOREIGN_KEY) {
          this.#refusal = { table: null };
          return ABORT;
        }
        const out = memory.allocate(16);
        exports.sqlite3changeset_op(iterator, out, out + 4, out + 8, out + 12);
        this.#refusal = { table: memory.readCString(memory.i32[out >> 2]!) };
        memory.free(out);
        return ABORT;
      },
    });
  }

  /** Returns the instance that all connections of a module share; only one call runs at a time. */
  static of(sqlite: Sqlite): Changesets {
    let changesets = Changesets.#ofModule.get(sqlite);
    if (changesets === undefined) {
      changesets = new Changesets(sqlite);
      Changesets.#ofModule.set(sqlite, changesets);
    }
    return changesets;
  }

  apply(connection: Connection, changeset: Uint8Array): Refusal | null {
    const { exports, memory } = connection.sqlite;
    const at = memory.allocate(Math.max(1, changeset.length));
    memory.u8.set(changeset, at);
    this.#refusal = null;
    try {
      const resultCode = connection.call(() =>
        connection.guard.unbounded(() =>
          exports.sqlite3changeset_apply_v2(
            connection.pointer,
            changeset.length,
            at,
            0,
            this.#handler,
            0,
            0,
            0,
            NO_FOREIGN_KEY_ACTIONS,
          ),
        ),
      );
      if (this.#refusal !== null && REFUSED_CODES.includes(resultCode)) return this.#refusal;
      if (resultCode !== OK) throw connection.failure(resultCode);
      return null;
    } finally {
      memory.free(at);
    }
  }
}
