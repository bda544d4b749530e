// Importing and saving files of rows: types of columns, places of mistakes, batches, and formulas.

import { describe, expect, test } from 'vitest';
import { givenFiles, tableName } from './given-files.ts';
import { checkRowFile } from './row-file.ts';
import { ImportFailure, importRows } from './row-import.ts';
import { rowsAsFile } from './row-text.ts';
import { takeRowFile } from './take-row-file.ts';

const { signal } = new AbortController();

const check = (name: string, ...parts: BlobPart[]) =>
  checkRowFile(new File(parts, name), signal, () => {});

/** Reads a file, and returns its columns with their types and all rows. */
async function read(name: string, ...parts: BlobPart[]) {
  const file = await check(name, ...parts);
  const rows: unknown[] = [];
  for await (const batch of file.batches(signal)) rows.push(...batch.rows);
  expect(rows).toHaveLength(file.rowCount);
  return { columns: file.columns.map(({ name, kind }) => `${name} ${kind}`.trim()), rows };
}

describe('rows with delimiters', () => {
  test('[INSP7] a column is of numbers only if each of its texts is written as a number', async () => {
    const text =
      'id,zip,price,big,mixed,none\r\n1,01234,1.50,9007199254740993,12,\r\n2,12345,-2e3,1,n/a,\r\n';
    expect(await read('a.csv', text)).toEqual({
      columns: ['id INTEGER', 'zip TEXT', 'price REAL', 'big TEXT', 'mixed TEXT', 'none TEXT'],
      rows: [
        [1, '01234', 1.5, '9007199254740993', '12', null],
        [2, '12345', -2000, '1', 'n/a', null],
      ],
    });
  });

  test('[INSP7] quotes, line breaks in fields, empty lines, other delimiters and encodings', async () => {
    expect(await read('a.csv', 'a,b\n"x, ""y""\nz",1\n\n"",2')).toEqual({
      columns: ['a TEXT', 'b INTEGER'],
      rows: [
        ['x, "y"\nz', 1],
        [null, 2],
      ],
    });
    expect(await read('a.tsv', '\uFEFFname\tname\t\nü\tb\tc\n')).toEqual({
      columns: ['name TEXT', 'name_2 TEXT', 'column_3 TEXT'],
      rows: [['ü', 'b', 'c']],
    });
    const wide = new Uint8Array(
      new Uint16Array([...'\uFEFFa;b\n1;2\n'].map((c) => c.charCodeAt(0))).buffer,
    );
    expect((await read('a.csv', wide)).rows).toEqual([[1, 2]]);
  });

  test('[INSP7] a file that is read in several chunks gives all rows in their order', async () => {
    const numbers = Array.from({ length: 20_000 }, (_, i) => i);
    const lines = numbers.map((i) => `${i},"né ""${i}""\r\nx",${i / 4 + 0.125}`);
    const { columns, rows } = await read('big.csv', `id,text,n\r\n${lines.join('\r\n')}`);
    expect(columns).toEqual(['id INTEGER', 'text TEXT', 'n REAL']);
    expect(rows).toEqual(numbers.map((i) => [i, `né "${i}"\r\nx`, i / 4 + 0.125]));
  });

  test('[INSP7] the first chunk, of 256 KiB, may end at any byte of a record', async () => {
    const tail = '1,"né ""q""\r\nx"\r\n2,"b"\r\n3,c\r\n';
    const head = 'id,text\r\n0,';
    for (let cut = 0; cut <= new TextEncoder().encode(tail).length; cut++) {
      const padding = 'p'.repeat(256 * 1024 - head.length - '\r\n'.length - cut);
      const { rows } = await read('cut.csv', `${head}${padding}\r\n${tail}`);
      expect([cut, rows.slice(1)]).toEqual([
        cut,
        [
          [1, 'né "q"\r\nx'],
          [2, 'b'],
          [3, 'c'],
        ],
      ]);
    }
  });

  test.for<[string, string, BlobPart[], RegExp]>([
    [
      'a row of another length',
      'a.csv',
      ['a,b\n1,2\n"x\ny",2\n3\n'],
      /line 5: this row has 1 fields, .* 2 columns/,
    ],
    [
      'a quote that is not closed',
      'a.csv',
      ['a,b\n1,2\n"x,2\n3,4\n'],
      /line 3: a quote is not closed/,
    ],
    [
      'bytes that are not text',
      'a.csv',
      ['a,b\n1,2\n', new Uint8Array([0xe9, 0x0a])],
      /line 3: .*UTF-8/,
    ],
    ['a file with nothing in it', 'a.csv', [''], /empty/],
    ['JSON that ends early', 'a.json', ['[{"a": 1},'], /a\.json: this is not JSON: /],
    ['an item that is not an object', 'a.json', ['[{"a": 1}, 2]'], /item 2 is not an object/],
    ['a line that is not JSON', 'a.jsonl', ['{"a": 1}\n\n{a}\n'], /line 3: this is not JSON/],
    ['a line that is not an object', 'a.jsonl', ['{"a": 1}\n[1]'], /line 2: this is not an object/],
    ['objects without names', 'a.json', ['[{}]'], /no rows with columns/],
  ])(
    '[INSP7] %s is refused with its place when the file is checked',
    async ([, name, parts, message]) => {
      await expect(check(name, ...parts)).rejects.toThrow(message);
    },
  );
});

test('[INSP7] JSON keeps the types of its values, and its columns are all names that any row has', async () => {
  const rows = '[{"a": 1, "b": "x"}, {"a": 2.5, "c": {"d": [1]}, "b": 3}, {"e": true}]';
  const expected = {
    columns: ['a REAL', 'b', 'c TEXT', 'e INTEGER'],
    rows: [
      [1, 'x', null, null],
      [2.5, 3, { d: [1] }, null],
      [null, null, null, true],
    ],
  };
  expect(await read('a.json', rows)).toEqual(expected);
  const lines = JSON.parse(rows).map((row: unknown) => JSON.stringify(row));
  expect(await read('a.ndjson', lines.join('\r\n'))).toEqual(expected);
});

/** Makes a storage that accepts so many statements, and then fails. */
function storageOf(statements: number, failure: Error) {
  const taken: unknown[][] = [];
  const exec = (...call: unknown[]) => {
    taken.push(call);
    const isTaken = taken.length <= statements;
    return { ready: isTaken ? Promise.resolve() : Promise.reject(failure) };
  };
  return { storage: { sql: { exec } } as never, taken };
}

const TEN_THOUSAND = `n\n${Array.from({ length: 10_000 }, (_, i) => i).join('\n')}\n`;

test('[INSP7] rows are written in batches of one statement; a failure and a stop say how many were written', async () => {
  const file = await check('n.csv', TEN_THOUSAND);
  const whole = storageOf(100, new Error());
  const counts: number[] = [];
  expect(await importRows(whole.storage, 'my "n"', file, signal, (n) => counts.push(n))).toBe(
    10_000,
  );
  expect(whole.taken[0]).toEqual(['CREATE TABLE IF NOT EXISTS "my ""n""" ("n" INTEGER)']);
  expect(whole.taken[1]![0]).toBe(
    'INSERT INTO "my ""n""" ("n") SELECT value ->> 0 FROM json_each(?)',
  );
  expect(counts.slice(0, 2)).toEqual([2000, 4000]);

  const full = Object.assign(new Error('The disk is full.'), { code: 'DISK_FULL' });
  const failing = importRows(storageOf(3, full).storage, 'n', file, signal, () => {});
  await expect(failing).rejects.toThrow(ImportFailure);
  await expect(failing).rejects.toMatchObject({ rowsWritten: 4000, line: 4002, cause: full });

  const controller = new AbortController();
  const stopped = importRows(whole.storage, 'n', file, controller.signal, () =>
    controller.abort(new Error('Stopped.')),
  );
  await expect(stopped).rejects.toMatchObject({
    rowsWritten: 2000,
    cause: { message: 'Stopped.' },
  });
});

test('[INSP7] a failed import reports how many rows were written, and the bookmark of the moment before', async () => {
  const full = Object.assign(new Error('No space is left.'), { code: 'DISK_FULL' });
  const { storage } = storageOf(2, full);
  const bookmarks = ['before', 'after'];
  Object.assign(storage, { getCurrentBookmark: async () => bookmarks.shift() });
  const taken = await takeRowFile(
    storage,
    new File([TEN_THOUSAND], 'n.csv'),
    'n',
    signal,
    () => {},
  );
  expect(taken).toMatchObject({ isFault: true, before: 'before' });
  expect(taken.text).toMatch(
    /No space is left\. 2,000 rows of 10,000 were written to n\. Line 2,002 /,
  );
});

test('[INSP7] the kind of files is recognised by their content and names', async () => {
  const database = new File(['SQLite format 3\0 and more'], 'state');
  const wal = new File(['x'], 'state-wal');
  expect(await givenFiles([wal, database])).toEqual({ kind: 'database', database, wal });
  const rows = new File(['a,b'], 'My people (1).csv');
  expect(await givenFiles([rows])).toEqual({ kind: 'rows', file: rows, table: 'My_people_1' });
  await expect(givenFiles([wal])).rejects.toThrow(/open both together/);
  await expect(givenFiles([rows, wal])).rejects.toThrow(/this is not one/);
  await expect(givenFiles([rows, database])).rejects.toThrow(/one file at a time/);
  expect(['sqlite_a.csv', '_cf_KV.json', '.csv'].map(tableName)).toEqual([
    'table_sqlite_a',
    'table_cf_KV',
    'table_',
  ]);
});

test('[INSP7] rows are saved as CSV and JSON, which are read again', async () => {
  const rows = [
    [1, 'a "b"\n', null],
    [2.5, '', new Uint8Array([1, 255]).buffer],
  ];
  const columns = () => ['id', 'text', 'bytes'];
  const csv = await rowsAsFile('csv', columns, rows);
  expect(await csv.text()).toBe('id,text,bytes\r\n1,"a ""b""\n",\r\n2.5,"",01ff\r\n');
  const json = await rowsAsFile('json', columns, rows);
  expect(JSON.parse(await json.text())).toEqual([
    { id: 1, text: 'a "b"\n', bytes: null },
    { id: 2.5, text: '', bytes: '01ff' },
  ]);
  expect(await (await rowsAsFile('csv', columns, [])).text()).toBe('id,text,bytes\r\n');
  expect((await read('again.csv', csv)).rows).toEqual([
    [1, 'a "b"\n', null],
    [2.5, null, '01ff'],
  ]);
});

test('[INSP7] no text of CSV runs as a formula, and all texts are read as they were', async () => {
  const formulas = ['=1+1', '+cmd|x!A0', '-2+x', '@SUM(A1)', '\t=1', '\r=1'];
  const others = ["'=1", "''=1", "'", "it's", '+41 79 123 45 67', '-5', '1=1', ''];
  const texts = [...formulas, ...others];
  const blob = await rowsAsFile(
    'csv',
    () => ['=name', 'n'],
    texts.map((text) => [text, -1]),
  );
  const lines = (await blob.text()).replaceAll('"', '').split('\r\n');
  for (const line of lines.slice(0, 1 + formulas.length)) expect(line).toMatch(/^'/);
  expect(await blob.text()).toContain('\r\n+41 79 123 45 67,-1');
  const { rows, columns } = await read('a.csv', await blob.text());
  expect(columns).toEqual(['=name TEXT', 'n INTEGER']);
  // CSV cannot tell an empty text from NULL, so it is read as NULL.
  expect(rows).toEqual(texts.map((text) => [text === '' ? null : text, -1]));
});
