// What has changed in an object, from notes that are written with each change, in its transaction: the table and the key
// of a row, or a key. The changes after a position are the present content of everything that was noted after it.
//
// Invariants: a note is undone with the change that it is of. A note too many is harmless. Nothing that the class can
// create is without notes: it is refused instead.
//
// Does not know followers, nor when changes are sent.

import { storageError } from '@ctx-storage/core/errors';
import type { DurableObjectStorage } from '@ctx-storage/core/storage';
import { serialize } from '@ctx-storage/core/values';
import type {
  ChangeSource,
  Changes,
  CopyPart,
  CopyPlace,
  SentCell,
  TableChanges,
} from '../changes/changes.ts';
import type { Position } from '../protocol/messages.ts';
import { COPY_PART_BYTES, readPart } from './copy-parts.ts';
import { exactRows, type ReadValue } from './exact-rows.ts';
import { noteWrites } from './noted-storage.ts';
import { type OwnSql, ownSql } from './own-sql.ts';
import {
  type NotedTable,
  namesInChanges,
  OWN_PREFIX,
  readSchema,
  readValuesOf,
  type Schema,
  sqlName,
} from './table-shape.ts';
import { NOTE_KEYS, triggersOf } from './triggers.ts';

/** Notes that are kept: a follower that is further behind gets a snapshot (our choice). */
export const NOTES_MAX = 200_000;

const TABLES = [
  // k to k3: the key of a row. t: the name of its table, NULL for a key of the key-value storage, or one of NOTE.
  'CREATE TABLE IF NOT EXISTS _follow_note (id INTEGER PRIMARY KEY, t, k, k1, k2, k3)',
  'CREATE TABLE IF NOT EXISTS _follow_life (first INTEGER PRIMARY KEY, life INTEGER NOT NULL)',
  'CREATE TABLE IF NOT EXISTS _follow_table (name TEXT PRIMARY KEY, signature TEXT NOT NULL) WITHOUT ROWID',
  'CREATE TABLE IF NOT EXISTS _follow_schema (one INTEGER PRIMARY KEY, objects TEXT NOT NULL)',
  // Keys are noted through a view: last_insert_rowid() of the class's statements stays as it was.
  'CREATE VIEW IF NOT EXISTS _follow_key AS SELECT NULL AS k',
  'CREATE TRIGGER IF NOT EXISTS _follow_key_noted INSTEAD OF INSERT ON _follow_key BEGIN INSERT INTO _follow_note (k) VALUES (NEW.k); END',
];

/** Notes of something other than a row or a key, in the place of a table's name. */
const NOTE = { wipe: 1, schema: 2, table: 3, sequences: 4 } as const;
type NoteKind = (typeof NOTE)[keyof typeof NOTE];
/** The names of the notes' own tables, and of those of the followers (server/client-records.ts). */
const OWN: ReadonlySet<string> = new Set([
  ...['_follow_note', '_follow_life', '_follow_table', '_follow_schema'],
  ...['_follow_key', '_follow_key_noted', '_follow_client', '_follow_outcome'],
]);
/** Of the trigger of a table. */
const TRIGGER = /^_follow_(i|d|u|m|bi|bu)_/;

/** This package's triggers of a table. */
interface OwnTriggers {
  readonly names: readonly string[];
  /**
   * None of the class is newer. The newest runs first (sqlite/src/trigger.c). By RAISE(IGNORE), or an error in a statement OR
   * FAIL, it leaves out the triggers after it, and the row stays.
   */
  readonly areNewest: boolean;
}

export interface CaptureOptions {
  /** The random number of this instance, not 0. */
  readonly life: number;
  /** @default NOTES_MAX */
  readonly notesMax?: number;
  /** @default COPY_PART_BYTES */
  readonly partBytes?: number;
  /** Something may have been written. */
  onWrite(): void;
}

export class Capture implements ChangeSource {
  readonly #storage: DurableObjectStorage;
  readonly #options: CaptureOptions;
  readonly #sql: OwnSql;
  /** Keys that were noted after the last position, unless the note was undone. */
  readonly #keys = new Set<string>();
  /** Tables of this package before a text that names one of them. */
  #ownBefore: readonly string[] = [];
  /** Undefined: it may be another one. */
  #schema: Schema | undefined;
  #head: Position | undefined;
  /** Before the first note. */
  #first = 0;
  /** The number of the last note of earlier lives. */
  #earlier = 0;

  /** Wraps the storage in place. @throws FOLLOW_UNSUPPORTED */
  constructor(storage: DurableObjectStorage, options: CaptureOptions) {
    this.#storage = storage;
    this.#options = options;
    this.#sql = ownSql(storage, (name) => OWN.has(name) || TRIGGER.test(name));
    this.#setUp();
    noteWrites(storage, {
      keys: (keys) => this.#noteKeys(keys),
      beforeSchema: (text) => this.#beforeSchema(text),
      afterSchema: (text) => this.#afterSchema(text),
      undone: () => this.#undone(),
      deletesAll: () => this.#deletesAll(),
      wrote: () => options.onWrite(),
    });
  }

  /** Also stores in whose life the last note was written. */
  head(): Position {
    this.#keys.clear();
    const id = this.#lastNote();
    if (this.#head?.id === id) return this.#head;
    const { life } = this.#options;
    const stored = this.lifeAt(id);
    const isOurs = id > this.#earlier;
    if (isOurs && stored !== life) {
      this.#sql.rows('INSERT OR REPLACE INTO _follow_life VALUES (?, ?)', this.#earlier + 1, life);
    }
    this.#head = { id, life: isOurs ? life : (stored ?? 0) };
    return this.#head;
  }

  lifeAt(id: number): number | null {
    if (id === 0) {
      const [[first]] = this.#sql.rows('SELECT coalesce(min(id), 1) FROM _follow_note') as [
        [number],
      ];
      return first === 1 ? 0 : null;
    }
    const rows = this.#sql.rows(
      'SELECT (SELECT life FROM _follow_life WHERE first <= id ORDER BY first DESC LIMIT 1) FROM _follow_note WHERE id = ?',
      id,
    );
    return (rows[0]?.[0] as number | null | undefined) ?? null;
  }

  changesSince({ id: from }: Position): Changes {
    const noted = this.#sql
      .rows('SELECT DISTINCT t FROM _follow_note WHERE id > ?', from)
      .map(([table]) => table as string | NoteKind | null);
    const has = (note: string | NoteKind) => noted.includes(note);
    const { objects, tables } = this.#schemaNow();
    const whole = new Set(
      this.#sql
        .rows('SELECT DISTINCT k FROM _follow_note WHERE id > ? AND t = ?', from, NOTE.table)
        .map(([name]) => name as string),
    );
    const changed = [...tables.values()].flatMap((shape): TableChanges[] => {
      if (whole.has(shape.name)) return [this.#wholeTable(shape)];
      return has(shape.name) ? [this.#changedRows(shape, from)] : [];
    });
    const kv: [string, Uint8Array][] = [];
    const kvGone: string[] = [];
    if (noted.includes(null)) {
      const keys = this.#sql.rows(
        'SELECT DISTINCT k FROM _follow_note WHERE id > ? AND t IS NULL',
        from,
      );
      for (const [key] of keys as [string][]) {
        const value = this.#storage.kv.get(key);
        if (value !== undefined || this.#hasKey(key)) kv.push([key, serialize(value)]);
        else kvGone.push(key);
      }
    }
    const hasSequences = changed.length > 0 || has(NOTE.schema) || has(NOTE.sequences);
    return {
      // Everything that was written after the wipe is noted after it, so the changes are whole by themselves.
      isWiped: has(NOTE.wipe),
      schema: has(NOTE.schema) ? objects : null,
      tables: changed,
      sequences: hasSequences ? this.#sequences() : null,
      kv,
      kvGone,
    };
  }

  copyPart(place: CopyPlace | null): CopyPart {
    const schema = this.#schemaNow();
    const [first = null] = schema.tables.keys();
    const from = place ?? { table: first, after: null, sentBytes: 0 };
    const { partBytes = COPY_PART_BYTES } = this.#options;
    const { kv } = this.#storage;
    const { tables, kv: entries, next } = readPart(this.#sql, kv, schema, from, partBytes);
    const changes: Changes = {
      isWiped: place === null,
      schema: place === null ? schema.objects : null,
      tables,
      sequences: next === null ? this.#sequences() : null,
      kv: entries,
      kvGone: [],
    };
    return { changes, next };
  }

  canGoOn({ id }: Position, place: CopyPlace | null): boolean {
    const { wipe, schema, table } = NOTE;
    const others = this.#sql.rows(
      'SELECT 1 FROM _follow_note WHERE id > ? AND t IN (?, ?, ?) LIMIT 1',
      ...[id, wipe, schema, table],
    );
    return others.length === 0 && (place === null || this.#isPlace(place));
  }

  #isPlace({ table, after }: CopyPlace): boolean {
    if (table === null) return after === null || (after.length === 1 && this.#takesKey(after[0]));
    const shape = this.#schemaNow().tables.get(table);
    return shape !== undefined && (after === null || after.length === shape.keys.length);
  }

  /** Whether keys are listed after this one: each runtime has its own longest key, and a follower may send any text. */
  #takesKey(key: unknown): boolean {
    if (!isString(key)) return false;
    try {
      // To its end: no statement is left open.
      Array.from(this.#storage.kv.list({ startAfter: key, limit: 1 }));
      return true;
    } catch {
      return false;
    }
  }

  // ---- Notes.

  #setUp(): void {
    const [[count]] = this.#sql.rows(
      "SELECT count(*) FROM sqlite_master WHERE name = '_follow_key_noted'",
    ) as [[number]];
    // A write at each start would cost; if the last of them is there, all are.
    if (count === 0) for (const statement of TABLES) this.#sql.rows(statement);
    const id = this.#lastNote();
    const [[first]] = this.#sql.rows('SELECT coalesce(min(id), 1) - 1 FROM _follow_note') as [
      [number],
    ];
    this.#first = first;
    // A note whose life was not stored was never in a position that was told.
    this.#earlier = this.lifeAt(id) === null ? id - 1 : id;
    this.#syncSchema();
  }

  #lastNote(): number {
    const [[id]] = this.#sql.rows('SELECT coalesce(max(id), 0) FROM _follow_note') as [[number]];
    return id;
  }

  #noteKeys(keys: readonly string[]): void {
    for (const key of keys) {
      if (this.#keys.has(key)) continue;
      this.#keys.add(key);
      this.#sql.rows('INSERT INTO _follow_key VALUES (?)', key);
    }
  }

  #note(kind: NoteKind, key: string | null = null): void {
    this.#sql.rows('INSERT INTO _follow_note (t, k) VALUES (?, ?)', kind, key);
  }

  #undone(): void {
    this.#keys.clear();
    this.#schema = undefined;
    this.#head = undefined;
  }

  prune(oldest: number): void {
    const { notesMax = NOTES_MAX } = this.#options;
    const last = this.#head?.id ?? 0;
    if (last - this.#first < notesMax) return;
    const first = Math.min(oldest - 1, last - Math.floor(notesMax / 2));
    if (first <= this.#first) return;
    this.#first = first;
    this.#sql.rows('DELETE FROM _follow_note WHERE id <= ?', this.#first);
    this.#sql.rows(
      'DELETE FROM _follow_life WHERE first < (SELECT max(first) FROM _follow_life WHERE first <= ?)',
      this.#first + 1,
    );
  }

  #deletesAll(): () => void {
    const { id } = this.head();
    return () => {
      this.#undone();
      for (const statement of TABLES) this.#sql.rows(statement);
      this.#sql.rows('INSERT INTO _follow_note (id, t) VALUES (?, ?)', id + 1, NOTE.wipe);
      this.#syncSchema();
    };
  }

  // ---- The schema.

  #schemaNow(): Schema {
    this.#schema ??= readSchema(this.#sql);
    return this.#schema;
  }

  /** A column is not dropped while a trigger names it, and the index that it was in may be dropped in the same text. */
  #beforeSchema(text: string): void {
    this.#ownBefore = /_follow_/i.test(text) ? this.#ownNames() : [];
    if (!/\balter\b/i.test(text) || !/\bdrop\b/i.test(text)) return;
    for (const { name, uniques } of this.#schemaNow().tables.values()) {
      if (uniques.length > 0) this.#dropTriggers(name);
    }
  }

  #afterSchema(text: string): void {
    const there = this.#ownBefore.length === 0 ? [] : this.#ownNames();
    const gone = this.#ownBefore.find((name) => !there.includes(name));
    if (gone !== undefined) throw ownIsRemoved(gone);
    this.#syncSchema();
    if (/sqlite_sequence/i.test(text)) this.#note(NOTE.sequences);
  }

  #ownNames(): string[] {
    const names = this.#sql.rows('SELECT name FROM sqlite_master') as [string][];
    return names.map(([name]) => name).filter((name) => OWN.has(name));
  }

  /** Every table has its triggers, and each change of the schema is noted. @throws FOLLOW_UNSUPPORTED */
  #syncSchema(): void {
    this.#schema = undefined;
    const { objects, tables } = this.#schemaNow();
    const known = new Map(
      this.#sql.rows('SELECT name, signature FROM _follow_table') as [string, string][],
    );
    for (const name of known.keys()) if (!tables.has(name)) this.#forgetTable(name);
    const made = this.#ownTriggers();
    for (const shape of tables.values()) {
      const { name, signature } = shape;
      const triggers = triggersOf(shape);
      const found = made.get(folded(name));
      const isNoted = known.get(name) === signature && found?.names.length === triggers.length;
      if (isNoted && found.areNewest) continue;
      this.#dropTriggers(name);
      for (const trigger of triggers) this.#sql.rows(trigger);
      this.#sql.rows('INSERT OR REPLACE INTO _follow_table VALUES (?, ?)', name, signature);
      if (!isNoted) this.#note(NOTE.table, name);
    }
    const text = JSON.stringify(objects);
    const [stored] = this.#sql.rows('SELECT objects FROM _follow_schema');
    if (stored?.[0] === text || (stored === undefined && objects.length === 0)) return;
    this.#sql.rows('INSERT OR REPLACE INTO _follow_schema VALUES (1, ?)', text);
    this.#note(NOTE.schema);
  }

  #dropTriggers(table: string): void {
    for (const name of this.#ownTriggers().get(folded(table))?.names ?? []) {
      this.#sql.rows(`DROP TRIGGER ${sqlName(name)}`);
    }
    this.#forgetTable(table);
  }

  #ownTriggers(): ReadonlyMap<string, OwnTriggers> {
    const all = this.#sql.rows(
      "SELECT tbl_name, name FROM sqlite_master WHERE type = 'trigger' ORDER BY rowid",
    );
    const byTable = new Map<string, OwnTriggers>();
    for (const [table, name] of all as [string, string][]) {
      const { names } = byTable.get(folded(table)) ?? { names: [] };
      const areNewest = TRIGGER.test(name);
      byTable.set(folded(table), { names: areNewest ? [...names, name] : names, areNewest });
    }
    return byTable;
  }

  #forgetTable(name: string): void {
    this.#sql.rows('DELETE FROM _follow_table WHERE name = ?', name);
  }

  // ---- Content.

  #changedRows(shape: NotedTable, from: number): TableChanges {
    const { name, keys } = shape;
    const notes = NOTE_KEYS.slice(0, keys.length);
    // By the collation of the column, which its index has, and then exactly.
    const same = keys.map((key, i) => {
      const column = `c.${sqlName(key)}`;
      return `${column} = n.${notes[i]} AND ${column} = n.${notes[i]} COLLATE BINARY`;
    });
    const selected: ReadValue[] = [
      { sql: `c.${sqlName(keys[0]!)} IS NULL`, stores: 'numbers' },
      ...notes.map((note) => ({ sql: `n.${note}`, stores: 'anything' as const })),
      ...readValuesOf(shape, 'c'),
    ];
    const select = (values: string) =>
      `SELECT ${values} FROM (SELECT DISTINCT ${notes.join(', ')} FROM _follow_note WHERE id > ? AND t = ?) n ` +
      `LEFT JOIN ${sqlName(name)} c ON ${same.join(' AND ')}`;
    const rows: SentCell[][] = [];
    const gone: SentCell[][] = [];
    for (const [isGone, ...cells] of exactRows(this.#sql, selected, select, from, name)) {
      if (isGone === 1) gone.push(cells.slice(0, notes.length));
      else rows.push(cells.slice(notes.length));
    }
    return { ...namesInChanges(shape), isWhole: false, rows, gone };
  }

  /** Also of a key whose value is undefined. */
  #hasKey(key: string): boolean {
    const [found] = this.#storage.kv.list({ start: key, limit: 1 });
    return found?.[0] === key;
  }

  #wholeTable(shape: NotedTable): TableChanges {
    const select = (values: string) => `SELECT ${values} FROM ${sqlName(shape.name)} c`;
    const rows = exactRows(this.#sql, readValuesOf(shape, 'c'), select);
    return { ...namesInChanges(shape), isWhole: true, rows, gone: [] };
  }

  #sequences(): [string, number | bigint][] | null {
    const exists = this.#sql.rows("SELECT 1 FROM sqlite_master WHERE name = 'sqlite_sequence'");
    if (exists.length === 0) return null;
    const values: ReadValue[] = [
      { sql: 'name', stores: 'texts' },
      { sql: 'seq', stores: 'numbers' },
    ];
    const rows = exactRows(this.#sql, values, (both) => `SELECT ${both} FROM sqlite_sequence`);
    return rows as [string, number | bigint][];
  }
}

/** As SQLite compares names; a trigger has that of its table as its own text writes it. */
function folded(name: string): string {
  return name.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

function ownIsRemoved(name: string): Error {
  return storageError(
    'FOLLOW_UNSUPPORTED',
    `followable: ${name} holds what followers need, and was not removed; leave out names that begin with ${OWN_PREFIX}.`,
  );
}

function isString(value: unknown): value is string {
  return typeof value === 'string';
}
