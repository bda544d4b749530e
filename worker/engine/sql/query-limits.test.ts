// Calls that would hold the worker: they end by their bounds, alone.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { codeOf, openInMemory, rows } from '../../../packages/testing/worker/test-database.ts';
import type { Database } from './database.ts';
import { completeLimits } from './query-limits.ts';

const MIB = 1024 * 1024;
const ENDLESS = 'WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c)';

let database: Database;
let critical: number;
let nowMs: number;
let stepMs: number;

/** Time passes only where it is looked at. */
beforeEach(async () => {
  critical = 0;
  nowMs = 0;
  stepMs = 1;
  const limits = completeLimits({ queryMs: 50, heapBytes: 64 * MIB }, () => (nowMs += stepMs));
  database = await openInMemory({ onCritical: () => void critical++ }, limits);
  database.exec('CREATE TABLE t(a); INSERT INTO t VALUES (1), (2)', []);
});
afterEach(() => database.close());

const run = (sql: string) => codeOf(() => database.exec(sql, []).toArray());

describe('time', () => {
  test.each([
    `${ENDLESS} SELECT max(i) FROM c`,
    `${ENDLESS} SELECT i FROM c WHERE i < 0`,
    `${ENDLESS} SELECT i FROM c`,
    `SELECT * FROM t WHERE a IN (${ENDLESS} SELECT i FROM c WHERE i < 0)`,
    `EXPLAIN QUERY PLAN SELECT 1; ${ENDLESS} SELECT max(i) FROM c`,
  ])('[LIM1] %s is stopped', (sql) => {
    database.run('BEGIN');
    database.run('INSERT INTO t VALUES (3)');
    const startMs = nowMs;
    expect(run(sql)).toBe('SQL_TIMEOUT');
    expect(nowMs - startMs).toBeGreaterThan(50);
    expect(nowMs - startMs).toBeLessThan(60);
    expect([critical, database.inTransaction]).toEqual([0, true]);
    database.run('COMMIT');
    expect(rows(database, 'SELECT a FROM t')).toEqual([[1], [2], [3]]);
  });

  test('[LIM1] the error names the fact, the bound and the way out', () => {
    expect(() => database.exec(`${ENDLESS} SELECT max(i) FROM c`, [])).toThrow(
      /more than 50 ms.*limits\.queryMs.*SQLITE_INTERRUPT/,
    );
  });

  test('[LIM1] each call has its own time, and a cursor read slowly has it at each row', () => {
    const limit = 'LIMIT 5000';
    for (let i = 0; i < 3; i++) {
      expect(run(`${ENDLESS} SELECT count(*) FROM (SELECT i FROM c ${limit})`)).toBe(undefined);
    }
    const cursor = database.exec(`${ENDLESS} SELECT i FROM c LIMIT 300000`, []);
    let count = 0;
    for (const _ of cursor) count += 1;
    expect(count).toBe(300_000);
    expect(nowMs).toBeGreaterThan(100);
  });

  test.each([
    ['an INSERT', `INSERT INTO t ${ENDLESS} SELECT i FROM c`],
    ['an UPDATE', `UPDATE t SET a = (${ENDLESS} SELECT max(i) FROM c) WHERE a = 2`],
    ['a DELETE', `DELETE FROM t WHERE a = 1 OR a IN (${ENDLESS} SELECT i FROM c WHERE i < 0)`],
    ['one with RETURNING', `INSERT INTO t ${ENDLESS} SELECT i FROM c RETURNING a`],
    ['a CREATE TABLE', `CREATE TABLE u AS ${ENDLESS} SELECT i FROM c`],
    ['a trigger', 'INSERT INTO fires VALUES (1)'],
    ['OR IGNORE', `INSERT OR IGNORE INTO keyed ${ENDLESS} SELECT i, i FROM c`],
    ['OR FAIL', `INSERT OR FAIL INTO keyed ${ENDLESS} SELECT i, i FROM c`],
  ])('[LIM2] %s that is stopped is undone, alone', (_, sql) => {
    database.exec(
      'CREATE TABLE keyed(k INTEGER PRIMARY KEY, v UNIQUE); CREATE TABLE fires(a);' +
        `CREATE TRIGGER tr AFTER INSERT ON fires BEGIN INSERT INTO t SELECT x.a FROM t AS x, t AS y,
           t AS z, t AS u, t AS v, t AS w, t AS q, t AS r, t AS s, t AS o, t AS p, t AS n, t AS m,
           t AS l, t AS k, t AS j, t AS i, t AS h, t AS g, t AS f; END`,
      [],
    );
    database.run('BEGIN');
    database.exec('INSERT INTO t VALUES (3)', []);
    expect(run(sql)).toBe('SQL_TIMEOUT');
    expect([critical, database.inTransaction]).toEqual([0, true]);
    expect(run('INSERT INTO t VALUES (4)')).toBe(undefined);
    database.run('COMMIT');
    expect(rows(database, 'SELECT a FROM t')).toEqual([[1], [2], [3], [4]]);
    expect(rows(database, 'SELECT * FROM keyed')).toEqual([]);
    expect(rows(database, 'PRAGMA quick_check')).toEqual([['ok']]);
  });

  const FIRES_LONG = `BEGIN INSERT INTO t SELECT x.a FROM t AS x, t AS y, t AS z, t AS u, t AS v, t AS w,
     t AS q, t AS r, t AS s, t AS o, t AS p, t AS n, t AS m, t AS l, t AS k, t AS j, t AS i; END`;

  test.each([
    [
      'has run before the trigger was made',
      ['INSERT INTO fires VALUES (2)', 'DELETE FROM fires'],
      'fires',
    ],
    [
      'fires a trigger that fires another',
      ['CREATE TRIGGER tr AFTER INSERT ON fires BEGIN INSERT INTO other VALUES (NEW.a); END'],
      'other',
    ],
    [
      'deletes a row that another refers to',
      [
        'INSERT INTO fires VALUES (1)',
        'CREATE TABLE child(b REFERENCES fires(a) ON DELETE CASCADE)',
        'INSERT INTO child VALUES (1)',
      ],
      'child',
    ],
  ])('[LIM2] a statement that %s is undone, alone', (_, first, fires) => {
    database.exec('CREATE TABLE fires(a PRIMARY KEY); CREATE TABLE other(a)', []);
    for (const sql of first) database.exec(sql, []);
    const event = fires === 'child' ? 'DELETE' : 'INSERT';
    database.exec(`CREATE TRIGGER late AFTER ${event} ON ${fires} ${FIRES_LONG}`, []);
    database.run('BEGIN');
    database.exec('INSERT INTO t VALUES (3)', []);
    const before = rows(database, 'SELECT * FROM fires');
    const sql = fires === 'child' ? 'DELETE FROM fires' : 'INSERT INTO fires VALUES (2)';
    expect(run(sql)).toBe('SQL_TIMEOUT');
    expect([critical, database.inTransaction]).toEqual([0, true]);
    database.run('COMMIT');
    expect(rows(database, 'SELECT a FROM t')).toEqual([[1], [2], [3]]);
    expect(rows(database, 'SELECT * FROM fires')).toEqual(before);
    expect(rows(database, 'SELECT * FROM other')).toEqual([]);
  });

  test('[LIM2] the same text runs again, with the program it had', () => {
    const sql =
      'INSERT INTO t SELECT i FROM (WITH RECURSIVE c(i) AS (SELECT 5 UNION ALL SELECT i + 1 FROM c) SELECT i FROM c LIMIT ?)';
    database.run('BEGIN');
    expect(codeOf(() => database.exec(sql, [10_000_000]))).toBe('SQL_TIMEOUT');
    expect(database.exec(sql, [2]).rowsWritten).toBe(2);
    database.run('COMMIT');
    expect(rows(database, 'SELECT a FROM t')).toEqual([[1], [2], [5], [6]]);
  });

  test('[LIM2] a write that is stopped while SQLite recompiles it keeps its program', () => {
    // SQLite reads the whole schema again after a rollback of a change to it.
    for (let i = 0; i < 1500; i++) database.run(`CREATE TABLE t${i}(a)`);
    const sql = 'INSERT INTO keyed SELECT a, a FROM t';
    database.run('CREATE TABLE keyed(k INTEGER PRIMARY KEY, v UNIQUE)');
    database.exec(sql, []);
    database.run('DELETE FROM keyed');
    database.run('BEGIN');
    database.exec('INSERT INTO t VALUES (3)', []);
    for (const change of ['SAVEPOINT s', 'CREATE TABLE x(a)', 'ROLLBACK TO s', 'RELEASE s']) {
      database.run(change);
    }
    stepMs = 1000;
    expect(run(sql)).toBe('SQL_TIMEOUT');
    expect([critical, database.inTransaction]).toEqual([0, true]);
    stepMs = 1;
    expect(database.exec(sql, []).rowsWritten).toBe(6);
    database.run('COMMIT');
    expect(rows(database, 'SELECT v FROM keyed')).toEqual([[1], [2], [3]]);
    expect(rows(database, 'PRAGMA quick_check')).toEqual([['ok']]);
  });

  test('[LIM2] without a transaction a write that is stopped is undone too', () => {
    expect(run(`INSERT INTO t ${ENDLESS} SELECT i FROM c`)).toBe('SQL_TIMEOUT');
    expect(rows(database, 'SELECT a FROM t')).toEqual([[1], [2]]);
    expect(critical).toBe(0);
  });
});

describe('memory', () => {
  const BLOBS = 'WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c LIMIT 1000)';

  test.each([
    `${BLOBS} SELECT randomblob(1000000) AS b FROM c ORDER BY b`,
    `${BLOBS} SELECT count(*) FROM (SELECT DISTINCT randomblob(1000000) FROM c)`,
    `${BLOBS} SELECT max(b) FROM (SELECT i, randomblob(1000000) AS b FROM c ORDER BY i % 7, b)`,
    `SELECT ${Array.from({ length: 100 }, () => 'randomblob(8000000)').join(', ')}`,
  ])('[LIM3] %s fails alone', async (sql) => {
    const other = await openInMemory();
    expect(run(sql)).toBe('SQL_MEMORY');
    expect(critical).toBe(0);
    expect(rows(database, 'SELECT a FROM t')).toEqual([[1], [2]]);
    expect(rows(other, 'SELECT length(randomblob(8000000))')).toEqual([[8_000_000]]);
    other.close();
  });

  test('[LIM3] the error names the bound and the way out', () => {
    expect(() =>
      database.exec(`${BLOBS} SELECT randomblob(1000000) AS b FROM c ORDER BY b`, []),
    ).toThrow(/67108864 bytes.*limits\.heapBytes/);
  });

  test('[LIM3] the memory of open cursors counts, and is freed with them', () => {
    const sorted = (i: number) =>
      `WITH c(i) AS (VALUES (1), (2), (3), (4), (5), (6), (7), (8))
       SELECT randomblob(1000000) AS b, ${i} FROM c ORDER BY b`;
    const cursors: unknown[] = [];
    const openAll = () => {
      for (let i = 0; i < 20; i++) cursors.push(database.exec(sorted(i), []));
    };
    expect(codeOf(openAll)).toBe('SQL_MEMORY');
    // Each has 8 MB and what the sorter needs, and there are 64 MiB.
    expect(cursors.length).toBeGreaterThanOrEqual(5);
    expect(cursors.length).toBeLessThanOrEqual(8);
    expect(codeOf(() => database.exec(sorted(99), []))).toBe('SQL_MEMORY');
    database.reset();
    expect(run(sorted(99))).toBe(undefined);
  });

  test('[LIM3] the memory of a row and the copy of a binding are freed with them, any number of times', {
    tags: 'long',
  }, async () => {
    const other = await openInMemory();
    const value = new Uint8Array(1_000_000);
    database.run('CREATE TABLE blobs(k INTEGER PRIMARY KEY, b)');
    const put = database.statement('INSERT INTO blobs VALUES (1, ?)');
    put.bindBlob(1, value);
    put.step();
    const get = database.statement('SELECT b FROM blobs');
    for (let i = 0; i < 100; i++) {
      get.step();
      put.bindBlob(1, value);
      // Whose the memory is does not depend on who ran last.
      if (i % 2 === 0) rows(other, 'SELECT 1');
      get.reset();
      put.bindNull(1);
    }
    const half = `${BLOBS} SELECT b FROM (SELECT randomblob(1000000) AS b FROM c LIMIT 20) ORDER BY b`;
    expect(run(half)).toBe(undefined);
    expect(run(`${BLOBS} SELECT randomblob(1000000) AS b FROM c ORDER BY b`)).toBe('SQL_MEMORY');
    other.close();
  });
});

describe('the option', () => {
  test.each([
    { queryMs: 0 },
    { queryMs: Number.NaN },
    { importMs: -1 },
    { heapBytes: 32 * MIB - 1 },
    { heapBytes: 2 ** 31 },
    { heapBytes: Number.NaN },
    { openFiles: 15 },
    { lowSpaceBytes: -1 },
    { lowSpaceBytes: Number.NaN },
    { openFiles: 16.5 },
    { openFiles: Number.POSITIVE_INFINITY },
  ])('[LIM5] %j is refused', (limits) => {
    expect(codeOf(() => completeLimits(limits))).toBe('INVALID_ARGUMENT');
  });

  test.each([
    { queryMs: 0.5 },
    { importMs: 1 },
    { heapBytes: 32 * MIB },
    { heapBytes: 2 ** 31 - 1 },
    { openFiles: 16 },
    { lowSpaceBytes: 0 },
  ])('[LIM5] %j is accepted', (limits) => {
    expect(completeLimits(limits)).toMatchObject(limits);
  });

  test('[LIM5] a missing limit has its default, and no bound of time is Infinity', () => {
    expect(completeLimits({ queryMs: Number.POSITIVE_INFINITY })).toMatchObject({
      queryMs: Number.POSITIVE_INFINITY,
      importMs: 10_000,
      heapBytes: 512 * MIB,
    });
    expect(completeLimits()).toMatchObject({ queryMs: 30_000 });
  });
});
