import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { codeOf, openInMemory, rows } from '../../../packages/testing/worker/test-database.ts';
import type { Database } from './database.ts';

let database: Database;

beforeAll(async () => {
  database = await openInMemory();
});

afterAll(() => database.close());

const one = (sql: string, ...bindings: unknown[]) => rows(database, sql, ...bindings)[0];
const bytes = (...values: number[]) => new Uint8Array(values).buffer;

describe('bindings', () => {
  test.each([
    [5, 'real', 5],
    [-0, 'real', -0],
    [Number.POSITIVE_INFINITY, 'real', Number.POSITIVE_INFINITY],
    [Number.NaN, 'null', null],
    ['', 'text', ''],
    ['a\0b', 'text', 'a\0b'],
    ['\ufeffé😀', 'text', '\ufeffé😀'],
    ['x'.repeat(70_000), 'text', 'x'.repeat(70_000)],
    ['é'.repeat(40_000), 'text', 'é'.repeat(40_000)],
    [true, 'text', 'true'],
    [null, 'null', null],
    [undefined, 'null', null],
    [[1, 2], 'text', '1,2'],
    [new Map(), 'text', '[object Map]'],
    [Object(5), 'text', '5'],
    [new Uint8Array([1, 2, 3, 4]).subarray(1, 3), 'blob', bytes(2, 3)],
    [new DataView(bytes(5, 6, 7), 1), 'blob', bytes(6, 7)],
    [new SharedArrayBuffer(2), 'blob', bytes(0, 0)],
    [new ArrayBuffer(0), 'blob', bytes()],
  ])('[SQL4] %j is bound as %s', (value, type, back) => {
    expect(one('SELECT typeof(?1), ?1', value)).toEqual([type, back]);
  });

  test('[SQL4] a detached buffer is a blob of no bytes', () => {
    const buffer = bytes(1, 2);
    structuredClone(buffer, { transfer: [buffer] });
    expect(one('SELECT typeof(?1), length(?1)', buffer)).toEqual(['blob', 0]);
  });

  test('[SQL4] bytes and texts are copied when exec is called', () => {
    const view = new Uint8Array([1, 2]);
    const cursor = database.exec('SELECT ?1, ?2 FROM (VALUES (1), (2), (3))', [view, 'text']);
    view.fill(9);
    // Other bindings pass through the same memory.
    one('SELECT ?, ?', new Uint8Array(20).fill(7), 'another text');
    const row = [bytes(1, 2), 'text'];
    expect(cursor.raw().toArray()).toEqual([row, row, row]);
  });

  test('[SQL4] a lone surrogate is three bytes', () => {
    expect(one('SELECT hex(?1), hex(?2)', '\ud800', `a${'\udc00'}`.repeat(40))).toEqual([
      'EDA080',
      '61EDB080'.repeat(40),
    ]);
  });

  test.each([1n, Symbol('x'), Object.create(null)])(
    '[SQL4] a value without a string form is a TypeError',
    (value) => {
      expect(() => database.exec('SELECT ?', [value])).toThrow(TypeError);
    },
  );

  test('[SQL4] a column gives a number its type', () => {
    database.exec('CREATE TABLE typed(i INTEGER, x TEXT, z)', []);
    database.exec('INSERT INTO typed VALUES (?, ?, ?)', [5, 5, 5]);
    expect(one('SELECT typeof(i), x, typeof(z) FROM typed')).toEqual(['integer', '5.0', 'real']);
    expect(one('SELECT ? / 2', 5)).toEqual([2.5]);
    expect(codeOf(() => database.exec('SELECT 1 LIMIT ?', [1.5]))).toBe('SQL');
  });
});

describe('results', () => {
  test('[SQL5] integers are numbers, rounded beyond 2^53', () => {
    expect(one('SELECT 0, -1, 4294967296, -4294967297, 9007199254740993')).toEqual([
      0, -1, 4294967296, -4294967297, 9007199254740992,
    ]);
    expect(one('SELECT 9223372036854775807, -9223372036854775808')).toEqual([2 ** 63, -(2 ** 63)]);
  });

  test('[SQL5] reals keep their sign of zero and their infinities; not a number is null', () => {
    expect(one('SELECT -0.0, 9e999, -9e999, 9e999 - 9e999')).toEqual([
      -0,
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
      null,
    ]);
  });

  test('[SQL5] text that is no UTF-8 has replacement characters', () => {
    expect(one("SELECT cast(x'ff41' AS TEXT), cast(x'eda080' AS TEXT)")).toEqual([
      '\ufffdA',
      '\ufffd\ufffd\ufffd',
    ]);
  });

  test('[SQL5] a blob is a new buffer each time, also a blob that SQLite has not filled in', () => {
    const [[first], [second]] = [one("SELECT x'0102'")!, one("SELECT x'0102'")!];
    new Uint8Array(first as ArrayBuffer).fill(9);
    expect(second).toEqual(bytes(1, 2));
    expect(one('SELECT zeroblob(3)')).toEqual([bytes(0, 0, 0)]);
  });

  test('[SQL5] values survive a growth of the memory between two columns', () => {
    const long = 'y'.repeat(3_000_000);
    const [a, b, c] = one('SELECT ?1, ?1 || ?1, 7', long)!;
    expect([a === long, b === long + long, c]).toEqual([true, true, 7]);
  });

  test('[SQL6] of columns with one name the last counts, at the place of the first', () => {
    const row = database.exec('SELECT 1 AS a, 2 AS b, 3 AS a', []).one();
    expect(Object.entries(row)).toEqual([
      ['a', 3],
      ['b', 2],
    ]);
  });

  test('[SQL6] a column called __proto__ is not a key, one called toString is', () => {
    const row = database.exec('SELECT 1 AS "__proto__", 2 AS "toString"', []).one();
    expect([Object.keys(row), Object.getPrototypeOf(row)]).toEqual([
      ['toString'],
      Object.prototype,
    ]);
  });
});
