// Writes the content of another object to the copy of it.
//
// Does not know where the content comes from.

import type { KvStore } from '../kv/kv-store.ts';
import type { Database } from '../sql/database.ts';

/** The database of an object, to the writes of `replicate`: statements of the storage's own, and the keys. */
export interface Copy {
  readonly database: Database;
  readonly kv: KvStore;
}

/** Runs the writes while no trigger runs, and no foreign key and no CHECK is enforced: those of the other object have. */
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
