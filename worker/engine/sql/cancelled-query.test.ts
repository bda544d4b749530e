// Statements whose caller cancels them while they run.

import { afterEach, beforeEach, expect, test } from 'vitest';
import { codeOf, openInMemory, rows } from '../../../packages/testing/worker/test-database.ts';
import type { Database } from './database.ts';
import { completeLimits } from './query-limits.ts';

const ENDLESS = 'WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c)';

let database: Database;
let critical: number;
/** One clock for all tests, as for the guard, which all databases of a thread share. */
let nowMs = 0;
let asked: number[];
/** When the caller cancels. */
let cancelMs: number;

/** Time passes only where it is looked at. */
beforeEach(async () => {
  critical = 0;
  asked = [];
  cancelMs = nowMs + 500;
  database = await openInMemory(
    {
      onCritical: () => void critical++,
      isCancelled() {
        asked.push(nowMs);
        return nowMs >= cancelMs;
      },
    },
    completeLimits({ queryMs: 5000 }, () => ++nowMs),
  );
  database.exec('CREATE TABLE t(a); INSERT INTO t VALUES (1), (2)', []);
});
afterEach(() => database.close());

const run = (sql: string) => codeOf(() => database.exec(sql, []).toArray());

test.each([
  `${ENDLESS} SELECT max(i) FROM c`,
  `${ENDLESS} SELECT i FROM c WHERE i < 0`,
  `SELECT * FROM t WHERE a IN (${ENDLESS} SELECT i FROM c WHERE i < 0)`,
])('[CANCEL3] %s is stopped, and its transaction goes on', (sql) => {
  database.run('BEGIN');
  database.run('INSERT INTO t VALUES (3)');
  expect(run(sql)).toBe('CANCELLED');
  expect(nowMs).toBeLessThan(cancelMs + 300);
  expect([critical, database.inTransaction]).toEqual([0, true]);
  database.run('COMMIT');
  expect(rows(database, 'SELECT a FROM t')).toEqual([[1], [2], [3]]);
});

test.each([
  ['an INSERT', `INSERT INTO t ${ENDLESS} SELECT i FROM c`],
  ['an UPDATE', `UPDATE t SET a = (${ENDLESS} SELECT max(i) FROM c) WHERE a = 2`],
  ['one with RETURNING', `INSERT INTO t ${ENDLESS} SELECT i FROM c RETURNING a`],
  ['a CREATE TABLE', `CREATE TABLE u AS ${ENDLESS} SELECT i FROM c`],
])('[CANCEL4] %s that is cancelled is undone, alone', (_, sql) => {
  database.run('BEGIN');
  database.exec('INSERT INTO t VALUES (3)', []);
  expect(run(sql)).toBe('CANCELLED');
  expect([critical, database.inTransaction]).toEqual([0, true]);
  cancelMs = Number.POSITIVE_INFINITY;
  expect(run('INSERT INTO t VALUES (4)')).toBe(undefined);
  database.run('COMMIT');
  expect(rows(database, 'SELECT a FROM t')).toEqual([[1], [2], [3], [4]]);
  expect(rows(database, 'SELECT name FROM sqlite_schema')).toEqual([['t']]);
  expect(rows(database, 'PRAGMA quick_check')).toEqual([['ok']]);
});

test('[CANCEL9] a short statement asks nobody, a long one now and then', { tags: 'long' }, () => {
  cancelMs = Number.POSITIVE_INFINITY;
  // The guard asks when a thread first looks at the clock.
  for (let i = 0; i < 1000; i++) run('SELECT * FROM t');
  asked = [];
  for (let i = 0; i < 1000; i++) run('SELECT * FROM t');
  expect(asked).toEqual([]);
  expect(run(`${ENDLESS} SELECT max(i) FROM c`)).toBe('SQL_TIMEOUT');
  // Every 100 ms of the 5 s that it runs.
  expect(asked.length).toBeGreaterThan(40);
  expect(asked.length).toBeLessThanOrEqual(51);
});

test('[CANCEL3] a caller is asked during a series of statements, none of which takes long', () => {
  const short = `${ENDLESS} SELECT count(*) FROM (SELECT i FROM c LIMIT 3000)`;
  let outcome = run(short);
  for (let count = 0; outcome === undefined && count < 1000; count++) outcome = run(short);
  expect(outcome).toBe('CANCELLED');
  expect(nowMs).toBeGreaterThanOrEqual(cancelMs);
  expect(nowMs).toBeLessThan(cancelMs + 300);
  expect(run(short)).toBe(undefined); // it was asked just now
});

test('[CANCEL4] the work of the storage itself is not stopped half-way', () => {
  cancelMs = Number.POSITIVE_INFINITY;
  database.exec(`INSERT INTO t ${ENDLESS} SELECT i FROM c LIMIT 300000`, []);
  asked = [];
  cancelMs = 0;
  database.reset();
  expect([asked, critical]).toEqual([[], 0]);
  expect(rows(database, 'SELECT name FROM sqlite_schema')).toEqual([]);
});
