// SQL as a page uses it: rows are pulled from the worker in batches.

import { expect, test } from '../browsers/fixtures.ts';
import { LONG, RELEASE, REST } from '../browsers/tags.ts';

test('[SQL2] exec runs several statements, binds to the last and gives its rows', async ({
  storagePage,
}) => {
  const seen = await storagePage.evaluate(async () => {
    const { sql } = await window.api.openStorage('exec');
    const cursor = sql.exec(
      "CREATE TABLE t (id INTEGER PRIMARY KEY, name); INSERT INTO t (name) VALUES ('a'), ('b'); " +
        'SELECT id, name FROM t WHERE name >= ? ORDER BY id',
      'a',
    );
    const rows = await cursor.toArray();
    return { rows, names: cursor.columnNames, rowsRead: cursor.rowsRead };
  });
  expect(seen).toEqual({
    rows: [
      { id: 1, name: 'a' },
      { id: 2, name: 'b' },
    ],
    names: ['id', 'name'],
    rowsRead: 2,
  });
});

test('[SQL5] values keep their types both ways', { tag: REST }, async ({ storagePage }) => {
  const seen = await storagePage.evaluate(async () => {
    const { sql } = await window.api.openStorage('types');
    const bytes = new Uint8Array([0, 255]).buffer;
    const row = await sql
      .exec('SELECT ? AS number, ? AS text, ? AS missing, ? AS bytes', 1.5, 'é😀', null, bytes)
      .one();
    return {
      ...row,
      bytes: [row.bytes instanceof ArrayBuffer, ...new Uint8Array(row.bytes as ArrayBuffer)],
    };
  });
  expect(seen).toEqual({ number: 1.5, text: 'é😀', missing: null, bytes: [true, 0, 255] });
});

test('[CUR1] a result of many batches comes whole and in order, by every way of reading it', async ({
  storagePage,
}) => {
  const seen = await storagePage.evaluate(async () => {
    const { sql } = await window.api.openStorage('batches');
    const query =
      'WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 25000) ' +
      "SELECT i, 'row ' || i AS name FROM n";
    const isInOrder = (numbers: unknown[]) =>
      numbers.length === 25_000 && numbers.every((number, index) => number === index + 1);
    const iterated: unknown[] = [];
    for await (const row of sql.exec(query)) iterated.push(row.i);
    const raw: unknown[] = [];
    for await (const [i] of sql.exec(query).raw()) raw.push(i);
    const whole = (await sql.exec(query).toArray()).map(({ i }) => i);
    return [isInOrder(iterated), isInOrder(raw), isInOrder(whole)];
  });
  expect(seen).toEqual([true, true, true]);
});

test('[CUR2] next, raw and toArray of one cursor share its position', {
  tag: [REST, RELEASE],
}, async ({ storagePage }) => {
  const seen = await storagePage.evaluate(async () => {
    const { sql } = await window.api.openStorage('position');
    const cursor = sql.exec('SELECT column1 AS x FROM (VALUES (1), (2), (3), (4))');
    const first = await cursor.next();
    const second = await cursor.raw().next();
    const rest = await cursor.toArray();
    const end = await cursor.next();
    return [first.value, second.value, rest, end.done];
  });
  expect(seen).toEqual([{ x: 1 }, [2], [{ x: 3 }, { x: 4 }], true]);
});

test('[CUR3] one gives the only row, and rejects for none and for two', {
  tag: [REST, RELEASE],
}, async ({ storagePage }) => {
  const seen = await storagePage.evaluate(async () => {
    const { sql } = await window.api.openStorage('one');
    const codeOf = (promise: Promise<unknown>) =>
      promise.then(
        () => 'resolved',
        (error: { code: string }) => error.code,
      );
    return [
      await sql.exec('SELECT 1 AS x').one(),
      await codeOf(sql.exec('SELECT 1 WHERE 0').one()),
      await codeOf(sql.exec('VALUES (1), (2)').one()),
      await sql.exec('SELECT 7').raw().one(),
    ];
  });
  expect(seen).toEqual([{ x: 1 }, 'CURSOR_ROWS', 'CURSOR_ROWS', [7]]);
});

test('[CUR5] a cursor left early can be closed, and the table be dropped', {
  tag: [LONG, RELEASE],
}, async ({ storagePage }) => {
  const seen = await storagePage.evaluate(async () => {
    const { sql } = await window.api.openStorage('close');
    await sql.exec(
      'CREATE TABLE t AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n ' +
        'WHERE i < 5000) SELECT i FROM n',
    ).ready;
    const cursor = sql.exec('SELECT i FROM t');
    await cursor.next();
    await cursor.close();
    await cursor.close();
    await sql.exec('DROP TABLE t').ready;
    return await sql.exec("SELECT count(*) AS n FROM sqlite_master WHERE name = 't'").one();
  });
  expect(seen).toEqual({ n: 0 });
});

test('[SQL17] databaseSize grows with stored data', { tag: [LONG, RELEASE] }, async ({
  storagePage,
}) => {
  const sizes = await storagePage.evaluate(async () => {
    const { sql } = await window.api.openStorage('size');
    const before = await sql.databaseSize;
    await sql.exec('CREATE TABLE t AS SELECT randomblob(100000) AS x').ready;
    return [before, await sql.databaseSize] as const;
  });
  expect(sizes[1] - sizes[0]).toBeGreaterThanOrEqual(100_000);
});

test('[SQL13] FTS5 finds text', { tag: [LONG, RELEASE] }, async ({ storagePage }) => {
  const found = await storagePage.evaluate(async () => {
    const { sql } = await window.api.openStorage('search');
    await sql.exec('CREATE VIRTUAL TABLE notes USING fts5(text)').ready;
    await sql.exec("INSERT INTO notes VALUES ('buy milk'), ('call mother'), ('milk the cow')")
      .ready;
    return await sql.exec("SELECT text FROM notes WHERE notes MATCH 'milk'").raw().toArray();
  });
  expect(found.flat().sort()).toEqual(['buy milk', 'milk the cow']);
});
