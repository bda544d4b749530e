// The statements of this package on the object's database, beside those of the class: they are not noted.

import type { DurableObjectStorage, SqlStorageValue } from '@ctx-storage/core/storage';

export interface OwnSql {
  /** The rows of a statement, or none. */
  rows(query: string, ...bindings: unknown[]): SqlStorageValue[][];
  /** True for the name of a table, trigger or view of this package. */
  isOwn(name: string): boolean;
}

/** `isOwn`: tables of this package beside those of the notes. Made before `exec` is wrapped. */
export function ownSql({ sql }: Pick<DurableObjectStorage, 'sql'>, isOwn: OwnSql['isOwn']): OwnSql {
  const exec = sql.exec.bind(sql);
  return {
    isOwn,
    rows: (query, ...bindings) => [...exec(query, ...bindings).raw()],
  };
}
