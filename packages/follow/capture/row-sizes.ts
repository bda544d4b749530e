// Tells the sizes of rows in messages. SQLite knows the size of a value without reading it, so rows that are too large are
// not read.

import { sqlName } from './table-shape.ts';

/** The approximate number of bytes that a value takes in a message besides its text or bytes. */
export const CELL_BYTES = 9;

/**
 * Binds the greatest number of rows of a statement. SQLite compiles a statement again for each value of a parameter that is
 * the limit itself, which takes five times as long as a statement of a few rows.
 */
export const LIMIT = 'LIMIT 0 + ?';

/** Returns an SQL expression of the approximate number of bytes that these columns of a row take in a message. */
export function rowBytesSql(table: string, columns: readonly string[]): string {
  const sizes = columns.map((name) => `coalesce(octet_length(${table}.${sqlName(name)}), 0)`);
  return `${CELL_BYTES * columns.length} + ${sumOf(sizes)}`;
}

/** Adds the terms in halves, because an SQL expression may have a depth of 100, and a table as many columns. */
function sumOf(terms: readonly string[]): string {
  if (terms.length === 1) return terms[0]!;
  const half = Math.ceil(terms.length / 2);
  return `(${sumOf(terms.slice(0, half))} + ${sumOf(terms.slice(half))})`;
}
