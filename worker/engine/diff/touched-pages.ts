// The pages whose rows may differ between two states: pages that differ, and pages that have another place.
//
// SQLite frees a page without writing it, and may give it to another tree with the same bytes. Then the page that
// referred to it differs, so from each inner page that differs, the children follow that only one state has there.
//
// Invariant: a row that only one state has, or that differs in its entry, is in a touched page of that state.

import { sameCell } from '../sql/cells.ts';
import type { StatePages, Tree } from './state-pages.ts';
import type { TreePage } from './tree-page.ts';

/** Beyond so many touched pages, whole tables are compared: the rows of these pages would fill the memory. */
export const TOUCHED_PAGES_MAX = 4096;

/** The earlier state and the later one. */
export type Pair<T> = readonly [before: T, after: T];

export type Side = 0 | 1;
export const SIDES = [0, 1] as const;

/** A table whose rows are looked for, with its tree in each state. */
export interface ComparedTable {
  readonly name: string;
  readonly trees: Pair<Tree>;
}

/** Numbers of the pages that differ, counted from 1; null: too many. `mayDiffer` counts from 0. */
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

/** The pages that differ, and those in another place; null: too many. */
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
 * The children that only one state has at a page that differs. If the page itself has come from elsewhere, a page above it
 * differs, by which all below it are found.
 */
function movedChildren(states: Pair<StatePages>, pageNumber: number): number[] {
  const [old, now] = states.map((state) => state.innerPage(pageNumber)?.children ?? []) as [
    readonly number[],
    readonly number[],
  ];
  const [olds, nows] = [new Set(old), new Set(now)];
  return [...old.filter((child) => !nows.has(child)), ...now.filter((child) => !olds.has(child))];
}
