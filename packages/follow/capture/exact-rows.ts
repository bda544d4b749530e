// Rows with exactly the values that are stored.
//
// A runtime gives a number of JavaScript for INTEGER and REAL alike, and U+FFFD for what is not UTF-8. Rows are read as they
// are, and if a value of them may be another one, they are read again by a statement that gives it as a marked text: rare
// values cost a second statement. Columns that keep each type are marked from the start.
//
// Does not know tables.

import type { SqlStorageValue } from '@ctx-storage/core/storage';
import type { SentCell } from '../changes/changes.ts';
import { exactText, isSureText } from '../changes/exact-text.ts';
import type { OwnSql } from './own-sql.ts';

/**
 * What a column makes of a value, by its affinity: `numbers` an INTEGER of each REAL that is one, `anything` nothing. Blobs
 * are stored by all as they are, and texts that are no numbers.
 */
export type StoredAs = 'texts' | 'reals' | 'numbers' | 'anything';

export interface ReadValue {
  /** The expression of a statement that has the value. */
  readonly sql: string;
  readonly stores: StoredAs;
}

/**
 * The rows of a statement. `query` makes it from the list of what it selects; nothing may be written between its two runs.
 */
export function exactRows(
  sql: OwnSql,
  values: readonly ReadValue[],
  query: (selected: string) => string,
  ...bindings: unknown[]
): SentCell[][] {
  const read = (isExact: boolean) => {
    const selected = values.map((value) => selectedOf(value, isExact));
    return sql.rows(query(selected.join(', ')), ...bindings);
  };
  const decoded = (rows: readonly SqlStorageValue[][], isExact: boolean) => {
    const isMarked = values.map(({ stores }) => isMarkedAs(stores, isExact));
    return rows.map((row) => row.map((value, i) => cellOf(value, isMarked[i]!)));
  };
  const rows = read(false);
  return rows.every((row) => row.every(isSure)) ? decoded(rows, false) : decoded(read(true), true);
}

function isMarkedAs(stores: StoredAs, isExact: boolean): boolean {
  return stores === 'anything' || (isExact && stores === 'numbers');
}

function selectedOf({ sql, stores }: ReadValue, isExact: boolean): string {
  const text = isExact ? exactText(sql) : sql;
  if (!isMarkedAs(stores, isExact)) return text;
  const isNumber = `${sql} BETWEEN -${Number.MAX_SAFE_INTEGER} AND ${Number.MAX_SAFE_INTEGER}`;
  const integer =
    stores === 'anything'
      ? `'i' || ${sql}`
      : `CASE WHEN ${isNumber} THEN ${sql} ELSE 'i' || ${sql} END`;
  return `CASE typeof(${sql}) WHEN 'text' THEN 't' || ${text} WHEN 'integer' THEN ${integer} ELSE ${sql} END`;
}

function isSure(value: SqlStorageValue): boolean {
  if (typeof value === 'string') return isSureText(value);
  return typeof value !== 'number' || Math.abs(value) <= Number.MAX_SAFE_INTEGER;
}

function cellOf(value: SqlStorageValue, isMarked: boolean): SentCell {
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (!isMarked || typeof value !== 'string') return value;
  const content = value.slice(1);
  return value[0] === 'i' ? BigInt(content) : content;
}
