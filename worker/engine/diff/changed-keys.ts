// Finds the rows that may differ between two states, in the pages that differ.
//
// A row is left out if its entry in the b-tree is the same in both states, with the same overflow pages; a split of a
// page moves rows without changing them. If a value is replaced by one of the same size, only its overflow pages may
// differ and no leaf does; then its entry is searched in all leaves.
//
// Invariant: the result never has too few rows. Callers read the rows, and find those that are equal.

import { sameCell } from '../sql/cells.ts';
import type { Key, KeyOrder } from './key-order.ts';
import type { StatePages, Tree } from './state-pages.ts';
import { type ComparedTable, type Pair, SIDES, type Side, tableOf } from './touched-pages.ts';
import type { TreeCell } from './tree-page.ts';

/** The key of a row: its rowid, or the values of its primary key. */
export type RowKey = bigint | Key;

interface Candidate {
  readonly key: RowKey;
  readonly cells: [before?: TreeCell, after?: TreeCell];
}

export class ChangedKeys {
  readonly #states: Pair<StatePages>;
  readonly #keyOrder: KeyOrder;
  readonly #tables: readonly ComparedTable[];
  readonly #found = new Map<string, Map<string, Candidate>>();
  /** The overflow pages that differ, for each state. */
  readonly #overflow: readonly [Set<number>, Set<number>] = [new Set(), new Set()];
  /** The overflow pages whose entry is not known yet, for each state. */
  readonly #unknown: readonly [Set<number>, Set<number>];

  /**
   * `otherTrees` returns the later state's trees of indexes; it is called only if an overflow page belongs to no row.
   */
  constructor(
    states: Pair<StatePages>,
    keyOrder: KeyOrder,
    touched: readonly number[],
    changed: ReadonlySet<number>,
    tables: readonly ComparedTable[],
    otherTrees: () => readonly Tree[],
  ) {
    this.#states = states;
    this.#keyOrder = keyOrder;
    this.#tables = tables;
    const strays: number[] = [];
    for (const pageNumber of touched) {
      const pages = SIDES.map((side) => states[side].treePage(pageNumber));
      const owners = SIDES.map((side) => {
        const page = pages[side];
        return page?.cells.length ? tableOf(states, side, pageNumber, page, tables) : undefined;
      });
      const cells = pages.map((page) => page?.cells ?? []) as unknown as Pair<readonly TreeCell[]>;
      const isOfOne = owners[0] !== undefined && owners[0] === owners[1];
      const own = isOfOne ? withoutEqualEnds(cells) : cells;
      for (const side of SIDES) {
        const table = owners[side];
        if (table !== undefined) for (const cell of own[side]) this.#add(table, side, cell);
        else if (pages[side] === null && changed.has(pageNumber))
          this.#overflow[side].add(pageNumber);
        else if (side === 1 && cells[side].some(({ overflow }) => overflow !== 0))
          strays.push(pageNumber);
      }
    }
    this.#unknown = [new Set(this.#overflow[0]), new Set(this.#overflow[1])];
    this.#dropUnchanged();
    // It is enough to look in the later state: an earlier owner of a page has an entry in a leaf that differs, or the
    // same entry in both states.
    if (this.#unknown[1].size > 0) this.#dropFreePages();
    if (this.#unknown[1].size > 0 && strays.length > 0) this.#dropIndexPages(strays, otherTrees());
    if (this.#unknown[1].size > 0) this.#findOwners();
  }

  /** Returns the keys of a table's rows that may differ, in the order of the table. */
  of({ name, trees }: ComparedTable): readonly RowKey[] {
    const keys = [...(this.#found.get(name)?.values() ?? [])].map(({ key }) => key);
    const { order } = trees[1];
    if (order === null) {
      return [...BigInt64Array.from(keys as bigint[]).sort()];
    }
    return this.#keyOrder.sorted(keys as Key[], order);
  }

  #add({ name, trees }: ComparedTable, side: Side, cell: TreeCell): void {
    const { order } = trees[side];
    const key = order === null ? cell.rowid : this.#states[side].keyOf(cell, order);
    if (key === undefined || key === null) return;
    // The bytes of a cell contain its length, so different keys have different texts.
    const id = String(key);
    let rows = this.#found.get(name);
    if (rows === undefined) this.#found.set(name, (rows = new Map()));
    let candidate = rows.get(id);
    if (candidate === undefined) rows.set(id, (candidate = { key, cells: [] }));
    candidate.cells[side] = cell;
  }

  #dropUnchanged(): void {
    for (const rows of this.#found.values()) {
      for (const [id, { cells }] of rows) {
        const [before, after] = cells;
        let isChanged = !before || !after || !sameCell(before.bytes, after.bytes);
        for (const side of SIDES) if (this.#hasChangedOverflow(side, cells[side])) isChanged = true;
        if (!isChanged) rows.delete(id);
      }
    }
  }

  /** Marks the entry's overflow pages as known; returns true if one of them differs. */
  #hasChangedOverflow(side: Side, cell: TreeCell | undefined): boolean {
    if (cell === undefined || this.#overflow[side].size === 0) return false;
    let differs = false;
    for (const pageNumber of this.#states[side].overflowOf(cell)) {
      this.#unknown[side].delete(pageNumber);
      if (this.#overflow[side].has(pageNumber)) differs = true;
    }
    return differs;
  }

  #dropFreePages(): void {
    for (const pageNumber of this.#states[1].freePages()) this.#unknown[1].delete(pageNumber);
  }

  /** Marks overflow pages of index entries as known. */
  #dropIndexPages(pageNumbers: readonly number[], trees: readonly Tree[]): void {
    const state = this.#states[1];
    for (const pageNumber of pageNumbers) {
      const page = state.treePage(pageNumber)!;
      const isLive = trees.some((tree) => state.holds(tree, pageNumber, page));
      if (isLive) for (const cell of page.cells) this.#hasChangedOverflow(1, cell);
    }
  }

  #findOwners(): void {
    for (const table of this.#tables) {
      for (const cell of this.#states[1].entriesOf(table.trees[1])) {
        const unknown = this.#unknown[1].size;
        this.#hasChangedOverflow(1, cell);
        if (this.#unknown[1].size < unknown) this.#add(table, 1, cell);
        if (this.#unknown[1].size === 0) return;
      }
    }
  }
}

/** Leaves out the equal entries at the beginning and at the end of a page in both states. */
function withoutEqualEnds([before, after]: Pair<readonly TreeCell[]>): Pair<readonly TreeCell[]> {
  const isSame = (i: number, j: number) => {
    const [old, now] = [before[i]!, after[j]!];
    return old.overflow === 0 && now.overflow === 0 && sameCell(old.bytes, now.bytes);
  };
  if (before.length === after.length) {
    const differs = (_: TreeCell, i: number) => !isSame(i, i);
    return [before.filter(differs), after.filter(differs)];
  }
  const count = Math.min(before.length, after.length);
  let start = 0;
  while (start < count && isSame(start, start)) start++;
  let end = 0;
  while (end < count - start && isSame(before.length - 1 - end, after.length - 1 - end)) end++;
  return [before.slice(start, before.length - end), after.slice(start, after.length - end)];
}
