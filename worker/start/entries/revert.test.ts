// Tests how one commit is taken back, and how the changes between two moments are made again.

import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { StorageChange } from '../../../src/shared/contract/changes.ts';
import type { StorageHandle } from '../../../src/shared/contract/storage.ts';
import { DurableObject } from '../../realm/library/base-classes.ts';
import { createObjects } from './node-objects.ts';

class Box extends DurableObject {
  alarm() {}
}

let objects: Awaited<ReturnType<typeof createObjects<{ Box: typeof Box }>>>;
let storage: StorageHandle;
const run = (sql: string, ...bindings: unknown[]) => storage.sql.exec(sql, ...bindings).ready;
const rows = (sql: string) => storage.sql.exec(sql).raw().toArray();

beforeEach(async () => {
  objects = await createObjects({ Box });
  storage = await objects.storage(objects.env.Box.getByName('one'));
});
afterEach(() => objects.close());

/** Makes one commit of the statements and returns its bookmark. */
async function commit(...statements: string[]): Promise<string> {
  await storage.transaction(async () => {
    for (const sql of statements) await storage.sql.exec(sql).ready;
  });
  return storage.getCurrentBookmark();
}

async function isSound(): Promise<void> {
  expect(await rows('PRAGMA quick_check')).toEqual([['ok']]);
  expect(await rows('PRAGMA foreign_key_check')).toEqual([]);
}

async function changesOf(changes: AsyncIterable<StorageChange>): Promise<StorageChange[]> {
  const found: StorageChange[] = [];
  for await (const change of changes) found.push(change);
  return found;
}

test('[REVERT1] one commit is taken back as one commit, later ones stay, and its own revert makes it again', async () => {
  await commit(
    "CREATE TABLE t (id INTEGER PRIMARY KEY, v UNIQUE); INSERT INTO t VALUES (1, 'a'), (2, 'b')",
  );
  await storage.put({ a: 1, b: 1 });
  const before = await storage.getCurrentBookmark();
  await storage.transaction(async (txn) => {
    await txn.put('a', 2);
    await txn.setAlarm(4_000_000_000_000);
    await storage.sql.exec("UPDATE t SET v = 'c' WHERE id = 1; UPDATE t SET v = 'a' WHERE id = 2")
      .ready;
    await storage.sql.exec("UPDATE t SET v = 'b' WHERE id = 1").ready;
    await storage.sql.exec("INSERT INTO t VALUES (3, 'c')").ready;
  });
  const target = await storage.getCurrentBookmark();
  await storage.put('b', 2);
  await run("INSERT INTO t VALUES (4, 'd')");
  const later = await storage.getCurrentBookmark();
  const count = (await storage.history({ limit: 1000 })).length;
  const reverted = await storage.revert(target);
  expect((await storage.history({ limit: 1000 })).length).toBe(count + 1);
  expect(await rows('SELECT * FROM t')).toEqual([
    [1, 'a'],
    [2, 'b'],
    [4, 'd'],
  ]);
  expect(await storage.list()).toEqual(
    new Map([
      ['a', 1],
      ['b', 2],
    ]),
  );
  expect(await storage.getAlarm()).toBeNull();
  expect((await changesOf(storage.diff(before))).length).toBe(2);
  await storage.revert(reverted!);
  expect(await changesOf(storage.diff(later))).toEqual([]);
  await isSound();
});

test('[REVERT2] a commit that later ones have touched is CONFLICT, with the changes and with the present; nothing is changed', async () => {
  await commit('CREATE TABLE t (id INTEGER PRIMARY KEY, v); INSERT INTO t VALUES (1, 1), (2, 1)');
  const target = await commit('UPDATE t SET v = 2', "INSERT INTO t VALUES (3, 'x')");
  await storage.put('k', 1);
  const put = await storage.getCurrentBookmark();
  await storage.put('k', { is: 2 });
  await run('UPDATE t SET v = 3 WHERE id = 2');
  const now = await storage.getCurrentBookmark();
  await expect(storage.revert(target)).rejects.toMatchObject({
    code: 'CONFLICT',
    conflicts: [
      {
        reason: 'changed',
        change: {
          kind: 'row',
          table: 't',
          key: { id: 2 },
          before: { id: 2, v: 2 },
          after: { id: 2, v: 1 },
        },
        now: { id: 2, v: 3 },
      },
    ],
  });
  await expect(storage.revert(put)).rejects.toMatchObject({
    code: 'CONFLICT',
    conflicts: [
      {
        reason: 'changed',
        change: { kind: 'key', key: 'k', before: 1, after: undefined },
        now: { is: 2 },
      },
    ],
  });
  expect(await storage.getCurrentBookmark()).toBe(now);
});

test('[REVERT3] triggers and actions of foreign keys do not run again, and a broken foreign key is CONFLICT', async () => {
  await commit(
    'CREATE TABLE p (id INTEGER PRIMARY KEY)',
    'CREATE TABLE c (id INTEGER PRIMARY KEY, p REFERENCES p ON DELETE CASCADE)',
    'CREATE TABLE log (n)',
    'CREATE TRIGGER t AFTER INSERT ON c BEGIN INSERT INTO log VALUES (new.id); END',
    'INSERT INTO p VALUES (1), (2)',
    'INSERT INTO c VALUES (1, 1), (2, 1), (3, 2)',
  );
  const deleted = await commit('DELETE FROM p WHERE id = 1');
  expect(await rows('SELECT id FROM c')).toEqual([[3]]);
  await storage.revert(deleted);
  expect(await rows('SELECT id FROM c')).toEqual([[1], [2], [3]]);
  expect(await rows('SELECT count(*) FROM log')).toEqual([[3]]);
  const added = await commit('INSERT INTO p VALUES (9)');
  await run('INSERT INTO c VALUES (9, 9)');
  await expect(storage.revert(added)).rejects.toMatchObject({ code: 'CONFLICT' });
  expect(await rows('SELECT id FROM p')).toEqual([[1], [2], [9]]);
  await isSound();
  await expect(run('INSERT INTO c VALUES (10, 77)')).rejects.toMatchObject({ code: 'SQL' });
  await run('INSERT INTO c VALUES (10, 2)');
  expect(await rows('SELECT max(n) FROM log')).toEqual([[10]]);
});

test('[REVERT4] definitions are taken back with their rows; a table that was altered since is CONFLICT', async () => {
  const made = await commit(
    'CREATE TABLE t (id INTEGER PRIMARY KEY, v)',
    'CREATE INDEX i ON t (v)',
    "INSERT INTO t VALUES (1, 'x')",
  );
  const altered = await commit(
    'ALTER TABLE t ADD COLUMN w DEFAULT 7',
    'CREATE VIEW s AS SELECT w FROM t',
  );
  await storage.put('other', 1);
  const undone = await storage.revert(altered);
  expect(await rows('SELECT * FROM t')).toEqual([[1, 'x']]);
  expect(await rows("SELECT name FROM sqlite_schema WHERE name IN ('i', 's')")).toEqual([['i']]);
  await storage.revert(undone!);
  expect(await rows('SELECT w FROM s')).toEqual([[7]]);
  await expect(storage.revert(made)).rejects.toMatchObject({
    code: 'CONFLICT',
    conflicts: [{ reason: 'changed', change: { kind: 'schema', type: 'table', name: 't' } }],
  });
  expect(await rows('SELECT * FROM t')).toEqual([[1, 'x', 7]]);
  const dropped = await commit('DROP VIEW s', 'DROP TABLE t');
  await storage.revert(dropped);
  expect(await rows('SELECT id, v, w FROM t')).toEqual([[1, 'x', 7]]);
  expect(await rows("SELECT count(*) FROM sqlite_schema WHERE name IN ('i', 's')")).toEqual([[2]]);
  await isSound();
});

test.for([
  ['fts5(a)', "INSERT INTO t VALUES ('two')"],
  ['rtree(id, low, high)', 'INSERT INTO t VALUES (1, 2, 3)'],
])(
  '[REVERT4] an ordinary table that a virtual one of %s has replaced comes back',
  async ([module, insert]) => {
    await commit('CREATE TABLE t (a)', "INSERT INTO t VALUES ('one')");
    const target = await commit('DROP TABLE t', `CREATE VIRTUAL TABLE t USING ${module}`, insert!);
    const later = await commit(insert!.replace('1, 2', '9, 2'));
    await storage.revert(later);
    const undone = await storage.revert(target);
    expect(await rows('SELECT a FROM t')).toEqual([['one']]);
    expect(await rows("SELECT name FROM sqlite_schema WHERE name LIKE 't_%'")).toEqual([]);
    await storage.revert(undone!);
    expect(await rows('SELECT count(*) FROM t')).toEqual([[1]]);
    await isSound();
  },
);

test('[REVERT5] full-text indexes stay consistent: with their own content, and of another table', async () => {
  await commit(
    'CREATE VIRTUAL TABLE own USING fts5(text)',
    'CREATE TABLE page (id INTEGER PRIMARY KEY, text)',
    "CREATE VIRTUAL TABLE found USING fts5(text, content='page', content_rowid='id')",
    'CREATE TRIGGER add_page AFTER INSERT ON page BEGIN INSERT INTO found(rowid, text) VALUES (new.id, new.text); END',
    "INSERT INTO own VALUES ('first')",
    "INSERT INTO page VALUES (1, 'first')",
  );
  const target = await commit(
    "UPDATE own SET text = 'wrong' WHERE rowid = 1",
    "INSERT INTO own VALUES ('second')",
    "INSERT INTO page VALUES (2, 'second')",
  );
  await commit("INSERT INTO own VALUES ('third')", "INSERT INTO page VALUES (3, 'third')");
  const reverted = await storage.revert(target);
  const words = async (table: string) => {
    const found: unknown[] = [];
    for (const word of ['first', 'wrong', 'second', 'third']) {
      found.push((await rows(`SELECT rowid FROM ${table} WHERE ${table} MATCH '${word}'`)).flat());
    }
    return found;
  };
  expect(await words('own')).toEqual([[1], [], [], [3]]);
  expect(await words('found')).toEqual([[1], [], [], [3]]);
  await run("INSERT INTO own(own) VALUES ('integrity-check')");
  await run("INSERT INTO found(found, rank) VALUES ('integrity-check', 1)");
  await storage.revert(reverted!);
  expect(await words('own')).toEqual([[], [1], [2], [3]]);
  expect(await words('found')).toEqual([[1], [], [2], [3]]);
  await isSound();
});

test('[MERGE1] changes are made again; a conflict changes nothing, or is decided', async () => {
  await storage.put({ a: 1, b: 1 });
  const from = await storage.getCurrentBookmark();
  await storage.put({ a: 2, b: 2 });
  await run('CREATE TABLE t (x); INSERT INTO t VALUES (5)');
  const to = await storage.getCurrentBookmark();
  await storage.restore(from);
  await storage.put('c', 1);
  await storage.put('a', 9);
  await expect(storage.merge({ from, to })).rejects.toMatchObject({
    code: 'CONFLICT',
    conflicts: [{ reason: 'changed', change: { key: 'a', before: 1, after: 2 }, now: 9 }],
  });
  expect(await storage.get('b')).toBe(1);
  await storage.merge({ from, to }, { onConflict: 'ours' });
  expect(await storage.list()).toEqual(
    new Map([
      ['a', 9],
      ['b', 2],
      ['c', 1],
    ]),
  );
  expect(await rows('SELECT * FROM t')).toEqual([[5]]);
  const asked: unknown[] = [];
  const onConflict = async ({ now }: { now: unknown }) => {
    asked.push(now);
    // The object changes while the page decides, so the page is asked again.
    if (asked.length === 1) await storage.put('a', 10);
    return 'theirs' as const;
  };
  await storage.merge({ from, to }, { onConflict });
  expect(asked).toEqual([9, 10]);
  expect(await storage.get('a')).toBe(2);
});

test('[MERGE2] wrong arguments, and a call inside a transaction, are errors with a code, and change nothing', async () => {
  await storage.put('a', 1);
  const now = await storage.getCurrentBookmark();
  // @ts-expect-error no moments
  await expect(storage.merge(now)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  const both = { from: now, to: now };
  // @ts-expect-error no decision
  await expect(storage.merge(both, { onConflict: 'mine' })).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
  });
  await expect(storage.revert('x')).rejects.toMatchObject({ code: 'BOOKMARK_INVALID' });
  await storage.transaction(async () => {
    await expect(storage.revert(now)).rejects.toMatchObject({ code: 'TRANSACTION_NESTING' });
    await expect(storage.merge(both)).rejects.toMatchObject({ code: 'TRANSACTION_NESTING' });
  });
  expect(await storage.merge(both)).toBeNull();
  expect(await storage.getCurrentBookmark()).toBe(now);
});

let boxes = 0;

const write = fc.record({
  kind: fc.constantFrom('key', 'row', 'text', 'loose', 'gone', 'null' as const),
  n: fc.nat(7),
  value: fc.nat(5),
  size: fc.constantFrom(0, 30, 3000, 9000),
});

function statementOf({
  kind,
  n,
  value,
  size,
}: {
  kind: string;
  n: number;
  value: number;
  size: number;
}): string {
  const text = `'${value}' || printf('%.*c', ${size}, 'x')`;
  if (kind === 'row') return `INSERT OR REPLACE INTO a VALUES (${n}, ${text}, ${value})`;
  if (kind === 'text')
    return `INSERT OR REPLACE INTO b VALUES ('k${n}', ${text}, ${(value + n) % 8})`;
  if (kind === 'loose') return `INSERT INTO c VALUES (${n}, ${text})`;
  if (kind === 'null')
    return `INSERT OR REPLACE INTO d VALUES (${n % 2 ? 'NULL' : `'${n}'`}, ${text})`;
  return `DELETE FROM ${['a', 'b', 'c', 'd'][n % 4]} WHERE rowid % 3 = ${value % 3}`.replace(
    'b WHERE rowid % 3',
    'b WHERE length(k || u) % 3',
  );
}

test.for([
  't (x UNIQUE ON CONFLICT REPLACE, v)',
  't (k TEXT PRIMARY KEY, x UNIQUE ON CONFLICT REPLACE, v)',
  't (k TEXT PRIMARY KEY, x UNIQUE ON CONFLICT IGNORE, v) WITHOUT ROWID',
  't (k INTEGER PRIMARY KEY, x NOT NULL, v, UNIQUE (x) ON CONFLICT IGNORE)',
])(
  '[REVERT6] in %s, a row that would replace another one, or be left out, is CONFLICT',
  async (columns) => {
    const add = (k: string, v: string) =>
      columns.includes('(k')
        ? `INSERT INTO t VALUES (${k}, 1, '${v}')`
        : `INSERT INTO t (rowid, x, v) VALUES (${k}, 1, '${v}')`;
    await commit(`CREATE TABLE ${columns}`);
    const from = await storage.getCurrentBookmark();
    await commit(add('1', 'first'));
    const to = await storage.getCurrentBookmark();
    const target = await commit('DELETE FROM t');
    await commit(add('7', 'of another'));
    const now = await storage.getCurrentBookmark();
    await expect(storage.revert(target)).rejects.toMatchObject({ code: 'CONFLICT' });
    await expect(storage.merge({ from, to })).rejects.toMatchObject({ code: 'CONFLICT' });
    expect(await storage.getCurrentBookmark()).toBe(now);
    expect(await rows('SELECT v FROM t')).toEqual([['of another']]);
    await run('DELETE FROM t');
    await storage.revert(target);
    await run("UPDATE t SET v = 'later'");
    expect(await rows('SELECT v FROM t')).toEqual([['later']]);
    await isSound();
  },
);

test.for(['t (x UNIQUE)', 't (x UNIQUE, k TEXT PRIMARY KEY)'])(
  '[REVERT1] in %s, rows without a key that exchanged unique values exchange them back',
  async (columns) => {
    await commit(`CREATE TABLE ${columns}`, 'INSERT INTO t (rowid, x) VALUES (1, 1), (2, 2)');
    const set = (x: number, rowid: number) => `UPDATE t SET x = ${x} WHERE rowid = ${rowid}`;
    const target = await commit(set(0, 1), set(1, 2), set(2, 1));
    await storage.put('other', 1);
    const undone = await storage.revert(target);
    expect(await rows('SELECT rowid, x FROM t ORDER BY rowid')).toEqual([
      [1, 1],
      [2, 2],
    ]);
    await storage.revert(undone!);
    expect(await rows('SELECT rowid, x FROM t ORDER BY rowid')).toEqual([
      [1, 2],
      [2, 1],
    ]);
    await isSound();
  },
);

test('[REVERT6] a row without a key comes back to its rowid, which a row with a key has until the revert', async () => {
  const text = 'CREATE TABLE t (k TEXT PRIMARY KEY, v UNIQUE)';
  await commit(text, "INSERT INTO t (rowid, k, v) VALUES (3, 'a', 'one')");
  const target = await commit('DELETE FROM t', "INSERT INTO t VALUES (NULL, 'one')");
  await storage.put('other', 1);
  const before = await storage.getCurrentBookmark();
  const undone = await storage.revert(target);
  expect(await rows('SELECT * FROM t')).toEqual([['a', 'one']]);
  await storage.revert(undone!);
  expect(await rows('SELECT rowid, * FROM t')).toEqual([[1, null, 'one']]);
  expect(await changesOf(storage.diff(before))).toEqual([]);
  await isSound();
});

test('[REVERT6] the revert of a commit gives what the others made, or is CONFLICT; the revert of a revert is the identity', {
  tags: 'long',
}, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(write, { minLength: 1, maxLength: 4 }), { minLength: 2, maxLength: 6 }),
      fc.nat(99),
      async (commits, chosen) => {
        const handle = await objects.storage(objects.env.Box.getByName(`box ${++boxes}`));
        storage = handle;
        await commit(
          'CREATE TABLE a (id INTEGER PRIMARY KEY, t, v)',
          'CREATE TABLE b (k TEXT PRIMARY KEY, t, u UNIQUE ON CONFLICT REPLACE) WITHOUT ROWID',
          'CREATE TABLE c (x, t)',
          'CREATE TABLE d (k TEXT PRIMARY KEY, t)',
        );
        const marks = [await handle.getCurrentBookmark()];
        for (const writes of commits) {
          await handle.transaction(async (txn) => {
            for (const one of writes) {
              if (one.kind === 'key') await txn.put(`k${one.n}`, 'v'.repeat(one.size) + one.value);
              else await handle.sql.exec(statementOf(one)).ready;
            }
          });
          // Writes that changed nothing are no commit.
          const mark = await handle.getCurrentBookmark();
          if (mark !== marks.at(-1)) marks.push(mark);
        }
        if (marks.length === 1) return;
        const k = 1 + (chosen % (marks.length - 1));
        const key = (change: StorageChange) =>
          'table' in change && 'key' in change
            ? `${change.table} ${JSON.stringify(change.key)}`
            : JSON.stringify([change.kind, 'key' in change && change.key]);
        const own = await changesOf(handle.diff(marks[k - 1]!, marks[k]!));
        const later = new Set((await changesOf(handle.diff(marks[k]!))).map(key));
        const before = await handle.getCurrentBookmark();
        let undo: string | null;
        try {
          undo = await handle.revert(marks[k]!);
        } catch (error) {
          expect((error as { code: string }).code).toBe('CONFLICT');
          expect(await handle.getCurrentBookmark()).toBe(before);
          await handle.close();
          return;
        }
        // What it changed is exactly the commit, the other way round, where it was not taken back before.
        const made = await changesOf(handle.diff(before));
        for (const change of made) {
          const original = own.find((one) => key(one) === key(change)) as {
            before: unknown;
            after: unknown;
          };
          const { before: old, after: now } = change as { before: unknown; after: unknown };
          expect([now, old]).toEqual([original.before, original.after]);
          expect(later.has(key(change))).toBe(false);
        }
        // The revert undoes each change of the commit, except those of rows that later commits have changed, too.
        const expected = own.map(key).filter((one) => !later.has(one));
        expect(made.map(key).sort()).toEqual(expected.sort());
        await isSound();
        if (undo !== null) await handle.revert(undo);
        expect(await changesOf(handle.diff(before))).toEqual([]);
        // A merge of everything, from the beginning, is the same as doing it.
        const end = await handle.getCurrentBookmark();
        await handle.restore(marks[0]!);
        await handle.merge({ from: marks[0]!, to: end });
        expect(await changesOf(handle.diff(end))).toEqual([]);
        await isSound();
        await handle.close();
      },
    ),
    { numRuns: 15 },
  );
});

test('[REVERT7] several commits, also with others between them, are taken back as one commit, and made again by its revert', async () => {
  await commit('CREATE TABLE t (id INTEGER PRIMARY KEY, v)');
  const before = await storage.getCurrentBookmark();
  const mine: string[] = [];
  for (let id = 1; id <= 12; id++) {
    mine.push(await commit(`INSERT INTO t VALUES (${id}, 'mine')`, "UPDATE t SET v = v || '.'"));
    if (id % 3 === 0) await storage.put(`other ${id}`, id);
  }
  mine.push(await commit('ALTER TABLE t ADD COLUMN w'));
  await storage.put('other', 1);
  await storage.setAlarm(4_000_000_000_000);
  mine.push(await storage.getCurrentBookmark());
  await storage.put('last', 1);
  const after = await storage.getCurrentBookmark();
  const count = (await storage.history({ limit: 1000 })).length;
  // The bookmarks are passed neither in the order of their commits nor in the reverse one.
  const undone = await storage.revert([...mine.slice(5), ...mine.slice(0, 5).reverse()]);
  expect((await storage.history({ limit: 1000 })).length).toBe(count + 1);
  expect(await rows('SELECT * FROM t')).toEqual([]);
  expect(await storage.getAlarm()).toBeNull();
  const left = await changesOf(storage.diff(before));
  expect(left.map((change) => change.kind === 'key' && change.key)).toEqual([
    'last',
    'other',
    'other 12',
    'other 3',
    'other 6',
    'other 9',
  ]);
  await storage.revert(undone!);
  expect(await changesOf(storage.diff(after))).toEqual([]);
  await isSound();
});

test('[REVERT7] if one of several commits is in CONFLICT, none is taken back, and the object goes on', async () => {
  await storage.put('a', 1);
  const first = await storage.getCurrentBookmark();
  await storage.put('a', 2);
  await storage.put('b', 1);
  const second = await storage.getCurrentBookmark();
  const count = (await storage.history({ limit: 1000 })).length;
  await expect(storage.revert([first, second])).rejects.toMatchObject({
    code: 'CONFLICT',
    conflicts: [{ reason: 'changed', change: { kind: 'key', key: 'a' }, now: 2 }],
  });
  expect([...(await storage.list())]).toEqual([
    ['a', 2],
    ['b', 1],
  ]);
  expect((await storage.history({ limit: 1000 })).length).toBe(count);
  await storage.put('c', 1);
  expect(await storage.get('c')).toBe(1);
});

test('[REVERT8] [MERGE11] with nothing left to do, a revert and a merge make no commit and are null, whoever made the last one', async () => {
  await storage.put('title', 'A');
  const from = await storage.getCurrentBookmark();
  await storage.put('title', 'B');
  const rename = await storage.getCurrentBookmark();
  await storage.put('title', 'A');
  const branch = await storage.fork({ at: from });
  await storage.put('other', 'of somebody else');
  const now = await storage.getCurrentBookmark();
  expect(await storage.revert(rename)).toBeNull();
  expect(await storage.revert([rename, rename])).toBeNull();
  expect(await storage.merge({ from: rename, to: from })).toBeNull();
  expect(await storage.getCurrentBookmark()).toBe(now);
  await storage.merge({ from, to: rename }, { onConflict: 'theirs' });
  expect(await storage.get('title')).toBe('B');
  await storage.put('title', 'C');
  const later = await storage.getCurrentBookmark();
  expect(await storage.merge(branch)).toBeNull();
  await branch.put('title', 'D');
  expect(await storage.merge(branch, { onConflict: 'ours' })).toBeNull();
  expect(await storage.getCurrentBookmark()).toBe(later);
  expect(await storage.get('other')).toBe('of somebody else');
});

test('[REVERT7] without a bookmark, or with more than 1,000, revert is INVALID_ARGUMENT; with a change that is gone, it makes no commit', async () => {
  await storage.put('a', 1);
  const made = await storage.getCurrentBookmark();
  const wrong = { code: 'INVALID_ARGUMENT' };
  await expect(storage.revert([])).rejects.toMatchObject(wrong);
  await expect(storage.revert(Array(1001).fill(made))).rejects.toMatchObject(wrong);
  const undone = await storage.revert(Array(1000).fill(made));
  expect(await storage.revert([made])).toBeNull();
  expect(await storage.getCurrentBookmark()).toBe(undone);
  expect(await storage.get('a')).toBeUndefined();
});
