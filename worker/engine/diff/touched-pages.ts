// Finds the pages whose rows may differ between two states: pages that differ, and pages that have moved in a tree.
//
// SQLite frees a page without writing it, and another tree may use it with the same bytes. Then the page that referred
// to it differs. So for each inner page that differs, the children that only one state has there are touched too.
//
// Invariant: a row that exists in only one state, or whose entry differs, lies in a touched page of that state.

import { sameCell } from '../sql/cells.ts';
import type { StatePages, Tree } from './state-pages.ts';
import type { TreePage } from './tree-page.ts';

/** With more touched pages, whole tables are compared, because the rows of these pages would take too much memory. */
export const TOUCHED_PAGES_MAX = 4096;

/** The earlier state and the later one. */
export type Pair<T> = readonly [before: T, after: T];

export type Side = 0 | 1;
export const SIDES = [0, 1] as const;

/** A table to compare, with its tree in each state. */
export interface ComparedTable {
  readonly name: string;
  readonly trees: Pair<Tree>;
}

/**
 * Returns the numbers of the pages that differ, counted from 1; null if there are too many. `mayDiffer` counts from 0.
 */
export function changedPages(
  states: Pair<StatePages>,
  mayDiffer: Iterable<number>,
): number[] | null {
  const changed: number[] = [];
  for (const pageIndex of mayDiffer) {
    const [before, after] = states.map((state) => state.page(pageIndex + 1));
    if (before && after ? sameCell(before, after) : before === after) continue;
    if (changed.push(pageIndex + 1) > TOUCHED_PAGES_MAX) return null;
  }
  return changed;
}

/** Returns the pages that differ or have moved; null if there are too many. */
export function touchedPages(
  states: Pair<StatePages>,
  changed: readonly number[],
  tables: readonly ComparedTable[],
): number[] | null {
  const touched = new Set(changed);
  const moved = tables.flatMap(({ trees: [before, after] }) =>
    before.root === after.root ? [] : [before.root, after.root],
  );
  for (const pageNumber of changed) moved.push(...movedChildren(states, pageNumber));
  const seen = new Set<number>();
  for (let next = moved.pop(); next !== undefined; next = moved.pop()) {
    if (seen.has(next)) continue;
    seen.add(next);
    touched.add(next);
    if (touched.size > TOUCHED_PAGES_MAX) return null;
    for (const state of states) moved.push(...(state.innerPage(next)?.children ?? []));
  }
  return [...touched].sort((a, b) => a - b);
}

export function tableOf(
  states: Pair<StatePages>,
  side: Side,
  pageNumber: number,
  page: TreePage,
  tables: readonly ComparedTable[],
): ComparedTable | undefined {
  return tables.find(({ trees }) => states[side].holds(trees[side], pageNumber, page));
}

/**
 * Returns the children that an inner page has in only one state. If the page itself has moved, a page above it differs,
 * and all pages below that one are found through it.
 */
function movedChildren(states: Pair<StatePages>, pageNumber: number): number[] {
  const [old, now] = states.map((state) => state.innerPage(pageNumber)?.children ?? []) as [
    readonly number[],
    readonly number[],
  ];
  const [olds, nows] = [new Set(old), new Set(now)];
  return [...old.filter((child) => !nows.has(child)), ...now.filter((child) => !olds.has(child))];
}
