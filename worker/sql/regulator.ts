// What a statement of user SQL may touch.
//
// SQLite asks its authorizer while it compiles a statement, also when it compiles one again. Trusted
// statements are not asked about: `regulate` is on only while user SQL is compiled or stepped.

import type { StorageError } from '../../src/contract/errors.ts';
import type { Pointer, Sqlite } from '../vfs/sqlite-module.ts';

export class Regulator {
  /** True while user SQL is compiled or stepped. */
  regulating = false;

  constructor(_sqlite: Sqlite, _db: Pointer) {}

  explain(_error: StorageError): StorageError | undefined {
    return undefined;
  }

  dispose(): void {}
}
