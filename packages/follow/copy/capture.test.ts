// Tests that the captured changes of an object, applied to a copy of it, make the copy equal.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { DurableObjectStorage } from '../../../src/shared/contract/storage.ts';
import { deserialize } from '../../../src/shared/values/decode.ts';
import { serialize } from '../../../src/shared/values/encode.ts';
import { NO_FOLLOWERS } from '../../../worker/objects/host/followers.ts';
import type { ObjectInstance } from '../../../worker/objects/instance/object-instance.ts';
import { DurableObject } from '../../../worker/realm/library/base-classes.ts';
import { Random } from '../../testing/simulate/world/random.ts';
import { createTestHost, type TestHost } from '../../testing/worker/test-host.ts';
import { Capture } from '../capture/capture.ts';
import type { Changes, CopyPart, CopyPlace } from '../changes/changes.ts';
import { decodeChanges, encodeChanges } from '../changes/changes-bytes.ts';
import type { Position } from '../protocol/messages.ts';
import { contentDump } from '../testing/content-dump.ts';
import { wholeCopy } from '../testing/whole-copy.ts';
import { applyChanges, applyCopy } from './apply-changes.ts';
import { ENDED_BY_TRIGGERS, REPLACING, STATEMENTS } from './capture-statements.ts';

let capture: Capture;
let life = 1;
let partBytes: number;

class Captured extends DurableObject {
  constructor(ctx: never, env: never) {
    super(ctx, env);
    const storage = this.ctx.storage as unknown as DurableObjectStorage;
    capture = new Capture(storage, { life, notesMax: 10_000, partBytes, onWrite() {} });
  }
}

let server: TestHost;
let mirror: TestHost;
beforeEach(async () => {
  life = 1;
  partBytes = 400_000;
  server = await createTestHost({}, { Captured });
  mirror = await createTestHost({}, { Captured });
  mirror.host.followers = { ...NO_FOLLOWERS, classNames: new Set(['Captured']) };
  position = { id: 0, life: 0 };
});
afterEach(async () => {
  await server.close();
  await mirror.close();
});

let position: Position;

function onServer<T>(run: (storage: DurableObjectStorage) => T | Promise<T>): Promise<T> {
  return server.run(({ storage }) => run(storage as unknown as DurableObjectStorage));
}

/** Runs a text that may fail. If it does, its earlier statements have taken effect. */
async function exec(text: string, ...bindings: unknown[]): Promise<void> {
  const run = onServer(({ sql }) => {
    try {
      sql.exec(text, ...bindings).toArray();
    } catch {
      // Some of the statements fail on purpose.
    }
  });
  await run.catch(() => {
    life += 1; // The statement has ended the instance.
  });
}

/** Sends the copy the changes since its position, or a snapshot. */
async function catchUp(): Promise<void> {
  const changes = await onServer(() => {
    const head = capture.head();
    if (head.id === position.id) return [];
    const isKnown = capture.lifeAt(position.id) === position.life;
    const found = isKnown
      ? [capture.changesSince(position, Number.POSITIVE_INFINITY)!]
      : wholeCopy(capture);
    capture.prune(() => head.id);
    position = head;
    return found;
  });
  await apply(changes);
}

function apply(changes: readonly Changes[]): Promise<void> {
  return mirror.host.deliver(mirror.address(), ({ storage }) =>
    storage.replicate((copy) => {
      for (const one of changes) applyChanges(copy, decodeChanges(encodeChanges(one)));
    }),
  );
}

/** Empties both objects. */
async function emptied(): Promise<void> {
  await onServer((storage) => storage.deleteAll());
  for (const host of [server, mirror]) await host.host.erase(host.address());
}

async function expectEqual(): Promise<void> {
  await catchUp();
  expect(await dumpOf(mirror)).toEqual(await dumpOf(server));
}

/** Returns the schema, the rows with their types and rowids, the sequences and the keys. */
function dumpOf(host: TestHost): Promise<unknown> {
  return host.host.deliver(host.address(), async ({ storage }) => {
    const content = await contentDump((query) => [...storage.exec(query, []).raw()]);
    return [content, keysOf(storage)];
  });
}

function keysOf(storage: ObjectInstance['storage']): unknown[] {
  const keys: unknown[] = [];
  const list = storage.list({ start: new Uint8Array(), end: null, reverse: false, limit: null });
  for (let entry = list.next(); entry !== undefined; entry = list.next()) {
    keys.push([entry.key, deserialize(entry.value.slice())]);
  }
  return keys;
}

describe('the changes of an object', () => {
  test('[FOLC1] make a copy equal after each statement', { tags: 'long' }, async () => {
    for (const statement of STATEMENTS) {
      await exec(statement);
      await catchUp();
      expect([statement, await dumpOf(mirror)]).toEqual([statement, await dumpOf(server)]);
    }
  });

  test('[FOLC11] have rows that are replaced by values set late, and rows whose triggers were ended', async () => {
    for (const statement of [...REPLACING, ...ENDED_BY_TRIGGERS]) {
      await exec(statement);
      await catchUp();
      expect([statement, await dumpOf(mirror)]).toEqual([statement, await dumpOf(server)]);
    }
  });

  test('[FOLC11] a trigger that the class makes again sends no whole table', async () => {
    for (const statement of ENDED_BY_TRIGGERS) await exec(statement);
    await catchUp();
    await exec(
      'DROP TRIGGER ig_i; CREATE TRIGGER ig_i AFTER INSERT ON ig BEGIN SELECT RAISE(IGNORE); END',
    );
    await exec('INSERT INTO ig VALUES (9, 9)');
    const { tables } = await onServer(
      () => capture.changesSince(position, Number.POSITIVE_INFINITY)!,
    );
    expect(tables.map(({ name, isWhole, rows }) => [name, isWhole, rows])).toEqual([
      ['ig', false, [[9, 9n]]],
    ]);
    await expectEqual();
  });

  test('[FOLC2] make it equal after all statements at once, and so does a snapshot', async () => {
    for (const statement of STATEMENTS) await exec(statement);
    await expectEqual();
    position = { id: 1, life: 99 };
    await expectEqual();
  });

  test('[FOLC3] hold what keys were put and deleted, by each interface', async () => {
    await onServer(async (storage) => {
      storage.kv.put('a', { deep: [1, new Date(5)] });
      storage.kv.put('nothing', undefined);
      await storage.put('b', 1);
      await storage.put({ c: 1, d: new Map([['x', 1n]]) });
    });
    await expectEqual();
    await onServer(async (storage) => {
      await storage.delete(['b', 'missing']);
      storage.kv.delete('a');
      storage.kv.put('e', undefined);
      await storage.transaction(async (txn) => {
        await txn.put('e', 'in');
        await txn.delete('c');
      });
    });
    await expectEqual();
  });

  test('[FOLC4] hold nothing that was undone, and what was written again after it', async () => {
    await onServer(async (storage) => {
      storage.sql.exec('CREATE TABLE t (a)');
      const failed = storage.transaction(async (txn) => {
        await txn.put('k', 1);
        storage.sql.exec('CREATE TABLE u (a); INSERT INTO t VALUES (1)');
        throw new Error('undone');
      });
      await failed.catch(() => {});
      try {
        storage.transactionSync(() => {
          storage.kv.put('k', 2);
          throw new Error('undone');
        });
      } catch {
        // The transaction fails on purpose.
      }
      await storage.transaction(async (txn) => {
        await txn.put('m', 1);
        txn.rollback();
      });
      storage.kv.put('k', 3);
      await storage.put('m', 3);
    });
    await expectEqual();
    await exec('CREATE TABLE u (b); INSERT INTO u VALUES (2); INSERT INTO t VALUES (2)');
    await expectEqual();
  });

  test('[FOLC5] of an object that was emptied are everything, and earlier positions have no life', async () => {
    await exec('CREATE TABLE t (a); INSERT INTO t VALUES (1)');
    await onServer(({ kv }) => kv.put('k', 1));
    await expectEqual();
    const before = position;
    await onServer((storage) => storage.deleteAll());
    await expectEqual();
    expect(await onServer(() => capture.lifeAt(before.id))).toBeNull();
    await exec('CREATE TABLE t (other)');
    await exec('INSERT INTO t VALUES (2)');
    await expectEqual();
  });

  test('[FOLC6] a position is of the instance that wrote its last note', async () => {
    await exec('CREATE TABLE t (a)');
    await catchUp();
    expect(position.life).toBe(1);
    life = 2;
    await server.host.evict(server.address());
    expect(await onServer(() => capture.head())).toEqual(position);
    await exec('INSERT INTO t VALUES (1)');
    const head = await onServer(() => capture.head());
    expect(head).toEqual({ id: position.id + 1, life: 2 });
    expect(await onServer(() => [capture.lifeAt(position.id), capture.lifeAt(head.id)])).toEqual([
      1, 2,
    ]);
    await expectEqual();
  });

  test('[FOLC7] what cannot be noted is refused, and last_insert_rowid stays that of the class', async () => {
    const refused = [
      'CREATE VIRTUAL TABLE f USING fts5(body)',
      'CREATE TABLE e (a); CREATE UNIQUE INDEX ee ON e (lower(a))',
      'CREATE TABLE k (a, b, c, d, e, PRIMARY KEY (a, b, c, d, e)) WITHOUT ROWID',
      'CREATE TABLE r (rowid, _rowid_, oid)',
      'CREATE TABLE _FOLLOW_x (a)',
    ];
    const schema = () =>
      onServer(({ sql }) => sql.exec('SELECT * FROM sqlite_master ORDER BY name').toArray());
    await exec('CREATE TABLE t0 (a)');
    const before = await schema();
    for (const text of refused) {
      const failed = onServer((storage) => void storage.sql.exec(text));
      await expect(failed).rejects.toMatchObject({ code: 'FOLLOW_UNSUPPORTED' });
      expect(await schema()).toEqual(before);
    }
    await server.host.evict(server.address());
    const rowid = await onServer((storage) => {
      storage.sql.exec('CREATE TABLE t (a)');
      storage.sql.exec('INSERT INTO t (rowid, a) VALUES (4242, 1)');
      storage.kv.put('z', 1);
      return storage.sql.exec('SELECT last_insert_rowid() AS r').one();
    });
    expect(rowid).toEqual({ r: 4242 });
    await expectEqual();
  });

  test('[FOLC10] a class that removes everything by name leaves the tables of the notes', async () => {
    await exec('CREATE TABLE t (a UNIQUE); INSERT INTO t VALUES (1)');
    await catchUp();
    for (const remove of ['DELETE FROM', 'DROP TABLE', 'drop table if exists']) {
      await onServer(({ sql }) => {
        const names = sql.exec(
          "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
        );
        for (const { name } of names.toArray()) sql.exec(`${remove} "${name}"`);
        sql.exec('CREATE TABLE IF NOT EXISTS t (a UNIQUE)');
        sql.exec('INSERT INTO t VALUES (?)', remove);
      });
      await expectEqual();
    }
    await onServer(({ sql }) => {
      const names = sql.exec(
        "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 't'",
      );
      for (const { name } of names.toArray()) sql.exec(`DROP TRIGGER [${name}]; SELECT 1`);
      sql.exec('UPDATE t SET a = 2');
    });
    await expectEqual();
    const both = onServer(({ sql }) => sql.exec('DROP TABLE t; DROP TABLE _follow_note').toArray());
    await expect(both).rejects.toMatchObject({ code: 'FOLLOW_UNSUPPORTED' });
    await server.host.evict(server.address());
    await exec('INSERT INTO t VALUES (3)');
    await expectEqual();
  });

  test('[FOLC1] a cursor of a text that may change the schema is read after it', async () => {
    await exec('CREATE TABLE t (a); INSERT INTO t VALUES (1), (2), (3)');
    const rows = await onServer(({ sql }) => {
      const cursor = sql.exec("CREATE TABLE u (a); SELECT a, 'drop' AS word FROM t ORDER BY a");
      const first = cursor.next().value;
      return [first, ...cursor.toArray()];
    });
    expect(rows.map((row) => row!.a)).toEqual([1, 2, 3]);
    await expectEqual();
  });

  test('[FOLC8] notes are kept up to a bound; a follower further behind gets a snapshot', async () => {
    await exec('CREATE TABLE t (a)');
    await catchUp();
    const behind = position;
    for (life = 2; life < 5; life++) {
      await server.host.evict(server.address());
      await exec('INSERT INTO t VALUES (-1)');
      await catchUp();
    }
    await exec(
      'WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 12000) INSERT INTO t SELECT i FROM c',
    );
    await catchUp();
    expect(await onServer(() => [capture.lifeAt(behind.id), capture.lifeAt(position.id)])).toEqual([
      null,
      4,
    ]);
    const lives = await onServer(({ sql }) =>
      sql.exec('SELECT count(*) AS n FROM _follow_life').one(),
    );
    expect(lives).toEqual({ n: 1 });
    await exec('INSERT INTO t VALUES (0)');
    await expectEqual();
  });

  test('[FOLC9] parts read at different times, and the changes since the first, make a copy equal', {
    tags: 'long',
  }, async () => {
    const random = new Random(2611);
    for (let round = 0; round < 30; round++) {
      partBytes = random.pick([1, 60, 200]);
      await emptied();
      await exec(TABLES);
      await write(random, random.below(200));
      const before = await onServer(() => capture.head());
      const parts: Changes[] = [];
      let place: CopyPlace | null = null;
      do {
        const from: CopyPlace | null = place;
        const part: CopyPart = await onServer(() => capture.copyPart(from));
        parts.push(part.changes);
        place = part.next;
        await write(random, random.below(8));
      } while (place !== null);
      expect(await onServer(() => capture.canContinueCopy(before, null))).toBe(true);
      const changes = await onServer(() => capture.changesSince(before, Number.POSITIVE_INFINITY)!);
      await mirror.host.deliver(mirror.address(), ({ storage }) =>
        storage.replicate((copy) => applyCopy(copy, parts.map(sent), sent(changes))),
      );
      expect([round, await dumpOf(mirror)]).toEqual([round, await dumpOf(server)]);
    }
  });

  test('[FOLC9] no part follows when tables have changed, the object was emptied, or the place is none of it', async () => {
    await exec(TABLES);
    const from = await onServer(() => capture.head());
    const place = { table: 'named', after: null, sentBytes: 0 };
    const canContinueCopy = (given: CopyPlace | null, since = from) =>
      onServer(() => capture.canContinueCopy(since, given));
    expect(await canContinueCopy(null)).toBe(true);
    expect(await canContinueCopy(place)).toBe(true);
    expect(await canContinueCopy({ ...place, after: [5] })).toBe(true);
    expect(await canContinueCopy({ ...place, after: [5, 5] })).toBe(false);
    expect(await canContinueCopy({ ...place, table: 'other' })).toBe(false);
    expect(await canContinueCopy({ ...place, table: '_follow_client' })).toBe(false);
    expect(await canContinueCopy({ ...place, table: null, after: ['key'] })).toBe(true);
    expect(await canContinueCopy({ ...place, table: null, after: [1] })).toBe(false);
    expect(await canContinueCopy({ ...place, table: null, after: ['key', 'more'] })).toBe(false);
    expect(await canContinueCopy({ ...place, table: null, after: ['x'.repeat(2049)] })).toBe(false);
    await exec("INSERT INTO named VALUES (1, 'a')");
    expect(await canContinueCopy(place)).toBe(true);
    await exec('CREATE TABLE further (a)');
    expect(await canContinueCopy(place)).toBe(false);
    const since = await onServer(() => capture.head());
    expect(await canContinueCopy(place, since)).toBe(true);
    await onServer((storage) => storage.deleteAll());
    expect(await canContinueCopy(place, since)).toBe(false);
  });

  test('[FOLC7] a table whose rows and keys a statement cannot read together is refused', async () => {
    const columns = (count: number) => Array.from({ length: count }, (_, i) => `c${i}`).join();
    const make = (text: string) => onServer(({ sql }) => void sql.exec(text));
    const refused = { code: 'FOLLOW_UNSUPPORTED', message: expect.stringContaining('at most') };
    await make(`CREATE TABLE bare (${columns(97)})`);
    await make(`CREATE TABLE named (id INTEGER PRIMARY KEY, ${columns(97)})`);
    for (const text of [
      `CREATE TABLE bare2 (${columns(98)})`,
      `CREATE TABLE named2 (id INTEGER PRIMARY KEY, ${columns(98)})`,
      `CREATE TABLE pair (a, b, ${columns(97)}, PRIMARY KEY (a, b)) WITHOUT ROWID`,
    ]) {
      const failed = onServer((storage) =>
        storage.transactionSync(() => void storage.sql.exec(text)),
      );
      await expect(failed).rejects.toMatchObject(refused);
    }
    await onServer(({ sql }) => {
      const before = capture.head();
      sql.exec('INSERT INTO bare (c96) VALUES (1)');
      sql.exec('INSERT INTO named (c96) VALUES (1)');
      expect(
        capture
          .changesSince(before, Number.POSITIVE_INFINITY)!
          .tables.map(({ rows }) => rows.length),
      ).toEqual([1, 1]);
      expect(capture.copyPart(null).changes.tables).toHaveLength(2);
    });
  });

  test('[FOLC9] a part ends soon after its bytes, and leaves no statement open', async () => {
    await exec('CREATE TABLE t (a)');
    await exec(
      'WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 5000) ' +
        "INSERT INTO t SELECT iif(i % 1000 = 0, zeroblob(300000), 'x') FROM c",
    );
    let place: CopyPlace | null = null;
    let rows = 0;
    do {
      const from: CopyPlace | null = place;
      const part: CopyPart = await onServer(() => capture.copyPart(from));
      rows += part.changes.tables[0]?.rows.length ?? 0;
      expect(serialize(part.changes).length).toBeLessThan(1_000_000);
      place = part.next;
    } while (place !== null);
    expect(rows).toBe(5000);
    await onServer(({ sql }) => {
      capture.copyPart(null);
      sql.exec('DROP TABLE t');
    });
    await expectEqual();
  });
});

const sent = (changes: Changes): Changes => decodeChanges(encodeChanges(changes));

/** Tables with each kind of key, unique columns, and a collation. */
const TABLES = `
  CREATE TABLE named (id INTEGER PRIMARY KEY, name TEXT UNIQUE);
  CREATE TABLE bare (a, b, UNIQUE (a, b));
  CREATE TABLE pair (a TEXT COLLATE NOCASE, b, c INTEGER UNIQUE, PRIMARY KEY (a, b)) WITHOUT ROWID;
  CREATE TABLE counted (id INTEGER PRIMARY KEY AUTOINCREMENT, x REAL)`;

/** Makes random writes, some of which fail. */
function write(random: Random, count: number): Promise<void> {
  return onServer(({ sql, kv }) => {
    for (let i = 0; i < count; i++) {
      if (random.below(3) === 0) kv.put(`key ${random.below(80)}`, i);
      if (random.below(12) === 0) kv.delete(`key ${random.below(80)}`);
      try {
        sql.exec(writeOf(random)).toArray();
      } catch {
        // Another row has the unique value already.
      }
    }
  });
}

function writeOf(random: Random): string {
  const large = ['9007199254740993', '9007199254740992', '-9007199254740995', '-1'];
  const n = () => random.pick([...Array.from({ length: 16 }, (_, i) => `${i}`), ...large]);
  const name = () =>
    random.pick(["'a'", "'A'", "'b'", "'B'", "'5'", "'7'", "'15'", "'é'", "'😀'", "''"]);
  const any = () => random.pick([n(), name(), '2.5', '5.0', "x'35'"]);
  return random.pick([
    `INSERT OR REPLACE INTO named VALUES (${n()}, ${name()})`,
    `UPDATE OR IGNORE named SET id = id + 1, name = ${name()} WHERE id = ${n()}`,
    `UPDATE OR REPLACE named SET name = ${name()} WHERE id > ${n()}`,
    `DELETE FROM named WHERE id <= ${n()}`,
    `INSERT OR REPLACE INTO bare VALUES (${any()}, ${any()})`,
    `UPDATE OR IGNORE bare SET rowid = ${n()} WHERE a = ${any()}`,
    `DELETE FROM bare WHERE b = ${any()}`,
    `INSERT OR REPLACE INTO pair VALUES (${name()}, ${any()}, ${n()})`,
    `UPDATE OR REPLACE pair SET a = ${name()} WHERE b = ${any()}`,
    `UPDATE OR REPLACE pair SET b = ${any()}, c = ${n()} WHERE a = ${name()}`,
    `INSERT INTO counted (x) VALUES (${n()})`,
    'DELETE FROM counted WHERE id = (SELECT max(id) FROM counted)',
  ]);
}
