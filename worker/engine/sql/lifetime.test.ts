// Statements and the connection when the owner closes the database at once, as it does when SQLite has
// rolled back by itself. The checker of live pointers watches every unit test.

import { beforeEach, describe, expect, test } from 'vitest';
import { codeOf, openInMemory } from '../../../packages/testing/worker/test-database.ts';
import type { Database } from './database.ts';

/** Makes SQLite roll the whole transaction back. */
const CRITICAL = 'INSERT OR ROLLBACK INTO t VALUES (1)';

let database: Database;
let closed: boolean;

beforeEach(async () => {
  closed = false;
  database = await openInMemory({
    onCritical() {
      closed = true;
      database.close();
    },
  });
  database.run('CREATE TABLE t(a UNIQUE)');
  database.run('BEGIN');
  database.run('INSERT INTO t VALUES (1)');
});

describe('a database that is closed because of an error', () => {
  test.each([
    ['a query', () => database.exec(CRITICAL, [])],
    ['a query of several', () => database.exec(`${CRITICAL}; SELECT 1`, [])],
    ['the last query of several', () => database.exec(`SELECT 1; ${CRITICAL}`, [])],
    ['a query whose rows are kept', () => database.exec(`${CRITICAL} RETURNING a`, [])],
    ['a statement', () => database.statement(CRITICAL).step()],
    ['trusted text', () => database.run(CRITICAL)],
  ])('[SQL21] %s that fails lets go before that', (_, action) => {
    database.exec('SELECT 1', []);
    expect(codeOf(action)).toBe('SQL');
    expect(closed).toBe(true);
  });

  test('[SQL21] the cursors of the others are closed with it', () => {
    database.run('INSERT INTO t VALUES (2), (3)');
    const cursor = database.exec('SELECT a FROM t', []);
    expect(codeOf(() => database.exec(CRITICAL, []))).toBe('SQL');
    expect(codeOf(() => cursor.next())).toBe('CURSOR_CLOSED');
    expect(cursor.rowsRead).toBeGreaterThan(0);
  });

  test('[SQL21] a query whose transaction cannot be opened is let go of', async () => {
    const refusing = await openInMemory({
      beforeWrite() {
        throw new Error('no transaction');
      },
    });
    refusing.run('CREATE TABLE t(a)');
    const texts = ['INSERT INTO t VALUES (1)', 'SELECT 1; DELETE FROM t WHERE a > 1'];
    for (const text of texts) expect(() => refusing.exec(text, [])).toThrow('no transaction');
    refusing.close();
  });

  test('[SQL21] a statement that is kept by its user no longer reaches SQLite', () => {
    const statement = database.statement('INSERT INTO t VALUES (?)');
    expect(codeOf(() => database.exec(CRITICAL, []))).toBe('SQL');
    statement.reset();
    expect(codeOf(() => statement.bindNumber(1, 5))).toBe('CURSOR_CLOSED');
    expect(codeOf(() => statement.step())).toBe('CURSOR_CLOSED');
    expect(codeOf(() => database.exec('SELECT 1', []))).toBe('CURSOR_CLOSED');
    database.close();
  });
});
