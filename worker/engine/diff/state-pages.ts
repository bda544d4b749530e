// Reads the pages of one state of a database as b-trees: finds keys, the overflow pages of entries, and free pages.
//
// Invariant: no read loops forever, whatever the pages contain. A page is reported as part of a tree only if a search
// for one of its own keys reaches it.

import type { DatabaseFile } from '../file/file.ts';
import { PAGE_BYTES } from '../log/pages.ts';
import type { Cell } from '../sql/cells.ts';
import type { KeyColumns, KeyOrder } from './key-order.ts';
import {
  isInnerPage,
  OVERFLOW_BYTES,
  readRecord,
  readTreePage,
  recordBytes,
  type TreeCell,
  type TreePage,
} from './tree-page.ts';

/** SQLite's limit on the depth of a tree. */
const DEPTH_MAX = 20;
/** Offset in the first page of the number of the free list's first trunk page. */
const FIRST_TRUNK_OFFSET = 32;
/** Maximum number of cached inner pages; searches for neighbouring leaves read mostly the same ones. */
const KEPT_PAGES_MAX = 1024;

/** A b-tree of a state; `order` is null for a table with rowids. */
export interface Tree {
  /** Number of the root page, counted from 1. */
  readonly root: number;
  readonly order: KeyColumns | null;
}

export class StatePages {
  readonly #file: Pick<DatabaseFile, 'read' | 'sizeBytes'>;
  readonly #keyOrder: KeyOrder;
  readonly #inner = new Map<number, TreePage>();

  constructor(file: Pick<DatabaseFile, 'read' | 'sizeBytes'>, keyOrder: KeyOrder) {
    this.#file = file;
    this.#keyOrder = keyOrder;
  }

  get pageCount(): number {
    return this.#file.sizeBytes() / PAGE_BYTES;
  }

  /** Returns a copy of a page; null if the state has no page of this number. */
  page(pageNumber: number): Uint8Array | null {
    if (pageNumber < 1 || pageNumber > this.pageCount) return null;
    const page = new Uint8Array(PAGE_BYTES);
    this.#file.read(page, (pageNumber - 1) * PAGE_BYTES);
    return page;
  }

  /** True if a search for the page's first key reaches the page. An empty page is a root, or in no tree. */
  holds(tree: Tree, pageNumber: number, page: TreePage): boolean {
    if (tree.root === pageNumber) return true;
    if (page.isTable !== (tree.order === null)) return false;
    const key = this.#firstKey(page, tree);
    if (key === undefined || key === null) return false;
    let next = tree.root;
    for (let depth = 0; depth < DEPTH_MAX; depth++) {
      if (next === pageNumber) return true;
      const page = this.innerPage(next);
      if (page === null) return false;
      const child = typeof key === 'bigint' ? childOf(page, key) : this.#childOf(page, key, tree);
      if (child === undefined) return false;
      next = child;
    }
    return false;
  }

  /** Decodes the key of an index entry; returns null if the bytes are not a record. */
  keyOf(cell: TreeCell, order: KeyColumns): Cell[] | null {
    const sizeBytes = recordBytes(cell.local, order.length);
    if (sizeBytes === null) return null;
    const isLocal = sizeBytes <= cell.local.length;
    return readRecord(isLocal ? cell.local : this.#payload(cell, sizeBytes), order.length);
  }

  /** Lists the numbers of an entry's overflow pages, in order. */
  *overflowOf({ overflow, payloadBytes, local }: TreeCell): Generator<number> {
    let left = Math.ceil((payloadBytes - local.length) / OVERFLOW_BYTES);
    const link = new Uint8Array(4);
    for (let next = overflow; left > 0 && next >= 1 && next <= this.pageCount; left--) {
      yield next;
      this.#file.read(link, (next - 1) * PAGE_BYTES);
      next = numberAt(link, 0);
    }
  }

  /** Lists every entry of a tree, in any order. */
  *entriesOf(tree: Tree): Generator<TreeCell> {
    const seen = new Set<number>();
    const waiting = [tree.root];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      if (seen.has(next)) continue;
      seen.add(next);
      const page = this.treePage(next);
      if (page === null) continue;
      yield* page.cells;
      waiting.push(...page.children);
    }
  }

  /** Returns the numbers of the free pages. */
  freePages(): Set<number> {
    const free = new Set<number>();
    let trunk = numberAt(this.page(1) ?? new Uint8Array(PAGE_BYTES), FIRST_TRUNK_OFFSET);
    while (!free.has(trunk)) {
      const page = this.page(trunk);
      if (page === null) break;
      free.add(trunk);
      const count = Math.min(numberAt(page, 4), PAGE_BYTES / 4 - 2);
      for (let i = 0; i < count; i++) free.add(numberAt(page, 8 + 4 * i));
      trunk = numberAt(page, 0);
    }
    return free;
  }

  /** Reads a page of a tree; returns null for another kind of page. */
  treePage(pageNumber: number): TreePage | null {
    const bytes = this.page(pageNumber);
    return bytes && readTreePage(bytes, pageNumber);
  }

  /** Reads an inner page of a tree; returns null for another kind of page, without reading the entries of a leaf. */
  innerPage(pageNumber: number): TreePage | null {
    const known = this.#inner.get(pageNumber);
    if (known !== undefined) return known;
    const bytes = this.page(pageNumber);
    if (bytes === null || !isInnerPage(bytes, pageNumber)) return null;
    const page = readTreePage(bytes, pageNumber)!;
    if (this.#inner.size >= KEPT_PAGES_MAX) this.#inner.clear();
    this.#inner.set(pageNumber, page);
    return page;
  }

  #firstKey({ cells, rowids }: TreePage, { order }: Tree): bigint | Cell[] | null | undefined {
    if (order === null) return cells[0]?.rowid ?? rowids[0];
    return cells[0] && this.keyOf(cells[0], order);
  }

  #payload(cell: TreeCell, sizeBytes: number): Uint8Array {
    const payload = new Uint8Array(Math.min(sizeBytes, cell.payloadBytes));
    let at = Math.min(cell.local.length, payload.length);
    payload.set(cell.local.subarray(0, at));
    for (const pageNumber of this.overflowOf(cell)) {
      if (at >= payload.length) break;
      const part = this.page(pageNumber)!.subarray(4, 4 + payload.length - at);
      payload.set(part, at);
      at += part.length;
    }
    return payload;
  }

  /** Returns the child page that may contain a key; undefined if the page itself contains it. */
  #childOf(page: TreePage, key: readonly Cell[], { order }: Tree): number | undefined {
    const { cells, children } = page;
    if (page.isTable || order === null || children.length !== cells.length + 1) return undefined;
    let from = 0;
    let to = cells.length;
    while (from < to) {
      const middle = (from + to) >>> 1;
      const other = this.keyOf(cells[middle]!, order);
      if (other === null) return undefined;
      const result = this.#keyOrder.compare(key, other, order);
      if (result === 0) return undefined;
      if (result < 0) to = middle;
      else from = middle + 1;
    }
    return children[from];
  }
}

function childOf({ isTable, rowids, children }: TreePage, rowid: bigint): number | undefined {
  if (!isTable || children.length !== rowids.length + 1) return undefined;
  let from = 0;
  let to = rowids.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (rowid <= rowids[middle]!) to = middle;
    else from = middle + 1;
  }
  return children[from];
}

function numberAt(bytes: Uint8Array, at: number): number {
  return new DataView(bytes.buffer, bytes.byteOffset + at, 4).getUint32(0);
}
