// Reads the table sqlite_sequence, which has the last rowid of each table with AUTOINCREMENT.

import type { Changes } from '../changes/changes.ts';
import { exactRows, type ReadValue } from './exact-rows.ts';
import type { OwnSql } from './own-sql.ts';
import type { Schema } from './table-shape.ts';

const VALUES: readonly ReadValue[] = [
  { sql: 'name', stores: 'texts' },
  { sql: 'seq', stores: 'numbers' },
];

export function readSequences(sql: OwnSql, { hasSequences }: Schema): Changes['sequences'] {
  if (!hasSequences) return null;
  const rows = exactRows(sql, VALUES, (both) => `SELECT ${both} FROM sqlite_sequence`);
  return rows as [string, number | bigint][];
}
