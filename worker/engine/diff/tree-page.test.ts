// Pages of real databases, read as trees: every page has one place, and every entry has the values that SQLite gives; and pages
// that hold anything.

import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import {
  inState,
  pagesOf,
  type StoredState,
  stateAfter,
} from '../../../packages/testing/worker/stored-states.ts';
import { bytesCell, CELL, type Cell, integerCell } from '../sql/cells.ts';
import type { Database } from '../sql/database.ts';
import type { KeyColumns } from './key-order.ts';
import { Shapes } from './shapes.ts';
import type { StatePages, Tree } from './state-pages.ts';
import {
  isInnerPage,
  isTreePage,
  readRecord,
  readTreePage,
  recordBytes,
  type TreeCell,
} from './tree-page.ts';

const PAGE_BYTES = 4096;
const SERIES = 'WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 2999)';
const BINARY: KeyColumns[number] = { collation: 'BINARY', isDescending: false };

let mixed: StoredState;
let pages: StatePages;
/** The tree of each table and index, by its name. */
let trees: Map<string, Tree>;
beforeAll(async () => {
  mixed = stateAfter(
    null,
    'CREATE TABLE small (a)',
    'CREATE TABLE large (id INTEGER PRIMARY KEY, a, b)',
    'CREATE INDEX by_a ON large (a COLLATE NOCASE DESC)',
    'CREATE INDEX by_b ON large (b)',
    'CREATE TABLE keyed (k TEXT COLLATE NOCASE, n, v, PRIMARY KEY (n DESC, k)) WITHOUT ROWID',
    'CREATE INDEX keyed_v ON keyed (v)',
    'CREATE TABLE gone (a)',
    "INSERT INTO small VALUES (1), ('x')",
    `INSERT INTO large ${SERIES} SELECT i * 7 - 5000, printf('%c%.*c', 65 + i % 26 + 32 * (i % 2), i % 90, 'q'), CASE WHEN i % 37 = 0 THEN hex(i) || printf('%.*c', i * 3, 'b') ELSE i % 5 END FROM n`,
    `INSERT INTO keyed ${SERIES} SELECT printf('%.*c', i % 50, 'k') || i, i % 11, CASE WHEN i % 97 = 0 THEN zeroblob(i * 2) ELSE i END FROM n`,
    `INSERT INTO gone ${SERIES} SELECT zeroblob(i) FROM n WHERE i < 1000`,
  );
  mixed = stateAfter(mixed, 'DELETE FROM gone', 'DELETE FROM large WHERE id % 3 = 0');
  pages = await pagesOf(mixed);
  trees = treesOf(mixed);
});

function treesOf(state: StoredState): Map<string, Tree> {
  return inState(state, (database) => {
    const shapes = new Shapes(database, 'main');
    const found = new Map<string, Tree>([['schema', { root: 1, order: null }]]);
    for (const name of shapes.tables) {
      const shape = shapes.of(name)!;
      found.set(name, { root: shape.root, order: shape.kind === 'keyed' ? shape.order : null });
    }
    const indexes = shapes.objects.filter(({ type }) => type === 'index');
    for (const tree of shapes.treesExcept(new Set(shapes.tables))) {
      const index = indexes.find(({ root }) => root === tree.root);
      if (index !== undefined) found.set(index.name, tree);
    }
    return found;
  });
}

/** The cells of the rows of a query, by its first column, which is an integer. */
function cellsOf(state: StoredState, sql: string): Map<bigint, Cell[]> {
  return inState(state, (database: Database) => {
    const statement = database.statement(sql);
    const found = new Map<bigint, Cell[]>();
    while (statement.step()) {
      const cells = Array.from({ length: statement.columnCount - 1 }, (_, i) =>
        statement.columnCell(i + 1),
      );
      found.set(statement.columnInt64(0), cells);
    }
    return found;
  });
}

/** Cells as texts of their bytes, which are compared much faster. */
const textsOf = (cells: readonly Cell[] | null | undefined) =>
  cells?.map((cell) => Buffer.from(cell).toString('latin1'));

/** All bytes of an entry, also those of its overflow pages. */
function payloadOf(of: StatePages, cell: TreeCell): Uint8Array {
  const payload = new Uint8Array(cell.payloadBytes);
  payload.set(cell.local);
  let at = cell.local.length;
  for (const pageNumber of of.overflowOf(cell)) {
    const part = of.page(pageNumber)!.subarray(4, 4 + payload.length - at);
    payload.set(part, at);
    at += part.length;
  }
  expect(at).toBe(payload.length);
  return payload;
}

/** The numbers of the pages of a tree, from its root down. */
function walked(of: StatePages, root: number): number[] {
  const page = of.treePage(root)!;
  return [root, ...page.children.flatMap((child) => walked(of, child))];
}

test('[DIFF3] each page of a database is in one tree, or an overflow page of one entry, or free', () => {
  const places: number[] = [...pages.freePages()];
  inState(mixed, (database) => {
    const count = database.statement('PRAGMA freelist_count');
    count.step();
    expect(places.length).toBe(count.columnNumber(0));
    count.reset();
  });
  expect(places.length).toBeGreaterThan(100);
  for (const tree of trees.values()) {
    places.push(...walked(pages, tree.root));
    for (const cell of pages.entriesOf(tree)) places.push(...pages.overflowOf(cell));
  }
  const all = Array.from({ length: mixed.pageCount }, (_, i) => i + 1);
  expect(places.sort((a, b) => a - b)).toEqual(all);
});

test('[DIFF3] a tree holds the pages that are below its root, and no other ones', () => {
  const inner: number[] = [];
  for (const [name, tree] of trees) {
    const own = new Set(walked(pages, tree.root));
    for (let pageNumber = 1; pageNumber <= mixed.pageCount; pageNumber++) {
      const page = pages.treePage(pageNumber);
      if (page === null) continue;
      if (!page.isLeaf) inner.push(pageNumber);
      // A page that is free has no place, whatever its bytes are.
      const expected = own.has(pageNumber);
      if (page.cells.length + page.rowids.length === 0 && !expected) continue;
      expect([name, pageNumber, pages.holds(tree, pageNumber, page)]).toEqual([
        name,
        pageNumber,
        expected,
      ]);
    }
  }
  expect(new Set(inner).size).toBeGreaterThan(5);
});

test('[DIFF3] entries have the rowids and the values that SQLite gives, also those in overflow pages', () => {
  const rows = cellsOf(mixed, 'SELECT id, a, b FROM large');
  let count = 0;
  for (const cell of pages.entriesOf(trees.get('large')!)) {
    count++;
    const record = readRecord(payloadOf(pages, cell), 3);
    // The record of an alias of the rowid has NULL.
    expect(textsOf(record)?.slice(1)).toEqual(textsOf(rows.get(cell.rowid!)));
  }
  expect(count).toBe(rows.size);
  expect(count).toBe(2000);
});

test('[DIFF3] the keys of entries of indexes, and of a table without rowids, are the keys that SQLite gives', () => {
  const sorted = (name: string, sql: string) => {
    const { order } = trees.get(name)! as { order: KeyColumns };
    const found = [...pages.entriesOf(trees.get(name)!)].map((cell) => pages.keyOf(cell, order)!);
    const expected = [...cellsOf(mixed, sql).values()];
    const texts = (keys: readonly Cell[][]) => keys.map((key) => textsOf(key)!.join('|')).sort();
    expect(found[0]!.length).toBe(order.length);
    expect(texts(found).join('\n') === texts(expected).join('\n')).toBe(true);
  };
  sorted('by_a', 'SELECT id, a, id FROM large');
  sorted('by_b', 'SELECT id, b, id FROM large');
  sorted('keyed', 'SELECT row_number() OVER (), n, k FROM keyed');
  sorted('keyed_v', 'SELECT row_number() OVER (), v FROM keyed');
});

test('[DIFF3] a tree with its root in the first page, behind the header of the file, is read', async () => {
  const few = stateAfter(null, 'CREATE TABLE a (x)', 'CREATE INDEX b ON a (x)');
  const columns = (i: number) => Array.from({ length: 6 }, (_, j) => `column_${i}_${j * 7919}`);
  const tables = Array.from({ length: 90 }, (_, i) => `CREATE TABLE t${i} (${columns(i)})`);
  const many = stateAfter(few, ...tables);
  for (const [state, isLeaf] of [
    [few, true],
    [many, false],
  ] as const) {
    const of = await pagesOf(state);
    expect(of.treePage(1)?.isLeaf).toBe(isLeaf);
    const names = [...of.entriesOf({ root: 1, order: null })].map((cell) =>
      String(readRecord(payloadOf(of, cell), 2)![1]),
    );
    const expected = cellsOf(state, 'SELECT rowid, name FROM sqlite_schema');
    expect(names.sort()).toEqual([...expected.values()].map(([name]) => String(name)).sort());
  }
});

/** Sizes of payloads at which the part in the page changes, and their neighbours. */
const SIZES = [
  1002,
  1003,
  4061,
  4062,
  489 + 4092,
  1002 + 4092,
  4061 + 4092,
  489 + 8184,
  1002 + 8184,
  4061 + 8184,
].flatMap((size) => [size - 2, size - 1, size, size + 1, size + 2]);

test('[DIFF3] payloads of the sizes at which the part in the page changes are read whole', {
  tags: 'long',
}, async () => {
  // A record of a blob that takes many bytes has a header of 4 or 5 bytes.
  const blobs = SIZES.flatMap((size) => [5, 6, 7].map((header) => size - header));
  const state = stateAfter(
    null,
    'CREATE TABLE t (a)',
    'CREATE TABLE k (a PRIMARY KEY, n) WITHOUT ROWID',
    ...blobs.map(
      (size, i) =>
        `INSERT INTO t (rowid, a) VALUES (${i}, CAST(printf('%0${size}d', ${i}) AS BLOB))`,
    ),
    'INSERT OR IGNORE INTO k SELECT a, rowid FROM t',
  );
  const of = await pagesOf(state);
  const found = treesOf(state);
  const rows = cellsOf(state, 'SELECT rowid, a FROM t');
  let count = 0;
  for (const cell of of.entriesOf(found.get('t')!)) {
    expect(textsOf(readRecord(payloadOf(of, cell), 1))).toEqual(textsOf(rows.get(cell.rowid!)));
    count++;
  }
  expect(count).toBe(blobs.length);
  for (const cell of of.entriesOf(found.get('k')!)) {
    const [key, number] = readRecord(payloadOf(of, cell), 2)!;
    expect(number!.length).toBe(9);
    expect(key).toEqual(
      rows.get(new DataView(number!.buffer, number!.byteOffset).getBigInt64(1))?.[0],
    );
    expect(textsOf(of.keyOf(cell, [BINARY]))).toEqual(textsOf([key!]));
  }
});

test('[DIFF3] rowids of one to nine bytes are read, and values of every type and size', async () => {
  const edges = [7, 14, 21, 28, 35, 42, 49, 56].flatMap((bits) => [
    2n ** BigInt(bits) - 1n,
    2n ** BigInt(bits),
  ]);
  const rowids = [0n, 1n, -1n, ...edges, 2n ** 63n - 1n, -(2n ** 63n), -(2n ** 40n)];
  const integers = [8, 16, 24, 32, 48, 63].flatMap((bits) => [
    2n ** BigInt(bits - 1),
    2n ** BigInt(bits - 1) - 1n,
    -(2n ** BigInt(bits - 1)),
    -(2n ** BigInt(bits - 1)) - 1n,
  ]);
  const values = [
    ...integers.map(String),
    ...[
      '0',
      '1',
      '2',
      'NULL',
      '0.5',
      '-0.0',
      '1e300',
      "''",
      "'é'",
      "x''",
      "x'00ff'",
      "'x' || char(0)",
    ],
    ...[57, 58, 59, 127, 8185, 8186].flatMap((size) => [
      `printf('%.*c', ${size}, 'x')`,
      `zeroblob(${size})`,
    ]),
  ];
  const state = stateAfter(
    null,
    'CREATE TABLE r (a)',
    'CREATE TABLE v (a, b, c)',
    ...rowids.map((rowid) => `INSERT INTO r (rowid, a) VALUES (${rowid}, NULL)`),
    ...values.map(
      (value, i) =>
        `INSERT INTO v VALUES (${value}, 'between', ${values[(i * 7) % values.length]})`,
    ),
  );
  const of = await pagesOf(state);
  const found = treesOf(state);
  for (const { local } of of.entriesOf(found.get('r')!)) expect([...local]).toEqual([2, 0]);
  const read = [...of.entriesOf(found.get('r')!)].map(({ rowid }) => rowid!);
  expect(read.sort((a, b) => (a < b ? -1 : 1))).toEqual(rowids.sort((a, b) => (a < b ? -1 : 1)));
  const rows = cellsOf(state, 'SELECT rowid, a, b, c FROM v');
  for (const cell of of.entriesOf(found.get('v')!)) {
    const payload = payloadOf(of, cell);
    expect(readRecord(payload, 3)).toEqual(rows.get(cell.rowid!));
    expect(readRecord(payload, 1)).toEqual(rows.get(cell.rowid!)?.slice(0, 1));
    expect(recordBytes(payload, 3)).toBe(payload.length);
  }
});

test('[DIFF3] bytes that are no record are told from a record', () => {
  const record = Uint8Array.of(3, 1, 17, 7, 0x61, 0x62);
  expect(readRecord(record, 2)).toEqual([
    integerCell(7n),
    bytesCell(CELL.text, new TextEncoder().encode('ab')),
  ]);
  expect(recordBytes(record, 1)).toBe(4);
  expect(recordBytes(record, 2)).toBe(6);
  expect(recordBytes(record, 3)).toBeNull();
  expect(readRecord(record, 3)).toBeNull();
  expect(readRecord(record.subarray(0, 5), 2)).toBeNull();
  expect(readRecord(record.subarray(0, 2), 1)).toBeNull();
  for (const type of [10, 11]) expect(recordBytes(Uint8Array.of(2, type, 0, 0), 1)).toBeNull();
  expect(recordBytes(Uint8Array.of(2, 12), 1)).toBe(2);
  // The header claims to be longer than the record.
  expect(recordBytes(Uint8Array.of(3, 1), 1)).toBeNull();
});

/** A page with these bytes at its beginning, and with other bytes at the given offsets. */
function pageOf(
  bytes: readonly number[],
  at: Readonly<Record<number, readonly number[]>> = {},
): Uint8Array {
  const page = new Uint8Array(PAGE_BYTES);
  page.set(bytes);
  for (const [place, some] of Object.entries(at)) page.set(some, Number(place));
  return page;
}
const two = (value: number) => [value >> 8, value & 255];

test('[DIFF3] pages of other kinds are no pages of a tree, and only two kinds have children', () => {
  const kinds = Array.from({ length: 256 }, (_, kind) => kind);
  for (const pageNumber of [1, 2]) {
    const page = (kind: number) => pageOf([], { [pageNumber === 1 ? 100 : 0]: [kind] });
    expect(kinds.filter((kind) => isTreePage(page(kind), pageNumber))).toEqual([2, 5, 10, 13]);
    expect(kinds.filter((kind) => isInnerPage(page(kind), pageNumber))).toEqual([2, 5]);
    expect(kinds.filter((kind) => readTreePage(page(kind), pageNumber) !== null)).toEqual([
      2, 5, 10, 13,
    ]);
    const shapes = [2, 5, 10, 13].map((kind) => readTreePage(page(kind), pageNumber)!);
    expect(shapes.map(({ isTable, isLeaf }) => [isTable, isLeaf])).toEqual([
      [false, false],
      [true, false],
      [false, true],
      [true, true],
    ]);
  }
});

test('[DIFF3] cells beyond their page are left out; a cell that ends with it is not', () => {
  // A row of NULL, rowid 9: two bytes of payload.
  const row = [2, 9, 2, 0];
  const count = 6;
  const leaf = pageOf(
    [13, 0, 0, ...two(count), 0, 0, 0, ...[4092, 4093, 4095, 65535, 2000, 2100].flatMap(two)],
    {
      4092: row,
      2000: row,
      // The payload claims to end behind the page.
      2100: [0x8f, 0x6c, 9],
    },
  );
  const rowids = (page: Uint8Array) => readTreePage(page, 2)!.cells.map(({ rowid }) => rowid);
  expect(rowids(leaf)).toEqual([9n, 9n]);
  const [first] = readTreePage(leaf, 2)!.cells;
  expect([...first!.bytes]).toEqual(row);
  expect([...first!.local]).toEqual([2, 0]);
  expect([first!.payloadBytes, first!.overflow]).toEqual([2, 0]);

  // A cell of an inner page: the number of a child, then a rowid.
  const inner = pageOf(
    [5, 0, 0, ...two(3), 0, 0, 0, 0, 0, 0, 77, ...[3000, 4094, 3100].flatMap(two)],
    {
      3000: [0, 0, 0, 5, 0x81, 0],
      3100: [0, 0, 1, 0, 3],
    },
  );
  const { children, rowids: keys, cells } = readTreePage(inner, 2)!;
  expect([children, keys, cells]).toEqual([[5, 256, 77], [128n, 3n], []]);
});

test('[DIFF3] a page that claims more cells than it has room for is read to its end', () => {
  const page = new Uint8Array(PAGE_BYTES).fill(0);
  page.set([13, 0, 0, 255, 255]);
  page.set([0, 0, 0, 0], 4092);
  const cells = readTreePage(page, 2)!.cells;
  // Each pointer is 0, where the header of the page is: it is read as a cell.
  expect(cells.length).toBe((PAGE_BYTES - 8) / 2);
});

test('[DIFF3] a cell whose payload would have fewer bytes than none is left out', () => {
  const page = new Uint8Array(PAGE_BYTES);
  page.set([13, 0, 0, 0, 1, 0, 0, 0, 4000 >> 8, 4000 & 255]);
  // The number of nine bytes that are all ones is -1.
  page.set([255, 255, 255, 255, 255, 255, 255, 255, 255, 1], 4000);
  expect(readTreePage(page, 2)!.cells).toEqual([]);
});

test('[DIFF3] bytes with a column of no type are not a record', () => {
  expect(readRecord(new Uint8Array([2, 8]), 1)).toHaveLength(1);
  for (const type of [[10], [11], Array(9).fill(255)]) {
    expect(readRecord(new Uint8Array([1 + type.length, ...type]), 1)).toBeNull();
  }
});

test('[DIFF3] whatever a page holds, reading it ends, and its cells are inside of it', {
  tags: 'long',
}, async () => {
  const bytes = fc.record({
    kind: fc.constantFrom(2, 5, 10, 13),
    count: fc.constantFrom(0, 1, 3, 2000, 65535),
    seed: fc.uint8Array({ minLength: 64, maxLength: 64 }),
    pageNumber: fc.constantFrom(1, 2),
  });
  fc.assert(
    fc.property(bytes, ({ kind, count, seed, pageNumber }) => {
      const page = new Uint8Array(PAGE_BYTES);
      for (let i = 0; i < page.length; i++) page[i] = seed[(i * 7 + (i >> 6)) % 64]!;
      page.set([kind, 0, 0, count >> 8, count & 255], pageNumber === 1 ? 100 : 0);
      const { cells, children, isLeaf } = readTreePage(page, pageNumber)!;
      expect(children.length > 0).toBe(!isLeaf);
      for (const { bytes, local, payloadBytes, overflow } of cells) {
        expect(bytes.byteOffset + bytes.length).toBeLessThanOrEqual(PAGE_BYTES);
        expect(local.length).toBeLessThanOrEqual(payloadBytes);
        expect(overflow !== 0 || local.length === payloadBytes || bytes.length > local.length).toBe(
          true,
        );
        readRecord(local, 3);
      }
    }),
  );
});
