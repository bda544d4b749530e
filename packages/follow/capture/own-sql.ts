// Runs this package's own statements on the object's database. Followers do not receive their writes as changes.

import type { DurableObjectStorage, SqlStorageValue } from '@ctx-storage/core/storage';

export interface OwnSql {
  /** Runs a statement, and returns its rows. */
  rows(query: string, ...bindings: unknown[]): SqlStorageValue[][];
  /** True for the name of a table, trigger or view of this package. */
  isOwn(name: string): boolean;
}

/**
 * Must be called before `exec` is wrapped. `isOwn` returns true for the names of this package's tables, triggers and
 * views.
 */
export function ownSql({ sql }: Pick<DurableObjectStorage, 'sql'>, isOwn: OwnSql['isOwn']): OwnSql {
  const exec = sql.exec.bind(sql);
  return {
    isOwn,
    rows: (query, ...bindings) => [...exec(query, ...bindings).raw()],
  };
}
