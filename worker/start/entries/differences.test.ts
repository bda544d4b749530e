// Tests the differences between two moments of an object through handles in this process.

import { afterEach, beforeEach, expect, test } from 'vitest';
import type { StorageChange } from '../../../src/shared/contract/changes.ts';
import type { StorageHandle } from '../../../src/shared/contract/storage.ts';
import { DurableObject } from '../../realm/library/base-classes.ts';
import { createObjects, evictDurableObject } from './node-objects.ts';

class Box extends DurableObject {
  alarm() {}
}

let objects: Awaited<ReturnType<typeof createObjects<{ Box: typeof Box }>>>;
let storage: StorageHandle;
const stub = () => objects.env.Box.getByName('one');
const run = (sql: string, ...bindings: unknown[]) => storage.sql.exec(sql, ...bindings).ready;

beforeEach(async () => {
  objects = await createObjects({ Box });
  storage = await objects.storage(stub());
});
afterEach(() => objects.close());

async function all(changes: AsyncIterable<StorageChange>): Promise<StorageChange[]> {
  const found: StorageChange[] = [];
  for await (const change of changes) found.push(change);
  return found;
}

test('[DIFF4] keys, rows, schema and alarm of two moments, or of a moment and now, in a fixed order, with their values', async () => {
  await storage.put({ kept: 1, gone: 'old', changed: [1] });
  await run(
    'CREATE TABLE note (id INTEGER PRIMARY KEY, text); INSERT INTO note VALUES (1, ?)',
    'a',
  );
  const before = await storage.getCurrentBookmark();
  await storage.put('changed', new Map([[1, 2]]));
  await storage.put('added', null);
  await storage.delete('gone');
  await storage.setAlarm(4_000_000_000_000);
  await run('UPDATE note SET text = ?', new Uint8Array([7]));
  await run('CREATE INDEX by_text ON note (text)');
  const expected = [
    {
      kind: 'schema',
      type: 'index',
      name: 'by_text',
      table: 'note',
      before: null,
      after: 'CREATE INDEX by_text ON note (text)',
    },
    { kind: 'key', key: 'added', before: undefined, after: null },
    { kind: 'key', key: 'changed', before: [1], after: new Map([[1, 2]]) },
    { kind: 'key', key: 'gone', before: 'old', after: undefined },
    { kind: 'alarm', before: null, after: 4_000_000_000_000 },
    {
      kind: 'row',
      table: 'note',
      key: { id: 1 },
      before: { id: 1, text: 'a' },
      after: { id: 1, text: new Uint8Array([7]).buffer },
    },
  ];
  expect(await all(storage.diff(before))).toEqual(expected);
  const after = await storage.getCurrentBookmark();
  await storage.deleteAll();
  expect(await all(storage.diff(before, after))).toEqual(expected);
  expect(await storage.diff(before, after).count()).toEqual({
    schema: 1,
    alarm: 1,
    keys: { added: 1, changed: 1, removed: 1 },
    tables: { note: { added: 0, changed: 1, removed: 0 } },
    unnamed: [],
  });
  expect(await all(storage.diff(after, after))).toEqual([]);
});

test('[DIFF4] a table is counted whatever its name', async () => {
  const names = ['constructor', 'toString', '__proto__'];
  for (const name of names) await run(`CREATE TABLE "${name}" (id INTEGER PRIMARY KEY)`);
  const before = await storage.getCurrentBookmark();
  for (const name of names) await run(`INSERT INTO "${name}" VALUES (1)`);
  const { tables } = await storage.diff(before).count();
  expect(Object.keys(tables).toSorted()).toEqual(names.toSorted());
  expect(Object.values(tables)).toEqual(names.map(() => ({ added: 1, changed: 0, removed: 0 })));
});

test('[DIFF5] a row of a full-text or spatial index is shown as the row of that table; the tables of its content are not', async () => {
  await run(`CREATE VIRTUAL TABLE doc USING fts5(title, body);
    CREATE VIRTUAL TABLE place USING rtree(id, x0, x1);
    CREATE VIRTUAL TABLE bare USING fts5(text, content='');
    CREATE TABLE page (id INTEGER PRIMARY KEY, text);
    CREATE VIRTUAL TABLE found USING fts5(text, content='page', content_rowid='id');
    INSERT INTO doc VALUES ('a', 'one'), ('b', 'two');
    INSERT INTO place VALUES (1, 0, 1), (2, 5, 6)`);
  const before = await storage.getCurrentBookmark();
  await run("UPDATE doc SET body = 'three' WHERE rowid = 2");
  await run('UPDATE place SET x0 = 0.5 WHERE id = 1');
  await run("INSERT INTO bare(rowid, text) VALUES (1, 'x')");
  await run("INSERT INTO page VALUES (1, 'y')");
  await run("INSERT INTO found(rowid, text) VALUES (1, 'y')");
  expect(await all(storage.diff(before))).toEqual([
    { kind: 'table', table: 'bare' },
    {
      kind: 'row',
      table: 'doc',
      key: { rowid: 2 },
      before: { title: 'b', body: 'two' },
      after: { title: 'b', body: 'three' },
    },
    { kind: 'row', table: 'page', key: { id: 1 }, before: null, after: { id: 1, text: 'y' } },
    {
      kind: 'row',
      table: 'place',
      key: { rowid: 1 },
      before: { id: 1, x0: 0, x1: 1 },
      after: { id: 1, x0: 0.5, x1: 1 },
    },
  ]);
});

test('[DIFF5] a virtual table that replaces an ordinary one has shadows of its own, and an ordinary table keeps its rows', async () => {
  await run('CREATE TABLE t (a); INSERT INTO t VALUES (1)');
  await run("CREATE TABLE t_data (own); INSERT INTO t_data VALUES ('mine')");
  const ordinary = await storage.getCurrentBookmark();
  await run('DROP TABLE t; DROP TABLE t_data');
  await run("CREATE VIRTUAL TABLE t USING fts5(a); INSERT INTO t VALUES ('two')");
  const changes = [
    { kind: 'schema', name: 't' },
    { kind: 'schema', name: 't_data' },
    { kind: 'row', table: 't', before: { a: 1 }, after: null },
    { kind: 'row', table: 't', before: null, after: { a: 'two' } },
    { kind: 'row', table: 't_data', before: { own: 'mine' }, after: null },
  ];
  expect(await all(storage.diff(ordinary))).toMatchObject(changes);
  const virtual = await storage.getCurrentBookmark();
  const back = await all(storage.diff(virtual, ordinary));
  expect(back.map((change) => ('table' in change ? change.table : change.kind))).toEqual([
    't',
    't_data',
    't',
    't',
    't_data',
  ]);
});

test('[DIFF6] a table that was altered, made or removed shows what its rows had in each state', async () => {
  await run(`CREATE TABLE a (id INTEGER PRIMARY KEY, x); INSERT INTO a VALUES (1, 1), (2, 2);
    CREATE TABLE old (k TEXT PRIMARY KEY); INSERT INTO old VALUES ('k')`);
  const before = await storage.getCurrentBookmark();
  await run('ALTER TABLE a ADD COLUMN y DEFAULT 5');
  await run('UPDATE a SET x = 9 WHERE id = 2');
  await run('DROP TABLE old; CREATE TABLE fresh (x); INSERT INTO fresh VALUES (NULL)');
  const changes = await all(storage.diff(before));
  expect(changes.map(({ kind }) => kind)).toEqual([
    'schema',
    'schema',
    'schema',
    'row',
    'row',
    'row',
  ]);
  expect(changes.slice(3)).toEqual([
    {
      kind: 'row',
      table: 'a',
      key: { id: 2 },
      before: { id: 2, x: 2 },
      after: { id: 2, x: 9, y: 5 },
    },
    { kind: 'row', table: 'fresh', key: { rowid: 1 }, before: null, after: { x: null } },
    { kind: 'row', table: 'old', key: { k: 'k' }, before: { k: 'k' }, after: null },
  ]);
});

test('[DIFF7] a walk goes on where it was when the object was evicted, or its states made room for others', async () => {
  const before = await storage.getCurrentBookmark();
  await run('CREATE TABLE t (id INTEGER PRIMARY KEY)');
  await run(
    'INSERT INTO t SELECT a.value * 40 + b.value FROM json_each(?) a, json_each(?) b',
    JSON.stringify([...Array(40).keys()]),
    JSON.stringify([...Array(40).keys()]),
  );
  const ids: unknown[] = [];
  for await (const change of storage.diff(before)) {
    if (change.kind !== 'row') continue;
    ids.push(change.key.id);
    if (ids.length === 300) await evictDurableObject(stub());
    if (ids.length === 800) {
      for (let i = 0; i < 4; i++) await (await storage.at(before)).get('x');
      await storage.put('x', 1);
    }
  }
  expect(ids).toEqual([...Array(1600).keys()]);
});

test('[DIFF8] moments that do not exist are errors with a code, and nothing stays open after a walk that was left', async () => {
  await run('CREATE TABLE t (id INTEGER PRIMARY KEY); INSERT INTO t VALUES (1), (2)');
  const now = await storage.getCurrentBookmark();
  await expect(all(storage.diff('nonsense'))).rejects.toMatchObject({ code: 'BOOKMARK_INVALID' });
  await expect(all(storage.diff(now, new Date(1)))).rejects.toMatchObject({
    code: 'BOOKMARK_UNAVAILABLE',
  });
  // A cursor with more rows than one answer has ends when its moment is closed to make room for others.
  const moment = await storage.at(now);
  const cursor = moment.sql.exec(
    'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 5000) SELECT x FROM c',
  );
  await cursor.next();
  for (let i = 0; i < 10; i++) {
    for await (const change of storage.diff(now)) if (change) break;
    await run('INSERT INTO t DEFAULT VALUES');
  }
  expect(await cursor.toArray()).toHaveLength(4999);
});
