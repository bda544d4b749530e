// The names that the authorizer is told, against the tables that the compiled program opens: two ways to know what a
// statement reads and writes, for random statements over a table of each kind.

import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ProgramReader, untoldTables } from '../../../packages/testing/worker/opened-tables.ts';
import {
  NOT_TABLES,
  SCHEMA,
  selects,
  writes,
} from '../../../packages/testing/worker/random-queries.ts';
import { codeOf, openInMemory } from '../../../packages/testing/worker/test-database.ts';
import type { Database } from './database.ts';
import type { QueryWatcher } from './query-policy.ts';
import type { QueryTables } from './query-tables.ts';

const RUNS = 400;

/** SQLite leaves out a table of a LEFT JOIN, and a subquery among results, that cannot change the result. */
const LEAVES_OUT = /LEFT JOIN|SELECT (DISTINCT )?\(/;

const WATCHER: QueryWatcher = {
  onQuery(tables) {
    told = tables;
  },
  onRow() {},
};

let database: Database;
let reader: ProgramReader;
let told: QueryTables | undefined;
/** Statements that SQLite could compile. */
let compiled: number;

async function open(schema: readonly string[]): Promise<void> {
  database = await openInMemory();
  reader = await ProgramReader.open();
  for (const sql of schema) {
    // A program may not make the storage's own tables.
    if (/\bTABLE _cf_/.test(sql)) database.run(sql);
    else database.exec(sql, []);
    reader.run(sql);
  }
}

function close(): void {
  database.close();
  reader.close();
}

beforeEach(() => {
  compiled = 0;
});

/** The tables of both ways; undefined when the statement cannot be compiled. */
function tablesOf(sql: string) {
  told = undefined;
  // A constraint may fail; the tables were told before.
  codeOf(() => database.exec(sql, [], undefined, WATCHER).toArray());
  const byName = told as QueryTables | undefined;
  if (byName === undefined) return undefined;
  compiled += 1;
  // Otherwise everything would be told, and nothing compared.
  expect([byName.reads, byName.writes]).not.toContain('all');
  return { told: byName, opened: reader.opened(sql) };
}

describe('the authorizer and the program name the same tables', () => {
  beforeAll(() => open(SCHEMA));
  afterAll(close);

  test('[SQL26] of a SELECT; but for what SQLite leaves out of the program', () => {
    fc.assert(
      fc.property(selects(), (sql) => {
        const tables = tablesOf(sql);
        if (tables === undefined) return;
        const { reads, writes: written } = tables.told;
        const { opened } = tables;
        expect(untoldTables(tables.told, opened)).toEqual([]);
        expect([...written, ...opened.written]).toEqual([]);
        if (LEAVES_OUT.test(sql)) return;
        // A WITH clause of no used column is told by its name.
        const clauses = new Set([...NOT_TABLES, ...(sql.includes('WITH note(') ? ['note'] : [])]);
        expect([...reads].filter((name) => !opened.read.has(name) && !clauses.has(name))).toEqual(
          [],
        );
      }),
      { numRuns: RUNS },
    );
    expect(compiled).toBeGreaterThan(RUNS / 3);
  });

  test('[SQL26] of a statement that writes, its triggers and foreign keys; but for the sequences', {
    tags: 'long',
  }, () => {
    fc.assert(
      fc.property(writes(), (sql) => {
        const tables = tablesOf(sql);
        if (tables === undefined) return;
        expect(untoldTables(tables.told, tables.opened)).toEqual([]);
      }),
      { numRuns: RUNS },
    );
    expect(compiled).toBeGreaterThan(RUNS / 3);
  });
});

describe('the storage’s own tables', () => {
  beforeAll(() =>
    open([
      'CREATE TABLE _cf_KV(id TEXT PRIMARY KEY, body BLOB) WITHOUT ROWID',
      ...SCHEMA,
      'CREATE VIEW peek AS SELECT id, body FROM _cf_KV FULL JOIN loose USING (id, body)',
      'CREATE TRIGGER peeks AFTER DELETE ON loose BEGIN' +
        ' INSERT INTO "Log"(id) SELECT 1 FROM starred NATURAL JOIN _cf_KV; END',
    ]),
  );
  afterAll(close);

  test('[HOST3] no statement runs whose program opens one', () => {
    const hidden = ['_cf_KV', '_CF_kv', 'peek'];
    let opening = 0;
    fc.assert(
      fc.property(fc.oneof(selects(hidden), writes(hidden)), (sql) => {
        told = undefined;
        const code = codeOf(() => database.exec(sql, [], undefined, WATCHER).toArray());
        let opened: ReturnType<ProgramReader['opened']>;
        try {
          opened = reader.opened(sql);
        } catch {
          expect(told).toBe(undefined); // not a statement, in both
          return;
        }
        if (!opened.read.has('_cf_KV') && !opened.written.has('_cf_KV')) return;
        opening += 1;
        expect({ code, told }).toEqual({ code: 'SQL_FORBIDDEN', told: undefined });
      }),
      { numRuns: RUNS },
    );
    expect(opening).toBeGreaterThan(RUNS / 20);
  });
});
