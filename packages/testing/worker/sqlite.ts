// The SQLite module in Node, for tests, read from the checkout.

import { readFileSync } from 'node:fs';
import { loadSqlite, type Sqlite } from '../../../worker/engine/vfs/sqlite-module.ts';

/** The module; `npm run prepare` must have written worker/engine/vfs/sqlite3.wasm. */
export function loadSqliteInNode(): Promise<Sqlite> {
  return loadSqlite(
    new Uint8Array(
      readFileSync(new URL('../../../worker/engine/vfs/sqlite3.wasm', import.meta.url)),
    ),
  );
}
