// Captures the changes of an object. For each changed row or key, a *note* with its table and key is inserted into
// `_follow_note`, in the transaction of the change. The changes after a position are the present content of everything
// that was noted after it.
//
// Invariants:
//   a note is rolled back with its change
//   every change has a note; the class cannot create tables whose changes would have none (FOLLOW_UNSUPPORTED)
//   a note without a change is harmless, because the present content is sent
//   no row of this file's tables ends an instance or makes a copy differ; the most that a row may cause is a snapshot
// Assertions check that positions only go forward, and that requested notes exist. SQLite's triggers find the changes
// that a class makes.
//
// Rows that this file cannot have written come from statements of the class, or from outside. If a table is gone, or the notes
// have numbers that cannot be continued, a new history begins, of which no follower has a position. A life that is not
// a number is ignored. read-changes.ts decides about notes of an unknown kind, or of keys that no row can have.
//
// This file does not know followers, nor when changes are sent.

import { assert, storageError } from '@ctx-storage/core/errors';
import type { DurableObjectStorage } from '@ctx-storage/core/storage';
import type { ChangeSource, Changes, CopyPart, CopyPlace } from '../changes/changes.ts';
import type { Position } from '../protocol/messages.ts';
import { COPY_PART_BYTES, readPart } from './copy-parts.ts';
import { NOTE_KIND, type NoteKind } from './note-kinds.ts';
import { noteWrites } from './noted-storage.ts';
import { type OwnSql, ownSql } from './own-sql.ts';
import { readChanges } from './read-changes.ts';
import { readSequences } from './sequences.ts';
import { literal, OWN_PREFIX, readSchema, type Schema, sqlName } from './table-shape.ts';
import { triggersOf } from './triggers.ts';

/** At most this many notes are kept (our choice). A follower that is further behind gets a snapshot. */
export const NOTES_MAX = 200_000;

/**
 * The tables, the view and the trigger of this file, with their texts in sqlite_master. The last entry is created last.
 */
const OWN_OBJECTS: ReadonlyMap<string, string> = new Map([
  // t is the name of a row's table, NULL for a key of the key-value storage, or one of NOTE_KIND. k to k3 are the row's key.
  ['_follow_note', 'CREATE TABLE _follow_note (id INTEGER PRIMARY KEY, t, k, k1, k2, k3)'],
  ['_follow_life', 'CREATE TABLE _follow_life (first INTEGER PRIMARY KEY, life INTEGER NOT NULL)'],
  [
    '_follow_table',
    'CREATE TABLE _follow_table (name TEXT PRIMARY KEY, signature TEXT NOT NULL) WITHOUT ROWID',
  ],
  [
    '_follow_schema',
    'CREATE TABLE _follow_schema (one INTEGER PRIMARY KEY, objects TEXT NOT NULL)',
  ],
  // Keys are noted through a view, so that last_insert_rowid() of the class's statements does not change.
  ['_follow_key', 'CREATE VIEW _follow_key AS SELECT NULL AS k'],
  [
    '_follow_key_noted',
    'CREATE TRIGGER _follow_key_noted INSTEAD OF INSERT ON _follow_key BEGIN INSERT INTO _follow_note (k) VALUES (NEW.k); END',
  ],
]);
const TABLES = ['_follow_note', '_follow_life', '_follow_table', '_follow_schema'];
/** Notes with greater numbers are damage: JavaScript could not count on from the greatest number of SQLite. */
const NOTE_MAX = 2 ** 52;
const LIFE_MAX = 2 ** 32 - 1;

/** The names of this package's tables, views and triggers, and of the tables and the index of `packages/follow/server`. */
const OWN_NAMES: ReadonlySet<string> = new Set([
  ...OWN_OBJECTS.keys(),
  ...['_follow_client', '_follow_client_identity', '_follow_lost', '_follow_outcome'],
  ...['_follow_salt', '_follow_ended'],
]);
/** Matches the names of the triggers that record a table's changes. */
const TRIGGER_NAME = /^_follow_(i|d|u|m|bi|bu)_/;

/** The triggers that record one table's changes, as they are in the database. */
interface OwnTriggers {
  readonly names: readonly string[];
  /**
   * True if no trigger of the class is newer. SQLite runs the newest trigger first (sqlite/src/trigger.c), and a
   * trigger that ends by RAISE(IGNORE), or by an error in a statement OR FAIL, skips the older triggers, though the row
   * is written.
   */
  readonly areNewest: boolean;
}

export interface CaptureOptions {
  /** A random number that identifies this instance; not 0. */
  readonly life: number;
  /** How many notes are kept. @default NOTES_MAX */
  readonly notesMax?: number;
  /** The approximate size of a part of a snapshot, in bytes. @default COPY_PART_BYTES */
  readonly partBytes?: number;
  /** Called after each write of the class, and after statements that may have written. */
  onWrite(): void;
}

export class Capture implements ChangeSource {
  readonly #storage: DurableObjectStorage;
  readonly #options: CaptureOptions;
  readonly #sql: OwnSql;
  /** The keys that were noted since `head` was last called. Further writes of these keys need no note. */
  readonly #notedKeys = new Set<string>();
  /** This package's tables that existed before a statement of the class that names one of them. */
  #ownNamesBefore: readonly string[] = [];
  /** The schema, or undefined if it may have changed since it was read. */
  #schema: Schema | undefined;
  #head: Position | undefined;
  /** One less than the number of the oldest note. */
  #prunedTo = 0;
  /** The number of the last note of earlier lives. */
  #lastOfEarlierLives = 0;

  /** Wraps the storage in place. @throws FOLLOW_UNSUPPORTED */
  constructor(storage: DurableObjectStorage, options: CaptureOptions) {
    this.#storage = storage;
    this.#options = options;
    this.#sql = ownSql(storage, (name) => OWN_NAMES.has(name) || TRIGGER_NAME.test(name));
    this.#setUp();
    noteWrites(storage, {
      keysWritten: (keys) => this.#noteKeys(keys),
      beforeSchemaText: (text) => this.#beforeSchemaText(text),
      afterSchemaText: (text) => this.#afterSchemaText(text),
      writesUndone: () => this.#forgetCached(),
      beforeDeleteAll: () => this.#beforeDeleteAll(),
      maybeWritten: () => options.onWrite(),
    });
  }

  /** Returns the present position. First stores the life of the instance to which the last note belongs. */
  head(): Position {
    this.#notedKeys.clear();
    const id = this.#lastNote();
    if (this.#head?.id === id) return this.#head;
    assert(this.#head === undefined || id > this.#head.id, 'notes were undone without notice');
    const { life } = this.#options;
    const stored = this.lifeAt(id);
    const isOurs = id > this.#lastOfEarlierLives;
    if (isOurs && stored !== life) {
      this.#sql.rows(
        'INSERT OR REPLACE INTO _follow_life VALUES (?, ?)',
        this.#lastOfEarlierLives + 1,
        life,
      );
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
    const [found] = this.#sql.rows(
      'SELECT (SELECT life FROM _follow_life WHERE first <= id ORDER BY first DESC LIMIT 1) FROM _follow_note WHERE id = ?',
      id,
    );
    const life = found?.[0];
    return Number.isInteger(life) && (life as number) > 0 && (life as number) <= LIFE_MAX
      ? (life as number)
      : null;
  }

  changesSince({ id }: Position, bytesMax: number): Changes | null {
    assert(id >= this.#prunedTo, 'the notes of these changes were deleted');
    return readChanges(this.#sql, this.#storage.kv, this.#schemaNow(), id, bytesMax);
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
      sequences: next === null ? readSequences(this.#sql, schema) : null,
      kv: entries,
      kvGone: [],
    };
    return { changes, next };
  }

  canContinueCopy({ id }: Position, place: CopyPlace | null): boolean {
    const { wipe, schema, table } = NOTE_KIND;
    const schemaNotes = this.#sql.rows(
      'SELECT 1 FROM _follow_note WHERE id > ? AND t IN (?, ?, ?) LIMIT 1',
      ...[id, wipe, schema, table],
    );
    return schemaNotes.length === 0 && (place === null || this.#isValidPlace(place));
  }

  #isValidPlace({ table, after }: CopyPlace): boolean {
    if (table === null)
      return after === null || (after.length === 1 && this.#canListAfter(after[0]));
    const shape = this.#schemaNow().tables.get(table);
    return shape !== undefined && (after === null || after.length === shape.keys.length);
  }

  /** True if keys can be listed after this one. A follower may send any text, and each runtime bounds the length of keys. */
  #canListAfter(key: unknown): boolean {
    if (!isString(key)) return false;
    try {
      // The list is read to its end, so that no statement stays open.
      Array.from(this.#storage.kv.list({ startAfter: key, limit: 1 }));
      return true;
    } catch {
      return false;
    }
  }

  // ---- Notes.

  #setUp(): void {
    // A start that creates nothing saves a write.
    if (!this.#isSetUp()) this.#beginHistory();
    const [first, last] = this.#noteRange();
    this.#prunedTo = first - 1;
    const [futureLife] = this.#sql.rows('SELECT 1 FROM _follow_life WHERE first > ? LIMIT 1', last);
    if (futureLife !== undefined) this.#sql.rows('DELETE FROM _follow_life WHERE first > ?', last);
    // If the life of the last note was not stored, no follower has a position with that note, so this life may include it.
    this.#lastOfEarlierLives = this.lifeAt(last) === null ? last - 1 : last;
    this.#syncSchema();
  }

  /** True if this file's tables exist, and the notes can be continued. */
  #isSetUp(): boolean {
    const names = [...OWN_OBJECTS.keys()].map(literal).join();
    const stored = new Map(
      this.#sql.rows(`SELECT name, sql FROM sqlite_master WHERE name IN (${names})`) as [
        string,
        string,
      ][],
    );
    // A table that is renamed is renamed in the texts of the trigger and the view, too.
    const isThere = ([name, text]: [string, string]) =>
      TABLES.includes(name) ? stored.has(name) : stored.get(name) === text;
    if (![...OWN_OBJECTS].every(isThere)) return false;
    const [first, last] = this.#noteRange();
    return first > 0 && last <= NOTE_MAX;
  }

  /** Creates this file's tables, or empties them. */
  #beginHistory(): void {
    this.#sql.rows('DROP VIEW IF EXISTS _follow_key');
    for (const { names } of this.#ownTriggers().values()) {
      for (const name of names) this.#sql.rows(`DROP TRIGGER ${sqlName(name)}`);
    }
    this.#createTables();
    for (const name of TABLES) this.#sql.rows(`DELETE FROM ${name}`);
    const isEmpty =
      this.#schemaNow().objects.length === 0 &&
      Array.from(this.#storage.kv.list({ limit: 1 })).length === 0;
    if (isEmpty) return;
    // No notes name the existing rows and keys. The first note is number 2, so a position before all notes is unknown, and
    // a follower at that position gets a snapshot.
    this.#sql.rows('INSERT INTO _follow_note (id, t) VALUES (?, ?)', 2, NOTE_KIND.schema);
  }

  #createTables(): void {
    for (const text of OWN_OBJECTS.values()) {
      this.#sql.rows(text.replace(/^CREATE \w+/, '$& IF NOT EXISTS'));
    }
  }

  /** Returns the numbers of the first and the last note; [1, 0] if there are none. */
  #noteRange(): readonly [first: number, last: number] {
    const query =
      'SELECT coalesce((SELECT min(id) FROM _follow_note), 1), coalesce((SELECT max(id) FROM _follow_note), 0)';
    return this.#sql.rows(query)[0] as [number, number];
  }

  #lastNote(): number {
    const [[id]] = this.#sql.rows('SELECT coalesce(max(id), 0) FROM _follow_note') as [[number]];
    return id;
  }

  #noteKeys(keys: readonly string[]): void {
    for (const key of keys) {
      if (this.#notedKeys.has(key)) continue;
      this.#notedKeys.add(key);
      this.#sql.rows('INSERT INTO _follow_key VALUES (?)', key);
    }
  }

  #note(kind: NoteKind, key: string | null = null): void {
    this.#sql.rows('INSERT INTO _follow_note (t, k) VALUES (?, ?)', kind, key);
  }

  #forgetCached(): void {
    this.#notedKeys.clear();
    this.#schema = undefined;
    this.#head = undefined;
  }

  prune(oldest: () => number): void {
    const { notesMax = NOTES_MAX } = this.#options;
    const last = this.#head?.id ?? 0;
    if (last - this.#prunedTo < notesMax) return;
    const first = Math.min(oldest() - 1, last - Math.floor(notesMax / 2));
    if (first <= this.#prunedTo) return;
    this.#prunedTo = first;
    this.#sql.rows('DELETE FROM _follow_note WHERE id <= ?', this.#prunedTo);
    this.#sql.rows(
      'DELETE FROM _follow_life WHERE first < (SELECT max(first) FROM _follow_life WHERE first <= ?)',
      this.#prunedTo + 1,
    );
  }

  #beforeDeleteAll(): () => void {
    const { id } = this.head();
    return () => {
      this.#forgetCached();
      this.#createTables();
      this.#sql.rows('INSERT INTO _follow_note (id, t) VALUES (?, ?)', id + 1, NOTE_KIND.wipe);
      this.#syncSchema();
    };
  }

  // ---- The schema.

  #schemaNow(): Schema {
    this.#schema ??= readSchema(this.#sql);
    return this.#schema;
  }

  /**
   * Drops triggers that could make a statement fail: SQLite does not drop a column that a trigger names. The triggers of
   * unique indexes name the columns of an index, which the same text may drop.
   */
  #beforeSchemaText(text: string): void {
    this.#ownNamesBefore = /_follow_/i.test(text) ? this.#ownNames() : [];
    if (!/\balter\b/i.test(text) || !/\bdrop\b/i.test(text)) return;
    for (const { name, uniques } of this.#schemaNow().tables.values()) {
      if (uniques.length > 0) this.#dropTriggers(name);
    }
  }

  #afterSchemaText(text: string): void {
    const namesAfter = this.#ownNamesBefore.length === 0 ? [] : this.#ownNames();
    const gone = this.#ownNamesBefore.find((name) => !namesAfter.includes(name));
    if (gone !== undefined) throw ownTableRemoved(gone);
    this.#syncSchema();
    if (/sqlite_sequence/i.test(text)) this.#note(NOTE_KIND.sequences);
  }

  #ownNames(): string[] {
    const names = this.#sql.rows('SELECT name FROM sqlite_master') as [string][];
    return names.map(([name]) => name).filter((name) => OWN_NAMES.has(name));
  }

  /** Gives every table its triggers, and notes changes of the schema. @throws FOLLOW_UNSUPPORTED */
  #syncSchema(): void {
    this.#schema = undefined;
    const { objects, tables } = this.#schemaNow();
    const signatures = new Map(
      this.#sql.rows('SELECT name, signature FROM _follow_table') as [string, string][],
    );
    for (const name of signatures.keys()) if (!tables.has(name)) this.#forgetTable(name);
    const ownTriggers = this.#ownTriggers();
    for (const shape of tables.values()) {
      const { name, signature } = shape;
      const triggers = triggersOf(shape);
      const found = ownTriggers.get(foldedName(name));
      const isNoted = signatures.get(name) === signature && found?.names.length === triggers.length;
      if (isNoted && found.areNewest) continue;
      this.#dropTriggers(name);
      for (const trigger of triggers) this.#sql.rows(trigger);
      this.#sql.rows('INSERT OR REPLACE INTO _follow_table VALUES (?, ?)', name, signature);
      if (!isNoted) this.#note(NOTE_KIND.table, name);
    }
    const text = JSON.stringify(objects);
    const [stored] = this.#sql.rows('SELECT objects FROM _follow_schema WHERE one = 1');
    if (stored?.[0] === text || (stored === undefined && objects.length === 0)) return;
    this.#sql.rows('INSERT OR REPLACE INTO _follow_schema VALUES (1, ?)', text);
    this.#note(NOTE_KIND.schema);
  }

  #dropTriggers(table: string): void {
    for (const name of this.#ownTriggers().get(foldedName(table))?.names ?? []) {
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
      const { names } = byTable.get(foldedName(table)) ?? { names: [] };
      const areNewest = TRIGGER_NAME.test(name);
      byTable.set(foldedName(table), { names: areNewest ? [...names, name] : names, areNewest });
    }
    return byTable;
  }

  #forgetTable(name: string): void {
    this.#sql.rows('DELETE FROM _follow_table WHERE name = ?', name);
  }
}

/** Folds a table's name to lower case as SQLite compares names: a trigger may write its table's name in another case. */
function foldedName(name: string): string {
  return name.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

function ownTableRemoved(name: string): Error {
  return storageError(
    'FOLLOW_UNSUPPORTED',
    `followable: ${name} holds what followers need, and was not removed; leave out names that begin with ${OWN_PREFIX}.`,
  );
}

function isString(value: unknown): value is string {
  return typeof value === 'string';
}
