// Stores notes in SQL: the tables, and every statement on them.
//
// `notes_search` is an FTS5 index without a copy of the text (external content); triggers update it with each change of
// `notes`. A note is written only if its text is still the one that was read.

import type { RemoteStorage } from '../../src/index.ts';
import { MARK_END, MARK_START, markOccurrences } from '../ui/marked-text.tsx';
import { parseSearch, type SearchQuery } from './search-query.ts';

export interface NoteText {
  readonly title: string;
  readonly body: string;
}

export interface StoredNote extends NoteText {
  readonly id: number;
  readonly updatedMs: number;
}

/** A line of the list, whose title and excerpt may contain the marks of a search. */
export interface NoteSummary {
  readonly id: number;
  readonly title: string;
  readonly excerpt: string;
  readonly updatedMs: number;
}

export interface NoteList {
  readonly notes: readonly NoteSummary[];
  /** The number of all notes that match, not only of those in the list. */
  readonly total: number;
}

export type WriteResult =
  | { readonly kind: 'written'; readonly note: StoredNote }
  /** The stored text is not the one that was read; `stored` is the note as it is now, null if it was deleted. */
  | { readonly kind: 'conflict'; readonly stored: StoredNote | null };

const TABLES = [
  `CREATE TABLE IF NOT EXISTS notes (
     id INTEGER PRIMARY KEY,
     title TEXT NOT NULL,
     body TEXT NOT NULL,
     updated_ms INTEGER NOT NULL
   )`,
  'CREATE INDEX IF NOT EXISTS notes_by_time ON notes (updated_ms)',
  `CREATE VIRTUAL TABLE IF NOT EXISTS notes_search USING fts5 (
     title, body, content='notes', content_rowid='id',
     tokenize='unicode61 remove_diacritics 2', prefix='1 2 3'
   )`,
  `CREATE TRIGGER IF NOT EXISTS notes_inserted AFTER INSERT ON notes BEGIN
     INSERT INTO notes_search (rowid, title, body) VALUES (new.id, new.title, new.body);
   END`,
  `CREATE TRIGGER IF NOT EXISTS notes_deleted AFTER DELETE ON notes BEGIN
     INSERT INTO notes_search (notes_search, rowid, title, body)
     VALUES ('delete', old.id, old.title, old.body);
   END`,
  `CREATE TRIGGER IF NOT EXISTS notes_updated AFTER UPDATE ON notes BEGIN
     INSERT INTO notes_search (notes_search, rowid, title, body)
     VALUES ('delete', old.id, old.title, old.body);
     INSERT INTO notes_search (rowid, title, body) VALUES (new.id, new.title, new.body);
   END`,
];
const TABLE_NAMES = [
  'notes',
  'notes_by_time',
  'notes_search',
  'notes_inserted',
  'notes_deleted',
  'notes_updated',
];

const EXCERPT_LENGTH = 160;
const SNIPPET_LENGTH_MAX = 400;

/** Creates missing tables; if any was missing, rebuilds the index from the existing notes. */
export async function createNoteTables(storage: RemoteStorage): Promise<void> {
  const there = await storage.sql
    .exec<{ count: number }>(
      'SELECT count(*) AS count FROM sqlite_schema WHERE name IN (SELECT value FROM json_each(?))',
      JSON.stringify(TABLE_NAMES),
    )
    .one();
  if (there.count === TABLE_NAMES.length) return;
  await storage.transaction(async () => {
    for (const statement of TABLES) await storage.sql.exec(statement).ready;
    await storage.sql.exec(`INSERT INTO notes_search (notes_search) VALUES ('rebuild')`).ready;
  });
}

/** Lists the newest notes, or the best matches of a search. */
export async function listNotes(
  storage: RemoteStorage,
  search: string,
  limit: number,
): Promise<NoteList> {
  const query = parseSearch(search);
  if (query === null) return listNewest(storage, limit);
  return query.match === ''
    ? listContaining(storage, query, limit)
    : listMatching(storage, query, limit);
}

/** Reads a note; null if it does not exist. */
export async function readNote(storage: RemoteStorage, id: number): Promise<StoredNote | null> {
  const rows = await storage.sql
    .exec<NoteRow>('SELECT id, title, body, updated_ms FROM notes WHERE id = ?', id)
    .toArray();
  return rows[0] === undefined ? null : storedNote(rows[0]);
}

/** Returns an unused id. It is chosen before the insert, so that a repeated insert is recognized. */
export function newNoteId(): number {
  return Date.now() * 1000 + Math.floor(Math.random() * 1000);
}

/** Stores a new note, or restores a deleted one. */
export async function insertNote(
  storage: RemoteStorage,
  id: number,
  text: NoteText,
  updatedMs = Date.now(),
): Promise<WriteResult> {
  const rows = await storage.sql
    .exec<NoteRow>(
      `INSERT INTO notes (id, title, body, updated_ms) VALUES (?, ?, ?, ?)
       ON CONFLICT DO NOTHING RETURNING id, title, body, updated_ms`,
      id,
      text.title,
      text.body,
      updatedMs,
    )
    .toArray();
  return writeResult(storage, id, text, rows);
}

/** Writes the text of a note, unless the stored text is no longer `base`. */
export async function updateNote(
  storage: RemoteStorage,
  id: number,
  base: NoteText,
  text: NoteText,
): Promise<WriteResult> {
  const rows = await storage.sql
    .exec<NoteRow>(
      `UPDATE notes SET title = ?, body = ?, updated_ms = max(?, updated_ms + 1)
       WHERE id = ? AND title || char(10) || body = ?
       RETURNING id, title, body, updated_ms`,
      text.title,
      text.body,
      Date.now(),
      id,
      `${base.title}\n${base.body}`,
    )
    .toArray();
  return writeResult(storage, id, text, rows);
}

/** Deletes a note and returns it; null if it did not exist. */
export async function deleteNote(storage: RemoteStorage, id: number): Promise<StoredNote | null> {
  const rows = await storage.sql
    .exec<NoteRow>('DELETE FROM notes WHERE id = ? RETURNING id, title, body, updated_ms', id)
    .toArray();
  return rows[0] === undefined ? null : storedNote(rows[0]);
}

type NoteRow = { id: number; title: string; body: string; updated_ms: number };
type SummaryRow = { id: number; title: string; excerpt: string; updated_ms: number };

// Every value is converted to text, because the SQL panel can store any type in the table.
function storedNote(row: NoteRow): StoredNote {
  const { id, title, body, updated_ms: updatedMs } = row;
  return { id, title: String(title), body: String(body), updatedMs };
}

// A write whose answer was lost with the worker is repeated and may find its own row, which counts as success.
async function writeResult(
  storage: RemoteStorage,
  id: number,
  text: NoteText,
  rows: readonly NoteRow[],
): Promise<WriteResult> {
  if (rows[0] !== undefined) return { kind: 'written', note: storedNote(rows[0]) };
  const stored = await readNote(storage, id);
  return stored?.title === text.title && stored.body === text.body
    ? { kind: 'written', note: stored }
    : { kind: 'conflict', stored };
}

function summary(row: SummaryRow): NoteSummary {
  const { id, title, excerpt, updated_ms: updatedMs } = row;
  return { id, title: String(title), excerpt: String(excerpt), updatedMs };
}

async function listNewest(storage: RemoteStorage, limit: number): Promise<NoteList> {
  const [rows, { total }] = await Promise.all([
    storage.sql
      .exec<SummaryRow>(
        `SELECT id, title, substr(body, 1, ${EXCERPT_LENGTH}) AS excerpt, updated_ms
         FROM notes ORDER BY updated_ms DESC LIMIT ?`,
        limit,
      )
      .toArray(),
    storage.sql.exec<{ total: number }>('SELECT count(*) AS total FROM notes').one(),
  ]);
  return { notes: rows.map(summary), total };
}

async function listMatching(
  storage: RemoteStorage,
  query: SearchQuery,
  limit: number,
): Promise<NoteList> {
  const filter = `notes_search MATCH ?1 AND ${containsAll('?2')}`;
  const bindings = [query.match, JSON.stringify(query.contains)];
  const from = 'FROM notes_search JOIN notes ON notes.id = notes_search.rowid';
  const [rows, { total }] = await Promise.all([
    storage.sql
      .exec<SummaryRow>(
        `SELECT id, highlight(notes_search, 0, ?3, ?4) AS title, updated_ms,
           substr(snippet(notes_search, 1, ?3, ?4, '…', 18), 1, ${SNIPPET_LENGTH_MAX}) AS excerpt
         ${from} WHERE ${filter}
         ORDER BY bm25(notes_search, 8.0, 1.0), updated_ms DESC LIMIT ?5`,
        ...bindings,
        MARK_START,
        MARK_END,
        limit,
      )
      .toArray(),
    storage.sql
      .exec<{ total: number }>(`SELECT count(*) AS total ${from} WHERE ${filter}`, ...bindings)
      .one(),
  ]);
  return { notes: rows.map(summary), total };
}

async function listContaining(
  storage: RemoteStorage,
  query: SearchQuery,
  limit: number,
): Promise<NoteList> {
  const contains = JSON.stringify(query.contains);
  const [rows, { total }] = await Promise.all([
    storage.sql
      .exec<SummaryRow>(
        `SELECT id, title, updated_ms,
           substr(body, max(1, instr(lower(body), lower(?1)) - 30), ${EXCERPT_LENGTH}) AS excerpt
         FROM notes WHERE ${containsAll('?2')} ORDER BY updated_ms DESC LIMIT ?3`,
        query.contains[0]!,
        contains,
        limit,
      )
      .toArray(),
    storage.sql
      .exec<{ total: number }>(
        `SELECT count(*) AS total FROM notes WHERE ${containsAll('?1')}`,
        contains,
      )
      .one(),
  ]);
  const notes = rows.map(summary).map((note) => ({
    ...note,
    title: markOccurrences(note.title, query.contains),
    excerpt: markOccurrences(note.excerpt, query.contains),
  }));
  return { notes, total };
}

// Returns the SQL condition that a note contains every text of the JSON array in `parameter`.
function containsAll(parameter: string): string {
  return `NOT EXISTS (SELECT 1 FROM json_each(${parameter}) AS wanted
    WHERE instr(lower(notes.title || char(10) || notes.body), lower(wanted.value)) = 0)`;
}
