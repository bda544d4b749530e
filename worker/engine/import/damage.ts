// Finds the faults in a file's pages with SQLite's own check, and groups them by remedy.

import type { Database } from '../sql/database.ts';
import { type Fault, type ImportFaults, STEP } from './import-faults.ts';
import { inQuotes } from './remedies.ts';

/** Maximum number of lines of SQLite's report that are read; later lines may need another remedy. */
const LINES_MAX = 100;

const ROOTLESS = 'SELECT 1 FROM sqlite_schema WHERE coalesce(rootpage, 0) = 0 LIMIT 1';

const INDEX = /^(row \d+|wrong #|rowid not) .* index/;
const ROWS = /^non-unique entry|^[\w-]+ value in /;
const FULL_TEXT = /(?:inverted index for FTS5 table main\.|^fts5: .* for table ")([^:"]*)/;
/** Matches faults of the list of free pages, in spite of which all rows can be read. */
const FREE_PAGES = /^Page \d+(?: is|:) never used$|^(Main )?freelist|^2nd reference/i;
const HEADLINE = /^\*\*\*|^$/;

export const ANOTHER_COPY =
  'if a -journal or -wal file lies beside it, open a copy of both with sqlite3 once (.tables), which completes it; ' +
  'else use another copy, or what .recover of sqlite3 saves';

/** Adds one fault for each remedy. Calls `between` before each check of all pages. */
export async function findDamage(
  database: Database,
  faults: ImportFaults,
  between: () => Promise<void>,
): Promise<void> {
  await between();
  let damage = database.damage(LINES_MAX);
  if (damage === undefined && hasRow(database, ROOTLESS)) {
    await between();
    damage = database.damageOfAllPages(LINES_MAX);
  }
  if (damage === undefined) return;
  const found = new Map<string, Fault>();
  for (const line of damage.split('\n')) {
    if (HEADLINE.test(line)) continue;
    const { kind, ...remedy } = remedyOf(line);
    if (!found.has(kind)) found.set(kind, { fact: `the file is damaged: ${line}`, ...remedy });
  }
  const other = found.get(OTHER);
  // If a page itself is damaged, offer no program, because a program would write into the file.
  if (other === undefined) faults.add(...found.values());
  else faults.endWith(other);
}

const OTHER = 'other';

function remedyOf(line: string): Omit<Fault, 'fact'> & { readonly kind: string } {
  const table = FULL_TEXT.exec(line)?.[1];
  if (table !== undefined) {
    const name = inQuotes(table);
    const sql = [`INSERT INTO main.${name}(${name}) VALUES ('rebuild');`];
    return { kind: line, wayOut: 'make its index again', sql, step: STEP.index };
  }
  if (INDEX.test(line)) {
    return { kind: 'index', wayOut: 'make the indexes again', sql: ['REINDEX;'], step: STEP.index };
  }
  if (ROWS.test(line)) return { kind: line, wayOut: 'change or delete these rows' };
  if (FREE_PAGES.test(line)) {
    return { kind: 'pages', wayOut: 'copy its rows into a new file', copy: 'before' };
  }
  return { kind: OTHER, wayOut: ANOTHER_COPY };
}

export function hasRow(database: Database, sql: string): boolean {
  const statement = database.statement(sql);
  const found = statement.step();
  statement.reset();
  return found;
}
