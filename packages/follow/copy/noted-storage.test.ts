// Tests the wrapped storage of a followable class: effects, results and errors stay the same, and each write is noted.

import { afterEach, beforeEach, expect, test } from 'vitest';
import type { DurableObjectStorage } from '../../../src/shared/contract/storage.ts';
import { deserialize } from '../../../src/shared/values/decode.ts';
import { DurableObject } from '../../../worker/realm/library/base-classes.ts';
import { createTestHost, type TestHost } from '../../testing/worker/test-host.ts';
import { Capture } from '../capture/capture.ts';
import type { CopyPart, CopyPlace } from '../changes/changes.ts';

const NOTES_MAX = 10;

let capture: Capture;
let life: number;
let told: number;
let partBytes: number;

class Captured extends DurableObject {
  constructor(ctx: never, env: never) {
    super(ctx, env);
    const storage = this.ctx.storage as unknown as DurableObjectStorage;
    const onWrite = () => void told++;
    capture = new Capture(storage, { life, notesMax: NOTES_MAX, partBytes, onWrite });
  }
}

let host: TestHost;
beforeEach(async () => {
  [life, told, partBytes] = [1, 0, 400_000];
  host = await createTestHost({}, { Captured });
});
afterEach(() => host.close());

const run = <T>(task: (storage: DurableObjectStorage) => T | Promise<T>): Promise<T> =>
  host.run(({ storage }) => task(storage as unknown as DurableObjectStorage));
const rows = (query: string) => run(({ sql }) => [...sql.exec(query).raw()].map((row) => [...row]));
const exec = (text: string) => run(({ sql }) => void sql.exec(text).toArray());
const keysSince = (id: number) => {
  const { kv, kvGone } = capture.changesSince({ id, life }, Number.POSITIVE_INFINITY)!;
  return [kv.map(([key]) => key), kvGone];
};

test('[FOLC3] results and errors of a storage that is noted are those of any other', async () => {
  const plain = await createTestHost();
  const results = async (storage: DurableObjectStorage) => {
    const failure = new Error('of the closure');
    const caught = async (task: () => unknown) => {
      try {
        return await task();
      } catch (error) {
        return error === failure ? 'the same' : String(error);
      }
    };
    return [
      storage.put('a', 1) instanceof Promise,
      await storage.put({ b: 2, c: 3 }),
      await storage.delete('a'),
      await storage.delete('a'),
      await storage.delete(['b', 'c', 'd']),
      storage.kv.put('e', 5),
      storage.kv.delete('e'),
      storage.kv.delete('e'),
      storage.transactionSync(() => 'sync'),
      await caught(() =>
        storage.transactionSync(() => {
          throw failure;
        }),
      ),
      await storage.transaction(async (txn) => [await txn.put('f', 1), await txn.delete('f')]),
      await caught(() =>
        storage.transaction(async () => {
          throw failure;
        }),
      ),
      await storage.transaction(async (txn) => {
        await txn.put('g', 1);
        return txn.rollback();
      }),
      await storage.get('g'),
      storage.sql.exec('CREATE TABLE t (a)').toArray(),
      storage.sql.exec('INSERT INTO t VALUES (?) RETURNING a + ?', 1, 2).one(),
      await caught(() => storage.sql.exec('CREATE TABLE t (a)')),
      await caught(() => storage.sql.exec('INSERT INTO missing VALUES (1)')),
      await caught(() => storage.put(Symbol('key') as never, 1)),
      storage.deleteAll() instanceof Promise,
      [...storage.kv.list()],
    ];
  };
  const expected = await plain.run(({ storage }) => results(storage as never));
  await plain.close();
  expect(await run(results)).toEqual(expected);
  expect(expected.slice(8, 12)).toEqual(['sync', 'the same', [undefined, true], 'the same']);
});

test('[FOLS8] each interface tells of its writes, also those of a text that fails after some of them', async () => {
  await exec('CREATE TABLE t (a UNIQUE)');
  const writes: [string, (storage: DurableObjectStorage) => unknown][] = [
    ['exec', ({ sql }) => sql.exec('INSERT INTO t VALUES (1)')],
    ['exec of a schema', ({ sql }) => sql.exec('CREATE TABLE u (a)')],
    [
      'exec that fails',
      ({ sql }) =>
        expect(() => sql.exec('INSERT INTO t VALUES (2); INSERT INTO t VALUES (2)')).toThrow(),
    ],
    ['put', (storage) => storage.put('a', 1)],
    ['put of many', (storage) => storage.put({ b: 1 })],
    ['delete', (storage) => storage.delete('a')],
    ['kv.put', ({ kv }) => kv.put('a', 1)],
    ['kv.delete', ({ kv }) => kv.delete('a')],
    ['put in a transaction', (storage) => storage.transaction((txn) => txn.put('a', 1))],
    ['delete in a transaction', (storage) => storage.transaction((txn) => txn.delete('a'))],
    ['deleteAll', (storage) => storage.deleteAll()],
  ];
  for (const [name, write] of writes) {
    const before = told;
    await run(async (storage) => void (await write(storage)));
    expect([name, told > before]).toEqual([name, true]);
  }
});

test('[FOLC3] a key is noted under its own name, whatever names it', async () => {
  const { id } = await run(() => capture.head());
  await run(async (storage) => {
    await storage.put('one', 1);
    await storage.put({ two: 2, three: 3 });
    await storage.put(4 as never, 4);
    storage.kv.put('five', 5);
  });
  expect(await run(() => keysSince(id))).toEqual([['one', 'two', 'three', '4', 'five'], []]);
  const after = await run(() => capture.head());
  await run(async (storage) => {
    await storage.delete(['two', 'never']);
    await storage.delete('three');
    storage.kv.delete('five');
  });
  expect(await run(() => keysSince(after.id))).toEqual([[], ['two', 'never', 'three', 'five']]);
});

test('[FOLC4] a key that is written often is noted once, and again after a position and after an undo', async () => {
  const notes = () => rows('SELECT k FROM _follow_note WHERE t IS NULL ORDER BY id');
  await run(({ kv }) => {
    for (let i = 0; i < 5; i++) kv.put('k', i);
  });
  expect(await notes()).toEqual([['k']]);
  const { id } = await run(() => capture.head());
  await run(async (storage) => {
    const undone = () => {
      storage.kv.put('k', 'undone');
      throw new Error('undone');
    };
    expect(() => storage.transactionSync(undone)).toThrow('undone');
    storage.kv.put('k', 'kept');
  });
  expect(await notes()).toEqual([['k'], ['k']]);
  const [, value] = (await run(
    () => capture.changesSince({ id, life }, Number.POSITIVE_INFINITY)!.kv[0],
  ))!;
  expect(deserialize(value)).toBe('kept');
});

test('[FOLC8] notes are forgotten when there are as many as are kept, half of them, but no notes that a follower needs', async () => {
  const count = async () => Number((await rows('SELECT count(*) FROM _follow_note'))[0]![0]);
  const write = (keys: number) =>
    run(({ kv }) => {
      for (let i = 0; i < keys; i++) kv.put(`key ${i}`, 1);
      return capture.head();
    });
  const prune = (oldest: number) => run(() => capture.prune(() => oldest));
  await write(9);
  await prune(10);
  expect(await count()).toBe(9);
  expect(await run(() => [capture.lifeAt(0), capture.lifeAt(1), capture.lifeAt(10)])).toEqual([
    0,
    1,
    null,
  ]);
  await write(1);
  // A follower at position 2 needs the notes from 3 on. Later, no follower is connected.
  await prune(3);
  expect(await rows('SELECT min(id), max(id) FROM _follow_note')).toEqual([[3, 10]]);
  expect(await run(() => [0, 2, 3].map((id) => capture.lifeAt(id)))).toEqual([null, null, 1]);
  await write(2);
  await prune(Number.POSITIVE_INFINITY);
  expect(await rows('SELECT min(id), max(id) FROM _follow_note')).toEqual([[8, 12]]);
  // The next instance continues the numbers.
  life = 2;
  await host.host.evict(host.address());
  await write(4);
  await prune(Number.POSITIVE_INFINITY);
  expect(await count()).toBe(9);
  await write(1);
  await prune(Number.POSITIVE_INFINITY);
  expect(await rows('SELECT min(id), max(id) FROM _follow_note')).toEqual([[13, 17]]);
  expect(await rows('SELECT first, life FROM _follow_life')).toEqual([[13, 2]]);
  expect(await run(() => [12, 13, 17].map((id) => capture.lifeAt(id)))).toEqual([null, 2, 2]);
});

test('[FOLC6] a life is that of the instance that told the position; notes of which no position was told have the next one', async () => {
  await exec('CREATE TABLE t (a)');
  life = 2;
  await host.host.evict(host.address());
  const head = await run(() => capture.head());
  expect(head.life).toBe(2);
  expect(await run(() => [head.id - 1, head.id].map((id) => capture.lifeAt(id)))).toEqual([
    null,
    2,
  ]);
  const lives = await rows('SELECT * FROM _follow_life');
  life = 3;
  await host.host.evict(host.address());
  // Before `head` was called, nothing is deleted.
  await run(() => capture.prune(() => head.id + 1));
  expect(await run(() => capture.head())).toEqual(head);
  expect(await rows('SELECT * FROM _follow_life')).toEqual(lives);
});

test('[FOLC5] positions have a life until a wipe, and none after it; the position of the wipe has one', async () => {
  await exec('CREATE TABLE t (a); INSERT INTO t VALUES (1), (2), (3)');
  const before = await run(() => capture.head());
  const livesBefore = () =>
    run(() => Array.from({ length: before.id + 1 }, (_, id) => capture.lifeAt(id)));
  // The position 0, of the empty object, belongs to no instance.
  expect(await livesBefore()).toEqual([0, ...Array.from({ length: before.id }, () => life)]);
  await run((storage) => storage.deleteAll());
  await exec('CREATE TABLE t (a); INSERT INTO t VALUES (1), (2), (3), (4), (5), (6), (7)');
  const after = await run(() => capture.head());
  expect(await livesBefore()).toEqual(Array.from({ length: before.id + 1 }, () => null));
  const ids = Array.from({ length: after.id - before.id }, (_, i) => before.id + 1 + i);
  expect(after.id).toBeGreaterThan(before.id);
  expect(await run(() => ids.map((id) => capture.lifeAt(id)))).toEqual(ids.map(() => life));
});

test('[FOLC5] an object that was wiped before it held anything sends all that it holds', async () => {
  await run((storage) => storage.deleteAll());
  await exec('CREATE TABLE t (a); INSERT INTO t VALUES (1)');
  await run(({ kv }) => kv.put('k', 1));
  const changes = await run(
    () => capture.changesSince({ id: 0, life: 0 }, Number.POSITIVE_INFINITY)!,
  );
  expect(changes).toMatchObject({
    isWiped: true,
    schema: [{ name: 't' }],
    tables: [{ name: 't', isWhole: true, rows: [[1, 1n]] }],
    kv: [['k', expect.anything()]],
    kvGone: [],
  });
});

test.each([
  'DROP TABLE _follow_note',
  'drop table if exists "_follow_client" ; ',
  'DROP VIEW [_follow_key]',
  "DELETE FROM '_follow_life'",
  'DELETE FROM main . `_follow_schema`;;',
  'DROP TRIGGER IF EXISTS _follow_i_t',
  '\n  DROP  TABLE\tmain._FOLLOW_TABLE',
])('[FOLC10] %s does nothing', async (text) => {
  await exec('CREATE TABLE t (a)');
  const all = 'SELECT name, sql FROM sqlite_master ORDER BY name';
  const before = await rows(all);
  const notes = await rows('SELECT * FROM _follow_note');
  expect(await run(({ sql }) => sql.exec(text).toArray())).toEqual([]);
  expect(await rows(all)).toEqual(before);
  expect(await rows('SELECT * FROM _follow_note')).toEqual(notes);
});

test.each([
  ['DROP TABLE t; DROP TABLE _follow_life', '_follow_life'],
  ['CREATE TABLE u (a); DROP VIEW _follow_key', '_follow_key'],
  ['DROP TRIGGER _follow_key_noted; SELECT 1', '_follow_key_noted'],
  ['ALTER TABLE _follow_note RENAME TO notes', '_follow_note'],
])('[FOLC10] %s fails as a whole, and names %s', async (text, name) => {
  await exec('CREATE TABLE t (a); INSERT INTO t VALUES (1)');
  const all = 'SELECT name, sql FROM sqlite_master ORDER BY name';
  const before = await rows(all);
  await expect(exec(text)).rejects.toMatchObject({
    code: 'FOLLOW_UNSUPPORTED',
    message: expect.stringMatching(new RegExp(` ${name} holds .*leave out names`)),
  });
  expect(await rows(all)).toEqual(before);
  expect(await rows('SELECT * FROM t')).toEqual([[1]]);
});

test('[FOLC1] a text that makes a table is recognised after many other texts, and when it is long', async () => {
  const pad = (text: string, length: number) => `${text} -- ${'x'.repeat(length)}`;
  for (let i = 0; i < 520; i++) await exec(`SELECT ${i}`);
  const { id } = await run(() => capture.head());
  const texts = ['create table a (x)', pad('CREATE TABLE b (x)', 2000), 'Create Table c (x)'];
  for (const text of texts) await exec(text);
  await exec('DROP TABLE a');
  await exec('create table a (x)');
  await exec('INSERT INTO a VALUES (1); INSERT INTO b VALUES (2); INSERT INTO c VALUES (3)');
  const { tables, schema } = await run(
    () => capture.changesSince({ id, life }, Number.POSITIVE_INFINITY)!,
  );
  expect(tables.map(({ name, rows }) => [name, rows.map((row) => row[1])])).toEqual([
    ['b', [2n]],
    ['c', [3n]],
    ['a', [1n]],
  ]);
  expect(schema?.map(({ name }) => name)).toEqual(['b', 'c', 'a']);
});

test('[FOLC2] changes have the schema and the sequences if they changed, and else do not', async () => {
  await exec('CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, a); CREATE TABLE u (a)');
  const since = async (text: string) => {
    const { id } = await run(() => capture.head());
    await exec(text);
    const changes = await run(() => capture.changesSince({ id, life }, Number.POSITIVE_INFINITY)!);
    return [
      changes.isWiped,
      changes.schema?.length ?? null,
      changes.tables.map(({ name, isWhole }) => `${name} ${isWhole}`),
      changes.sequences,
    ];
  };
  expect(await since('INSERT INTO t (a) VALUES (1)')).toEqual([
    false,
    null,
    ['t false'],
    [['t', 1]],
  ]);
  expect(await since('CREATE VIEW v AS SELECT 1')).toEqual([false, 3, [], [['t', 1]]]);
  expect(await since("UPDATE sqlite_sequence SET seq = 9 WHERE name = 't'")).toEqual([
    false,
    null,
    [],
    [['t', 9]],
  ]);
  expect(await since('ALTER TABLE u ADD COLUMN b')).toEqual([false, 3, ['u true'], [['t', 9]]]);
  expect(await since('SELECT 1')).toEqual([false, null, [], null]);
  expect(await since('CREATE TABLE IF NOT EXISTS u (a)')).toEqual([false, null, [], null]);
  await run(({ kv }) => kv.put('k', 1));
  const { id } = await run(() => capture.head());
  await run(({ kv }) => kv.put('k', 2));
  const { sequences, tables } = await run(
    () => capture.changesSince({ id, life }, Number.POSITIVE_INFINITY)!,
  );
  expect([sequences, tables]).toEqual([null, []]);
});

/** Returns for each part of a snapshot its rows, its keys, and the place of the next part. */
async function partsOf() {
  const parts: [names: string[], keys: string[], next: CopyPlace | null][] = [];
  let place: CopyPlace | null = null;
  do {
    const from: CopyPlace | null = place;
    const { changes, next }: CopyPart = await run(() => capture.copyPart(from));
    const names = changes.tables.flatMap(({ name, rows }) => rows.map((row) => `${name}${row[1]}`));
    parts.push([names, changes.kv.map(([key]) => key), next]);
    place = next;
  } while (place !== null);
  return parts;
}

test('[FOLC9] parts begin where the one before ended, in the order of tables, keys and their content', async () => {
  await exec('CREATE TABLE t (a); CREATE TABLE none (a); CREATE TABLE u (a)');
  await exec("INSERT INTO t VALUES ('1'), ('2'); INSERT INTO u VALUES ('1')");
  await run(({ kv }) => {
    kv.put('x', 1);
    kv.put('y', 2);
  });
  partBytes = 1;
  await host.host.evict(host.address());
  const parts = await partsOf();
  expect(parts.map(([names, keys]) => [...names, ...keys])).toEqual([
    ['t1'],
    ['t2'],
    ['u1'],
    ['x'],
    ['y'],
  ]);
  const places = parts.map(([, , next]) => next);
  expect(places).toMatchObject([
    { table: 't', after: [1] },
    { table: 'none', after: null },
    { table: null, after: null },
    { table: null, after: ['x'] },
    null as never,
  ]);
  const sentBytes = places.slice(0, 4).map((place) => place!.sentBytes);
  expect(sentBytes).toEqual(sentBytes.toSorted((one, other) => one - other));
  expect(new Set([0, ...sentBytes]).size).toBe(5);
});

test('[FOLC9] a copy with just as many rows as are read at once has each of them, and each key, once', async () => {
  await exec('CREATE TABLE t (a)');
  await exec(
    'WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 4000) INSERT INTO t SELECT i FROM c',
  );
  await run(({ kv }) => {
    for (let i = 0; i < 64; i++) kv.put(`key ${i}`, i);
  });
  const parts = await partsOf();
  const names = parts.flatMap(([found]) => found);
  expect([names.length, new Set(names).size]).toEqual([4000, 4000]);
  const keys = parts.flatMap(([, found]) => found);
  expect([keys.length, new Set(keys).size]).toEqual([64, 64]);
});

test('[FOLC9] the first part has the schema, the last one the sequences, and only tables that have rows in them', async () => {
  await exec('CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, a); CREATE TABLE none (a)');
  await exec("INSERT INTO t (a) VALUES ('one'), ('two')");
  partBytes = 1;
  await host.host.evict(host.address());
  const first = await run(() => capture.copyPart(null));
  const second = await run(() => capture.copyPart(first.next));
  const last = await run(() => capture.copyPart(second.next));
  const part = { kv: [], kvGone: [], isWiped: false, schema: null, sequences: null };
  const rowOf = (id: number, a: string) => [
    { name: 't', keys: ['id'], columns: ['id', 'a'], isWhole: false, rows: [[id, a]], gone: [] },
  ];
  const schema = [
    expect.objectContaining({ name: 't' }),
    expect.objectContaining({ name: 'none' }),
  ];
  expect(first.changes).toEqual({ ...part, isWiped: true, schema, tables: rowOf(1, 'one') });
  expect(second.changes).toEqual({ ...part, tables: rowOf(2, 'two') });
  expect(last).toEqual({ changes: { ...part, tables: [], sequences: [['t', 2]] }, next: null });
});

test('[FOLC9] what a part has of a table counts for the next table and the keys of the same part', async () => {
  await exec('CREATE TABLE t (a); CREATE TABLE u (a)');
  const text = 'x'.repeat(500);
  await run(({ sql, kv }) => {
    for (let i = 0; i < 4; i++) sql.exec('INSERT INTO t VALUES (?)', text);
    for (let i = 0; i < 4; i++) sql.exec('INSERT INTO u VALUES (?)', text);
    for (let i = 0; i < 100; i++) kv.put(`key ${i}`, text);
  });
  partBytes = 3000;
  await host.host.evict(host.address());
  const parts = await partsOf();
  expect(parts.map(([names, keys]) => [names.length, keys.length])).toEqual([
    [6, 0],
    [2, 4],
    ...Array.from({ length: 16 }, () => [0, 6]),
  ]);
  // The key or rowid beside each text adds less than a tenth of its bytes.
  const texts = [6, 6 + 6, 6 + 6 + 6];
  const perText = texts.map((count, part) => parts[part]![2]!.sentBytes / count);
  expect(perText.every((bytes) => bytes > 500 && bytes < 550)).toBe(true);
});

test('[FOLC9] a part begins after a key of each kind: text that is no UTF-8, bytes, and a number that JavaScript cannot hold', async () => {
  await exec('CREATE TABLE t (k PRIMARY KEY, v) WITHOUT ROWID');
  const keys = "9007199254740992), (9007199254740993), (9007199254740994), ('5'), ('a\ud83d'";
  const further = "), ('a\ud83e'), ('\ufffd'), (x'61'), (x'6162'), (x''";
  await exec(`INSERT INTO t (k) VALUES (${keys}${further})`);
  partBytes = 1;
  await host.host.evict(host.address());
  const sent: unknown[] = [];
  let place: CopyPlace | null = null;
  do {
    const from: CopyPlace | null = place;
    const { changes, next }: CopyPart = await run(() => capture.copyPart(from));
    sent.push(...changes.tables.flatMap(({ rows }) => rows.map(([key]) => key)));
    // The place comes back from a follower, so its bytes are a view of a message.
    place = next && { ...next, after: next.after?.map(inMessage) ?? null };
  } while (place !== null);
  expect(sent).toEqual([
    ...[9_007_199_254_740_992n, 9_007_199_254_740_993n, 9_007_199_254_740_994n],
    ...['5', '\ufffd61EDA0BD', '\ufffd61EDA0BE', '\ufffdEFBFBD'],
    ...[new Uint8Array(), new Uint8Array([0x61]), new Uint8Array([0x61, 0x62])],
  ]);
});

function inMessage<T>(cell: T): T | Uint8Array {
  if (!(cell instanceof Uint8Array)) return cell;
  return new Uint8Array([1, ...cell, 2]).subarray(1, -1);
}

test('[FOLC9] a part of large values ends with the one that reaches its bytes, and no list stays open', async () => {
  await run(({ sql, kv }) => {
    sql.exec('CREATE TABLE t (a)');
    for (let i = 10; i < 50; i++) kv.put(`key ${i}`, 'x'.repeat(100_000));
  });
  partBytes = 150_000;
  await host.host.evict(host.address());
  await run(({ sql, kv }) => {
    const read: string[] = [];
    const list = kv.list.bind(kv);
    const countedList = function* (...options: Parameters<typeof list>) {
      for (const entry of list(...options)) {
        read.push(entry[0]);
        yield entry;
      }
    };
    Object.defineProperty(kv, 'list', { value: countedList });
    const { changes, next } = capture.copyPart({ table: null, after: null, sentBytes: 0 });
    expect(changes.kv.map(([key]) => key)).toEqual(['key 10', 'key 11']);
    expect(next).toMatchObject({ table: null, after: ['key 11'] });
    // The third value shows that there are more. The second list ends the first one.
    expect(read).toEqual(['key 10', 'key 11', 'key 12', 'key 12']);
    sql.exec('DROP TABLE t');
  });
});
