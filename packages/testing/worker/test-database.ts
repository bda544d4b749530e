// A database in memory, for tests in Node: only the test opens transactions.

import type { StorageError } from '../../../src/shared/contract/errors.ts';
import { Database, type DatabaseEvents } from '../../../worker/engine/sql/database.ts';
import { completeLimits, type Limits } from '../../../worker/engine/sql/query-limits.ts';
import { loadSqliteInNode } from './sqlite.ts';

/** Opens an empty database that reports to `events`. */
export async function openInMemory(
  events: Partial<DatabaseEvents> = {},
  limits: Limits = completeLimits(),
): Promise<Database> {
  const silent: DatabaseEvents = { beforeWrite() {}, onCritical(_: StorageError) {} };
  const sqlite = await loadSqliteInNode();
  return new Database(sqlite, ':memory:', undefined, { ...silent, ...events }, { limits });
}

/** Runs user SQL; returns its rows as arrays. */
export function rows(database: Database, sql: string, ...bindings: unknown[]): unknown[][] {
  return database.exec(sql, bindings).raw().toArray();
}

/** The code of the error that the call throws; undefined when it does not. */
export function codeOf(call: () => unknown): string | undefined {
  try {
    call();
    return undefined;
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
}
