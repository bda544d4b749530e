// For tests of differences: pages of trees, written by hand, that no SQLite would write.

import { StoredState } from './stored-states.ts';

const PAGE_BYTES = 4096;

export const numberOf = (value: number) => [
  value >>> 24,
  (value >> 16) & 255,
  (value >> 8) & 255,
  value & 255,
];

/** A database of empty pages but these, by their numbers. */
export function stateOf(
  count: number,
  pages: Readonly<Record<number, readonly number[]>>,
): StoredState {
  const bytes = new Uint8Array(count * PAGE_BYTES);
  for (const [pageNumber, page] of Object.entries(pages))
    bytes.set(page, (Number(pageNumber) - 1) * PAGE_BYTES);
  return new StoredState(bytes);
}

/** An inner page of a table: children with the largest rowid below each but the last. */
export function innerOf(
  ...children: readonly (readonly [child: number, rowid: number] | number)[]
): number[] {
  const page = Array<number>(PAGE_BYTES).fill(0);
  const last = children.at(-1) as number;
  const others = children.slice(0, -1) as (readonly [number, number])[];
  page.splice(0, 12, 5, 0, 0, 0, others.length, 0, 0, 0, ...numberOf(last));
  for (const [i, [child, rowid]] of others.entries()) {
    const at = PAGE_BYTES - 5 * (i + 1);
    page.splice(at, 5, ...numberOf(child), rowid);
    page.splice(12 + 2 * i, 2, at >> 8, at & 255);
  }
  return page;
}

/** A leaf of a table: rows of NULL with these rowids. */
export function leafOf(...rowids: readonly number[]): number[] {
  const page = Array<number>(PAGE_BYTES).fill(0);
  page.splice(0, 8, 13, 0, 0, 0, rowids.length, 0, 0, 0);
  for (const [i, rowid] of rowids.entries()) {
    const at = PAGE_BYTES - 4 * (i + 1);
    page.splice(at, 4, 2, rowid, 2, 0);
    page.splice(8 + 2 * i, 2, at >> 8, at & 255);
  }
  return page;
}

/** A page of an index of one small integer a row; of an inner page, with the children before each, and the last one. */
export function indexOf(values: readonly number[], children: readonly number[] = []): number[] {
  const page = Array<number>(PAGE_BYTES).fill(0);
  const isInner = children.length > 0;
  page.splice(0, 5, isInner ? 2 : 10, 0, 0, 0, values.length);
  if (isInner) page.splice(8, 4, ...numberOf(children.at(-1)!));
  for (const [i, value] of values.entries()) {
    const cell = [...(isInner ? numberOf(children[i]!) : []), 3, 2, 1, value];
    const at = PAGE_BYTES - 8 * (i + 1);
    page.splice(at, cell.length, ...cell);
    page.splice((isInner ? 12 : 8) + 2 * i, 2, at >> 8, at & 255);
  }
  return page;
}
