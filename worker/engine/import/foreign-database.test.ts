// Files from elsewhere, made by SQLite itself in memory, some of them hostile.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  makeFile,
  makeWal,
  schemaRow,
  walTransaction,
} from '../../../packages/testing/worker/foreign-files.ts';
import { createTestHost, type TestHost } from '../../../packages/testing/worker/test-host.ts';
import { completeLimits } from '../sql/query-limits.ts';
import { emptyDatabase } from './database-header.ts';

const KV = 'CREATE TABLE _cf_KV (key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID;';
const METADATA = 'CREATE TABLE _cf_METADATA (key INTEGER PRIMARY KEY, value BLOB);';
/** A file as an object leaves one: the key `new` is 2, and a table has a row. */
const SOUND = `${KV} INSERT INTO _cf_KV VALUES ('new', x'ff0f4904'); CREATE TABLE t(x); INSERT INTO t VALUES (1);`;

let host: TestHost;
beforeEach(async () => {
  host = await createTestHost();
  await host.run(({ storage }) => storage.put('old', 1));
});
afterEach(() => host.close());

const importFile = (file: Uint8Array, wal: Uint8Array | null = null) =>
  host.host.importDatabase(host.address(), file, wal);
const keys = () => host.run(async ({ storage }) => [...(await storage.list()).keys()]);
const rows = (sql: string) =>
  host.run(({ storage }) => storage.sql.exec(sql).raw().toArray() as unknown[][]);

async function expectRefused(file: Uint8Array, message: RegExp, wal: Uint8Array | null = null) {
  const committed = host.committed();
  await expect(importFile(file, wal)).rejects.toMatchObject({
    code: 'IMPORT_INVALID',
    message: expect.stringMatching(message),
  });
  expect(host.committed()).toBe(committed);
  expect(await keys()).toEqual(['old']);
}

describe('files that do not belong to an object', () => {
  test.for<[string, (sound: Uint8Array) => Uint8Array | Promise<Uint8Array>, RegExp]>([
    ['no bytes', () => new Uint8Array(), /0 bytes are not a SQLite database.*SQLite format 3/],
    ['text', () => new TextEncoder().encode('hello '.repeat(1000)), /not a SQLite database/],
    ['half a header', (sound) => sound.subarray(0, 50), /50 bytes are not a SQLite database/],
    ['a header alone', (sound) => sound.subarray(0, 100), /cut off: it has 100 bytes/],
    [
      'half of the pages',
      (sound) => sound.subarray(0, 4096),
      /cut off: it has 4096 bytes and needs 12288/,
    ],
    ['half a page at the end', (sound) => sound.subarray(0, sound.length - 1), /cut off/],
    [
      'pages of 512 bytes',
      () => makeFile('PRAGMA page_size=512; CREATE TABLE t(x)'),
      /page size is 512 bytes, and must be 4096;.*PRAGMA page_size=4096;\nVACUUM;$/s,
    ],
    [
      'pages of 65,536 bytes',
      () => makeFile('PRAGMA page_size=65536; CREATE TABLE t(x)'),
      /page size is 65536 bytes/,
    ],
    ['UTF-16', (sound) => changed(sound, 59, 2), /UTF-16.*UTF-8/],
    ['auto-vacuum', () => makeFile('PRAGMA auto_vacuum=FULL; CREATE TABLE t(x)'), /auto-vacuum/],
    ['reserved bytes', (sound) => changed(sound, 20, 32), /reserves 32 bytes/],
    ['an unknown format', (sound) => changed(sound, 18, 9), /format versions are 9 and/],
    ['a page of zeros', (sound) => sound.fill(0, 4096, 8192), /damaged|cannot read/],
    ['a wrong root page', (sound) => changed(sound, 100, 2), /damaged|cannot read/],
    [
      'an index that lacks a row',
      () =>
        makeFile(
          'CREATE TABLE t(x); INSERT INTO t VALUES (1); CREATE INDEX i ON t(x); PRAGMA writable_schema=ON;' +
            "DELETE FROM sqlite_schema WHERE name = 'i'; PRAGMA writable_schema=RESET;" +
            'INSERT INTO t VALUES (2);' +
            schemaRow('index', 'i', 't', 'CREATE INDEX i ON t(x)').replace(', 2,', ', 3,'),
        ),
      /damaged: .*(row|entries).*index/,
    ],
    ...['', 'CREATE VIEW v AS SELECT 1', 'CREATE VIRTUAL TABLE f USING fts5(x)'].map(
      (last): [string, () => Promise<Uint8Array>, RegExp] => [
        `a page in use that is listed as free, after ${last || 'tables'},`,
        async () => {
          const file = await makeFile(
            `CREATE TABLE t(x); CREATE TABLE u(x); INSERT INTO u VALUES (zeroblob(80000)); DELETE FROM u; ${last}`,
          );
          const view = new DataView(file.buffer, file.byteOffset);
          const firstFree = (view.getUint32(32) - 1) * 4096 + 8;
          view.setUint32(firstFree, 2); // the root of t
          return file;
        },
        /damaged: .*2nd reference to page 2/s,
      ],
    ),
  ])('[MOVE6] %s is refused', async ([, make, message]) => {
    await expectRefused(await make(await makeFile(SOUND)), message);
  });

  test.for<[string, string, RegExp]>([
    [
      'a hidden table of another shape',
      'CREATE TABLE _cf_KV (key, value)',
      /table "_cf_KV".*begins? with _cf_/,
    ],
    [
      'a hidden table with a collation',
      'CREATE TABLE _cf_KV (key TEXT COLLATE NOCASE PRIMARY KEY, value BLOB) WITHOUT ROWID',
      /_cf_KV/,
    ],
    ['an unknown hidden table', 'CREATE TABLE _CF_secret (x)', /"_CF_secret"/],
    ['a view with a hidden name', 'CREATE VIEW _cf_v AS SELECT 1', /view "_cf_v"/],
    ['an index on a hidden table', `${KV} CREATE INDEX i ON _cf_KV(value)`, /index "i".*_cf_/],
    [
      'a trigger on a hidden table',
      `${KV} CREATE TRIGGER tr AFTER INSERT ON _cf_KV BEGIN SELECT 1; END`,
      /trigger "tr".*_cf_/,
    ],
    [
      'a trigger that writes a hidden table',
      `${KV} CREATE TABLE t(x); CREATE TRIGGER tr AFTER INSERT ON t BEGIN INSERT INTO _cf_KV VALUES ('a', x'30'); END`,
      /trigger "tr" uses a name that objects may not use.*_cf_/,
    ],
    [
      'a trigger on an update that reads a hidden table',
      `${KV} CREATE TABLE t(x, y); CREATE TRIGGER tr AFTER UPDATE OF y ON t BEGIN INSERT INTO t SELECT key, 1 FROM _cf_KV; END`,
      /uses a name that objects may not use.*_cf_/,
    ],
    [
      'a foreign key to a hidden table',
      `${KV} CREATE TABLE t(x REFERENCES _cf_KV(key) ON DELETE CASCADE)`,
      /"t" has a foreign key to "_cf_KV"/,
    ],
    [
      'a foreign key to a hidden table behind a broken one',
      `${KV} CREATE TABLE p(a); CREATE TABLE t(x REFERENCES p(missing), y REFERENCES _CF_kv ON DELETE CASCADE)`,
      /"t" has a foreign key to "_CF_kv"/,
    ],
    ['a table called _cf', 'CREATE TABLE _cf(x)', /table "_cf"/],
    ['a full text table called _CF', 'CREATE VIRTUAL TABLE _CF USING fts5(x)', /"_CF/],
    [
      'a view of a hidden table',
      `${KV} CREATE VIEW v AS SELECT * FROM _cf_KV`,
      /view "v" uses.*_cf_/,
    ],
    [
      'a view of columns that a join with a hidden table shares',
      `${KV} CREATE TABLE t(key, value); CREATE VIEW v AS SELECT key FROM t NATURAL FULL JOIN _cf_KV`,
      /view "v" uses.*_cf_/,
    ],
    [
      'a trigger that reads columns that a join with a hidden table shares',
      `${KV} CREATE TABLE t(key); CREATE TRIGGER tr AFTER DELETE ON t BEGIN INSERT INTO t SELECT 1 FROM t JOIN _cf_KV USING (key); END`,
      /trigger "tr" uses a name that objects may not use.*_cf_/,
    ],
    [
      'a trigger of a view that writes a hidden table',
      `${KV} CREATE VIEW v AS SELECT 1 AS x; CREATE TRIGGER tr INSTEAD OF DELETE ON v BEGIN DELETE FROM _cf_KV; END`,
      /uses a name that objects may not use.*_cf_/,
    ],
    [
      'a forbidden function in a view',
      'CREATE VIEW v AS SELECT sqlite_version()',
      /view "v" uses.*sqlite_version/,
    ],
    [
      'a forbidden function in a CHECK',
      'CREATE TABLE t(x CHECK (sqlite_version() > x))',
      /table "t" cannot be created.*sqlite_version/,
    ],
    [
      'a forbidden function in a generated column',
      'CREATE TABLE t(x, y AS (unistr(x)))',
      /table "t".*unistr/,
    ],
    [
      'a forbidden function in an index',
      'CREATE TABLE t(x); CREATE INDEX i ON t(unistr(x))',
      /index "i".*unistr/,
    ],
    [
      'an unknown function in a CHECK',
      `CREATE TABLE t(x); PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = 'CREATE TABLE t(x CHECK(load(x)))'`,
      /load/,
    ],
    [
      'a module that this SQLite lacks',
      'CREATE TABLE t(x);' +
        schemaRow('table', 'v', 'v', 'CREATE VIRTUAL TABLE v USING dbstat').replace(', 2,', ', 0,'),
      /table "v" cannot be created.*virtual tables: fts5/,
    ],
    [
      'a text that does not parse',
      "CREATE TABLE t(x); PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = 'CREATE TABLE t(x'",
      /cannot read|malformed/,
    ],
    [
      'a text that makes something else',
      "CREATE TABLE t(x); PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = 'CREATE TABLE u(x)'",
      /"t" has a text that makes something else|malformed/,
    ],
    [
      'a hidden name in the text of another',
      "CREATE TABLE t(x); PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = 'CREATE TABLE _cf_KV(x)'",
      /_cf_|malformed/,
    ],
    [
      'an object of no type',
      "CREATE TABLE t(x); PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = 'ATTACH x AS y'",
      /cannot|malformed/,
    ],
    [
      'a table of SQLite’s own in another shape',
      'CREATE TABLE t(x INTEGER PRIMARY KEY AUTOINCREMENT); PRAGMA writable_schema=ON;' +
        " UPDATE sqlite_schema SET sql = 'CREATE TABLE sqlite_sequence(name)' WHERE name GLOB 'sqlite_*'",
      /"sqlite_sequence" cannot be created/,
    ],
    [
      'a key that is a blob',
      `${KV} INSERT INTO _cf_KV VALUES (x'00', x'30')`,
      /key that is not text/,
    ],
    [
      'a value that is a text',
      `${KV} INSERT INTO _cf_KV VALUES ('a', '0')`,
      /value that is not a blob/,
    ],
    [
      'an alarm that is a text',
      `${METADATA} INSERT INTO _cf_METADATA VALUES (1, 'soon')`,
      /alarm that is not a time/,
    ],
    [
      'an alarm before time',
      `${METADATA} INSERT INTO _cf_METADATA VALUES (1, -1)`,
      /alarm that is not a time/,
    ],
  ])('[MOVE7] %s is refused', async ([, sql, message]) => {
    await expectRefused(await makeFile(sql), message);
  });

  test('[MOVE7] a schema that a program could have made is taken, also a broken one', async () => {
    const sql = `
      CREATE TABLE plain (a INTEGER PRIMARY KEY AUTOINCREMENT, b DEFAULT (random()), c AS (a + 1));
      INSERT INTO plain (b) VALUES (5);
      CREATE UNIQUE INDEX plain_b ON plain (b, lower(c)) WHERE b > 0;
      CREATE TABLE strict (k TEXT PRIMARY KEY CHECK (length(k) < 9), v BLOB) STRICT, WITHOUT ROWID;
      CREATE TABLE "odd ""name" ("x y" UNIQUE REFERENCES plain, _cf_column);
      CREATE VIEW seen AS SELECT a, '_cf_KV' AS text FROM plain;
      CREATE VIEW broken AS SELECT * FROM missing;
      CREATE TRIGGER "odd trigger" INSTEAD OF INSERT ON seen BEGIN INSERT INTO plain (b) VALUES (1); END;
      CREATE TRIGGER after_update AFTER UPDATE ON plain BEGIN INSERT INTO missing VALUES (1); END;
      CREATE VIRTUAL TABLE words USING fts5(body);
      INSERT INTO words VALUES ('hello world');
      CREATE VIRTUAL TABLE terms USING fts5vocab(words, row);
      CREATE VIEW documents AS SELECT a AS rowid, b AS body FROM plain;
      CREATE VIRTUAL TABLE outside USING fts5(body, content = 'documents');
      INSERT INTO outside(outside) VALUES ('rebuild');
      CREATE VIRTUAL TABLE boxes USING rtree(id, x0, x1);
      INSERT INTO boxes VALUES (1, 2, 3);
      ANALYZE;
      ${KV} ${METADATA}`;
    await importFile(await makeFile(sql));
    expect(await rows("SELECT rowid FROM words('world')")).toEqual([[1]]);
    expect(await rows('SELECT id FROM boxes WHERE x1 > 2')).toEqual([[1]]);
    expect(await rows('SELECT term FROM terms')).toEqual([['hello'], ['world']]);
    expect(await rows('SELECT a, b, c FROM plain')).toEqual([[1, 5, 2]]);
    await expect(rows('SELECT * FROM broken')).rejects.toMatchObject({ code: 'SQL' });
  });

  test('[MOVE1] a file in WAL mode, with bytes behind its last page, becomes a plain one without them', async () => {
    const sound = await makeFile(SOUND);
    const longer = new Uint8Array(sound.length + 4096).fill(7, sound.length);
    longer.set(changed(changed(sound, 18, 2), 19, 2));
    await importFile(longer);
    const exported = await host.host.exportDatabase(host.address());
    expect(exported.length).toBe(sound.length);
    expect([...exported.subarray(18, 20)]).toEqual([1, 1]);
    expect(await keys()).toEqual(['new']);
  });

  test('[MOVE3] pages are counted by the length of a file whose header does not vouch for its number', async () => {
    const file = await makeFile(SOUND);
    const changes = { 27: 9, 95: 8 }; // it was written by SQLite before 3.7 after the number was
    const pageCount = { 31: 1 };
    for (const [at, byte] of Object.entries({ ...changes, ...pageCount })) file[Number(at)] = byte;
    await importFile(file);
    expect(await rows('SELECT x FROM t')).toEqual([[1]]);
    expect(await keys()).toEqual(['new']);
  });

  // SQLite 3.53 does not ask its authorizer about defaults, here and in workerd.
  test('[MOVE7] a default may call any function, as a table made by a program may', async () => {
    const table = 'CREATE TABLE t(x DEFAULT (sqlite_source_id()), y)';
    await rows(table);
    await rows('INSERT INTO t(y) VALUES (1)');
    await importFile(await makeFile(table));
    await rows('INSERT INTO t(y) VALUES (2)');
    expect(await rows('SELECT typeof(x), y FROM t')).toEqual([['text', 2]]);
  });

  test('[MOVE7] a schema of hundreds of tables is taken', async () => {
    const tables = Array.from(
      { length: 400 },
      (_, i) => `CREATE TABLE t${i}(${Array.from({ length: 40 }, (_, j) => `c${j}`)});`,
    );
    // No limit of time: the import passes on a slow machine, too.
    const limits = completeLimits({ importMs: Number.POSITIVE_INFINITY });
    const patient = await createTestHost({}, {}, undefined, undefined, limits);
    await patient.host.importDatabase(patient.address(), await makeFile(tables.join('')));
    const count = await patient.run(({ storage }) =>
      storage.sql.exec("SELECT count(*) FROM sqlite_schema WHERE type = 'table'").raw().one(),
    );
    expect(count).toEqual([400]);
    await patient.close();
  });

  test('[MOVE8] a value that cannot be decoded is taken, and CORRUPT when it is read', async () => {
    await importFile(await makeFile(`${SOUND} INSERT INTO _cf_KV VALUES ('bad', x'ff0f00ff')`));
    await host.run(async ({ storage }) => {
      expect(await storage.get('new')).toBe(2);
      await expect(storage.get('bad')).rejects.toMatchObject({ code: 'CORRUPT' });
    });
  });

  test('[MOVE8] keys and values beyond the limits are taken, and read', async () => {
    const key = "replace(hex(zeroblob(1500)), '00', 'key')";
    const value =
      "CAST(x'ff0f22' || x'c0843d' || replace(hex(zeroblob(500000)), '0', 'v') AS BLOB)";
    await importFile(
      await makeFile(`${KV} INSERT INTO _cf_KV VALUES (${key}, x'ff0f4904'), ('big', ${value})`),
    );
    await host.run(async ({ storage }) => {
      expect((await storage.get<string>('big'))?.length).toBe(1_000_000);
      expect([...(await storage.list()).keys()].map(({ length }) => length)).toEqual([3, 4500]);
    });
  });
});

describe('a WAL', () => {
  test.for([false, true])(
    '[MOVE5] its transactions up to the last that ended count (sums big-endian: %s)',
    async (isBigEndian) => {
      const [first, second, third] = await threeStates();
      const wal = makeWal(
        [
          walTransaction(first, second),
          { pages: walTransaction(second, third).pages, pageCountAfter: 0 },
        ],
        { isBigEndian },
      );
      await importFile(first, wal);
      expect(await rows('SELECT x FROM t')).toEqual([[1], [2]]);
      await importFile(
        first,
        makeWal([walTransaction(first, second), walTransaction(second, third)]),
      );
      expect(await rows('SELECT count(*) FROM t')).toEqual([[2002]]);
    },
  );

  test('[MOVE5] frames after a wrong sum, and of an earlier round, do not count', async () => {
    const [first, second, third] = await threeStates();
    const steps = [walTransaction(first, second), walTransaction(second, third)];
    const torn = makeWal(steps);
    const secondStart = 32 + steps[0]!.pages.length * 4120;
    await importFile(first, changed(torn, secondStart + 500, torn[secondStart + 500]! ^ 1));
    expect(await rows('SELECT x FROM t')).toEqual([[1], [2]]);
    const renewed = makeWal(steps);
    renewed.set(makeWal(steps.slice(0, 1), { salt: 99 }));
    await importFile(first, renewed);
    expect(await rows('SELECT x FROM t')).toEqual([[1], [2]]);
    // A frame with another salt is of an earlier WAL; no checksum covers the salts.
    await importFile(first, changed(makeWal(steps), secondStart + 11, 99));
    expect(await rows('SELECT x FROM t')).toEqual([[1], [2]]);
  });

  test('[MOVE5] a WAL without bytes, or without an ended transaction, changes nothing', async () => {
    const [first, second] = await threeStates();
    const open = { ...walTransaction(first, second), pageCountAfter: 0 };
    for (const wal of [new Uint8Array(), makeWal([]), makeWal([open])]) {
      await importFile(first, wal);
      expect(await rows('SELECT x FROM t')).toEqual([[1]]);
    }
  });

  test('[MOVE5] a database that is still all in its WAL is taken, and may be longer or shorter', async () => {
    const [, second, third] = await threeStates();
    await importFile(new Uint8Array(), makeWal([walTransaction(new Uint8Array(), third)]));
    expect(await rows('SELECT count(*) FROM t')).toEqual([[2002]]);
    const shrunk = counted(second, 4);
    await importFile(third, makeWal([walTransaction(third, shrunk)]));
    expect(await rows('SELECT count(*) FROM t')).toEqual([[2]]);
    // Pages that the WAL has cut off again.
    const grownAndShrunk = [walTransaction(second, third), walTransaction(third, shrunk)];
    await importFile(second, makeWal(grownAndShrunk));
    expect(await rows('SELECT count(*) FROM t')).toEqual([[2]]);
  });

  test.for<[string, (states: States) => Uint8Array, RegExp]>([
    ['of other bytes', () => new Uint8Array(4096).fill(1), /4096 bytes\) is not a WAL/],
    [
      'of other pages',
      ([a, b]) => changed(makeWal([walTransaction(a, b)]), 10, 8),
      /page size of the WAL is 2048 bytes/,
    ],
    [
      'with a damaged header',
      ([a, b]) => changed(makeWal([walTransaction(a, b)]), 20, 8),
      /header of the WAL is damaged/,
    ],
    [
      'that lacks pages',
      ([, , third]) =>
        makeWal([{ pages: [[1, third.subarray(0, 4096)]], pageCountAfter: 4_000_000_000 }]),
      /page \d+ of 4000000000 is neither/,
    ],
    [
      'of a longer database',
      ([, second]) => makeWal([{ pages: [[3, second.subarray(4096)]], pageCountAfter: 3 }]),
      /ends with 3 pages, but the header of the database counts 2/,
    ],
    [
      'of another database',
      () => makeWal([{ pages: [[2, indexPage()]], pageCountAfter: 2 }]),
      /damaged|cannot read/,
    ],
  ])('[MOVE5] a WAL %s is refused', async ([, make, message]) => {
    const states = await threeStates();
    await expectRefused(states[0], message, make(states));
  });

  test('[MOVE5] an empty file whose data must be in a WAL is refused without one', async () => {
    const bare = changed(changed(emptyDatabase(), 18, 2), 19, 2);
    await expectRefused(bare, /in the -wal file beside it; pass both files/);
    const [first] = await threeStates();
    await importFile(bare, makeWal([walTransaction(bare, first)]));
    expect(await rows('SELECT x FROM t')).toEqual([[1]]);
  });

  test('[MOVE5] a WAL older than its database is refused', async () => {
    const [first, second, third] = await threeStates();
    await expectRefused(third, /older than the database/, makeWal([walTransaction(first, second)]));
  });
});

type States = readonly [Uint8Array, Uint8Array, Uint8Array];

/** One database at three moments; its counter of changes goes up. */
async function threeStates(): Promise<States> {
  const create = 'CREATE TABLE t(x); INSERT INTO t VALUES (1);';
  const add = 'INSERT INTO t VALUES (2);';
  const grow =
    'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 2000)' +
    ' INSERT INTO t SELECT x FROM c;';
  const states = await Promise.all([create, create + add, create + add + grow].map(makeFile));
  // In memory SQLite does not count its transactions.
  return states.map((file, i) => counted(file, i + 1)) as never;
}

/** A page of an index without entries. */
function indexPage(): Uint8Array {
  const page = new Uint8Array(4096);
  page.set([10, 0, 0, 0, 0, 16]);
  return page;
}

function counted(file: Uint8Array, changes: number): Uint8Array {
  return changed(changed(file, 27, changes), 95, changes);
}

function changed(bytes: Uint8Array, offset: number, value: number): Uint8Array {
  const copy = bytes.slice();
  copy[offset] = value;
  return copy;
}
