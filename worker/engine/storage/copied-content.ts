// An object that is a copy of one elsewhere: only the content of the other one is written to it.
//
// Does not know where the content comes from.

import { type StorageError, storageError } from '../../../src/shared/contract/errors.ts';
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

export function isCopy(): StorageError {
  return storageError(
    'READ_ONLY',
    'The object is a copy of one on a server, which alone changes it; call a method of its class, or write to a branch.',
  );
}
