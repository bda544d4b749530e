// Tests the tables whose changes are captured: their keys, values and schema; and the tables that are refused.

import { afterEach, beforeEach, expect, test } from 'vitest';
import type { DurableObjectStorage } from '../../../src/shared/contract/storage.ts';
import { DurableObject } from '../../../worker/realm/library/base-classes.ts';
import { createTestHost, type TestHost } from '../../testing/worker/test-host.ts';
import { Capture } from '../capture/capture.ts';
import type { Changes } from '../changes/changes.ts';

let capture: Capture;

class Captured extends DurableObject {
  constructor(ctx: never, env: never) {
    super(ctx, env);
    const storage = this.ctx.storage as unknown as DurableObjectStorage;
    capture = new Capture(storage, { life: 1, onWrite() {} });
  }
}

let host: TestHost;
beforeEach(async () => {
  host = await createTestHost({}, { Captured });
});
afterEach(() => host.close());

const exec = (text: string, ...bindings: unknown[]) =>
  host.run(({ storage }) => {
    (storage as unknown as DurableObjectStorage).sql.exec(text, ...bindings).toArray();
  });
const rows = (query: string) =>
  host.run(({ storage }) => [
    ...(storage as unknown as DurableObjectStorage).sql.exec(query).raw(),
  ]);
/** Returns the changes that a statement makes. */
async function changesOf(text: string): Promise<Changes> {
  const before = await host.run(() => capture.head());
  await exec(text);
  return host.run(() => capture.changesSince(before, Number.POSITIVE_INFINITY)!);
}

test.each([
  ['CREATE VIRTUAL TABLE f USING fts5(body)', /table f is virtual/],
  [
    'CREATE TABLE e (a); CREATE UNIQUE INDEX ee ON e (lower(a))',
    /the unique index ee of e is over an expression/,
  ],
  [
    'CREATE TABLE k (a, b, c, d, e, PRIMARY KEY (a, b, c, d, e)) WITHOUT ROWID',
    /primary key of k.* WITHOUT ROWID, has 5 columns, at most 4/,
  ],
  [
    'CREATE TABLE r (RowId, _rowid_, OID)',
    /r has columns with all three names of the rowid.*, or do not make the class followable\.$/,
  ],
  ['CREATE TABLE _FOLLOW_x (a)', /the table _FOLLOW_x has a name that begins with _follow_/],
  ['CREATE VIEW _follow_y AS SELECT 1', /the view _follow_y has a name/],
  [`CREATE TABLE wide (${columns(98)})`, /wide has 98 columns, at most 97/],
  [
    `CREATE TABLE wider (id INTEGER PRIMARY KEY, ${columns(99)})`,
    /wider has 100 columns, at most 98/,
  ],
  [
    `CREATE TABLE pair (a, b, ${columns(96)}, PRIMARY KEY (a, b)) WITHOUT ROWID`,
    /pair has 98 columns, at most 97/,
  ],
])('[FOLC7] the error about %s tells the reason', async (text, reason) => {
  const refused = { code: 'FOLLOW_UNSUPPORTED', message: expect.stringMatching(reason) };
  await expect(exec(text)).rejects.toMatchObject(refused);
  await exec('CREATE TABLE after (a)');
  const names = await rows(
    "SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_follow\\_%' ESCAPE '\\'",
  );
  expect(names.flat()).toEqual(['after']);
});

test('[FOLC7] a table with all names of the rowid is noted if it has an INTEGER PRIMARY KEY', async () => {
  await exec('CREATE TABLE r (id INTEGER PRIMARY KEY, rowid, _rowid_, oid)');
  const columns = ['id', 'rowid', '_rowid_', 'oid'];
  const inserted = await changesOf('INSERT INTO r VALUES (5, 6, 7, 8), (1, 2, 3, 4)');
  expect(inserted.tables).toMatchObject([{ keys: ['id'], columns, isWhole: false, gone: [] }]);
  expect(inserted.tables[0]!.rows).toEqual([
    [5, 6n, 7n, 8n],
    [1, 2n, 3n, 4n],
  ]);
  const moved = await changesOf('UPDATE r SET id = 9 WHERE rowid = 6');
  expect(moved.tables).toMatchObject([{ rows: [[9, 6n, 7n, 8n]], gone: [[5n]] }]);
  const gone = await changesOf('DELETE FROM r WHERE oid = 4');
  expect(gone.tables).toMatchObject([{ rows: [], gone: [[1n]] }]);
});

test.each([
  ['CREATE TABLE t (a, b)', ['rowid'], ['rowid', 'a', 'b']],
  ['CREATE TABLE t (rowid, b)', ['_rowid_'], ['_rowid_', 'rowid', 'b']],
  ['CREATE TABLE t (ROWID, _RowId_)', ['oid'], ['oid', 'ROWID', '_RowId_']],
  ['CREATE TABLE t (a INTEGER PRIMARY KEY, b)', ['a'], ['a', 'b']],
  ['CREATE TABLE t (a INT PRIMARY KEY, b)', ['rowid'], ['rowid', 'a', 'b']],
  ['CREATE TABLE t (a, b, PRIMARY KEY (b, a))', ['rowid'], ['rowid', 'a', 'b']],
  ['CREATE TABLE t (a, b, PRIMARY KEY (b, a)) WITHOUT ROWID', ['b', 'a'], ['a', 'b']],
  ['CREATE TABLE t (a, b, c AS (a), PRIMARY KEY (a)) WITHOUT ROWID', ['a'], ['a', 'b']],
])('[FOLC1] the rows of %s are named by %j', async (text, keys, columns) => {
  await exec(text);
  const { tables } = await changesOf('INSERT INTO t VALUES (7, 8)');
  expect(tables).toMatchObject([{ name: 't', isWhole: false, gone: [] }]);
  expect(tables.map((table) => [table.keys, table.columns])).toEqual([[keys, columns]]);
  const [{ rows: written }] = tables as [Changes['tables'][number]];
  expect(written.map((row) => row.slice(-2).map(Number))).toEqual([[7, 8]]);
});

test('[FOLC1] a row with a key of four columns is changed, moved and gone by all of them', async () => {
  await exec('CREATE TABLE t (v, d, c, b, a, PRIMARY KEY (a, b, c, d)) WITHOUT ROWID');
  await exec('INSERT INTO t VALUES (1, 4, 3, 2, 1), (2, 5, 3, 2, 1)');
  const changed = await changesOf('UPDATE t SET v = 9 WHERE d = 4');
  expect(changed.tables).toMatchObject([{ rows: [[9n, 4n, 3n, 2n, 1n]], gone: [] }]);
  const moved = await changesOf('UPDATE t SET d = 6 WHERE d = 5');
  expect(moved.tables).toMatchObject([{ rows: [[2n, 6n, 3n, 2n, 1n]], gone: [[1n, 2n, 3n, 5n]] }]);
  const gone = await changesOf('DELETE FROM t WHERE d = 6');
  expect(gone.tables).toMatchObject([{ rows: [], gone: [[1n, 2n, 3n, 6n]] }]);
});

test('[FOLC1] keys that are equal by their collation are the key of the row that is there', async () => {
  await exec('CREATE TABLE t (k TEXT COLLATE NOCASE PRIMARY KEY, v) WITHOUT ROWID');
  await exec("INSERT INTO t VALUES ('a', 1)");
  const { tables } = await changesOf("UPDATE t SET k = 'A'");
  expect(tables).toMatchObject([{ rows: [['A', 1n]], gone: [] }]);
});

test('[FOLC1] unique indexes that are made again in another order send no rows', async () => {
  await exec(
    'CREATE TABLE t (a, b); CREATE UNIQUE INDEX ta ON t (a); CREATE UNIQUE INDEX tb ON t (b)',
  );
  await exec('INSERT INTO t VALUES (1, 2)');
  const { tables, schema } = await changesOf('DROP INDEX ta; CREATE UNIQUE INDEX ta ON t (a)');
  expect(tables).toEqual([]);
  expect(schema?.map(({ name }) => name)).toEqual(['t', 'tb', 'ta']);
  const changed = await changesOf('DROP INDEX ta; CREATE UNIQUE INDEX ta ON t (a COLLATE NOCASE)');
  expect(changed.tables).toMatchObject([{ name: 't', isWhole: true, rows: [[1, 1n, 2n]] }]);
});

test('[FOLC1] a column is dropped by the text that drops its unique index', async () => {
  await exec('CREATE TABLE other (a); INSERT INTO other VALUES (1)');
  await exec('CREATE TABLE t (a, b); CREATE UNIQUE INDEX tb ON t (b)');
  await exec('INSERT INTO t VALUES (1, 2)');
  const { tables } = await changesOf('DROP INDEX tb; ALTER TABLE t DROP COLUMN b');
  expect(tables).toMatchObject([{ name: 't', columns: ['rowid', 'a'], rows: [[1, 1n]] }]);
});

const BIG = 9_007_199_254_740_993n;
const KEPT = [5n, BIG];
const NUMBERS = [5, BIG];

test.each([
  ['', KEPT],
  ['BLOB', KEPT],
  ['INT', NUMBERS],
  ['CHARINT', NUMBERS],
  ['NUMERIC', NUMBERS],
  ['DATE', NUMBERS],
  ['TEXT', ['5', String(BIG)]],
  ['REAL', [5, Number(BIG)]],
])(
  '[FOLC1] a column of type "%s" is sent with exactly the values that are stored',
  async (type, numbers) => {
    const cut = 'b\ud83d';
    await exec(`CREATE TABLE t (n INTEGER PRIMARY KEY, v ${type})`);
    const text = `INSERT INTO t (v) VALUES (5), (${BIG}), (x'61'), ('${cut}'), ('i5')`;
    const { tables } = await changesOf(text);
    const sent = tables.map(({ rows }) => rows.map(([, value]) => value));
    expect(sent).toEqual([[...numbers, new Uint8Array([0x61]), '\ufffd62EDA0BD', 'i5']]);
  },
);

test.each([['DROP TRIGGER later'], ['ALTER TABLE other ADD COLUMN b']])(
  '[FOLC1] by %s, a table that has not changed is not sent again, however its name is written',
  async (text) => {
    await exec('CREATE TABLE Told (a); CREATE TABLE other (a); INSERT INTO Told VALUES (1)');
    await exec('CREATE TRIGGER later AFTER INSERT ON TOLD BEGIN SELECT 1; END');
    const { tables } = await changesOf(text);
    expect(tables.map(({ name }) => name)).not.toContain('Told');
  },
);

test('[FOLC7] an index that is not unique may be over an expression, and triggers do not grow with it', async () => {
  await exec('CREATE TABLE t (a); CREATE INDEX ta ON t (lower(a))');
  const { tables } = await changesOf("INSERT OR REPLACE INTO t VALUES ('x')");
  expect(tables).toMatchObject([{ rows: [[1, 'x']] }]);
  const triggers = await rows(
    "SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 't'",
  );
  expect(triggers).toEqual([[4]]);
});

test('[FOLC1] a trigger of the class that is made later notes no row twice, and a dropped table leaves nothing', async () => {
  await exec('CREATE TABLE t (a)');
  await exec('CREATE TRIGGER mine AFTER INSERT ON t BEGIN SELECT 1; END');
  const { tables } = await changesOf('INSERT INTO t VALUES (1)');
  expect(tables).toMatchObject([{ name: 't', isWhole: false, rows: [[1, 1n]] }]);
  const notes = "SELECT count(*) FROM _follow_note WHERE t = 't'";
  expect(await rows(notes)).toEqual([[1]]);
  const dropped = await changesOf('DROP TABLE t');
  expect([dropped.tables, dropped.schema]).toEqual([[], []]);
  expect(await rows('SELECT name FROM _follow_table')).toEqual([]);
});

function columns(count: number): string {
  return Array.from({ length: count }, (_, i) => `c${i}`).join();
}
