// Reports a failed test: for each object that it named, the database as a SQLite file, the keys and tables in words,
// and the commits made during the test.
//
// Invariant: reporting never hides the failure of the test; data that cannot be read is named in the report.

import type { TestInfo } from '@playwright/test';
import type { TestStorage } from './test-storage.ts';

/** The largest number of reported objects, the last ones that the test named. */
const OBJECTS_MAX = 20;
const ENTRIES_MAX = 50;
const ROWS_MAX = 20;
const COMMITS_MAX = 10;
const VALUE_CHARS = 200;
/** The longest time for each read, because the app's worker may have caused the failure. */
const READ_MS = 2000;

/** A commit, as far as bookmarks reveal it. */
interface Commit {
  readonly bookmark: string;
  /** The time of the commit, to the millisecond. */
  readonly timeMs: number;
}

/** Attaches the storage of these objects to the test's result. */
export async function attachStorages(
  storages: readonly TestStorage[],
  testInfo: TestInfo,
  startedMs: number,
): Promise<void> {
  const reported = storages.slice(-OBJECTS_MAX);
  for (const storage of reported) {
    const name = fileName(String(storage));
    try {
      const reads = storage.quietly(READ_MS);
      const file = (await reads.read('exportDatabase')) as Uint8Array;
      await testInfo.attach(`${name}.sqlite`, {
        body: Buffer.from(file),
        contentType: 'application/vnd.sqlite3',
      });
      const body = await summary(storage, startedMs);
      await testInfo.attach(`${name}.txt`, { body, contentType: 'text/plain' });
    } catch (error) {
      const body = `${storage} could not be read: ${(error as Error).message}\n`;
      await testInfo.attach(`${name}.txt`, { body, contentType: 'text/plain' });
    }
  }
  const left = storages.length - reported.length;
  if (left > 0) {
    const body = `${left} more objects were named; the last ${OBJECTS_MAX} are attached.\n`;
    await testInfo.attach('storage.txt', { body, contentType: 'text/plain' });
  }
}

async function summary(storage: TestStorage, startedMs: number): Promise<string> {
  const lines = [String(storage), ''];
  const reads = storage.quietly(READ_MS);
  const alarm = (await reads.read('getAlarm')) as number | null;
  lines.push(`alarm: ${alarm === null ? 'none' : new Date(alarm).toISOString()}`, '');
  const entries = (await reads.read('list', { limit: ENTRIES_MAX + 1 })) as Map<string, unknown>;
  lines.push(`keys: ${entries.size > ENTRIES_MAX ? `more than ${ENTRIES_MAX}` : entries.size}`);
  for (const [key, value] of [...entries].slice(0, ENTRIES_MAX)) {
    lines.push(`  ${key}: ${inWords(value)}`);
  }
  const tables = await reads.sql(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf\\_%' ESCAPE '\\' " +
      "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name",
    [],
  );
  for (const { name } of tables) {
    const quoted = `"${String(name).replaceAll('"', '""')}"`;
    const [counted] = await reads.sql(`SELECT count(*) AS count FROM ${quoted}`, []);
    lines.push('', `table ${name}: ${counted?.count} rows`);
    for (const row of await reads.sql(`SELECT * FROM ${quoted} LIMIT ${ROWS_MAX}`, [])) {
      lines.push(`  ${inWords(row)}`);
    }
  }
  lines.push('', `last commits since the test began (restore takes the bookmark):`);
  const commits = await lastCommits(reads.read, startedMs);
  for (const { timeMs, bookmark } of commits) {
    lines.push(`  ${new Date(timeMs).toISOString()}  ${bookmark}`);
  }
  if (commits.length === 0) lines.push('  none');
  return `${lines.join('\n')}\n`;
}

/**
 * Returns the last commits. It asks for the bookmarks of times, because the storage only converts times to bookmarks.
 */
async function lastCommits(
  read: (method: string, ...parameters: unknown[]) => Promise<unknown>,
  startedMs: number,
): Promise<Commit[]> {
  const at = async (timeMs: number) => (await read('getBookmarkForTime', timeMs)) as string;
  const commits: Commit[] = [];
  let endMs = Date.now();
  let bookmark = await at(endMs);
  const first = await at(startedMs).catch(() => '');
  while (bookmark > first && commits.length < COMMITS_MAX) {
    // The time of a commit is the earliest moment that has its bookmark.
    let [lowMs, highMs] = [startedMs, endMs];
    while (lowMs < highMs) {
      const middleMs = Math.floor((lowMs + highMs) / 2);
      if ((await at(middleMs)) >= bookmark) highMs = middleMs;
      else lowMs = middleMs + 1;
    }
    commits.push({ bookmark, timeMs: lowMs });
    endMs = lowMs - 1;
    if (endMs < startedMs) break;
    bookmark = await at(endMs);
  }
  return commits;
}

function inWords(value: unknown): string {
  const text = JSON.stringify(value, (_, part: unknown) => {
    if (typeof part === 'bigint') return `${part}n`;
    if (part instanceof Map) return { Map: [...part] };
    if (part instanceof Set) return { Set: [...part] };
    if (part instanceof ArrayBuffer || ArrayBuffer.isView(part)) return `${part.byteLength} bytes`;
    return part;
  });
  return text !== undefined && text.length > VALUE_CHARS ? `${text.slice(0, VALUE_CHARS)}…` : text;
}

function fileName(words: string): string {
  return words.replace(/[^\p{L}\p{N}_-]+/gu, '-').replace(/^-|-$/g, '');
}
