// Implements the measured store by statements that are prepared once, for both SQLite and Postgres.
//
// No call waits for a driver that answers synchronously.

import { documents, ENTRY_COUNT, freshValue, key, ROW_COUNT, row } from './data.ts';
import type { Answer, Store } from './store.ts';

export type Value = string | number | Uint8Array;

export const TABLES = [
  'CREATE TABLE IF NOT EXISTS kv(k TEXT PRIMARY KEY, v BLOB) WITHOUT ROWID',
  'CREATE TABLE IF NOT EXISTS t(id INTEGER PRIMARY KEY, a TEXT, b REAL, c INTEGER)',
  'CREATE TABLE IF NOT EXISTS u(id INTEGER PRIMARY KEY, a TEXT, b REAL, c INTEGER)',
  'CREATE VIRTUAL TABLE IF NOT EXISTS docs USING fts5(body)',
];

export const STATEMENTS = {
  upsert: 'INSERT INTO kv VALUES (?, ?) ON CONFLICT (k) DO UPDATE SET v = excluded.v',
  get: 'SELECT v FROM kv WHERE k = ?',
  list: "SELECT k, v FROM kv WHERE k >= 'k' AND k < 'l' ORDER BY k",
  count: 'SELECT count(*) FROM t',
  fillRow: 'INSERT INTO t(a, b, c) VALUES (?, ?, ?)',
  fillDocument: 'INSERT INTO docs(body) VALUES (?)',
  clear: 'DELETE FROM u',
  insert: 'INSERT INTO u(a, b, c) VALUES (?, ?, ?)',
  lastInserted: 'SELECT a FROM u ORDER BY id DESC LIMIT 1',
  scan: 'SELECT id, a, b, c FROM t',
  select: 'SELECT a FROM t WHERE id = ?',
  search: 'SELECT rowid, body FROM docs WHERE docs MATCH ? ORDER BY rank LIMIT 20',
  begin: 'BEGIN IMMEDIATE',
  commit: 'COMMIT',
} as const;

export type StatementName = keyof typeof STATEMENTS;

export interface Driver {
  run(name: StatementName, values?: readonly Value[]): Answer<void>;
  /** Runs the statement and returns the first column of its first row. */
  one(name: StatementName, values?: readonly Value[]): Answer<Value | undefined>;
  /** Runs the statement and returns all rows as arrays. */
  all(name: StatementName, values?: readonly Value[]): Answer<Value[][]>;
  /** Runs `scan` and returns all rows as objects. */
  objects(): Answer<{ a: string }[]>;
}

export function statementStore(driver: Driver): Store {
  const runAll = async (name: StatementName, rows: Iterable<readonly Value[]>) => {
    for (const values of rows) {
      const ran = driver.run(name, values);
      if (ran instanceof Promise) await ran;
    }
  };
  const inTransaction = async (work: () => Promise<void>) => {
    await driver.run('begin');
    await work();
    await driver.run('commit');
  };
  return {
    put: (name, value) => driver.run('upsert', [name, value]),
    get: (name) => driver.one('get', [name]) as Answer<Uint8Array | undefined>,
    list: async () => new Map((await driver.all('list')) as [string, Uint8Array][]).size,
    transaction: (entries) => inTransaction(() => runAll('upsert', entries)),
    insert: (rows) =>
      inTransaction(async () => {
        await driver.run('clear');
        await runAll(
          'insert',
          rows.map(({ a, b, c }) => [a, b, c]),
        );
      }),
    lastInserted: () => driver.one('lastInserted') as Answer<string>,
    scan: () => driver.objects(),
    select: (id) => driver.one('select', [id]) as Answer<string>,
    search: (word) => driver.all('search', [word]),
    fill: async () => {
      const entries = Array.from(
        { length: ENTRY_COUNT },
        (_, i) => [key(i), freshValue()] as const,
      );
      await inTransaction(() => runAll('upsert', entries));
      if (Number(await driver.one('count')) > 0) return;
      const rows = Array.from({ length: ROW_COUNT }, (_, i) => row(i));
      await inTransaction(() =>
        runAll(
          'fillRow',
          rows.map(({ a, b, c }) => [a, b, c]),
        ),
      );
      await inTransaction(() =>
        runAll(
          'fillDocument',
          documents().map((body) => [body]),
        ),
      );
    },
  };
}
