import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { codeOf, openInMemory, rows } from '../../../packages/testing/worker/test-database.ts';
import type { Database } from './database.ts';
import { rewriteOrderLimit, type TableShape } from './order-limit.ts';

const TABLE: TableShape = { kind: 'table', keyColumns: [], columns: ['a', 'b'] };

describe('the text', () => {
  const rewrite = (sql: string, table: TableShape | undefined = TABLE) =>
    rewriteOrderLimit(sql, () => table)?.sql;

  test.each([
    [
      'DELETE FROM t WHERE a > 1 ORDER BY b LIMIT 2 OFFSET 1',
      'DELETE FROM t WHERE rowid IN (SELECT rowid FROM t WHERE a > 1 ORDER BY b LIMIT 2 OFFSET 1)',
    ],
    ['DELETE FROM t LIMIT 1', 'DELETE FROM t WHERE rowid IN (SELECT rowid FROM t LIMIT 1)'],
    [
      'UPDATE OR IGNORE main.t AS x SET a = (SELECT 1 LIMIT 1), b = 2 WHERE x.a LIMIT ?',
      'UPDATE OR IGNORE main.t AS x SET a = (SELECT 1 LIMIT 1), b = 2 ' +
        'WHERE rowid IN (SELECT rowid FROM main.t AS x WHERE x.a LIMIT ?)',
    ],
    [
      'WITH c AS (SELECT 1) DELETE FROM t INDEXED BY i WHERE a = 1 RETURNING b LIMIT 1',
      'WITH c AS (SELECT 1) DELETE FROM t WHERE rowid IN ' +
        '(SELECT rowid FROM t INDEXED BY i WHERE a = 1 LIMIT 1) RETURNING b',
    ],
    [
      'EXPLAIN QUERY PLAN UPDATE t SET a = b IS DISTINCT FROM 1 LIMIT 1',
      'EXPLAIN QUERY PLAN UPDATE t SET a = b IS DISTINCT FROM 1 ' +
        'WHERE rowid IN (SELECT rowid FROM t LIMIT 1)',
    ],
  ])('[SQL15] %s', (sql, expected) => {
    expect(rewrite(sql)?.replace(/ +/g, ' ')).toBe(expected);
  });

  test('[SQL15] a table without rowid is addressed by its key, a hidden rowid by another name', () => {
    const keyed = rewrite('DELETE FROM t LIMIT 1', { ...TABLE, keyColumns: ['a', 'b"'] });
    expect(keyed).toContain('WHERE ("a", "b""") IN (SELECT "a", "b""" FROM t LIMIT 1)');
    const hidden = rewrite('DELETE FROM t LIMIT 1', { ...TABLE, columns: ['RowId'] });
    expect(hidden).toContain('WHERE _rowid_ IN (SELECT _rowid_ FROM');
    const both = rewrite('DELETE FROM t LIMIT 1', { ...TABLE, columns: ['_ROWID_', 'RowId'] });
    expect(both).toContain('WHERE oid IN (SELECT oid FROM');
    const all = { ...TABLE, columns: ['oid', '_rowid_', 'rowid'] };
    expect(() => rewrite('DELETE FROM t LIMIT 1', all)).toThrow(/hide its rowid/);
  });

  test.each([
    'DELETE FROM t',
    'SELECT 1 ORDER BY 1 LIMIT 1',
    'CREATE TRIGGER x AFTER INSERT ON u BEGIN DELETE FROM t ORDER BY a LIMIT 1; END',
    'DELETE FROM t LIMIT 1 RETURNING a',
    "DELETE FROM t WHERE a = ' LIMIT 1'",
    'DELETE FROM t -- LIMIT 1',
    '',
  ])('[SQL15] %j is left as it is', (sql) => {
    expect(rewrite(sql)).toBe(undefined);
  });

  test.each([
    ['DELETE FROM t ORDER BY a', /ORDER BY without LIMIT on DELETE/],
    ['UPDATE t SET a = u.a FROM u LIMIT 1', /with FROM/],
    ['DELETE FROM t RETURNING ? LIMIT 1', /parameters in RETURNING/],
  ])('[SQL15] %s is refused with the reason', (sql, reason) => {
    expect(() => rewrite(sql)).toThrow(reason);
  });

  test('[SQL15] a view is refused with the reason', () => {
    expect(() => rewrite('DELETE FROM v LIMIT 1', { ...TABLE, kind: 'view' })).toThrow(/on a view/);
  });

  test('[SQL15] only the first statement is taken', () => {
    const text = 'DELETE FROM t LIMIT 1; DELETE FROM t LIMIT 2';
    expect(rewriteOrderLimit(text, () => TABLE)?.end).toBe(text.indexOf(';') + 1);
  });
});

describe('the rows', () => {
  let database: Database;

  beforeEach(async () => {
    database = await openInMemory();
    database.exec('CREATE TABLE t(id INTEGER PRIMARY KEY, a, b)', []);
    database.exec('CREATE TABLE w(k, n, v, PRIMARY KEY(k, n)) WITHOUT ROWID', []);
    for (let i = 0; i < 6; i++) {
      database.exec('INSERT INTO t VALUES (?, ?, ?)', [i, i % 3, 9 - i]);
      database.exec('INSERT INTO w VALUES (?, ?, ?)', [`k${i % 2}`, i, 9 - i]);
    }
  });

  afterEach(() => database.close());

  test('[SQL15] the first rows of the order are deleted', () => {
    const cursor = database.exec('DELETE FROM t WHERE a <> ? ORDER BY b LIMIT 2', [1]);
    expect(cursor.rowsWritten).toBe(2);
    expect(rows(database, 'SELECT id FROM t')).toEqual([[0], [1], [2], [4]]);
  });

  test('[SQL15] rows of a table without rowid are updated', () => {
    database.exec('UPDATE w SET v = 0 ORDER BY v LIMIT 1 OFFSET 1', []);
    expect(rows(database, 'SELECT k, n FROM w WHERE v = 0')).toEqual([['k0', 4]]);
  });

  test('[SQL15] RETURNING, several statements and comments go with it', () => {
    const sql =
      'DELETE FROM t RETURNING id ORDER BY id DESC LIMIT 1; -- the last\n' +
      'DELETE FROM t RETURNING id ORDER BY id LIMIT 1 -- the first';
    expect(rows(database, sql)).toEqual([[0]]);
    expect(rows(database, 'SELECT id FROM t')).toEqual([[1], [2], [3], [4]]);
  });

  test('[SQL15] the same text is rewritten each time, with other bindings', () => {
    for (const [count, left] of [
      [1, 5],
      [2, 3],
      [1, 2],
    ]) {
      database.exec('DELETE FROM t LIMIT ?', [count]);
      expect(rows(database, 'SELECT count(*) FROM t')).toEqual([[left]]);
    }
  });

  test('[SQL15] other syntax errors stay as they are', () => {
    expect(() => database.exec('DELETE FROM nope LIMIT 1', [])).toThrow(/no such table: nope/);
    expect(() => database.exec('DELETE FRM t LIMIT 1', [])).toThrow(/near "FRM": syntax error/);
    expect(codeOf(() => database.exec('DELETE FROM sqlite_master LIMIT 1', []))).toBe('SQL');
  });
});
