// Reads the changes since a note: the present content of everything that was noted after it.
//
// Invariants:
//   no more content is read than `bytesMax` and one value; the row or key of a single note is read, whatever size it has
//   no statement is left open, because the next statement may drop its table
//   a note that cannot have been written by capture.ts makes the changes unknown, so that followers get a snapshot
//
// This file does not know how notes are made.

import type { DurableObjectStorage } from '@ctx-storage/core/storage';
import { serialize } from '@ctx-storage/core/values';
import type { Changes, SchemaEntry, SentCell, TableChanges } from '../changes/changes.ts';
import { exactRows, type ReadValue } from './exact-rows.ts';
import { NOTE_KIND, type NoteKind } from './note-kinds.ts';
import type { OwnSql } from './own-sql.ts';
import { CELL_BYTES, LIMIT, rowBytesSql } from './row-sizes.ts';
import { readSequences } from './sequences.ts';
import {
  type NotedTable,
  namesInChanges,
  readValuesOf,
  type Schema,
  sqlName,
} from './table-shape.ts';
import { NOTE_KEYS } from './triggers.ts';

/** The most rows whose sizes are asked for, if the bound is infinite. */
const ROWS_MAX = 2 ** 31;
const KINDS: ReadonlySet<unknown> = new Set(Object.values(NOTE_KIND));

type Kv = DurableObjectStorage['kv'];
/** The target of a note: a table's row (the table's name), a key (null), or one of `NOTE_KIND`. */
type Noted = string | NoteKind | null;

/** Ends reading: the changes are too large, or unknown. */
class Unsent extends Error {}

/** Returns the changes since the note `from`; null if they have about more than `bytesMax` bytes, or are unknown. */
export function readChanges(
  sql: OwnSql,
  kv: Kv,
  schema: Schema,
  from: number,
  bytesMax: number,
): Changes | null {
  try {
    return new ChangesReader(sql, kv, schema, from, bytesMax).read();
  } catch (error) {
    if (error instanceof Unsent) return null;
    throw error;
  }
}

class ChangesReader {
  readonly #sql: OwnSql;
  readonly #kv: Kv;
  readonly #schema: Schema;
  readonly #from: number;
  #bytesLeft: number;
  /** True if there is one note. Then the sizes of its row or value are not queried, which saves a fifth of the time. */
  readonly #isOneNote: boolean;

  constructor(sql: OwnSql, kv: Kv, schema: Schema, from: number, bytesMax: number) {
    this.#sql = sql;
    this.#kv = kv;
    this.#schema = schema;
    this.#from = from;
    this.#bytesLeft = bytesMax;
    const [[last]] = sql.rows('SELECT max(id) FROM _follow_note') as [[number]];
    this.#isOneNote = last - from <= 1;
  }

  read(): Changes {
    const noted = this.#noted();
    const isWiped = noted.has(NOTE_KIND.wipe);
    if (isWiped) this.#checkWipe();
    const schema = noted.has(NOTE_KIND.schema) ? this.#takeSchema(this.#schema.objects) : null;
    const tables = this.#tables(noted);
    const hasSequences =
      tables.length > 0 || noted.has(NOTE_KIND.schema) || noted.has(NOTE_KIND.sequences);
    return {
      // The notes after the wipe name everything that the object has, so these changes are complete by themselves.
      isWiped,
      schema,
      tables,
      sequences: hasSequences ? this.#sequences() : null,
      ...(noted.has(null) ? this.#keys() : { kv: [], kvGone: [] }),
    };
  }

  #noted(): ReadonlySet<Noted> {
    const rows = this.#sql.rows('SELECT DISTINCT t FROM _follow_note WHERE id > ?', this.#from);
    const noted = rows.map(([of]) => of);
    if (!noted.every((of) => of === null || typeof of === 'string' || KINDS.has(of))) {
      throw new Unsent();
    }
    return new Set(noted as Noted[]);
  }

  /** Checks that the wipe's note is the oldest, because `deleteAll` deletes the notes before its own. */
  #checkWipe(): void {
    const later = this.#sql.rows(
      'SELECT 1 FROM _follow_note WHERE id > (SELECT min(id) FROM _follow_note) AND t = ? LIMIT 1',
      NOTE_KIND.wipe,
    );
    if (later.length > 0) throw new Unsent();
  }

  #takeSchema(objects: readonly SchemaEntry[]): readonly SchemaEntry[] {
    for (const { name, sql } of objects) this.#take(name.length + sql.length);
    return objects;
  }

  #tables(noted: ReadonlySet<Noted>): TableChanges[] {
    const wholeTables = noted.has(NOTE_KIND.table) ? this.#wholeTables() : new Set();
    return [...this.#schema.tables.values()].flatMap((shape): TableChanges[] => {
      if (wholeTables.has(shape.name)) return [this.#wholeTable(shape)];
      return noted.has(shape.name) ? [this.#changedRows(shape)] : [];
    });
  }

  #wholeTables(): ReadonlySet<unknown> {
    const query = 'SELECT DISTINCT k FROM _follow_note WHERE id > ? AND t = ?';
    return new Set(this.#sql.rows(query, this.#from, NOTE_KIND.table).map(([name]) => name));
  }

  #wholeTable(shape: NotedTable): TableChanges {
    const columns = shape.columns.map(({ name }) => name);
    const from = `FROM ${sqlName(shape.name)} c`;
    const rowBytes = `SELECT ${rowBytesSql('c', columns)} AS bytes ${from} ${LIMIT}`;
    this.#takeRows(rowBytes, CELL_BYTES * columns.length);
    const select = (values: string) => `SELECT ${values} ${from}`;
    const rows = exactRows(this.#sql, readValuesOf(shape, 'c'), select);
    return { ...namesInChanges(shape), isWhole: true, rows, gone: [] };
  }

  #changedRows(shape: NotedTable): TableChanges {
    const { name, keys, columns } = shape;
    const notes = NOTE_KEYS.slice(0, keys.length);
    // The first comparison uses the collation of the column, so that SQLite can use its index; the second one is exact.
    const sameKey = keys.map((key, i) => {
      const column = `c.${sqlName(key)}`;
      return `${column} = n.${notes[i]} AND ${column} = n.${notes[i]} COLLATE BINARY`;
    });
    const select = (values: string, limit = '') =>
      `SELECT ${values} FROM (SELECT DISTINCT ${notes.join(', ')} FROM _follow_note WHERE id > ? AND t = ?${limit}) n ` +
      `LEFT JOIN ${sqlName(name)} c ON ${sameKey.join(' AND ')}`;
    if (!this.#isOneNote) {
      const cells = columns.map((column) => column.name);
      const bytes = `${rowBytesSql('n', notes)} + ${rowBytesSql('c', cells)}`;
      const leastBytes = CELL_BYTES * (notes.length + cells.length);
      this.#takeRows(select(`${bytes} AS bytes`, ` ${LIMIT}`), leastBytes, this.#from, name);
    }
    const isForeign = notes.map((note, i) => isForeignSql(shape, keys[i]!, `n.${note}`));
    const state = `CASE WHEN ${isForeign.join(' OR ')} THEN 2 ELSE c.${sqlName(keys[0]!)} IS NULL END`;
    const selected: ReadValue[] = [
      { sql: state, stores: 'texts' },
      ...notes.map((note) => ({ sql: `n.${note}`, stores: 'anything' as const })),
      ...readValuesOf(shape, 'c'),
    ];
    const rows: SentCell[][] = [];
    const gone: SentCell[][] = [];
    for (const [found, ...cells] of exactRows(this.#sql, selected, select, this.#from, name)) {
      if (found === 2) throw new Unsent();
      if (found === 1) gone.push(cells.slice(0, notes.length));
      else rows.push(cells.slice(notes.length));
    }
    return { ...namesInChanges(shape), isWhole: false, rows, gone };
  }

  #sequences(): Changes['sequences'] {
    if (!this.#schema.hasSequences) return null;
    const columns = ['name', 'seq'];
    const rowBytes = `SELECT ${rowBytesSql('s', columns)} AS bytes FROM sqlite_sequence s ${LIMIT}`;
    this.#takeRows(rowBytes, CELL_BYTES * columns.length);
    return readSequences(this.#sql, this.#schema);
  }

  #keys(): Pick<Changes, 'kv' | 'kvGone'> {
    const keys = 'SELECT DISTINCT k FROM _follow_note WHERE id > ? AND t IS NULL';
    if (!this.#isOneNote) {
      const bytes = `SELECT ${rowBytesSql('n', ['k'])} AS bytes FROM (${keys} ${LIMIT}) n`;
      this.#takeRows(bytes, CELL_BYTES, this.#from);
    }
    const kv: [string, Uint8Array][] = [];
    const kvGone: string[] = [];
    for (const [key] of this.#sql.rows(keys, this.#from)) {
      const value = this.#valueOf(key);
      if (value === null) {
        kvGone.push(key as string);
      } else {
        kv.push([key as string, value]);
        if (!this.#isOneNote) this.#take(value.length);
      }
    }
    return { kv, kvGone };
  }

  /** Returns the serialized value of a key; null if the key does not exist. */
  #valueOf(key: unknown): Uint8Array | null {
    if (typeof key !== 'string') throw new Unsent();
    let value: unknown;
    try {
      value = this.#kv.get(key);
    } catch {
      // The runtime refuses this key, so no key of the object is like it; or the value cannot be read, which a snapshot
      // reports.
      throw new Unsent();
    }
    return value === undefined && !this.#hasKey(key) ? null : serialize(value);
  }

  /** True if the key exists, even if its value is undefined. */
  #hasKey(key: string): boolean {
    // The list is read to its end, so that no statement stays open.
    const [found] = [...this.#kv.list({ prefix: key, limit: 1 })];
    return found?.[0] === key;
  }

  /**
   * Counts the sizes of rows before they are read. `query` selects the sizes as `bytes`; its last binding is the
   * greatest number of rows.
   */
  #takeRows(query: string, leastBytes: number, ...bindings: unknown[]): void {
    const rowsMax = Math.min(ROWS_MAX, Math.floor(this.#bytesLeft / leastBytes) + 1);
    const sum = `SELECT coalesce(sum(bytes), 0) FROM (${query})`;
    const [[bytes]] = this.#sql.rows(sum, ...bindings, rowsMax) as [[number]];
    this.#take(bytes);
  }

  #take(bytes: number): void {
    this.#bytesLeft -= bytes;
    if (this.#bytesLeft < 0) throw new Unsent();
  }
}

/** Returns an SQL condition that is true for a noted key that no row can have, because its column converts such values. */
function isForeignSql({ hasRowid, columns }: NotedTable, key: string, note: string): string {
  if (hasRowid) return `typeof(${note}) <> 'integer'`;
  switch (columns.find(({ name }) => name === key)!.stores) {
    case 'texts':
      return `typeof(${note}) NOT IN ('text', 'blob')`;
    case 'anything':
      return `${note} IS NULL`;
    default:
      // The comparison converts a text that is a number.
      return `${note} IS NULL OR typeof(${note}) = 'text' AND ${note} = CAST(${note} AS NUMERIC)`;
  }
}
