import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openInMemory } from '../../../packages/testing/worker/test-database.ts';
import { KvStore } from '../kv/kv-store.ts';
import type { Database } from './database.ts';
import type { QueryPolicy, QueryWatcher } from './query-policy.ts';
import type { QueryTables, TableSet } from './query-tables.ts';

let database: Database;
let told: QueryTables[];

const WATCHER: QueryWatcher = { onQuery: (tables) => void told.push(tables), onRow() {} };

beforeEach(async () => {
  told = [];
  database = await openInMemory();
  for (const sql of [
    'CREATE TABLE author(id INTEGER PRIMARY KEY, name)',
    'CREATE TABLE book(id INTEGER PRIMARY KEY, author REFERENCES author(id) ON DELETE CASCADE, title)',
    'CREATE TABLE page(book REFERENCES book(id) ON DELETE SET NULL, text)',
    'CREATE TABLE log(text)',
    'CREATE TABLE counted(id INTEGER PRIMARY KEY AUTOINCREMENT)',
    'CREATE VIEW titles AS SELECT title, name FROM book JOIN author ON author.id = book.author',
    'CREATE TRIGGER noted AFTER INSERT ON page BEGIN INSERT INTO log VALUES (new.text); END',
    'CREATE TRIGGER renamed INSTEAD OF UPDATE ON titles BEGIN UPDATE book SET title = new.title; END',
    'CREATE VIRTUAL TABLE words USING fts5(text)',
    "CREATE VIRTUAL TABLE book_words USING fts5(title, content='book', content_rowid='id')",
    "CREATE VIRTUAL TABLE vocabulary USING fts5vocab('words', 'row')",
    'CREATE VIRTUAL TABLE boxes USING rtree(id, left, right)',
  ]) {
    database.exec(sql, []);
  }
});

afterEach(() => database.close());

function touched(sql: string, ...bindings: unknown[]): { reads: unknown; writes: unknown } {
  told = [];
  database.exec(sql, bindings, undefined, WATCHER).toArray();
  const { reads, writes } = told.at(-1)!;
  return { reads: listed(reads), writes: listed(writes) };
}

function listed(tables: TableSet): unknown {
  return tables === 'all' ? 'all' : [...tables].sort();
}

describe('the tables that a query reads', () => {
  test.for<[sql: string, reads: unknown]>([
    ['SELECT * FROM author', ['author']],
    ['SELECT count(*) FROM author', ['author']],
    ['SELECT 1', []],
    ['SELECT * FROM AUTHOR', ['author']],
    ['SELECT title FROM titles', ['author', 'book', 'titles']],
    ['SELECT 1 FROM log WHERE EXISTS (SELECT 1 FROM page)', ['log', 'page']],
    [
      'WITH RECURSIVE n(x) AS (SELECT 1 UNION SELECT x + 1 FROM n, log LIMIT 3) SELECT x FROM n',
      ['log'],
    ],
    ["SELECT value FROM log, json_each('[1]')", ['json_each', 'log']],
    ["SELECT * FROM words WHERE words MATCH 'a'", ['words']],
    ['SELECT id FROM boxes WHERE left > 1', ['boxes']],
    ['SELECT * FROM words_content', ['words_content']],
    ["SELECT * FROM book_words WHERE book_words MATCH 'a'", 'all'],
    ['SELECT * FROM vocabulary', 'all'],
    ['SELECT * FROM sqlite_schema', ['sqlite_master']],
    ['SELECT * FROM sqlite_sequence', 'all'],
    ['PRAGMA table_info(book)', 'all'],
    ["SELECT * FROM pragma_table_info('book')", 'all'],
    ['SELECT changes()', 'all'],
    ['SELECT 1; SELECT * FROM log', ['log']],
    ['SELECT name FROM author JOIN counted USING (id)', ['author', 'counted']],
    ['SELECT count(*) FROM author JOIN counted USING (id)', ['author', 'counted']],
    ['SELECT text FROM log NATURAL JOIN page', ['log', 'page']],
    ['SELECT 1 FROM log NATURAL JOIN words', ['log', 'words']],
    ['SELECT 1 FROM log NATURAL JOIN book_words NATURAL JOIN vocabulary', 'all'],
    ['SELECT 1 FROM boxes FULL JOIN counted USING (id)', ['boxes', 'counted']],
    ['SELECT 1 FROM counted NATURAL JOIN pragma_table_list', 'all'],
    ['SELECT 1 FROM titles NATURAL JOIN author', ['author', 'book']],
    ['SELECT 1 FROM log WHERE EXISTS (SELECT 1 FROM page JOIN log USING (text))', ['log', 'page']],
    ['WITH x AS (SELECT id FROM book) SELECT 1 FROM x NATURAL JOIN author', ['author', 'book']],
    ['SELECT count(*) FROM AUTHOR', ['author']],
    ['SELECT count(*) FROM [Author] AS a, main.BOOK', ['author', 'book']],
    ['SELECT count(*) FROM "WORDS"', ['words']],
    ['SELECT count(*) FROM sqlite_schema', ['sqlite_master']],
    ['SELECT count(*) FROM Vocabulary', 'all'],
  ])('[LIVE1] %s', ([sql, reads]) => {
    expect(touched(sql)).toEqual({ reads, writes: [] });
  });
});

describe('the tables that a query writes', () => {
  test.for<[sql: string, writes: unknown]>([
    ['INSERT INTO author VALUES (1, 2)', ['author']],
    ['UPDATE author SET name = 1', ['author']],
    ['DELETE FROM log', ['log']],
    ['INSERT INTO page VALUES (NULL, 1)', ['log', 'page']],
    ['DELETE FROM author', ['author', 'book', 'page']],
    ["UPDATE titles SET title = 'x'", ['book', 'titles']],
    ['REPLACE INTO author VALUES (1, 2)', ['author', 'book', 'page']],
    ['UPDATE log SET text = 1 ORDER BY rowid LIMIT 1', ['log']],
    ['CREATE TABLE more(a)', 'all'],
    ['CREATE INDEX by_name ON author(name)', 'all'],
    ['DROP TABLE log', 'all'],
    ['ALTER TABLE log RENAME COLUMN text TO line', 'all'],
    ['REINDEX', 'all'],
    ['ANALYZE', 'all'],
    ['DROP VIEW titles', 'all'],
    ['DROP TRIGGER noted', 'all'],
  ])('[LIVE1] %s', ([sql, writes]) => {
    expect(touched(sql).writes).toEqual(writes);
  });

  test('[LIVE1] a virtual table writes its shadow tables', () => {
    const shadows = ['config', 'content', 'data', 'docsize', 'idx'].map((name) => `words_${name}`);
    expect(touched("INSERT INTO words VALUES ('a')").writes).toEqual(['words', ...shadows]);
    expect(touched('INSERT INTO boxes VALUES (1, 2, 3)').writes).toEqual([
      'boxes',
      'boxes_node',
      'boxes_parent',
      'boxes_rowid',
    ]);
  });

  test('[LIVE1] a change of the schema is seen by statements that were compiled before', () => {
    const sql = 'INSERT INTO author VALUES (NULL, 1)';
    expect(touched(sql).writes).toEqual(['author']);
    const trigger = 'CREATE TRIGGER t AFTER INSERT ON author BEGIN DELETE FROM log; END';
    database.exec(trigger, [], undefined, WATCHER);
    expect(touched(sql).writes).toEqual(['author', 'log']);
    database.run('BEGIN');
    database.exec('DROP TRIGGER t', [], undefined, WATCHER);
    expect(touched(sql).writes).toEqual(['author']);
    database.run('ROLLBACK');
    database.schemaChanged();
    expect(touched(sql).writes).toEqual(['author', 'log']);
    database.exec('DROP TRIGGER t', []);
    database.forgetTables();
    expect(touched(sql).writes).toEqual(['author']);
  });

  test('[LIVE1] a table that the first key makes is told once, because queries may list it', async () => {
    told = [];
    let createdCount = 0;
    const tableCreated = () => {
      createdCount += 1;
    };
    database.close();
    database = await openInMemory({ tableCreated });
    const keys = new KvStore(database);
    keys.put([['a', new Uint8Array(1)]]);
    keys.put([['b', new Uint8Array(1)]]);
    expect(createdCount).toBe(1);
    expect(touched('SELECT name FROM sqlite_schema').reads).toEqual(['sqlite_master']);
  });

  test('[LIVE1] a text of several statements tells of each', () => {
    told = [];
    database.exec(
      'INSERT INTO log VALUES (1); UPDATE author SET name = 1; SELECT 1',
      [],
      undefined,
      WATCHER,
    );
    expect(told.map(({ writes }) => listed(writes))).toEqual([['log'], ['author'], []]);
  });
});

test('[LIVE3] no query writes while writes are refused, also inside a transaction', () => {
  const policy: QueryPolicy = { refusal: () => new Error('refused'), reads: null };
  const write = () => database.exec('INSERT INTO log VALUES (1)', [], policy);
  expect(write).toThrow('refused');
  database.run('BEGIN');
  expect(write).toThrow('refused');
  const between = 'SELECT 1; INSERT INTO log VALUES (1); SELECT 2';
  expect(() => database.exec(between, [], policy)).toThrow('refused');
  expect(database.exec('SELECT count(*) AS n FROM log', [], policy).one()).toEqual({ n: 0 });
  database.run('COMMIT');
  database.exec('INSERT INTO log VALUES (1)', []);
  expect(database.exec('SELECT count(*) AS n FROM log', []).one()).toEqual({ n: 1 });
});
