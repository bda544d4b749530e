import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { codeOf, openInMemory, rows } from '../../../packages/testing/worker/test-database.ts';
import type { Cursor } from './cursor.ts';
import type { Database } from './database.ts';
import { createSqlStorage, type SqlSource } from './sql-storage.ts';

let database: Database;

beforeEach(async () => {
  database = await openInMemory();
});

afterEach(() => database.close());

const exec = (sql: string, ...bindings: unknown[]): Cursor => database.exec(sql, bindings);

describe('position', () => {
  test('[SQL7] the end is an object with both keys, again and again', () => {
    const cursor = exec('SELECT 1 AS a');
    expect(cursor.next()).toStrictEqual({ done: false, value: { a: 1 } });
    for (let i = 0; i < 2; i++) {
      expect(Object.entries(cursor.next())).toEqual([
        ['done', true],
        ['value', undefined],
      ]);
    }
  });

  test('[SQL7] the cursor, its iterators and its raw iterators share one position', () => {
    const cursor = exec('VALUES (1), (2), (3), (4), (5)');
    const raw = cursor.raw();
    const objects = cursor[Symbol.iterator]();
    expect([raw.next().value, cursor.next().value, objects.next().value]).toEqual([
      [1],
      { column1: 2 },
      { column1: 3 },
    ]);
    for (const row of cursor) {
      expect(row).toEqual({ column1: 4 });
      break;
    }
    expect([cursor.raw().toArray(), raw.next().done]).toEqual([[[5]], true]);
  });

  test('[SQL8] rows are fetched one ahead: an error in the next row loses the one being read', () => {
    const cursor = exec("SELECT json(column1) AS j FROM (VALUES ('1'), ('2'), ('{bad'), ('4'))");
    expect(cursor.next().value).toEqual({ j: '1' });
    expect(codeOf(() => cursor.next())).toBe('SQL');
    expect(cursor.next().done).toBe(true);
  });

  test('[SQL9] one() takes the last row that is left', () => {
    expect(exec('SELECT 1 AS a').one()).toEqual({ a: 1 });
    const cursor = exec('VALUES (1), (2)');
    cursor.next();
    expect(cursor.raw().one()).toEqual([2]);
  });

  test('[SQL9] one() without a row, or with more, is an error; with more the cursor ends', () => {
    expect(codeOf(() => exec('SELECT 1 WHERE 0').one())).toBe('CURSOR_ROWS');
    expect(codeOf(() => exec('SELECT 1 WHERE 0').raw().one())).toBe('CURSOR_ROWS');
    const cursor = exec('VALUES (1), (2), (3)');
    expect(codeOf(() => cursor.one())).toBe('CURSOR_ROWS');
    expect([cursor.next().done, cursor.toArray(), cursor.columnNames]).toEqual([
      true,
      [],
      ['column1'],
    ]);
  });
});

describe('column names', () => {
  test('[SQL6] they are one array; renaming in it renames the keys of later rows', () => {
    const cursor = exec('SELECT 1 AS a, 2 AS b UNION ALL SELECT 3, 4');
    expect(cursor.columnNames).toBe(cursor.columnNames);
    expect(cursor.next().value).toEqual({ a: 1, b: 2 });
    cursor.columnNames[0] = 'renamed';
    expect(cursor.next().value).toEqual({ renamed: 3, b: 4 });
    expect(exec('SELECT 1 AS a, 2 AS b UNION ALL SELECT 3, 4').columnNames).toEqual(['a', 'b']);
  });

  test('[SQL6] an array that no longer fits the rows is an error', () => {
    const cursor = exec('SELECT 1 AS a, 2 AS b');
    cursor.columnNames.pop();
    expect(codeOf(() => cursor.next())).toBe('SQL');
  });

  test('[SQL6] they are there without rows, and empty for a statement without a result', () => {
    expect(exec('SELECT 1 AS a WHERE 0').columnNames).toEqual(['a']);
    expect(exec('CREATE TABLE t(a)').columnNames).toEqual([]);
    expect(exec('SELECT 1+1, count(*)').columnNames).toEqual(['1+1', 'count(*)']);
  });
});

describe('while the data changes', () => {
  beforeEach(() => {
    exec('CREATE TABLE t(id INTEGER PRIMARY KEY, a); INSERT INTO t(a) VALUES (1), (2), (3), (4)');
  });

  test('[SQL10] a cursor sees rows that are inserted ahead and misses rows deleted ahead', () => {
    const seen: unknown[] = [];
    for (const [id] of exec('SELECT id FROM t').raw()) {
      seen.push(id);
      if (id === 1) exec('DELETE FROM t WHERE id = 3');
      if (id === 2) exec('INSERT INTO t(a) VALUES (9)');
    }
    expect(seen).toEqual([1, 2, 4, 5]);
  });

  test('[SQL10] a cursor survives a new table and a new column', () => {
    const cursor = exec('SELECT * FROM t');
    cursor.next();
    exec('CREATE TABLE u(a)');
    exec('ALTER TABLE t ADD COLUMN b');
    expect(cursor.raw().toArray()).toEqual([
      [2, 2],
      [3, 3],
      [4, 4],
    ]);
  });

  test('[SQL10] a table that is being read cannot be dropped, and the cursor goes on', () => {
    const cursor = exec('SELECT * FROM t');
    cursor.next();
    expect(codeOf(() => exec('DROP TABLE t'))).toBe('SQL');
    expect(cursor.toArray()).toEqual([2, 3, 4].map((id) => ({ id, a: id })));
  });

  test('[SQL10] a commit leaves cursors alone', () => {
    database.run('BEGIN');
    exec('INSERT INTO t(a) VALUES (5)');
    const cursor = exec('SELECT a FROM t');
    cursor.next();
    database.run('COMMIT');
    expect(cursor.raw().toArray()).toEqual([[2], [3], [4], [5]]);
  });

  test('[SQL10] a rollback of the schema ends the cursors that read it', () => {
    database.run('BEGIN');
    database.run('SAVEPOINT inner');
    const cursor = exec('SELECT a FROM t');
    cursor.next();
    exec('CREATE TABLE u(a)');
    database.run('ROLLBACK TO inner');
    expect(codeOf(() => cursor.next())).toBe('SQL');
    expect(cursor.next().done).toBe(true);
    database.run('COMMIT');
  });

  test('[SQL10] a cursor that the program dropped no longer locks its table', {
    tags: 'long',
  }, async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    (() => exec('SELECT * FROM t').next())();
    expect(codeOf(() => exec('DROP TABLE t'))).toBe('SQL');
    let code: string | undefined = 'SQL';
    for (let turn = 0; turn < 100 && code !== undefined; turn++) {
      collect();
      await new Promise((resolve) => setImmediate(resolve));
      code = codeOf(() => exec('DROP TABLE t'));
    }
    expect(code).toBe(undefined);
  });

  test('[SQL11] all rows of a write are done and kept; they are counted as they are read', () => {
    const cursor = exec('UPDATE t SET a = a * 10 WHERE id > 2 RETURNING id, a');
    const before = cursor.rowsRead;
    expect(rows(database, 'SELECT a FROM t')).toEqual([[1], [2], [30], [40]]);
    expect(cursor.raw().toArray()).toEqual([
      [3, 30],
      [4, 40],
    ]);
    expect([cursor.rowsRead - before, cursor.rowsWritten]).toEqual([1, 2]);
  });
});

/** The SQL of a storage that has nothing else. */
function source(): SqlSource {
  return {
    exec: (query, bindings) => database.exec(query, bindings),
    live: () => undefined,
    databaseSize: 0,
  };
}

describe('the objects', () => {
  test('[SQL19] they cannot be constructed, print as the platform has them, and have no own keys', () => {
    const sql = createSqlStorage(source());
    const cursor = sql.exec('SELECT 1 AS a');
    const classes = sql as unknown as Record<'Cursor' | 'Statement', new () => unknown>;
    for (const type of [classes.Cursor, classes.Statement, sql.constructor as new () => unknown]) {
      expect(() => new type()).toThrow(TypeError);
    }
    expect(cursor).toBeInstanceOf(classes.Cursor);
    const objects = [sql, cursor, cursor.raw(), cursor[Symbol.iterator]()];
    expect(objects.map((object) => Object.prototype.toString.call(object))).toEqual([
      '[object SqlStorage]',
      '[object Cursor]',
      '[object RawIterator]',
      '[object RowIterator]',
    ]);
    expect(objects.flatMap((object) => Object.keys(object))).toEqual([]);
  });

  test('[SQL19] a method of another object is a TypeError, and members cannot be assigned', () => {
    const sql = createSqlStorage(source());
    const cursor = sql.exec('SELECT 1 AS a');
    const { exec: detached } = sql;
    expect(() => detached('SELECT 1')).toThrow(TypeError);
    expect(() => cursor.next.call({} as never)).toThrow(TypeError);
    expect(() => cursor.raw().next.call(cursor as never)).toThrow(TypeError);
    for (const name of ['rowsRead', 'rowsWritten', 'columnNames']) {
      expect(() => Object.assign(cursor, { [name]: 1 })).toThrow(TypeError);
    }
    expect(() => Object.assign(sql, { databaseSize: 1 })).toThrow(TypeError);
    expect(codeOf(() => (sql.exec as () => unknown)())).toBe('INVALID_ARGUMENT');
  });

  test('[SQL19] the raw iterator is its own iterator and inherits the members of iterators', () => {
    const raw = exec('SELECT 1').raw();
    const arrayIterator = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]()));
    expect(raw[Symbol.iterator]()).toBe(raw);
    expect(Object.getPrototypeOf(Object.getPrototypeOf(raw))).toBe(arrayIterator);
  });
});
