// Tests that rows which REPLACE deletes, without firing triggers, are captured as deleted, whatever the unique index.

import { afterEach, beforeEach, expect, test } from 'vitest';
import type { DurableObjectStorage } from '../../../src/shared/contract/storage.ts';
import { DurableObject } from '../../../worker/realm/library/base-classes.ts';
import { createTestHost, type TestHost } from '../../testing/worker/test-host.ts';
import { Capture } from '../capture/capture.ts';

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

const exec = (text: string) =>
  host.run(({ storage }) => {
    (storage as unknown as DurableObjectStorage).sql.exec(text).toArray();
  });

/** Returns the keys of the rows that a statement deletes, and the rows that it writes. */
async function changesOf(text: string): Promise<[gone: unknown[], rows: unknown[]]> {
  const before = await host.run(() => capture.head());
  await exec(text);
  const { tables } = await host.run(() => capture.changesSince(before, Number.POSITIVE_INFINITY)!);
  return [tables.flatMap(({ gone }) => gone), tables.flatMap(({ rows }) => rows)];
}

const PAIR = 'a INT, b INT, PRIMARY KEY (a, b)';
const LATE = 'd INT NOT NULL DEFAULT 7';

test.each([
  {
    unique: 'two columns beside a key of two',
    table: `CREATE TABLE t (c INT, d INT, ${PAIR}, UNIQUE (c, d)) WITHOUT ROWID`,
    there: '(5, 6, 1, 1)',
    replacing: '(5, 6, 2, 2)',
    gone: [1, 1],
  },
  {
    unique: 'one column of the key',
    table: `CREATE TABLE t (c INT, ${PAIR}, UNIQUE (a)) WITHOUT ROWID`,
    there: '(5, 1, 1)',
    replacing: '(5, 1, 2)',
    gone: [1, 1],
  },
  {
    unique: 'a column of the key and another one',
    table: `CREATE TABLE t (c INT, ${PAIR}, UNIQUE (a, c)) WITHOUT ROWID`,
    there: '(5, 1, 1)',
    replacing: '(5, 1, 2)',
    gone: [1, 1],
  },
  {
    unique: 'a column whose NULL becomes its default',
    table: `CREATE TABLE t (id INTEGER PRIMARY KEY, ${LATE} UNIQUE)`,
    there: '(1, 7)',
    replacing: '(2, NULL)',
    gone: [1],
  },
  {
    unique: 'two such columns, one NULL',
    table: `CREATE TABLE t (id INTEGER PRIMARY KEY, ${LATE}, e INT NOT NULL DEFAULT 8, UNIQUE (d, e))`,
    there: '(1, 7, 3)',
    replacing: '(2, NULL, 3)',
    gone: [1],
  },
  {
    unique: 'two such columns, the other one NULL',
    table: `CREATE TABLE t (id INTEGER PRIMARY KEY, ${LATE}, e INT NOT NULL DEFAULT 8, UNIQUE (d, e))`,
    there: '(1, 3, 8)',
    replacing: '(2, 3, NULL)',
    gone: [1],
  },
  {
    unique: 'a name with quotes',
    table: 'CREATE TABLE t (id INTEGER PRIMARY KEY, "say ""hi""" INT UNIQUE)',
    there: '(1, 5)',
    replacing: '(2, 5)',
    gone: [1],
  },
])('[FOLC11] a row that is replaced because of $unique is sent as deleted', async (row) => {
  await exec(`${row.table}; INSERT INTO t VALUES ${row.there}`);
  const [gone, rows] = await changesOf(`INSERT OR REPLACE INTO t VALUES ${row.replacing}`);
  expect(gone.map((key) => (key as unknown[]).map(Number))).toEqual([row.gone]);
  expect(rows).toHaveLength(1);
});

test('[FOLC11] a row that is replaced because of a column computed from a default is sent as deleted', async () => {
  const computed = 'g INT AS (a + 1), p INT, UNIQUE (g, p)';
  await exec(`CREATE TABLE t (id INTEGER PRIMARY KEY, a INT NOT NULL DEFAULT 7, ${computed})`);
  await exec('INSERT INTO t (id, a, p) VALUES (1, 7, 1)');
  expect(await changesOf('INSERT OR REPLACE INTO t (id, a, p) VALUES (2, NULL, 1)')).toEqual([
    [[1n]],
    [[2, 7, 1]],
  ]);
});

test('[FOLC11] a row that is replaced by an update, because of a computed column, is sent as deleted', async () => {
  const computed = 'g INT AS (a + 1), p INT, UNIQUE (g, p)';
  await exec(`CREATE TABLE t (id INTEGER PRIMARY KEY, a INT, ${computed})`);
  await exec('INSERT INTO t (id, a, p) VALUES (1, 7, 1), (2, 8, 1)');
  expect(await changesOf('UPDATE OR REPLACE t SET a = 7 WHERE id = 2')).toEqual([
    [[1n]],
    [[2, 7, 1]],
  ]);
});

test('[FOLC11] of an update, the replaced row is sent as deleted, and the changed one as written', async () => {
  await exec(`CREATE TABLE t (c INT UNIQUE, d INT, ${PAIR}) WITHOUT ROWID`);
  await exec('INSERT INTO t VALUES (5, 0, 1, 1), (6, 0, 1, 2)');
  expect(await changesOf('UPDATE OR REPLACE t SET c = 5, d = 9 WHERE b = 2')).toEqual([
    [[1n, 1n]],
    [[5, 9, 1, 2]],
  ]);
});
