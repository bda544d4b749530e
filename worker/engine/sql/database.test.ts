import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loadSqliteInNode } from '../../../packages/testing/worker/sqlite.ts';
import { codeOf, openInMemory, rows } from '../../../packages/testing/worker/test-database.ts';
import type { StorageError } from '../../../src/shared/contract/errors.ts';
import { HEAP } from '../vfs/vdbe-layout.ts';
import { Database } from './database.ts';
import { completeLimits } from './query-limits.ts';
import type { QueryAccess } from './query-tables.ts';

let database: Database;

beforeEach(async () => {
  database = await openInMemory();
});

afterEach(() => database.close());

describe('exec', () => {
  test('[SQL1] a write is done, and a first row that fails is thrown, before exec returns', () => {
    database.exec('CREATE TABLE t(a)', []);
    database.exec('INSERT INTO t VALUES (1)', []);
    expect(rows(database, 'SELECT a FROM t')).toEqual([[1]]);
    expect(codeOf(() => database.exec("SELECT json('{bad')", []))).toBe('SQL');
  });

  test('[SQL2] earlier statements stay done when a later one fails', () => {
    const run = () => database.exec('CREATE TABLE t(a); INSERT INTO t VALUES (1); SELEC 1', []);
    expect(codeOf(run)).toBe('SQL');
    expect(rows(database, 'SELECT a FROM t')).toEqual([[1]]);
  });

  test('[SQL2] only the last of several statements may have parameters', () => {
    database.exec('CREATE TABLE t(a)', []);
    expect(codeOf(() => database.exec('INSERT INTO t VALUES (?); SELECT 1', [1]))).toBe('SQL');
    expect(rows(database, 'INSERT INTO t VALUES (7); SELECT a, ? FROM t', 'x')).toEqual([[7, 'x']]);
  });

  test('[SQL2] the same text of several statements runs all of them again', () => {
    database.exec('CREATE TABLE t(a)', []);
    const sql = 'INSERT INTO t VALUES (1); SELECT count(*) FROM t';
    expect([rows(database, sql), rows(database, sql)]).toEqual([[[1]], [[2]]]);
  });

  test.each([
    ['SELECT 1;', undefined],
    ['SELECT 1;\n\t\r\v\f ', undefined],
    [';SELECT 1', undefined],
    ['-- before\nSELECT 1 -- behind', undefined],
    ['SELECT 1;;', 'SQL'],
    ['SELECT 1; -- behind', 'SQL'],
    ['', 'SQL'],
    ['/* only */', 'SQL'],
    ['SELECT 1\0', 'SQL'],
    ["SELECT 'a\0b'", 'SQL'],
  ])('[SQL3] the text %j gives %s', (sql, code) => {
    expect(codeOf(() => database.exec(sql, []))).toBe(code);
  });

  test('[SQL4] the number of bindings must be that of the parameters', () => {
    expect(codeOf(() => database.exec('SELECT ?', []))).toBe('SQL');
    expect(codeOf(() => database.exec('SELECT 1', [undefined]))).toBe('SQL');
    expect(rows(database, 'SELECT ?2, ?1', 'a', 'b')).toEqual([['b', 'a']]);
  });

  test('[SQL4] bindings are converted before the text is compiled', () => {
    const failing = {
      toString() {
        throw new RangeError('from the program');
      },
    };
    expect(() => database.exec('SELEC', [failing])).toThrow(RangeError);
  });

  test('[ERR2] an error has the text of SQLite, the place and the name of its code', () => {
    database.exec('CREATE TABLE t(a UNIQUE)', []);
    database.exec('INSERT INTO t VALUES (1)', []);
    const message = (sql: string) => {
      try {
        database.exec(sql, []);
        return '';
      } catch (error) {
        return (error as StorageError).message;
      }
    };
    expect(message('SELECT * FROM missing')).toBe('no such table: missing: SQLITE_ERROR');
    expect(message('SELEC 1')).toBe('near "SELEC": syntax error at offset 0: SQLITE_ERROR');
    expect(message('INSERT INTO t VALUES (1)')).toBe(
      'UNIQUE constraint failed: t.a: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_UNIQUE)',
    );
  });
});

describe('kept statements', () => {
  test('[SQL12] a text in use is compiled apart, so two cursors over it do not disturb each other', () => {
    const sql = 'VALUES (1), (2), (3)';
    const first = database.exec(sql, []).raw();
    const second = database.exec(sql, []).raw();
    expect([first.next().value, second.next().value, first.next().value]).toEqual([[1], [1], [2]]);
    expect([first.toArray(), second.toArray()]).toEqual([[[3]], [[2], [3]]]);
  });

  /** A database, and how many texts SQLite has compiled for it. */
  async function openCounted() {
    const sqlite = await loadSqliteInNode();
    const count = { compiled: 0 };
    const exports = new Proxy(sqlite.exports, {
      get(all, name) {
        if (name === 'sqlite3_prepare_v3') count.compiled += 1;
        return Reflect.get(all, name);
      },
    });
    const silent = { beforeWrite() {}, onCritical() {} };
    const limits = completeLimits();
    const opened = new Database({ ...sqlite, exports }, ':memory:', undefined, silent, { limits });
    /** How many texts the run compiles. */
    const compiledBy = (run: () => unknown) => {
      count.compiled = 0;
      run();
      return count.compiled;
    };
    return { opened, compiledBy };
  }

  test('[SQL12] a text is compiled once, and once more while its statement is in use', async () => {
    const { opened, compiledBy } = await openCounted();
    const sql = 'SELECT ?1 UNION ALL SELECT ?1 + 1';
    expect(compiledBy(() => rows(opened, sql, 1))).toBe(1);
    expect(compiledBy(() => expect(rows(opened, sql, 5)).toEqual([[5], [6]]))).toBe(0);
    const inUse = opened.exec(sql, [1]);
    expect(compiledBy(() => rows(opened, sql, 7))).toBe(1);
    inUse.toArray();
    expect(compiledBy(() => rows(opened, sql, 9))).toBe(0);
    opened.close();
  });

  test('[SQL12] more than 1 MiB of texts makes the oldest ones leave, and they still run', async () => {
    const { opened, compiledBy } = await openCounted();
    const long = (i: number) => `SELECT ${i} /* ${'x'.repeat(90_000)} */`;
    const run = (i: number) => expect(rows(opened, long(i))).toEqual([[i]]);
    for (let i = 0; i < 20; i++) run(i);
    // Eleven texts of 90,000 characters are less than 1 MiB; with a twelfth one, they leave until there is a tenth of room.
    const kept = Array.from({ length: 20 }, (_, i) => i).slice(-10);
    expect(kept.map((i) => compiledBy(() => run(i)))).toEqual(kept.map(() => 0));
    expect([8, 0].map((i) => compiledBy(() => run(i)))).toEqual([1, 1]);
    opened.close();
  });

  test('[SQL12] a kept statement follows changes of the schema', () => {
    database.exec('CREATE TABLE t(a)', []);
    database.exec('INSERT INTO t VALUES (1)', []);
    expect(database.exec('SELECT * FROM t', []).columnNames).toEqual(['a']);
    database.exec('ALTER TABLE t ADD COLUMN b', []);
    expect(database.exec('SELECT * FROM t', []).columnNames).toEqual(['a', 'b']);
    expect(rows(database, 'SELECT * FROM t')).toEqual([[1, null]]);
  });
});

describe('transactions of the owner', () => {
  test('[SQL18] a write asks for a transaction, also inside an open one, a read never', async () => {
    const asked: string[] = [];
    const owned = await openInMemory({
      beforeWrite() {
        asked.push(owned.inTransaction ? 'inside' : 'outside');
        if (!owned.inTransaction) owned.run('BEGIN IMMEDIATE');
      },
    });
    owned.exec('SELECT 1', []);
    expect(asked).toEqual([]);
    owned.exec('CREATE TABLE t(a)', []);
    owned.exec('INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)', []);
    owned.exec('SELECT * FROM t', []);
    expect([asked, owned.inTransaction]).toEqual([['outside', 'inside', 'inside'], true]);
    owned.run('ROLLBACK');
    expect(owned.inTransaction).toBe(false);
    expect(codeOf(() => owned.exec('SELECT * FROM t', []))).toBe('SQL');
    owned.close();
  });

  test('[TX16] a statement that writes, trusted or not, runs only if its owner knows', async () => {
    let isKnown = true;
    const owned = await openInMemory({
      mustHaveAsked() {
        if (!isKnown) throw new Error('unknown');
      },
    });
    owned.run('CREATE TABLE t(a)');
    isKnown = false;
    const writes = [
      () => owned.run('INSERT INTO t VALUES (1)'),
      () => owned.statement('DELETE FROM t').step(),
      () => owned.exec('INSERT INTO t VALUES (1)', []),
      () => owned.execEach('INSERT INTO t VALUES (?)', [[1]]),
      () => owned.exec('CREATE TABLE u(a)', []),
    ];
    for (const write of writes) expect(write).toThrow('unknown');
    owned.run('BEGIN');
    expect(rows(owned, 'SELECT name FROM sqlite_master')).toEqual([['t']]);
    expect(rows(owned, 'SELECT * FROM t')).toEqual([]);
    owned.close();
  });

  test('[LIVE1] what a query touches is told after its transaction is open, of which it is a part', async () => {
    const told: string[] = [];
    const owned = await openInMemory({ beforeWrite: () => void told.push('asked') });
    owned.run('CREATE TABLE t(a)');
    const onQuery = ({ writes }: QueryAccess) => void told.push([...writes].join());
    owned.exec('INSERT INTO t VALUES (1)', [], undefined, { onQuery, onRow() {} });
    expect(told).toEqual(['asked', 't']);
    owned.close();
  });

  test('[SQL18] a rollback that SQLite made by itself is reported once', async () => {
    const reported: StorageError[] = [];
    const owned = await openInMemory({ onCritical: (error) => reported.push(error) });
    owned.exec('CREATE TABLE t(a UNIQUE)', []);
    owned.run('BEGIN');
    owned.exec('INSERT INTO t VALUES (1)', []);
    expect(codeOf(() => owned.exec('INSERT OR ROLLBACK INTO t VALUES (1)', []))).toBe('SQL');
    expect(reported.map((error) => error.code)).toEqual(['SQL']);
    expect(owned.inTransaction).toBe(false);
    owned.close();
  });

  test('[SQL18] an error without a lost transaction is not critical', async () => {
    const reported: StorageError[] = [];
    const owned = await openInMemory({ onCritical: (error) => reported.push(error) });
    owned.exec('CREATE TABLE t(a UNIQUE)', []);
    owned.run('BEGIN');
    owned.exec('INSERT INTO t VALUES (1)', []);
    codeOf(() => owned.exec('INSERT INTO t VALUES (1)', []));
    codeOf(() => owned.exec('SELECT nope', []));
    expect([reported, owned.inTransaction]).toEqual([[], true]);
    owned.close();
  });

  test('[SQL11] a commit succeeds while the rows of RETURNING are unread', () => {
    database.exec('CREATE TABLE t(a)', []);
    database.run('BEGIN');
    const cursor = database.exec('INSERT INTO t VALUES (1), (2) RETURNING a', []);
    database.run('COMMIT');
    expect(cursor.toArray()).toEqual([{ a: 1 }, { a: 2 }]);
  });
});

describe('trusted statements', () => {
  test('a statement is bound, stepped, read and bound again', () => {
    database.run('CREATE TABLE kv(key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID');
    const put = database.statement('INSERT INTO kv VALUES (?1, ?2)');
    for (const key of ['a', 'é\0', '']) {
      put.bindText(1, key);
      put.bindBlob(2, new TextEncoder().encode(`value of ${key}`));
      expect(put.step()).toBe(false);
      expect(put.changes()).toBe(1);
    }
    const list = database.statement('SELECT key, value FROM kv ORDER BY key');
    const found: [string, string][] = [];
    while (list.step()) {
      found.push([list.columnText(0), new TextDecoder().decode(list.columnBlob(1))]);
    }
    expect(found).toEqual([
      ['', 'value of '],
      ['a', 'value of a'],
      ['é\0', 'value of é\0'],
    ]);
  });

  test('64-bit integers pass exactly', () => {
    const echo = database.statement('SELECT ?1, ?1 IS NULL');
    echo.bindInt64(1, 9_007_199_254_740_993n);
    echo.step();
    expect(echo.columnInt64(0)).toBe(9_007_199_254_740_993n);
    echo.reset();
    echo.bindNull(1);
    echo.step();
    expect([echo.columnIsNull(0), echo.columnNumber(1)]).toEqual([true, 1]);
    echo.reset();
  });

  test('the regulator does not see them', () => {
    expect(() => database.run('CREATE TABLE _cf_KV(key)')).not.toThrow();
    expect(() => database.statement('SELECT sqlite_version()').step()).not.toThrow();
    database.statement('SELECT sqlite_version()').reset();
  });

  test('a failed statement can be bound and stepped again', () => {
    database.run('CREATE TABLE t(a UNIQUE)');
    const insert = database.statement('INSERT INTO t VALUES (?1)');
    for (const code of [undefined, 'SQL']) {
      insert.bindNumber(1, 1);
      expect(codeOf(() => insert.step())).toBe(code);
    }
    insert.bindNumber(1, 2);
    expect(insert.step()).toBe(false);
  });
});

describe('size and reset', () => {
  test('[SQL17] the size is that of the pages in use, of a fresh database one page', () => {
    expect(database.sizeBytes).toBe(4096);
    database.exec('CREATE TABLE t(a)', []);
    expect(database.sizeBytes).toBe(8192);
    database.exec('INSERT INTO t VALUES (zeroblob(40960))', []);
    expect(database.sizeBytes).toBeGreaterThan(8192 + 36_864);
    database.exec('DELETE FROM t', []);
    expect(database.sizeBytes).toBe(8192);
  });

  test('[SQL10] reset leaves nothing, closes cursors, and the database is usable at once', () => {
    database.exec('CREATE TABLE t(a); INSERT INTO t VALUES (1), (2)', []);
    database.exec('PRAGMA foreign_keys = off', []);
    const trusted = database.statement('SELECT count(*) FROM sqlite_master');
    const read = database.exec('SELECT a FROM t', []);
    const finished = database.exec('SELECT a FROM t LIMIT 1', []);
    finished.one();
    read.next();
    database.reset();

    expect(codeOf(() => read.next())).toBe('CURSOR_CLOSED');
    expect(finished.next()).toEqual({ done: true, value: undefined });
    expect(database.sizeBytes).toBe(4096);
    expect(trusted.step() && trusted.columnNumber(0)).toBe(0);
    trusted.reset();
    expect(rows(database, 'PRAGMA foreign_keys')).toEqual([[1]]);
    database.exec('CREATE TABLE t(b)', []);
    expect(database.exec('SELECT * FROM t', []).columnNames).toEqual(['b']);
  });

  test('[SQL21] closing ends the cursors', async () => {
    const closed = await openInMemory();
    const cursor = closed.exec('VALUES (1), (2)', []);
    closed.close();
    expect(codeOf(() => cursor.next())).toBe('CURSOR_CLOSED');
  });
});

describe('limits', () => {
  const list = (count: number, item: (index: number) => string) =>
    Array.from({ length: count }, (_, index) => item(index)).join(', ');

  test.each([
    ['result columns', 100, (n: number) => `SELECT ${list(n, String)}`],
    ['columns of a table', 100, (n: number) => `CREATE TABLE t(${list(n, (i) => `c${i}`)})`],
    ['arguments of a function', 127, (n: number) => `SELECT max(${list(n, String)})`],
    ['depth of an expression', 100, (n: number) => `SELECT ${'1+'.repeat(n - 1)}1`],
    ['terms of a compound', 5, (n: number) => `SELECT 1${' UNION SELECT 2'.repeat(n - 1)}`],
    ['a pattern', 50, (n: number) => `SELECT 'a' LIKE '${'x'.repeat(n)}'`],
    ['tables of a join', 64, (n: number) => `SELECT 1 FROM ${list(n, (i) => `s s${i}`)}`],
    ['the text', 100_000, (n: number) => `SELECT '${'x'.repeat(n - 9)}'`],
    ['the text in bytes', 50_000, (n: number) => `SELECT '${'é'.repeat(n - 5)}'`],
    ['a value', 8_388_642, (n: number) => `SELECT length(zeroblob(${n}))`],
  ] as const)('[SQL16] %s: %d are allowed, one more is an error', (_, most, text) => {
    database.exec('CREATE TABLE s(a)', []);
    expect(codeOf(() => database.exec(text(most), []))).toBe(undefined);
    expect(codeOf(() => database.exec(text(most + 1), []))).toBe('SQL');
  });

  test('[SQL16] parameters: 100 are allowed, one more is an error', () => {
    const bindings = (count: number) => new Array(count).fill(1);
    expect(codeOf(() => database.exec('SELECT ?100', bindings(100)))).toBe(undefined);
    expect(codeOf(() => database.exec('SELECT ?101', bindings(101)))).toBe('SQL');
  });

  test('[SQL16] a value that is too large is an error and the next statement runs', () => {
    const bind = (sizeBytes: number) => () =>
      database.exec('SELECT length(?)', ['x'.repeat(sizeBytes)]);
    expect(codeOf(bind(8_388_642))).toBe(undefined);
    expect(codeOf(bind(8_388_643))).toBe('SQL');
    expect(rows(database, 'SELECT ?', 'small')).toEqual([['small']]);
  });

  test('[SQL16] VALUES may have far more rows than a compound has terms', () => {
    expect(rows(database, `SELECT count(*) FROM (VALUES ${list(500, (i) => `(${i})`)})`)).toEqual([
      [500],
    ]);
  });

  test('[SQL24] as many values as a text can name, in a list or in rows, are allowed', () => {
    expect(rows(database, `SELECT 7 IN (${list(24_900, () => '-1')}, 7)`)).toEqual([[1]]);
    expect(rows(database, `SELECT 7 IN (${'8,'.repeat(49_900)}7)`)).toEqual([[1]]);
    database.exec('CREATE TABLE s(a)', []);
    database.exec(`INSERT INTO s VALUES ${'(1),'.repeat(24_900)}(2)`, []);
    expect(rows(database, 'SELECT count(*), sum(a) FROM s')).toEqual([[24_901, 24_902]]);
  });

  test('[SQL24] a statement that compiles to more has an error of its own, which undoes nothing', () => {
    database.exec(`CREATE VIEW long AS SELECT 7 IN (${'8,'.repeat(30_000)}7) AS is_in`, []);
    expect(rows(database, 'SELECT a.is_in, b.is_in FROM long AS a, long AS b')).toEqual([[1, 1]]);
    database.run('BEGIN');
    database.exec('CREATE TABLE s(a); INSERT INTO s VALUES (1)', []);
    const tooLarge = 'SELECT (SELECT is_in FROM long), (SELECT is_in FROM long), is_in FROM long';
    expect(() => database.exec(tooLarge, [])).toThrow(
      expect.objectContaining({
        code: 'SQL_TOO_LARGE',
        message: expect.stringMatching(/more than 208896 instructions.*json_each\(\?\)/),
      }),
    );
    database.run('COMMIT');
    expect(rows(database, 'SELECT a FROM s')).toEqual([[1]]);
  });

  test('[SQL12] large programs are not kept once they have ended', async () => {
    const { memory } = await loadSqliteInNode();
    const usedBytes = () => memory.i32[HEAP.usedBytes >> 2]!;
    const run = (n: number) => rows(database, `SELECT ${n} IN (${'8,'.repeat(30_000)}7)`);
    run(1);
    const before = usedBytes();
    for (let n = 0; n < 5; n++) run(n);
    expect(usedBytes() - before).toBeLessThan(100_000);
  });
});
