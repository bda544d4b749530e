// Which queries are lookups by key, and that the rows that a statement changes are told completely.

import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openInMemory } from '../../../packages/testing/worker/test-database.ts';
import { isStorageError } from '../../../src/shared/contract/errors.ts';
import { ReadSet, WriteSet } from '../storage/accesses.ts';
import type { Database } from './database.ts';
import type { QueryWatcher } from './query-policy.ts';
import type { QueryAccess } from './query-tables.ts';

let database: Database;
let told: QueryAccess[];
/** Of the queries; undefined while nobody watches. */
let watcher: QueryWatcher | undefined;

const SCHEMA = `
  CREATE TABLE item(id INTEGER PRIMARY KEY, parent REFERENCES item(id) ON DELETE CASCADE ON UPDATE CASCADE, v);
  CREATE TABLE word(name TEXT PRIMARY KEY, n UNIQUE, v);
  CREATE TABLE bare(name TEXT PRIMARY KEY, v) WITHOUT ROWID;
  CREATE TABLE loose(a, b UNIQUE ON CONFLICT REPLACE, v);
  CREATE TABLE fold(name TEXT PRIMARY KEY COLLATE NOCASE, v);
  CREATE TABLE down(id INTEGER PRIMARY KEY DESC, v);
  CREATE TABLE pair(a, b, v, PRIMARY KEY(a, b));
  CREATE TABLE named(rowid TEXT, v);
  CREATE TABLE accents("É" TEXT PRIMARY KEY, "é");
  CREATE TABLE affine(name CHARINT PRIMARY KEY, v);
  CREATE VIEW shown AS SELECT * FROM item;
  CREATE TRIGGER copied AFTER UPDATE OF v ON word BEGIN
    UPDATE item SET v = new.v WHERE id = new.n;
    DELETE FROM bare WHERE name = old.name;
  END;
  CREATE TRIGGER emptied AFTER DELETE ON loose WHEN old.v = 'all' BEGIN DELETE FROM fold; END`;

beforeEach(async () => {
  told = [];
  database = await openInMemory();
  database.exec(SCHEMA, []);
  watcher = { onQuery: (access) => void told.push(access), onRow() {} };
});
afterEach(() => database.close());

function run(sql: string, ...bindings: unknown[]): unknown[][] {
  return database.exec(sql, bindings, undefined, watcher).raw().toArray();
}

function lookup(sql: string, ...bindings: unknown[]): unknown {
  told = [];
  run(sql, ...bindings);
  const { rows: found } = told.at(-1)!;
  return found && [found.table, ...found.keys];
}

describe('lookups', () => {
  test.for<[string, unknown[], unknown[]]>([
    ['SELECT * FROM item WHERE id = ?', [5], ['item', 5]],
    ['select v from "item" as i where i.id == 7;', [], ['item', 7]],
    ['SELECT v FROM item WHERE item.rowid = ?1 AND v > ?2 ORDER BY v LIMIT 1', [5, 1], ['item', 5]],
    ['SELECT v FROM ITEM i WHERE i.ID IN (?, 2, ?)', [1, 3], ['item', 1, 2, 3]],
    ['SELECT ?, v FROM item WHERE id = ?', [9, 5], ['item', 5]],
    ['SELECT v FROM item WHERE id IN (?2, ?, ?1)', [7, 8, 9], ['item', 8, 9, 7]],
    ['SELECT count(*) FROM item WHERE id = ?', [null], ['item']],
    ['SELECT * FROM word WHERE name = ?', ['é'], ['word', 'é']],
    ["SELECT * FROM word WHERE name IN ('it''s', ?)", ['b'], ['word', "it's", 'b']],
    ['SELECT * FROM word WHERE rowid = ?', [3], ['word', 3]],
    ['SELECT * FROM bare WHERE name = ?', ['a'], ['bare', 'a']],
    ['SELECT * FROM loose WHERE oid = 4', [], ['loose', 4]],
    ['SELECT * FROM down WHERE rowid = 4', [], ['down', 4]],
  ])('[LIVE17] %s depends on its rows', ([sql, bindings, found]) => {
    expect(lookup(sql, ...bindings)).toEqual(found);
  });

  test.for<[string, ...unknown[]]>([
    ['SELECT * FROM item'],
    ['SELECT * FROM item WHERE id > ?', 5],
    ['SELECT * FROM item WHERE id = ? OR v = 1', 5],
    ['SELECT * FROM item WHERE NOT id = ?', 5],
    ['SELECT * FROM item WHERE id = ? + 1', 5],
    ['SELECT * FROM item WHERE id = ? = 0', 5],
    ['SELECT * FROM item WHERE id = -5'],
    ['SELECT * FROM item WHERE (id = ?)', 5],
    ['SELECT * FROM item WHERE id IN (?) IS NOT TRUE', 5],
    ['SELECT * FROM item WHERE id NOT IN (?)', 5],
    ['SELECT * FROM item WHERE id = ? COLLATE NOCASE', 5],
    ['SELECT * FROM item WHERE id = ?', '5'],
    ['SELECT * FROM item WHERE id = ?', 5.5],
    ['SELECT * FROM item WHERE id = ?', 2 ** 60],
    ['SELECT (SELECT max(v) FROM item) FROM item WHERE id = ?', 5],
    ['SELECT * FROM item a, item b WHERE a.id = ?', 5],
    ['SELECT * FROM item a JOIN item b WHERE a.id = ?', 5],
    ['SELECT * FROM item WHERE id = ? UNION SELECT * FROM item', 5],
    ['SELECT * FROM shown WHERE id = ?', 5],
    ['SELECT * FROM item WHERE v = ?', 5],
    ['SELECT * FROM item WHERE id = ? AND changes() = 0', 5],
    ['SELECT * FROM fold WHERE name = ?', 'a'],
    ['SELECT * FROM down WHERE id = ?', 5],
    ['SELECT * FROM pair WHERE a = ?', 5],
    ['SELECT * FROM named WHERE rowid = ?', 5],
    ['SELECT * FROM accents WHERE "é" = ?', 'a'],
    ['SELECT * FROM affine WHERE name = ?', '5'],
    ['SELECT * FROM word WHERE name = ?', 5],
    ['SELECT * FROM word WHERE name = ?', '\ud800'],
    ['SELECT * FROM word WHERE n = ?', 5],
    ["SELECT value FROM json_each('[1]') WHERE rowid = ?", 5],
    ['SELECT * FROM sqlite_schema WHERE rowid = ?', 1],
  ])('[LIVE17] %s depends on more', ([sql, ...bindings]) => {
    expect(lookup(sql, ...bindings)).toBe(undefined);
  });
});

const key = fc.constantFrom(1, 2, 3, 4, 5);
const text = fc.constantFrom("'a'", "'b'", "'c'", 'NULL', "x'61'", '7');
const any = fc.oneof(key.map(String), text);

/** Random statements, which touch rows in every way that SQLite has. */
const statement = fc.oneof(
  fc.tuple(key, any).map(([k, v]) => `INSERT OR REPLACE INTO item(id, v) VALUES (${k}, ${v})`),
  fc
    .tuple(key, key)
    .map(
      ([k, p]) =>
        `INSERT OR IGNORE INTO item(id, parent) SELECT ${k}, id FROM item WHERE id = ${p}`,
    ),
  fc.tuple(key, any).map(([k, v]) => `UPDATE item SET v = ${v} WHERE id >= ${k}`),
  fc.tuple(key, key).map(([k, l]) => `UPDATE OR REPLACE item SET id = ${k} WHERE id = ${l}`),
  fc.tuple(key, key).map(([k, l]) => `UPDATE OR REPLACE loose SET rowid = ${k} WHERE rowid = ${l}`),
  key.map((k) => `DELETE FROM item WHERE id = ${k}`),
  fc.tuple(text, key, any).map(([t, n, v]) => `REPLACE INTO word VALUES (${t}, ${n}, ${v})`),
  fc.tuple(text, any).map(([t, v]) => `UPDATE OR IGNORE word SET v = ${v} WHERE name = ${t}`),
  fc.tuple(text, text).map(([t, u]) => `UPDATE OR REPLACE word SET name = ${t} WHERE name = ${u}`),
  fc
    .tuple(text, key)
    .map(
      ([t, n]) =>
        `INSERT INTO word(name, n) VALUES (${t}, ${n}) ON CONFLICT(n) DO UPDATE SET name = excluded.name`,
    ),
  fc
    .tuple(text, any)
    .map(([t, v]) => `INSERT OR REPLACE INTO bare SELECT ${t}, ${v} WHERE ${t} IS NOT NULL`),
  fc.tuple(text, text).map(([t, u]) => `UPDATE OR REPLACE bare SET name = ${t} WHERE name = ${u}`),
  fc.tuple(key, any).map(([k, v]) => `INSERT INTO loose VALUES (1, ${k}, ${v})`),
  fc.constantFrom(
    'DELETE FROM item',
    'DELETE FROM word',
    'DELETE FROM bare',
    'DELETE FROM loose',
    'INSERT INTO fold SELECT name, 1 FROM bare',
    "UPDATE loose SET v = 'all'",
    'INSERT OR IGNORE INTO item(id, v) SELECT id + 1, v FROM item',
    'INSERT OR REPLACE INTO loose SELECT * FROM loose',
    'ALTER TABLE item RENAME COLUMN v TO w',
    'ALTER TABLE item RENAME COLUMN w TO v',
    'DROP TRIGGER IF EXISTS copied',
    'PRAGMA recursive_triggers = ON',
    'PRAGMA recursive_triggers = OFF',
  ),
);

const READS: (readonly [string, string, unknown[]])[] = [
  ...[1, 2, 3, 4, 5].flatMap((id): (readonly [string, string, unknown[]])[] => [
    [`item ${id}`, 'SELECT * FROM item WHERE id = ?', [id]],
    [`loose ${id}`, 'SELECT * FROM loose WHERE rowid = ?', [id]],
    [`word ${id}`, 'SELECT * FROM word WHERE rowid = ?', [id]],
  ]),
  ...['a', 'b', '7'].flatMap((name): (readonly [string, string, unknown[]])[] => [
    [`word ${name}`, 'SELECT * FROM word WHERE name = ?', [name]],
    [`bare ${name}`, 'SELECT * FROM bare WHERE name IN (?)', [name]],
    [`fold ${name}`, 'SELECT * FROM fold WHERE name = ?', [name]],
  ]),
];

/** Follows the reads as live reads do: each runs again only if the writes meet its reads. */
class Followed {
  readonly #writes = () => this.#open;
  #open = new WriteSet();
  readonly shown = new Map<string, { readonly value: string; readonly reads: ReadSet }>();
  runs = 0;

  constructor() {
    let reads: ReadSet | undefined;
    watcher = {
      onQuery: (access) => {
        if (access.rows !== undefined) reads?.addRows(access.rows);
        else reads?.addTables(access.reads);
        if (access.writes === 'all' || access.writes.size > 0)
          this.#writes().addTables(access.writes, access.byRow);
      },
      onRow: (table, row) => this.#writes().addRow(table, row),
    };
    database.forgetTables();
    this.read = (sql, bindings) => {
      reads = new ReadSet();
      this.runs += 1;
      const value = resultOf(sql, bindings);
      const result = { value, reads };
      reads = undefined;
      return result;
    };
  }

  readonly read: (sql: string, bindings: unknown[]) => { value: string; reads: ReadSet };

  /** Commits the writes. */
  commit(): void {
    const written = this.#open;
    this.#open = new WriteSet();
    for (const [name, sql, bindings] of READS) {
      const last = this.shown.get(name);
      if (last === undefined || written.meets(last.reads))
        this.shown.set(name, this.read(sql, bindings));
    }
  }
}

function resultOf(sql: string, bindings: unknown[]): string {
  try {
    return JSON.stringify(run(sql, ...bindings));
  } catch (error) {
    if (!isStorageError(error)) throw error;
    return String(error);
  }
}

test('[LIVE17] whatever statements run, and whether they fail or are undone, each lookup shows what a new read shows', {
  tags: 'long',
}, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(statement, fc.constantFrom('commit', 'go on', 'undo')), {
        minLength: 1,
        maxLength: 25,
      }),
      async (steps) => {
        database.close();
        database = await openInMemory();
        database.exec(SCHEMA, []);
        watcher = undefined;
        // Compiled before anybody looks, some with the fast program of DELETE.
        for (const [sql] of steps) resultOf(sql, []);
        const followed = new Followed();
        followed.commit();
        database.control.begin();
        for (const [sql, end] of steps) {
          const savepoint = end === 'undo' ? database.control.save() : undefined;
          resultOf(sql, []);
          if (savepoint !== undefined) {
            database.control.undo(savepoint);
            database.schemaChanged();
          }
          if (end !== 'commit') continue;
          followed.commit();
          for (const [name, query, bindings] of READS)
            expect([name, followed.shown.get(name)!.value]).toEqual([
              name,
              resultOf(query, bindings),
            ]);
        }
        database.control.commit(true);
      },
    ),
    { numRuns: 120 },
  );
});

test('[LIVE17] a statement runs only the lookups of its rows again; beyond 10,000 rows, all of the table', () => {
  const followed = new Followed();
  followed.commit();
  const runsOf = (sql: string, ...bindings: unknown[]) => {
    followed.runs = 0;
    run(sql, ...bindings);
    followed.commit();
    return followed.runs;
  };
  expect(runsOf('INSERT INTO item(id, v) VALUES (?, 1)', 2)).toBe(1);
  expect(runsOf('UPDATE item SET v = 2')).toBe(1);
  expect(runsOf('UPDATE item SET id = 3 WHERE id = 2')).toBe(2);
  expect(runsOf('INSERT INTO item(id) VALUES (99)')).toBe(0);
  expect(runsOf("INSERT INTO word VALUES ('a', 3, 1)")).toBe(2);
  expect(runsOf("UPDATE word SET v = 5 WHERE name = 'a'")).toBe(3); // both lookups of the word, and the trigger's item
  expect(runsOf('INSERT INTO loose VALUES (1, 2, 3)')).toBe(1);
  const many = (count: number, from: number) =>
    runsOf(
      'INSERT INTO item(id) SELECT value FROM json_each(?)',
      JSON.stringify(Array.from({ length: count }, (_, i) => from + i)),
    );
  expect(many(10_000, 1000)).toBe(0);
  expect(many(10_001, 20_000)).toBe(5);
});

test('[LIVE17] a DELETE of all rows that was compiled before anybody looked concerns every lookup of its table', () => {
  // Nobody looks yet, so SQLite compiles it to a program that tells no rows.
  run('DELETE FROM bare');
  run("INSERT INTO bare VALUES ('a', 1), ('z', 2)");
  const followed = new Followed();
  followed.commit();
  expect(followed.shown.get('bare a')!.value).toBe('[["a",1]]');
  followed.runs = 0;
  run('DELETE FROM bare');
  followed.commit();
  expect(['bare a', 'bare b'].map((name) => followed.shown.get(name)!.value)).toEqual(['[]', '[]']);
  expect(followed.runs).toBe(3);
});
