// Pages that loop, or are no pages of a tree: no walk over them is endless, and none finds what is not there.

import { expect, test } from 'vitest';
import {
  indexOf,
  innerOf,
  leafOf,
  numberOf,
  stateOf,
} from '../../../packages/testing/worker/made-pages.ts';
import {
  pagesOf,
  StoredState,
  stateAfter,
} from '../../../packages/testing/worker/stored-states.ts';
import { integerCell } from '../sql/cells.ts';

const TABLE = { root: 2, order: null };
const INDEX = { root: 2, order: [{ collation: 'BINARY', isDescending: false }] } as const;

test('[DIFF3] a state has the pages from 1 to its count, and nothing before or after them', async () => {
  const state = stateAfter(null, 'CREATE TABLE t (a)');
  const pages = await pagesOf(state);
  expect(pages.pageCount).toBe(2);
  expect(pages.page(0)).toBeNull();
  expect(pages.page(3)).toBeNull();
  expect(new TextDecoder().decode(pages.page(1)!.subarray(0, 15))).toBe('SQLite format 3');
  expect(pages.page(2)).toEqual(state.page(2).slice());
  // The page is a copy, which its caller may change.
  pages.page(2)!.fill(0);
  expect(pages.page(2)![0]).toBe(13);
});

test('[DIFF3] a page is found below the root by the rowids of the inner pages', async () => {
  const state = stateOf(7, {
    2: innerOf([3, 10], [4, 20], 5),
    3: leafOf(1, 10),
    4: leafOf(11, 20),
    5: leafOf(21, 30),
    6: leafOf(10),
    7: leafOf(),
  });
  const pages = await pagesOf(state);
  const holds = (pageNumber: number) => pages.holds(TABLE, pageNumber, pages.treePage(pageNumber)!);
  expect([2, 3, 4, 5, 6, 7].map(holds)).toEqual([true, true, true, true, false, false]);
  // The page belongs to a tree of another kind.
  expect(pages.holds(INDEX, 3, pages.treePage(3)!)).toBe(false);
  // A leaf that is the root has nothing below it.
  expect(pages.holds({ root: 3, order: null }, 6, pages.treePage(6)!)).toBe(false);
  expect(pages.holds({ root: 7, order: null }, 7, pages.treePage(7)!)).toBe(true);
});

test('[DIFF3] inner pages that refer to themselves or to each other hold no other page, and end', async () => {
  const state = stateOf(6, {
    2: innerOf([3, 10], 2),
    3: innerOf([2, 10], 3),
    4: leafOf(5),
    5: leafOf(50),
    6: innerOf([9, 10], 0),
  });
  const pages = await pagesOf(state);
  for (const pageNumber of [4, 5]) {
    expect(pages.holds(TABLE, pageNumber, pages.treePage(pageNumber)!)).toBe(false);
    expect(pages.holds({ root: 6, order: null }, pageNumber, pages.treePage(pageNumber)!)).toBe(
      false,
    );
  }
  expect([...pages.entriesOf(TABLE)]).toEqual([]);
  expect([...pages.entriesOf({ root: 6, order: null })]).toEqual([]);
});

test('[DIFF3] the entries of a tree are those of all its leaves, each once', async () => {
  const state = stateOf(6, {
    2: innerOf([3, 10], [3, 12], [6, 20], 5),
    3: leafOf(1, 10),
    5: leafOf(21, 30),
  });
  const pages = await pagesOf(state);
  const rowids = [...pages.entriesOf(TABLE)].map(({ rowid }) => Number(rowid));
  expect(rowids.sort((a, b) => a - b)).toEqual([1, 10, 21, 30]);
});

test('[DIFF3] an inner page with a cell that is damaged leads to the other children only', async () => {
  const damaged = innerOf([3, 10], 4);
  damaged.splice(12, 2, 255, 255);
  const state = stateOf(4, { 2: damaged, 3: leafOf(5), 4: leafOf(50) });
  const pages = await pagesOf(state);
  expect(pages.innerPage(2)!.children).toEqual([4]);
  expect([3, 4].map((n) => pages.holds(TABLE, n, pages.treePage(n)!))).toEqual([false, true]);
  expect(pages.innerPage(3)).toBeNull();
  expect(pages.innerPage(5)).toBeNull();
});

test('[DIFF3] a page of an index is found below the root by the entries of the inner pages', async () => {
  const noRecord = indexOf([5]);
  noRecord[noRecord.lastIndexOf(1)] = 11; // a type that no value of a record has
  const state = stateOf(9, {
    2: indexOf([10, 20], [3, 4, 5]),
    3: indexOf([1, 9]),
    4: indexOf([11, 19]),
    5: indexOf([21]),
    // No pages of the tree: an entry that an inner page has, none at all, bytes that are no record, and a table's page.
    6: indexOf([10]),
    7: indexOf([]),
    8: noRecord,
    9: leafOf(5),
  });
  const pages = await pagesOf(state);
  const holds = (pageNumber: number) => pages.holds(INDEX, pageNumber, pages.treePage(pageNumber)!);
  expect([2, 3, 4, 5].map(holds)).toEqual([true, true, true, true]);
  expect([6, 7, 8, 9].map(holds)).toEqual([false, false, false, false]);
  expect(pages.keyOf(pages.treePage(4)!.cells[1]!, INDEX.order)).toEqual([integerCell(19n)]);
  expect(pages.keyOf(pages.treePage(8)!.cells[0]!, INDEX.order)).toBeNull();
});

test('[DIFF3] below an inner page with an entry that cannot be read, no page of an index is found', async () => {
  const damaged = indexOf([10, 20], [3, 4, 5]);
  damaged.splice(14, 2, 0x0f, 0xfb); // the end of its second cell, of 20, is beyond the page
  const state = stateOf(5, {
    2: damaged,
    3: indexOf([1, 9]),
    4: indexOf([11, 19]),
    5: indexOf([21]),
  });
  const pages = await pagesOf(state);
  for (const pageNumber of [2, 3, 4, 5]) {
    expect(pages.holds(INDEX, pageNumber, pages.treePage(pageNumber)!)).toBe(pageNumber === 2);
  }
});

test('[DIFF3] a page of an index is found by its first entry alone', async () => {
  // As its last entry is 40, it would be the child behind 30.
  const state = stateOf(4, { 2: indexOf([30], [3, 4]), 3: indexOf([15, 40]), 4: indexOf([15]) });
  const pages = await pagesOf(state);
  expect(pages.holds(INDEX, 3, pages.treePage(3)!)).toBe(true);
  expect(pages.holds(INDEX, 4, pages.treePage(4)!)).toBe(false);
});

const trunk = (next: number, count: number, ...leaves: readonly number[]) => [
  ...numberOf(next),
  ...numberOf(count),
  ...leaves.flatMap(numberOf),
];
const header = (first: number) => [...Array<number>(32).fill(0), ...numberOf(first)];

test('[DIFF3] free pages are found through all their trunks, and a loop of trunks ends', async () => {
  const free = async (pages: Readonly<Record<number, readonly number[]>>) =>
    [...(await pagesOf(stateOf(9, pages))).freePages()].sort((a, b) => a - b);
  expect(await free({ 1: header(0) })).toEqual([]);
  expect(await free({ 1: header(3), 3: trunk(5, 2, 4, 7), 5: trunk(0, 1, 9) })).toEqual([
    3, 4, 5, 7, 9,
  ]);
  expect(await free({ 1: header(3), 3: trunk(5, 1, 4), 5: trunk(3, 0) })).toEqual([3, 4, 5]);
  // The next trunk is beyond the file.
  expect(await free({ 1: header(3), 3: trunk(10, 1, 4) })).toEqual([3, 4]);
  expect([...(await pagesOf(new StoredState())).freePages()]).toEqual([]);
  // More leaves than a page has room for.
  const full = await free({ 1: header(3), 3: trunk(0, 0xffff_ffff, 4) });
  expect(full.filter((pageNumber) => pageNumber > 0)).toEqual([3, 4]);
});

test('[DIFF3] a chain of overflow pages ends with the payload, or with the file', async () => {
  const state = stateOf(5, { 3: numberOf(4), 4: numberOf(3), 5: numberOf(77) });
  const pages = await pagesOf(state);
  const chain = (overflow: number, payloadBytes: number) => [
    ...pages.overflowOf({
      rowid: 1n,
      bytes: new Uint8Array(),
      local: new Uint8Array(100),
      payloadBytes,
      overflow,
    }),
  ];
  expect(chain(3, 101)).toEqual([3]);
  expect(chain(3, 100 + 4092)).toEqual([3]);
  expect(chain(3, 100 + 4093)).toEqual([3, 4]);
  expect(chain(3, 100 + 3 * 4092)).toEqual([3, 4, 3]);
  expect(chain(3, 100)).toEqual([]);
  expect(chain(5, 1e6)).toEqual([5]);
  expect(chain(6, 1e6)).toEqual([]);
  expect(chain(0, 1e6)).toEqual([]);
});
