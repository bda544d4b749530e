// Reads rows with exactly the values that SQLite stores.
//
// A runtime reads INTEGER and REAL alike as a JavaScript number, and bytes that are not UTF-8 as U+FFFD. So rows are read
// first as they are. If a value may be wrong, they are read again by a statement that returns such values as marked texts
// ('i' before an integer, 't' before a text). Only rare values cost this second statement. Columns that can store every
// type are marked in the first one.
//
// This file does not know tables.

import type { SqlStorageValue } from '@ctx-storage/core/storage';
import type { SentCell } from '../changes/changes.ts';
import { exactTextSql, isTextReadExactly } from '../changes/exact-text.ts';
import type { OwnSql } from './own-sql.ts';

/**
 * The types of values that a column stores, by its affinity. `numbers` turns a REAL without a fraction into an INTEGER;
 * `anything` converts nothing. Every column stores blobs, and texts that are not numbers, unchanged.
 */
export type StoredAs = 'texts' | 'reals' | 'numbers' | 'anything';

export interface ReadValue {
  /** The SQL expression that reads the value. */
  readonly sql: string;
  readonly stores: StoredAs;
}

/** Returns the rows of a statement, which `query` makes from a list of expressions. It may run twice, without writes in between. */
export function exactRows(
  sql: OwnSql,
  values: readonly ReadValue[],
  query: (selected: string) => string,
  ...bindings: unknown[]
): SentCell[][] {
  const read = (isExact: boolean) => {
    const selected = values.map((value) => selectedExpression(value, isExact));
    return sql.rows(query(selected.join(', ')), ...bindings);
  };
  const decoded = (rows: readonly SqlStorageValue[][], isExact: boolean) => {
    const isMarked = values.map(({ stores }) => isMarkedColumn(stores, isExact));
    return rows.map((row) => row.map((value, i) => sentCell(value, isMarked[i]!)));
  };
  const rows = read(false);
  return rows.every((row) => row.every(isReadExactly))
    ? decoded(rows, false)
    : decoded(read(true), true);
}

function isMarkedColumn(stores: StoredAs, isExact: boolean): boolean {
  return stores === 'anything' || (isExact && stores === 'numbers');
}

function selectedExpression({ sql, stores }: ReadValue, isExact: boolean): string {
  const text = isExact ? exactTextSql(sql) : sql;
  if (!isMarkedColumn(stores, isExact)) return text;
  const isNumber = `${sql} BETWEEN -${Number.MAX_SAFE_INTEGER} AND ${Number.MAX_SAFE_INTEGER}`;
  const integer =
    stores === 'anything'
      ? `'i' || ${sql}`
      : `CASE WHEN ${isNumber} THEN ${sql} ELSE 'i' || ${sql} END`;
  return `CASE typeof(${sql}) WHEN 'text' THEN 't' || ${text} WHEN 'integer' THEN ${integer} ELSE ${sql} END`;
}

function isReadExactly(value: SqlStorageValue): boolean {
  if (typeof value === 'string') return isTextReadExactly(value);
  return typeof value !== 'number' || Math.abs(value) <= Number.MAX_SAFE_INTEGER;
}

function sentCell(value: SqlStorageValue, isMarked: boolean): SentCell {
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (!isMarked || typeof value !== 'string') return value;
  const content = value.slice(1);
  return value[0] === 'i' ? BigInt(content) : content;
}
