import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { codeOf, openInMemory, rows } from '../../../packages/testing/worker/test-database.ts';
import type { Database } from './database.ts';

let database: Database;

beforeEach(async () => {
  database = await openInMemory();
  database.run('CREATE TABLE _cf_KV(key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID');
  database.run("INSERT INTO _cf_KV VALUES ('a', x'00')");
  database.exec('CREATE TABLE p(id INTEGER PRIMARY KEY)', []);
  database.exec('CREATE TABLE t(a, b REFERENCES p(id)); CREATE INDEX i ON t(a)', []);
});

afterEach(() => database.close());

const run = (sql: string) => codeOf(() => database.exec(sql, []).toArray());

describe('statements', () => {
  test.each([
    'BEGIN',
    'BEGIN IMMEDIATE',
    'COMMIT',
    'END',
    'ROLLBACK',
    'SAVEPOINT s',
    'RELEASE s',
    'ROLLBACK TO s',
    '/* hidden */ begin',
    "ATTACH ':memory:' AS x",
    'DETACH main',
    'CREATE TEMP TABLE x(a)',
    'CREATE TABLE temp.x(a)',
    'CREATE TEMP VIEW x AS SELECT 1',
    'CREATE TEMP TRIGGER x AFTER INSERT ON t BEGIN SELECT 1; END',
    'PRAGMA temp.table_info(t)',
  ])('[SQL13] %s is refused', (sql) => {
    expect(run(sql)).toBe('SQL_FORBIDDEN');
  });

  test('[SQL13] VACUUM is refused, in a transaction and without', () => {
    expect(run('VACUUM')).toBe('SQL_FORBIDDEN');
    database.run('BEGIN');
    expect(run('VACUUM')).toBe('SQL');
    database.run('ROLLBACK');
  });

  test('[SQL13] a refusal in the middle keeps the effects of earlier statements, and the transaction', () => {
    database.run('BEGIN');
    expect(run('INSERT INTO t VALUES (1, NULL); COMMIT')).toBe('SQL_FORBIDDEN');
    expect(database.inTransaction).toBe(true);
    expect(rows(database, 'SELECT a FROM t')).toEqual([[1]]);
    database.run('ROLLBACK');
  });

  test('[SQL13] the refusal of a transaction names the way out', () => {
    expect(() => database.exec('BEGIN', [])).toThrow(/transactionSync\(\)/);
  });

  test.each(['SELECT * FROM sqlite_temp_master', 'EXPLAIN SELECT 1', 'REINDEX', 'ANALYZE'])(
    '[SQL13] %s is allowed',
    (sql) => expect(run(sql)).toBe(undefined),
  );
});

describe('names of the storage', () => {
  test.each(['_cf', '_CF', '"_cF"', '_cf_', '[_Cf_x]'])(
    '[SQL13] a table whose rows are in tables called after it cannot become %s',
    (name) => {
      database.exec('CREATE VIRTUAL TABLE words USING fts5(a)', []);
      expect(run(`ALTER TABLE words RENAME TO ${name}`)).toBe('SQL_FORBIDDEN');
      expect(run('ALTER TABLE words RENAME TO _cfx')).toBe(undefined);
      const names = "SELECT name FROM sqlite_master WHERE name LIKE '\\_cf\\_%' ESCAPE '\\'";
      expect(rows(database, names)).toEqual([['_cf_KV']]);
    },
  );

  test('[SQL13] a table of an older version that is called _cf can be read and renamed', () => {
    database.run('CREATE TABLE _cf(a)');
    expect(run('INSERT INTO _cf VALUES (1); SELECT * FROM _cf')).toBe(undefined);
    expect(run('ALTER TABLE _cf RENAME TO mine')).toBe(undefined);
  });

  test.each([
    'SELECT * FROM _cf_KV',
    'SELECT 1 FROM _CF_kv',
    'SELECT (SELECT count(*) FROM main._cf_KV)',
    "INSERT INTO _cf_KV VALUES ('x', x'00')",
    'UPDATE _cf_KV SET key = key',
    'DELETE FROM _cf_KV',
    'DELETE FROM _cf_KV LIMIT 1',
    'DROP TABLE _cf_KV',
    'ALTER TABLE _cf_KV ADD COLUMN x',
    'ALTER TABLE _cf_KV RENAME TO mine',
    'ALTER TABLE t RENAME TO _cf_x',
    'ALTER TABLE t RENAME /* */ TO "_CF_x"',
    "EXPLAIN ALTER TABLE t RENAME TO '_cf_x'",
    'CREATE INDEX x ON _cf_KV(key)',
    'CREATE INDEX _cf_x ON t(a)',
    'CREATE TRIGGER x AFTER INSERT ON _cf_KV BEGIN SELECT 1; END',
    'CREATE TRIGGER _cf_x AFTER INSERT ON t BEGIN SELECT 1; END',
    'CREATE TABLE _cf_x(a)',
    'CREATE TABLE "_Cf_"(a)',
    'CREATE TABLE x AS SELECT * FROM _cf_KV',
    'CREATE VIEW _cf_x AS SELECT 1',
    'CREATE VIRTUAL TABLE _cf_x USING fts5(a)',
    'CREATE VIRTUAL TABLE _cf USING fts5(a)',
    'CREATE VIRTUAL TABLE "_CF" USING rtree(id, a, b)',
    'CREATE VIRTUAL TABLE _cf USING fts5vocab(t, row)',
    'CREATE TABLE _cf(a)',
    'CREATE TABLE [_Cf] AS SELECT 1',
    'CREATE VIEW _cF AS SELECT 1',
    'CREATE INDEX _cf ON t(a)',
    'CREATE TRIGGER _CF AFTER INSERT ON t BEGIN SELECT 1; END',
    'ALTER TABLE t RENAME TO _cf',
    'ALTER TABLE main.t RENAME TO /* */ `_CF`',
    'PRAGMA table_info(_cf_KV)',
    'PRAGMA foreign_key_check(_cf_KV)',
    "SELECT * FROM pragma_table_info('_cf_KV')",
  ])('[SQL13] %s is refused', (sql) => {
    expect(run(sql)).toBe('SQL_FORBIDDEN');
    expect(
      rows(database, "SELECT name FROM sqlite_master WHERE name LIKE '\\_cf%' ESCAPE '\\'"),
    ).toEqual([['_cf_KV']]);
  });

  test.each([
    'CREATE TABLE _cfx(a)',
    'CREATE TABLE x(_cf_a)',
    'ALTER TABLE t RENAME a TO _cf_a',
    'WITH _cf_x AS (SELECT 1 AS a) SELECT a FROM _cf_x',
    'SELECT 1 AS _cf_a',
    'CREATE VIEW v AS SELECT * FROM _cf_KV',
    'REINDEX _cf_KV',
    'ANALYZE _cf_KV',
  ])('[SQL13] %s is allowed', (sql) => {
    expect(run(sql)).toBe(undefined);
  });

  test('[SQL13] views and triggers over them fail when they are used', () => {
    database.exec('CREATE VIEW v AS SELECT * FROM _cf_KV', []);
    database.exec('CREATE TRIGGER x AFTER INSERT ON t BEGIN DELETE FROM _cf_KV; END', []);
    expect(run('SELECT * FROM v')).toBe('SQL_FORBIDDEN');
    expect(run('INSERT INTO t VALUES (1, NULL)')).toBe('SQL_FORBIDDEN');
  });

  test('[HOST3] columns that a join shares are refused as a column without a name is', () => {
    database.exec('CREATE TABLE keys(key, value)', []);
    const error = (sql: string) => {
      try {
        database.exec(sql, []);
      } catch (error) {
        return error;
      }
    };
    const refusal = error('SELECT count(*) FROM _cf_KV');
    expect(refusal).toMatchObject({
      code: 'SQL_FORBIDDEN',
      message: /^not authorized: SQLITE_AUTH/,
    });
    for (const join of ['JOIN', 'LEFT JOIN', 'RIGHT JOIN', 'FULL JOIN', 'INNER JOIN']) {
      for (const from of [
        `_cf_KV ${join} keys USING (key, value)`,
        `keys ${join} _CF_kv USING (key)`,
        `keys NATURAL ${join} "_cf_KV"`,
      ]) {
        for (const result of ['1', 'count(*)', 'keys.rowid', 'EXISTS (SELECT 1)']) {
          expect([from, error(`SELECT ${result} FROM ${from}`)]).toEqual([from, refusal]);
        }
      }
    }
  });

  test('[HOST3] a statement that SQLite compiles again, in its step, is refused and has no effect', () => {
    database.exec('CREATE TABLE keys(key, value)', []);
    database.exec('CREATE VIEW v AS SELECT key, value FROM keys', []);
    const [read, write] = ['SELECT key FROM v', 'INSERT INTO keys SELECT key, value FROM v'];
    for (const sql of [read, write]) expect(run(sql)).toBe(undefined);
    database.exec('DROP VIEW v', []);
    const shared = 'SELECT key, value FROM _cf_KV FULL JOIN keys USING (key, value)';
    database.exec(`CREATE VIEW v AS ${shared}`, []);
    for (const sql of [read, write]) expect(run(sql)).toBe('SQL_FORBIDDEN');
    expect(rows(database, 'SELECT * FROM keys')).toEqual([]);
  });

  test('[HOST3] a WITH clause may have such a name, also where a join shares its columns', () => {
    const clause = 'WITH _cf_x AS (SELECT 1 AS id)';
    expect(rows(database, `${clause} SELECT id FROM _cf_x LEFT JOIN p USING (id)`)).toEqual([[1]]);
  });

  test('[SQL13] the schema itself can be read and not written', () => {
    expect(rows(database, "SELECT name FROM sqlite_master WHERE type = 'table'")).toEqual([
      ['_cf_KV'],
      ['p'],
      ['t'],
    ]);
    expect(run('DELETE FROM sqlite_master')).toBe('SQL');
    expect(run('PRAGMA writable_schema = on')).toBe('SQL_FORBIDDEN');
  });
});

describe('pragmas', () => {
  test.each([
    'user_version',
    'journal_mode = delete',
    'page_size = 8192',
    'hard_heap_limit = 1',
    'data_version = 5',
    'integrity_check',
    'bogus',
    'table_info',
    'index_list',
    'optimize(x)',
  ])('[SQL13] PRAGMA %s is refused', (pragma) => {
    expect(run(`PRAGMA ${pragma}`)).toBe('SQL_FORBIDDEN');
  });

  test.each([
    'data_version',
    'page_size',
    'main.table_info(t)',
    'table_list',
    'index_info(i)',
    'foreign_key_check',
    'quick_check(1)',
    'quick_check(t)',
    'optimize(-1)',
    'optimize = 0x10002',
  ])('[SQL13] PRAGMA %s is allowed', (pragma) => {
    expect(run(`PRAGMA ${pragma}`)).toBe(undefined);
  });

  test.each([
    ['on', undefined, 1],
    ["'true'", undefined, 1],
    ['"0"', undefined, 0],
    ['NO', undefined, 0],
    ['onx', undefined, 0],
    ['2', 'SQL_FORBIDDEN', 0],
    ['-1', 'SQL_FORBIDDEN', 0],
    ['abcd', 'SQL_FORBIDDEN', 0],
  ])('[SQL13] recursive_triggers = %s', (value, code, after) => {
    expect(run(`PRAGMA recursive_triggers = ${value}`)).toBe(code);
    expect(rows(database, 'PRAGMA recursive_triggers')).toEqual([[after]]);
  });
});

describe('functions and virtual tables', () => {
  test.each([
    'sqlite_version()',
    "load_extension('x')",
    'power(2, 3)',
    'log10(1)',
    'ceiling(1)',
    "json_pretty('1')",
    'if(1, 2, 3)',
    'median(1)',
    'subtype(1)',
    "sqlite_compileoption_used('X')",
  ])('[SQL13] %s is refused', (call) => {
    expect(run(`SELECT ${call}`)).toMatch(/^SQL/);
  });

  test.each(['iif(1, 2, 3)', 'pow(2, 3)', 'ceil(1.2)', "json('1')", "'{}' -> '$'", 'current_date'])(
    '[SQL13] %s is allowed',
    (call) => expect(run(`SELECT ${call}`)).toBe(undefined),
  );

  test.each([
    ['fts5(a)', undefined],
    ['FtS5(a)', undefined],
    ['rtree(id, a, b)', undefined],
    ['rtree_i32(id, a, b)', undefined],
    ['fts5vocab(t, row)', undefined],
    ['geopoly(a)', 'SQL_FORBIDDEN'],
    ['dbstat', 'SQL_FORBIDDEN'],
    ['csv(a)', 'SQL_FORBIDDEN'],
  ])('[SQL13] CREATE VIRTUAL TABLE … USING %s gives %s', (module, code) => {
    expect(run(`CREATE VIRTUAL TABLE v USING ${module}`)).toBe(code);
  });

  test.each([
    'dbstat',
    'sqlite_dbpage',
    'sqlite_stmt',
    "bytecode('SELECT 1')",
    'pragma_page_count',
  ])('[SQL13] the table %s is not there', (table) =>
    expect(run(`SELECT * FROM ${table}`)).toMatch(/^SQL/),
  );

  test('[SQL13] full text search works, its own statements included', () => {
    database.exec("CREATE VIRTUAL TABLE f USING fts5(a); INSERT INTO f VALUES ('x y'), ('y')", []);
    expect(rows(database, "SELECT highlight(f, 0, '[', ']') FROM f WHERE f MATCH 'x'")).toEqual([
      ['[x] y'],
    ]);
    expect(run('INSERT INTO f_data VALUES (1, 1)')).toBe('SQL');
    expect(run("INSERT INTO f(f) VALUES ('optimize'); DROP TABLE f")).toBe(undefined);
  });

  test('[SQL13] double-quoted text is a string when no column has that name', () => {
    expect(rows(database, 'SELECT "no column"')).toEqual([['no column']]);
  });

  test('[SQL13] foreign keys are on', () => {
    expect(run('INSERT INTO t VALUES (1, 99)')).toBe('SQL');
  });
});
