// The pages that differ between two states, and the pages that have another place in their trees.

import { expect, test } from 'vitest';
import { innerOf, leafOf, stateOf } from '../../../packages/testing/worker/made-pages.ts';
import {
  pagesOf,
  StoredState,
  stateAfter,
} from '../../../packages/testing/worker/stored-states.ts';
import { openInMemory } from '../../../packages/testing/worker/test-database.ts';
import { ChangedKeys } from './changed-keys.ts';
import { KeyOrder } from './key-order.ts';
import type { StatePages } from './state-pages.ts';
import { type ComparedTable, changedPages, type Pair, touchedPages } from './touched-pages.ts';

const PAGE_BYTES = 4096;
const SERIES = 'WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999)';

const bothOf = async (before: StoredState, after: StoredState): Promise<Pair<StatePages>> => [
  await pagesOf(before),
  await pagesOf(after),
];
const everyPage = (state: StoredState) => [...Array(state.pageCount).keys()];
const table = (name: string, before: number, after = before): ComparedTable => ({
  name,
  trees: [
    { root: before, order: null },
    { root: after, order: null },
  ],
});

/** The rowids that may differ. */
async function keysOf(
  states: Pair<StatePages>,
  tables: readonly ComparedTable[],
  pages: readonly number[],
): Promise<Record<string, readonly unknown[]>> {
  const changed = changedPages(states, pages)!;
  const touched = touchedPages(states, changed, tables)!;
  const order = new KeyOrder(await openInMemory());
  const keys = new ChangedKeys(states, order, touched, new Set(changed), tables, () => []);
  return Object.fromEntries(tables.map((one) => [one.name, keys.of(one)]));
}

/** Two tables, in the pages 2 and 3, each with several leaves below one inner page. */
function twoTables(): StoredState {
  return stateAfter(
    null,
    'CREATE TABLE t (a)',
    'CREATE TABLE u (a)',
    `INSERT INTO t ${SERIES} SELECT i || printf('%.*c', 40, 't') FROM n`,
    `INSERT INTO u ${SERIES} SELECT i || printf('%.*c', 40, 'u') FROM n`,
  );
}

const childrenOf = (state: StoredState, pageNumber: number): number[] => {
  const page = state.page(pageNumber);
  const view = new DataView(page.buffer, page.byteOffset, page.byteLength);
  const count = view.getUint16(3);
  const cells = Array.from({ length: count }, (_, i) => view.getUint32(view.getUint16(12 + 2 * i)));
  return [...cells, view.getUint32(8)];
};

/** Puts another number in place of a child of an inner page. */
function setChild(state: StoredState, pageNumber: number, index: number, child: number): void {
  const page = state.page(pageNumber);
  const view = new DataView(page.buffer, page.byteOffset, page.byteLength);
  view.setUint32(view.getUint16(12 + 2 * index), child);
}

test('[BRANCH1] pages that differ are those whose bytes do, or that only one state has', async () => {
  const before = new StoredState(new Uint8Array(4 * PAGE_BYTES));
  const after = new StoredState(new Uint8Array(6 * PAGE_BYTES));
  after.page(2)[4095] = 1;
  after.page(4)[0] = 1;
  const states = await bothOf(before, after);
  const found = (pages: readonly number[]) => changedPages(states, pages);
  expect(found([0, 1, 2, 3, 4, 5])).toEqual([2, 4, 5, 6]);
  // Pages that neither has.
  expect(found([0, 2, 6, 99])).toEqual([]);
  expect(found([1, 5])).toEqual([2, 6]);
  expect(changedPages([states[1], states[0]], [3, 4])).toEqual([4, 5]);
});

test.for([
  [4096, true],
  [4097, false],
] as const)(
  '[DIFF2] of %i pages that differ, the rows are looked for in these pages: %s',
  async ([count, isFew]) => {
    const before = new StoredState(new Uint8Array(count * PAGE_BYTES));
    const after = new StoredState(new Uint8Array(count * PAGE_BYTES).fill(1));
    const states = await bothOf(before, after);
    const pages = [...Array(count).keys()];
    expect(changedPages(states, pages)?.length).toBe(isFew ? count : undefined);
    const half = pages.map((i) => i + 1).slice(0, 4096);
    expect(touchedPages(states, half, [])?.length).toBe(4096);
    const moved = touchedPages(states, half, [table('t', 1, isFew ? 2 : 4097)]);
    expect(moved?.length).toBe(isFew ? 4096 : undefined);
  },
);

test('[DIFF2] after a change of one row, only the pages that differ are touched', async () => {
  const before = twoTables();
  const after = stateAfter(before, 'UPDATE t SET a = upper(a) WHERE rowid = 500');
  const states = await bothOf(before, after);
  const changed = changedPages(states, everyPage(after))!;
  expect(changed.length).toBe(2);
  expect(changed[0]).toBe(1);
  const tables = [table('t', 2), table('u', 3)];
  expect(touchedPages(states, changed, tables)).toEqual(changed);
  expect(await keysOf(states, tables, everyPage(after))).toEqual({ t: [500n], u: [] });
});

test('[DIFF3] leaves that the trees of two tables have exchanged, byte for byte, are touched, and their rows may differ', async () => {
  const before = twoTables();
  const after = before.copy();
  const [ofT, ofU] = [childrenOf(before, 2)[3]!, childrenOf(before, 3)[3]!];
  setChild(after, 2, 3, ofU);
  setChild(after, 3, 3, ofT);
  const states = await bothOf(before, after);
  const tables = [table('t', 2), table('u', 3)];
  const changed = changedPages(states, everyPage(after))!;
  expect(changed).toEqual([2, 3]);
  expect(touchedPages(states, changed, tables)).toEqual([2, 3, ofT, ofU].sort((a, b) => a - b));
  const rowids = (pageNumber: number) =>
    states[0].treePage(pageNumber)!.cells.map(({ rowid }) => rowid!);
  const both = [...new Set([...rowids(ofT), ...rowids(ofU)])].sort((a, b) => (a < b ? -1 : 1));
  expect(await keysOf(states, tables, everyPage(after))).toEqual({ t: both, u: both });
});

test('[DIFF3] a tree with another root is touched as a whole, in both places; an inner page of two tables, too', async () => {
  const before = twoTables();
  const states = await bothOf(before, before.copy());
  const below = (root: number) => [root, ...childrenOf(before, root)];
  const all = [...below(2), ...below(3)].sort((a, b) => a - b);
  expect(touchedPages(states, [], [table('t', 2, 3)])).toEqual(all);
  expect(touchedPages(states, [], [table('t', 2), table('u', 3)])).toEqual([]);
  // The page 2 is an inner page of one table before, and of another one after.
  expect(touchedPages(states, [2], [table('t', 2, 2)])).toEqual([2]);
  const given = touchedPages(states, [2], [table('t', 2, 3), table('u', 3, 2)]);
  expect(given).toEqual(all);
});

test('[DIFF3] an inner page that becomes a leaf, or a leaf that becomes an inner page, is touched with all its children', async () => {
  const few = stateAfter(
    null,
    'CREATE TABLE t (a)',
    'CREATE TABLE u (a)',
    "INSERT INTO t VALUES ('x')",
  );
  const many = stateAfter(few, `INSERT INTO t ${SERIES} SELECT printf('%.*c', 90, 't') FROM n`);
  for (const [before, after] of [
    [few, many],
    [many, few],
  ] as const) {
    const states = await bothOf(before, after);
    // Only the root is known to differ: the children are found by it.
    expect(touchedPages(states, [2], [table('t', 2)])).toEqual(
      [2, ...childrenOf(many, 2)].sort((a, b) => a - b),
    );
  }
});

test('[DIFF3] a page that only one state has in its tree is touched, though its bytes are the same in both', async () => {
  const leaves = { 3: leafOf(1), 4: leafOf(2), 5: leafOf(3) };
  const two = stateOf(5, { 2: innerOf([3, 1], 4), ...leaves });
  const three = stateOf(5, { 2: innerOf([3, 1], [4, 2], 5), ...leaves });
  for (const states of [await bothOf(two, three), await bothOf(three, two)]) {
    expect(touchedPages(states, [2], [table('t', 2)])).toEqual([2, 5]);
  }
});

test('[DIFF3] a leaf below the root that becomes an inner page, or back, is touched with its children', async () => {
  const others = { 2: innerOf([3, 20], 4), 4: leafOf(30), 5: leafOf(1), 6: leafOf(11) };
  const leaf = stateOf(6, { ...others, 3: leafOf(1, 11) });
  const inner = stateOf(6, { ...others, 3: innerOf([5, 10], 6) });
  for (const states of [await bothOf(leaf, inner), await bothOf(inner, leaf)]) {
    expect(touchedPages(states, [3], [table('t', 2)])).toEqual([3, 5, 6]);
  }
});

test('[DIFF3] inner pages that refer to each other are touched once', async () => {
  const states = await bothOf(
    stateOf(4, { 2: innerOf([3, 1], 4) }),
    stateOf(4, { 2: innerOf([3, 1], 2), 3: innerOf([2, 1], 3) }),
  );
  expect(touchedPages(states, [2], [table('t', 2, 3)])).toEqual([2, 3, 4]);
});
