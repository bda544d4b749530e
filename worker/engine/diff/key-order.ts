// The order of the entries of an index, and of the rows of a table without rowid.
//
// Nulls come first, then numbers, texts and blobs: https://sqlite.org/datatype3.html#sort_order. A text is compared by
// its collation.

import { CELL, type Cell, contentOf, numberOfCell } from '../sql/cells.ts';

export type Collation = 'BINARY' | 'NOCASE' | 'RTRIM';

/** How one column of a key is compared. */
export interface KeyColumn {
  readonly collation: Collation;
  readonly isDescending: boolean;
}

const RANKS: Readonly<Record<number, number>> = {
  [CELL.null]: 0,
  [CELL.integer]: 1,
  [CELL.real]: 1,
  [CELL.text]: 2,
  [CELL.blob]: 3,
};

/** Negative: `a` comes first. Keys with as many columns as the order has. */
export function compareKeyCells(
  a: readonly Cell[],
  b: readonly Cell[],
  order: readonly KeyColumn[],
): number {
  for (const [column, { collation, isDescending }] of order.entries()) {
    const result = compareCells(a[column]!, b[column]!, collation);
    if (result !== 0) return isDescending ? -result : result;
  }
  return 0;
}

function compareCells(a: Cell, b: Cell, collation: Collation): number {
  const rank = RANKS[a[0]!]!;
  const difference = rank - RANKS[b[0]!]!;
  if (difference !== 0) return difference;
  if (rank === 0) return 0;
  if (rank === 1) {
    const [left, right] = [numberOfCell(a), numberOfCell(b)];
    return left < right ? -1 : left > right ? 1 : 0;
  }
  const isText = rank === 2;
  return compareContents(contentOf(a), contentOf(b), isText ? collation : 'BINARY');
}

function compareContents(a: Uint8Array, b: Uint8Array, collation: Collation): number {
  const aEnd = collation === 'RTRIM' ? trimmedEnd(a) : a.length;
  const bEnd = collation === 'RTRIM' ? trimmedEnd(b) : b.length;
  const end = Math.min(aEnd, bEnd);
  const of = collation === 'NOCASE' ? folded : (byte: number) => byte;
  for (let i = 0; i < end; i++) {
    const difference = of(a[i]!) - of(b[i]!);
    if (difference !== 0) return difference;
  }
  return aEnd - bEnd;
}

function folded(byte: number): number {
  return byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte;
}

function trimmedEnd(text: Uint8Array): number {
  let end = text.length;
  while (end > 0 && text[end - 1] === 0x20) end--;
  return end;
}
