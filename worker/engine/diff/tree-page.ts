// Reads one page of a b-tree as SQLite's file format documents it: https://sqlite.org/fileformat2.html#b_tree_pages
//
// Pages are 4,096 bytes without reserved ones, as every database of the engine has them. Nothing that is read is
// trusted: a freed page may contain any bytes, so a cell that reaches beyond its page is left out.

import { PAGE_BYTES } from '../log/pages.ts';
import { bytesCell, CELL, type Cell, integerCell, NULL_CELL, realCell } from '../sql/cells.ts';

/** The first byte of a page of a tree. Other pages begin with 0, the first byte of a page number. */
const KIND = { interiorIndex: 2, interiorTable: 5, leafIndex: 10, leafTable: 13 } as const;

const FILE_HEADER_BYTES = 100;
/**
 * Bytes of a payload in its cell: the maximum in a leaf of a table, and elsewhere; and the minimum if it has overflow
 * pages.
 */
const LOCAL_MAX_TABLE = PAGE_BYTES - 35;
const LOCAL_MAX_INDEX = Math.floor(((PAGE_BYTES - 12) * 64) / 255) - 23;
const LOCAL_MIN = Math.floor(((PAGE_BYTES - 12) * 32) / 255) - 23;
/** Bytes of a payload in one overflow page, after the number of the next one. */
export const OVERFLOW_BYTES = PAGE_BYTES - 4;

/** One entry of a page: a row in a leaf of a table, or an entry of an index, which also inner pages have. */
export interface TreeCell {
  /** The rowid; undefined in an index. */
  readonly rowid: bigint | undefined;
  /** All bytes of the entry in the page, including the number of its first overflow page. */
  readonly bytes: Uint8Array;
  /** The part of the payload that lies in the page. */
  readonly local: Uint8Array;
  readonly payloadBytes: number;
  /** Number of the first overflow page; 0 if there is none. */
  readonly overflow: number;
}

export interface TreePage {
  readonly isTable: boolean;
  readonly isLeaf: boolean;
  /** The entries, in order; empty for an inner page of a table. */
  readonly cells: readonly TreeCell[];
  /** The page numbers of an inner page's children, one more than it has keys. */
  readonly children: readonly number[];
  /** In an inner page of a table: the largest rowid below each child except the last. */
  readonly rowids: readonly bigint[];
}

/** True for a page that may belong to a tree; `pageNumber` counts from 1. */
export function isTreePage(page: Uint8Array, pageNumber: number): boolean {
  const kind = page[headerOf(pageNumber)];
  return Object.values(KIND).some((known) => known === kind);
}

/** True for an inner page of a tree. */
export function isInnerPage(page: Uint8Array, pageNumber: number): boolean {
  const kind = page[headerOf(pageNumber)];
  return kind === KIND.interiorIndex || kind === KIND.interiorTable;
}

/** Reads a page of a tree; returns null for another kind of page. */
export function readTreePage(page: Uint8Array, pageNumber: number): TreePage | null {
  if (!isTreePage(page, pageNumber)) return null;
  const header = headerOf(pageNumber);
  const kind = page[header]!;
  const isLeaf = kind === KIND.leafIndex || kind === KIND.leafTable;
  const isTable = kind === KIND.interiorTable || kind === KIND.leafTable;
  const view = new DataView(page.buffer, page.byteOffset, page.byteLength);
  const count = view.getUint16(header + 3);
  const pointers = header + (isLeaf ? 8 : 12);
  const cells: TreeCell[] = [];
  const children: number[] = [];
  const rowids: bigint[] = [];
  for (let i = 0; i < count && pointers + 2 * i + 2 <= PAGE_BYTES; i++) {
    const at = view.getUint16(pointers + 2 * i);
    if (at + 4 > PAGE_BYTES) continue;
    if (!isLeaf) children.push(view.getUint32(at));
    if (isTable && !isLeaf) {
      rowids.push(readVarint(page, at + 4).value);
      continue;
    }
    const cell = readCellAt(page, view, isLeaf ? at : at + 4, isTable);
    if (cell !== null) cells.push(cell);
  }
  if (!isLeaf) children.push(view.getUint32(header + 8));
  return { isTable, isLeaf, cells, children, rowids };
}

/**
 * Reads the first columns of a record from the beginning of its payload; returns null if the bytes are not a record.
 */
export function readRecord(payload: Uint8Array, columns: number): Cell[] | null {
  const shape = readShape(payload, columns);
  if (shape === null || shape.endBytes > payload.length) return null;
  const cells: Cell[] = [];
  let at = shape.headerBytes;
  for (const type of shape.types) {
    cells.push(columnCell(payload, at, type));
    at += columnBytes(type);
  }
  return cells;
}

/** Returns how many bytes of a payload contain the first columns of its record; null if the bytes are not a record. */
export function recordBytes(payload: Uint8Array, columns: number): number | null {
  return readShape(payload, columns)?.endBytes ?? null;
}

interface Shape {
  readonly headerBytes: number;
  readonly types: readonly number[];
  readonly endBytes: number;
}

function readShape(payload: Uint8Array, columns: number): Shape | null {
  const header = readVarint(payload, 0);
  const headerBytes = Number(header.value);
  if (headerBytes > payload.length) return null;
  const types: number[] = [];
  let endBytes = headerBytes;
  let at = header.end;
  while (at < headerBytes && types.length < columns) {
    const { value, end } = readVarint(payload, at);
    const type = Number(value);
    if (type < 0 || type === 10 || type === 11) return null;
    types.push(type);
    endBytes += columnBytes(type);
    at = end;
  }
  return types.length === columns ? { headerBytes, types, endBytes } : null;
}

function readCellAt(
  page: Uint8Array,
  view: DataView,
  at: number,
  isTable: boolean,
): TreeCell | null {
  const size = readVarint(page, at);
  const payloadBytes = Number(size.value);
  if (payloadBytes < 0) return null;
  const key = isTable ? readVarint(page, size.end) : undefined;
  const start = key?.end ?? size.end;
  const most = isTable ? LOCAL_MAX_TABLE : LOCAL_MAX_INDEX;
  const fits = payloadBytes <= most;
  const spill = LOCAL_MIN + ((payloadBytes - LOCAL_MIN) % OVERFLOW_BYTES);
  const localBytes = fits ? payloadBytes : spill <= most ? spill : LOCAL_MIN;
  const end = start + localBytes + (fits ? 0 : 4);
  if (end > PAGE_BYTES) return null;
  return {
    rowid: key?.value,
    bytes: page.subarray(at, end),
    local: page.subarray(start, start + localBytes),
    payloadBytes,
    overflow: fits ? 0 : view.getUint32(end - 4),
  };
}

function headerOf(pageNumber: number): number {
  return pageNumber === 1 ? FILE_HEADER_BYTES : 0;
}

/** Returns the size of a column of this serial type: https://sqlite.org/fileformat2.html#record_format */
function columnBytes(type: number): number {
  if (type >= 12) return (type - (type % 2 === 0 ? 12 : 13)) / 2;
  return [0, 1, 2, 3, 4, 6, 8, 8, 0, 0][type]!;
}

function columnCell(payload: Uint8Array, at: number, type: number): Cell {
  const size = columnBytes(type);
  if (type === 0) return NULL_CELL;
  if (type === 9) return integerCell(1n); // 8 and 9 are the integers 0 and 1, without bytes
  if (type === 7) {
    return realCell(new DataView(payload.buffer, payload.byteOffset + at, 8).getFloat64(0));
  }
  if (type >= 12) {
    return bytesCell(type % 2 === 0 ? CELL.blob : CELL.text, payload.subarray(at, at + size));
  }
  let value = 0n;
  for (let i = 0; i < size; i++) value = (value << 8n) | BigInt(payload[at + i]!);
  return integerCell(BigInt.asIntN(8 * size, value));
}

/** Reads a number of up to nine bytes, with seven bits in each and eight in the ninth. */
function readVarint(
  bytes: Uint8Array,
  at: number,
): { readonly value: bigint; readonly end: number } {
  let small = 0;
  for (let i = 0; i < 4; i++) {
    const byte = bytes[at + i] ?? 0;
    small = small * 128 + (byte & 0x7f);
    if (byte < 0x80) return { value: BigInt(small), end: at + i + 1 };
  }
  let value = BigInt(small);
  for (let i = 4; i < 8; i++) {
    const byte = bytes[at + i] ?? 0;
    value = (value << 7n) | BigInt(byte & 0x7f);
    if (byte < 0x80) return { value, end: at + i + 1 };
  }
  value = (value << 8n) | BigInt(bytes[at + 8] ?? 0);
  return { value: BigInt.asIntN(64, value), end: at + 9 };
}
