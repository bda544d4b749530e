// The faults that SQLite finds in a file's pages, by their remedy.

import type { Database } from '../sql/database.ts';
import { type Fault, STEP } from './import-faults.ts';
import { literal, quoted } from './remedies.ts';
import type { SchemaCheck } from './schema-check.ts';

/** So many are looked at: those behind them may need another remedy. */
const FAULTS_MAX = 100;

const ROOTLESS = 'SELECT 1 FROM sqlite_schema WHERE coalesce(rootpage, 0) = 0 LIMIT 1';

const INDEX =
  /^(row \d+ missing from|wrong # of entries in|row \d+ values differ from) index|^rowid not at end/;
const NOT_UNIQUE = /^non-unique entry in index (.*)$/;
const VALUE = /^(?:NULL|NUMERIC|TEXT|non-\w+) value in (.*)$/;
const FULL_TEXT = /(?:inverted index for FTS5 table main\.|^fts5: .* for table ")([^:"]*)/;
const RTREE = /^In RTree main\.(.*):$/;
const RTREE_DETAIL = /^(Mapping|Node|Cell|Dimension|Wrong number of entries|Rtree) /;
const HEADLINE = /^\*\*\*|^$/;
/** Only the list of free pages is wrong, and no page of a table: all rows can be read. */
const FREE_PAGES =
  /^Page \d+(:| is) never used$|^(Main )?freelist|^2nd reference to page|^\*\*\*|^$/i;
const KNOWN = [INDEX, NOT_UNIQUE, VALUE, FULL_TEXT, RTREE, RTREE_DETAIL, FREE_PAGES];

export const ANOTHER_COPY =
  'if a -journal or -wal file lies beside it, copy both and open the copy with sqlite3 once, which completes it (.tables); ' +
  'else use another copy, or what .recover of sqlite3 saves';

/** Between two checks of all pages. */
export async function damageOf(
  database: Database,
  schema: SchemaCheck,
  between: () => Promise<void>,
): Promise<Fault[]> {
  await between();
  let damage = database.damage(FAULTS_MAX);
  if (damage === undefined && hasRow(database, ROOTLESS)) {
    await between();
    damage = database.damageOfAllPages(FAULTS_MAX);
  }
  return damage === undefined ? [] : faultsIn(damage.split('\n'), schema);
}

function faultsIn(lines: readonly string[], schema: SchemaCheck): Fault[] {
  const other = lines.find((line) => !KNOWN.some((kind) => kind.test(line)));
  // No other remedy helps then: none writes into such a file.
  if (other !== undefined) return [{ fact: damaged(other), wayOut: ANOTHER_COPY }];

  const faults: Fault[] = [];
  let left = lines;
  /** Takes the lines of a kind out. */
  const take = (kind: RegExp): string[] => {
    const taken = left.filter((line) => kind.test(line));
    left = left.filter((line) => !kind.test(line));
    return taken;
  };
  const namesIn = (kind: RegExp) => [...new Set(take(kind).map((line) => kind.exec(line)![1]!))];

  const [index] = take(INDEX);
  if (index !== undefined) {
    faults.push({
      fact: damaged(index),
      wayOut: 'make its indexes again',
      sql: ['REINDEX;'],
      step: STEP.index,
    });
  }
  for (const name of namesIn(NOT_UNIQUE)) {
    faults.push(
      ...schema.faultsOfIndex(name, damaged(`two rows are equal in the unique index ${name}`)),
    );
  }
  const columns = namesIn(VALUE);
  for (const column of columns) {
    const table = schema.tableOf(column);
    if (table === undefined) continue;
    const fact = damaged(`${column} holds values that its table does not allow`);
    faults.push(...schema.faultsOfTable(table, fact, { constraints: true }));
  }
  for (const name of namesIn(FULL_TEXT)) {
    const table = quoted(name);
    faults.push({
      fact: damaged(`the index of the fts5 table ${name} is not of its rows`),
      wayOut: 'make it again',
      sql: [`INSERT INTO main.${table}(${table}) VALUES (${literal('rebuild')});`],
      step: STEP.index,
    });
  }
  const trees = namesIn(RTREE);
  for (const name of trees) {
    faults.push(
      ...schema.faultsOfVirtual(name, damaged(`the parts of the rtree table ${name} differ`)),
    );
  }
  const [page] = take(FREE_PAGES).filter((line) => !HEADLINE.test(line));
  if (page !== undefined) {
    faults.push({ fact: damaged(page), wayOut: 'copy its rows into a new file', copy: 'before' });
  }
  return faults;
}

function damaged(words: string): string {
  return `the file is damaged: ${words}`;
}

export function hasRow(database: Database, sql: string): boolean {
  const statement = database.statement(sql);
  const found = statement.step();
  statement.reset();
  return found;
}
