// The parts of a copy: the content of an object from a place on, in the order of its tables and their keys, then of its
// keys.
//
// Invariants:
//   a row or key that is not written while a copy is made is in one of its parts, once
//   no statement is left open: the next one may drop the table
//   a part holds one row more than its bytes, at most, in memory
//
// Does not know the writes of the time between two parts.

import type { DurableObjectStorage } from '@ctx-storage/core/storage';
import { serialize } from '@ctx-storage/core/values';
import type { CopyPlace, SentCell, TableChanges } from '../changes/changes.ts';
import { bytesOfText } from '../changes/exact-text.ts';
import { exactRows } from './exact-rows.ts';
import type { OwnSql } from './own-sql.ts';
import {
  type NotedTable,
  namesInChanges,
  readValuesOf,
  type Schema,
  sqlName,
} from './table-shape.ts';

/** Bytes of a part, about (our choice: a message of this size is sent in a moment, and asked for in few turns). */
export const COPY_PART_BYTES = 400_000;
/** Rows of which the sizes are read at once. */
const SIZES_MAX = 2000;
/** Keys that are read at once: a value has up to 2 MiB. */
const KEYS_MAX = 32;
/** The cost of a value beside its text or bytes, about. */
const CELL_BYTES = 9;

export interface PartContent {
  readonly tables: readonly TableChanges[];
  readonly kv: readonly (readonly [key: string, value: Uint8Array])[];
  readonly next: CopyPlace | null;
}

/** `place` is one of this object: its table exists, and its key has as many columns. */
export function readPart(
  sql: OwnSql,
  kv: DurableObjectStorage['kv'],
  { tables: shapes }: Schema,
  place: CopyPlace,
  partBytes: number,
): PartContent {
  const tables: TableChanges[] = [];
  let sizeBytes = 0;
  let { table, after } = place;
  const next = (): CopyPlace => ({ table, after, sentBytes: place.sentBytes + sizeBytes });
  const names = [...shapes.keys()];
  while (table !== null) {
    if (sizeBytes >= partBytes) return { tables, kv: [], next: next() };
    const shape = shapes.get(table)!;
    const read = rowsAfter(sql, shape, after, partBytes - sizeBytes);
    const { rows } = read;
    if (rows.length > 0) tables.push({ ...namesInChanges(shape), isWhole: false, rows, gone: [] });
    sizeBytes += read.sizeBytes;
    table = read.isLast ? (names[names.indexOf(table) + 1] ?? null) : table;
    after = read.isLast ? null : keyOf(shape, rows.at(-1)!);
  }
  const entries: [string, Uint8Array][] = [];
  for (;;) {
    if (sizeBytes >= partBytes) return { tables, kv: entries, next: next() };
    const startAfter = after?.[0] as string | undefined;
    const read = [...kv.list({ limit: KEYS_MAX, ...(startAfter !== undefined && { startAfter }) })];
    for (const [key, value] of read) {
      const bytes = serialize(value);
      entries.push([key, bytes]);
      sizeBytes += key.length + bytes.length;
    }
    const last = read.at(-1);
    if (last === undefined || read.length < KEYS_MAX) return { tables, kv: entries, next: null };
    after = [last[0]];
  }
}

/** Rows after a key, until they have these bytes; one at least, if there is one. */
function rowsAfter(
  sql: OwnSql,
  shape: NotedTable,
  after: readonly SentCell[] | null,
  bytesMax: number,
): { readonly rows: SentCell[][]; readonly sizeBytes: number; readonly isLast: boolean } {
  const { keys, columns } = shape;
  const names = keys.map((key) => `c.${sqlName(key)}`);
  const where = after === null ? '' : `WHERE (${names}) > (${after.map(placeholder)})`;
  const from = `FROM ${sqlName(shape.name)} c ${where} ORDER BY ${names} LIMIT ?`;
  const bindings = (after ?? []).map(bound);
  const size = columns.map(({ name }) => `coalesce(octet_length(c.${sqlName(name)}), 0)`);
  const sizes = sql.rows(`SELECT ${sumOf(size)} ${from}`, ...bindings, SIZES_MAX);
  let count = 0;
  let sizeBytes = 0;
  while (count < sizes.length && sizeBytes < bytesMax) {
    sizeBytes += (sizes[count]![0] as number) + CELL_BYTES * columns.length;
    count += 1;
  }
  const isLast = count === sizes.length && count < SIZES_MAX;
  if (count === 0) return { rows: [], sizeBytes, isLast };
  const select = (selected: string) => `SELECT ${selected} ${from}`;
  const rows = exactRows(sql, readValuesOf(shape, 'c'), select, ...bindings, count);
  return { rows, sizeBytes, isLast };
}

/** In halves: an expression has a depth of at most 100, and a table as many columns. */
function sumOf(terms: readonly string[]): string {
  if (terms.length === 1) return terms[0]!;
  const half = Math.ceil(terms.length / 2);
  return `(${sumOf(terms.slice(0, half))} + ${sumOf(terms.slice(half))})`;
}

function keyOf({ keys, columns }: NotedTable, row: readonly SentCell[]): SentCell[] {
  return keys.map((key) => row[columns.findIndex(({ name }) => name === key)]!);
}

/** The sign takes away the affinity of CAST, which would make a number of a text that looks like one. */
function placeholder(cell: SentCell): string {
  if (typeof cell === 'bigint') return '+CAST(? AS INTEGER)';
  return typeof cell === 'string' && bytesOfText(cell) !== null ? '+CAST(? AS TEXT)' : '?';
}

/** A runtime binds no bigint, and no text that is not UTF-8. */
function bound(cell: SentCell): unknown {
  if (typeof cell === 'bigint') return String(cell);
  if (typeof cell === 'string') return bytesOfText(cell)?.buffer ?? cell;
  return cell instanceof Uint8Array ? cell.slice().buffer : cell;
}
