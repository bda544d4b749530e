// Imports the data set, every named character of Unicode, into the database of the notes, and searches it.
//
// A batch is one transaction, which stores rows together with the progress of the import under a key. Rows count as
// stored once their transaction is durable. Storing a batch again changes nothing, so an import can be stopped,
// repeated and continued.

import type { RemoteStorage } from '../src/index.ts';
import address from './data/unicode-names.txt?url';
import { parseSearch } from './notes/search-query.ts';
import { MARK_END, MARK_START } from './ui/marked-text.tsx';

/** The number of rows in `data/unicode-names.txt`. */
export const CHARACTER_COUNT = 40_470;

/** How many rows a batch has: so few that a note that is saved between two batches waits only for a moment. */
const BATCH_ROWS = 2000;

const PROGRESS_KEY = 'characters/import';

const TABLES = [
  `CREATE TABLE IF NOT EXISTS characters (
     codepoint INTEGER PRIMARY KEY,
     character TEXT NOT NULL,
     name TEXT NOT NULL,
     category TEXT NOT NULL,
     block TEXT NOT NULL
   )`,
  `CREATE VIRTUAL TABLE IF NOT EXISTS characters_search USING fts5 (
     name, content='characters', content_rowid='codepoint', prefix='1 2 3'
   )`,
  `CREATE TRIGGER IF NOT EXISTS characters_inserted AFTER INSERT ON characters BEGIN
     INSERT INTO characters_search (rowid, name) VALUES (new.codepoint, new.name);
   END`,
];

/** The code point, name, category and block of a character. */
type CharacterRow = readonly [number, string, string, string];

export interface Character {
  readonly codepoint: number;
  readonly character: string;
  /** The name, which may contain the marks of a search. */
  readonly name: string;
  readonly category: string;
  readonly block: string;
}

export interface CharacterList {
  readonly characters: readonly Character[];
  readonly total: number;
}

export interface ImportProgress {
  /** The number of rows whose transactions are durable. */
  readonly rows: number;
  readonly batches: number;
  readonly durationMs: number;
}

/** Counts the stored characters; 0 if there is no table. */
export async function countCharacters(storage: RemoteStorage): Promise<number> {
  const tables = await storage.sql
    .exec(`SELECT name FROM sqlite_schema WHERE name = 'characters'`)
    .toArray();
  if (tables.length === 0) return 0;
  const { count } = await storage.sql
    .exec<{ count: number }>('SELECT count(*) AS count FROM characters')
    .one();
  return count;
}

/**
 * Stores the whole file in batches. If the signal is aborted, it rejects with the signal's reason, and the batches
 * that are durable stay.
 */
export async function importCharacters(
  storage: RemoteStorage,
  onProgress: (progress: ImportProgress) => void,
  signal: AbortSignal,
): Promise<ImportProgress> {
  const rows = parseCharacters(await fetchText(signal));
  const startedMs = performance.now();
  await storage.transaction(async () => {
    for (const statement of TABLES) await storage.sql.exec(statement).ready;
  });
  let progress: ImportProgress = { rows: 0, batches: 0, durationMs: 0 };
  for (let start = 0; start < rows.length; start += BATCH_ROWS) {
    signal.throwIfAborted();
    const batch = rows.slice(start, start + BATCH_ROWS);
    await storage.transaction(async (txn) => {
      await storage.sql.exec(
        `INSERT OR IGNORE INTO characters (codepoint, character, name, category, block)
         SELECT value ->> 0, char(value ->> 0), value ->> 1, value ->> 2, value ->> 3
         FROM json_each(?)`,
        JSON.stringify(batch),
      ).ready;
      await txn.put(PROGRESS_KEY, { rows: start + batch.length, of: rows.length, at: new Date() });
    });
    progress = {
      rows: start + batch.length,
      batches: progress.batches + 1,
      durationMs: performance.now() - startedMs,
    };
    onProgress(progress);
  }
  return progress;
}

/** Removes the whole data set in one transaction. */
export async function removeCharacters(storage: RemoteStorage): Promise<void> {
  await storage.transaction(async (txn) => {
    await storage.sql.exec('DROP TABLE IF EXISTS characters_search').ready;
    await storage.sql.exec('DROP TABLE IF EXISTS characters').ready;
    await txn.delete(PROGRESS_KEY);
  });
}

/** Finds characters by words of their name, by code point ("U+1F600"), or by the character itself. */
export async function searchCharacters(
  storage: RemoteStorage,
  text: string,
  limit: number,
): Promise<CharacterList> {
  const codepoint = codepointOf(text);
  if (codepoint !== null) {
    const characters = await storage.sql
      .exec<CharacterSqlRow>('SELECT * FROM characters WHERE codepoint = ?', codepoint)
      .toArray();
    return { characters, total: characters.length };
  }
  const match = parseSearch(text)?.match ?? '';
  if (match === '') return { characters: [], total: 0 };
  const [characters, { total }] = await Promise.all([
    storage.sql
      .exec<CharacterSqlRow>(
        `SELECT codepoint, character, category, block,
           highlight(characters_search, 0, ?2, ?3) AS name
         FROM characters_search JOIN characters ON codepoint = characters_search.rowid
         WHERE characters_search MATCH ?1 ORDER BY rank, codepoint LIMIT ?4`,
        match,
        MARK_START,
        MARK_END,
        limit,
      )
      .toArray(),
    storage.sql
      .exec<{ total: number }>(
        'SELECT count(*) AS total FROM characters_search WHERE characters_search MATCH ?',
        match,
      )
      .one(),
  ]);
  return { characters, total };
}

/** Formats a code point as in "U+0041". */
export function formatCodepoint(codepoint: number): string {
  return `U+${codepoint.toString(16).toUpperCase().padStart(4, '0')}`;
}

type CharacterSqlRow = {
  codepoint: number;
  character: string;
  name: string;
  category: string;
  block: string;
};

function codepointOf(text: string): number | null {
  const query = text.trim();
  const hex = /^u\+?([0-9a-f]{2,6})$/i.exec(query)?.[1];
  if (hex !== undefined && /^u\+|[0-9]/i.test(query)) return Number.parseInt(hex, 16);
  const [first, ...others] = query;
  // A variation selector is allowed after the character, because emoji keyboards may append one.
  const single = first !== undefined && others.every((other) => other === '\uFE0F');
  if (!single || /[a-z]/i.test(first)) return null;
  return first.codePointAt(0)!;
}

async function fetchText(signal: AbortSignal): Promise<string> {
  const response = await fetch(address, { signal });
  if (!response.ok) throw new Error(`The data set: ${response.status} ${response.statusText}`);
  return response.text();
}

// The format of the file is described in data/README.md.
function parseCharacters(text: string): CharacterRow[] {
  const rows: CharacterRow[] = [];
  let codepoint = 0;
  let block = '';
  for (const line of text.split('\n')) {
    const space = line.indexOf(' ');
    if (space < 0) continue;
    if (line.startsWith('@')) {
      codepoint = Number.parseInt(line.slice(1, space), 16);
      block = line.slice(space + 1);
    } else {
      rows.push([codepoint, line.slice(space + 1), line.slice(0, space), block]);
      codepoint += 1;
    }
  }
  if (rows.length !== CHARACTER_COUNT) {
    throw new Error(`The data set: ${rows.length} rows instead of ${CHARACTER_COUNT}.`);
  }
  return rows;
}
