// Writes the content of another object to an object that is a copy of it.
//
// Does not know where the content comes from.

import type { KvStore } from '../kv/kv-store.ts';
import type { Database } from '../sql/database.ts';

/** The copy as `replicate` writes it: its database, for trusted statements, and its keys. */
export interface Copy {
  readonly database: Database;
  readonly kv: KvStore;
}

/**
 * Runs the writes without triggers, foreign keys and CHECK constraints, because those of the other object have already
 * been applied.
 */
export function writeCopied(copy: Copy, write: (copy: Copy) => void): void {
  const { database } = copy;
  const ignoreChecks = (isOn: boolean) =>
    database.run(`PRAGMA ignore_check_constraints=${isOn ? 'ON' : 'OFF'}`);
  database.withoutTriggers(() => {
    database.withoutForeignKeys(true, () => {
      ignoreChecks(true);
      try {
        write(copy);
      } finally {
        ignoreChecks(false);
      }
    });
  });
}
