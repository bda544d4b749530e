// Reads the parts of a snapshot: first the rows of all tables, in the order of their keys, then the key-value storage.
//
// Invariants:
//   a row or key that is not written during the snapshot is in exactly one part
//   no statement is left open, because the next statement may drop its table
//   a part exceeds `partBytes` by one row, or one key and its value, at most; only the part and one value are in memory
// An assertion checks that the table of a place exists. To check the rest, all parts would have to be read again, which
// tests do.
//
// This file does not know what is written between two parts.

import { assert } from '@ctx-storage/core/errors';
import type { DurableObjectStorage } from '@ctx-storage/core/storage';
import { serialize } from '@ctx-storage/core/values';
import type { CopyPlace, SentCell, TableChanges } from '../changes/changes.ts';
import { bytesOfText } from '../changes/exact-text.ts';
import { exactRows } from './exact-rows.ts';
import type { OwnSql } from './own-sql.ts';
import { LIMIT, rowBytesSql } from './row-sizes.ts';
import {
  type NotedTable,
  namesInChanges,
  readValuesOf,
  type Schema,
  sqlName,
} from './table-shape.ts';

/**
 * The approximate size of a part in bytes (our choice: a message of this size is sent in a moment, and a snapshot needs
 * few parts).
 */
export const COPY_PART_BYTES = 400_000;
/** The sizes of this many rows are read at once. */
const SIZES_AT_ONCE = 2000;

export interface PartContent {
  readonly tables: readonly TableChanges[];
  readonly kv: readonly (readonly [key: string, value: Uint8Array])[];
  readonly next: CopyPlace | null;
}

/** Reads a part. `place` must fit the object: its table exists, and its key has as many columns as the table's. */
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
    const shape = shapes.get(table);
    assert(shape !== undefined, 'a snapshot goes on in a table that is gone');
    const read = rowsAfter(sql, shape, after, partBytes - sizeBytes);
    const { rows } = read;
    if (rows.length > 0) tables.push({ ...namesInChanges(shape), isWhole: false, rows, gone: [] });
    sizeBytes += read.sizeBytes;
    table = read.isLast ? (names[names.indexOf(table) + 1] ?? null) : table;
    after = read.isLast ? null : keyOf(shape, rows.at(-1)!);
  }
  const entries: [string, Uint8Array][] = [];
  if (sizeBytes >= partBytes) return { tables, kv: entries, next: next() };
  const startAfter = after?.[0] as string | undefined;
  // The list reads an entry when it is asked for, as that of workerd does.
  for (const [key, value] of kv.list(startAfter === undefined ? {} : { startAfter })) {
    if (sizeBytes >= partBytes) {
      closeList(kv, key);
      return { tables, kv: entries, next: next() };
    }
    const bytes = serialize(value);
    entries.push([key, bytes]);
    sizeBytes += key.length + bytes.length;
    after = [key];
  }
  return { tables, kv: entries, next: null };
}

/**
 * Ends a list that was left unfinished at this key: beginning another list ends it, and the other list is read to its
 * end.
 */
function closeList(kv: DurableObjectStorage['kv'], key: string): void {
  Array.from(kv.list({ start: key, limit: 1 }));
}

/** Reads the rows after a key until they reach `bytesMax`; at least one row, if there is one. */
function rowsAfter(
  sql: OwnSql,
  shape: NotedTable,
  after: readonly SentCell[] | null,
  bytesMax: number,
): { readonly rows: SentCell[][]; readonly sizeBytes: number; readonly isLast: boolean } {
  const { keys, columns } = shape;
  const names = keys.map((key) => `c.${sqlName(key)}`);
  const where = after === null ? '' : `WHERE (${names}) > (${after.map(placeholder)})`;
  const from = `FROM ${sqlName(shape.name)} c ${where} ORDER BY ${names} ${LIMIT}`;
  const bindings = (after ?? []).map(bindingOf);
  const size = rowBytesSql(
    'c',
    columns.map(({ name }) => name),
  );
  const sizes = sql.rows(`SELECT ${size} ${from}`, ...bindings, SIZES_AT_ONCE);
  let count = 0;
  let sizeBytes = 0;
  while (count < sizes.length && sizeBytes < bytesMax) {
    sizeBytes += sizes[count]![0] as number;
    count += 1;
  }
  const isLast = count === sizes.length && count < SIZES_AT_ONCE;
  if (count === 0) return { rows: [], sizeBytes, isLast };
  const select = (selected: string) => `SELECT ${selected} ${from}`;
  const rows = exactRows(sql, readValuesOf(shape, 'c'), select, ...bindings, count);
  return { rows, sizeBytes, isLast };
}

function keyOf({ keys, columns }: NotedTable, row: readonly SentCell[]): SentCell[] {
  return keys.map((key) => row[columns.findIndex(({ name }) => name === key)]!);
}

/** The unary + removes the affinity of CAST, which would turn a text that looks like a number into one. */
function placeholder(cell: SentCell): string {
  if (typeof cell === 'bigint') return '+CAST(? AS INTEGER)';
  return typeof cell === 'string' && bytesOfText(cell) !== null ? '+CAST(? AS TEXT)' : '?';
}

/** Returns the value to bind: runtimes bind neither a bigint nor a text that is not UTF-8. */
function bindingOf(cell: SentCell): unknown {
  if (typeof cell === 'bigint') return String(cell);
  if (typeof cell === 'string') return bytesOfText(cell)?.buffer ?? cell;
  return cell instanceof Uint8Array ? cell.slice().buffer : cell;
}
