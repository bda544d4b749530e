// Refused files: each error's program is run as it is written, and the result is imported with its rows.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { schemaRow } from '../../../packages/testing/worker/foreign-files.ts';
import {
  fileBy,
  fileInShell,
  hasShell,
  mended,
  programIn,
} from '../../../packages/testing/worker/mended-file.ts';
import { createTestHost, type TestHost } from '../../../packages/testing/worker/test-host.ts';

let host: TestHost;
beforeEach(async () => {
  host = await createTestHost();
  await host.run(({ storage }) => storage.put('old', 1));
});
afterEach(() => host.close());

const importFile = (file: Uint8Array) => host.host.importDatabase(host.address(), file);
const rows = (sql: string) =>
  host.run(({ storage }) => storage.sql.exec(sql).raw().toArray() as unknown[][]);

const PAGES = 'PRAGMA page_size=4096;';
/** A file as an object leaves one: a key, and a table with a row. */
const KV =
  "CREATE TABLE _cf_KV (key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID; INSERT INTO _cf_KV VALUES ('new', x'ff0f4904');";
const METADATA = 'CREATE TABLE _cf_METADATA (key INTEGER PRIMARY KEY, value BLOB);';
const SOUND = `${KV} CREATE TABLE t(id INTEGER PRIMARY KEY, x); INSERT INTO t VALUES (7, 'seven');`;
const T = ['SELECT * FROM t', [[7, 'seven']]] as const;

const of = (sql: string) => () => fileBy((database) => database.exec(PAGES + sql));
const withSchema = (sql: string, changes: string) =>
  of(`${sql}; PRAGMA writable_schema=ON; ${changes}; PRAGMA writable_schema=RESET;`);
const byteOf = (sql: string, changes: Readonly<Record<number, number>>) => async () => {
  const file = await of(sql)();
  for (const [at, byte] of Object.entries(changes)) file[Number(at)] = byte;
  return file;
};

/** The function and the collation of the program that made a file. */
const ownCode: NonNullable<Parameters<typeof mended>[3]> = (database, { capi, wasm }) => {
  database.createFunction('own', (_, x) => x as number, { deterministic: true });
  const text = (at: number, bytes: number) =>
    String.fromCharCode(...wasm.heap8u().slice(at, at + bytes));
  const compare = (_: unknown, aBytes: number, a: number, bBytes: number, b: number) =>
    text(a, aBytes) < text(b, bBytes) ? -1 : Number(text(a, aBytes) > text(b, bBytes));
  capi.sqlite3_create_collation_v2(
    database.pointer!,
    'own',
    capi.SQLITE_UTF8,
    0,
    compare as never,
    0,
  );
};
const withOwnCode = (sql: string) => () =>
  fileBy((database, sqlite3) => {
    ownCode(database, sqlite3);
    database.exec(PAGES + sql);
  });

const list = (count: number, item: (i: number) => string, by = ', ') =>
  Array.from({ length: count }, (_, i) => item(i)).join(by);
const column = (i: number) => `c${i}`;
const nested = (depth: number) => `x${' + 1'.repeat(depth)}`;
const union = (count: number) => list(count, (i) => `SELECT ${i}`, ' UNION ALL ');

/** `wasm` has no shell, no UTF-16 and no WAL; older programs cannot read what it writes beyond their limits. */
type Runner = 'wasm' | 'shell';

interface Refused {
  readonly name: string;
  readonly make: () => Promise<Uint8Array>;
  readonly message: RegExp;
  /** Queries after the import of the mended file, and their rows. */
  readonly kept: readonly (readonly [sql: string, rows: readonly (readonly unknown[])[]])[];
  /** The only runner that can. */
  readonly by?: Runner;
  /** Needs the program that made the file. */
  readonly setUp?: typeof ownCode;
}

const file = (
  name: string,
  make: Refused['make'],
  message: RegExp,
  kept: Refused['kept'] = [T],
  options: Pick<Refused, 'by' | 'setUp'> = {},
): Refused => ({ name, make, message, kept, ...options });

const SHELL = { by: 'shell' } as const;
const HEADERS: readonly Refused[] = [
  ...[512, 1024, 8192, 65_536].map((bytes) =>
    file(
      `pages of ${bytes} bytes`,
      of(`PRAGMA page_size=${bytes}; ${SOUND}`),
      new RegExp(`page size is ${bytes} bytes, and must be 4096`),
    ),
  ),
  file('auto-vacuum', of(`PRAGMA auto_vacuum=FULL; ${SOUND}`), /auto-vacuum/),
  file('incremental vacuum', of(`PRAGMA auto_vacuum=INCREMENTAL; ${SOUND}`), /auto-vacuum/),
  file(
    'other pages, in WAL mode',
    byteOf(`PRAGMA page_size=1024; ${SOUND}`, { 18: 2, 19: 2 }),
    /page size is 1024/,
    [T],
    SHELL,
  ),
  file(
    'UTF-16',
    async () => fileInShell(`PRAGMA encoding='UTF-16le'; ${SOUND}`),
    /UTF-16, and must be UTF-8/,
    [T],
    SHELL,
  ),
  file(
    'UTF-16, big-endian',
    async () => fileInShell(`PRAGMA encoding='UTF-16be'; ${SOUND}`),
    /UTF-16/,
    [T],
    SHELL,
  ),
  file(
    'reserved bytes',
    () =>
      fileBy((database, { capi, wasm }) => {
        const count = wasm.allocFromTypedArray(new Uint8Array([32, 0, 0, 0]));
        capi.sqlite3_file_control(database.pointer!, 'main', 38, count);
        database.exec(PAGES + SOUND);
      }),
    /reserves 32 bytes/,
    [T],
    SHELL,
  ),
  file(
    'a newer format, which can be read',
    byteOf(SOUND, { 18: 3 }),
    /versions are 3 and 1/,
    [T],
    SHELL,
  ),
  file(
    'all of these, and a view',
    of(
      `PRAGMA page_size=1024; PRAGMA auto_vacuum=FULL; ${SOUND} CREATE VIEW v AS SELECT sqlite_version()`,
    ),
    /3 faults.*page size.*auto-vacuum.*view "v"/,
  ),
];

const SCHEMAS: readonly Refused[] = [
  file(
    'a table of 101 columns',
    of(
      `${KV} CREATE TABLE wide(${list(101, column)}); INSERT INTO wide(c0, c99, c100) VALUES (1, 2, 3)`,
    ),
    /table "wide" exceeds a limit of objects.*at most 100 columns.*move the others to "wide_2"/,
    [['SELECT c0, c99, c100 FROM wide JOIN wide_2 ON "row" = wide.rowid', [[1, 2, 3]]]],
  ),
  file(
    'a table of 2,000 columns, with a key at its end, an index and a trigger',
    of(
      `CREATE TABLE wide_2(taken); CREATE TABLE wide(${list(1999, column)}, id INTEGER PRIMARY KEY);
       CREATE INDEX i ON wide(c3); CREATE INDEX far ON wide(c1500); CREATE TRIGGER tr AFTER INSERT ON wide BEGIN SELECT 1; END;
       INSERT INTO wide(id, c3, c1500) VALUES (9, 'three', 'far'), (5, 1, 2)`,
    ),
    /table "wide" exceeds a limit.*too many columns/,
    [
      [
        'SELECT id, c3 FROM wide ORDER BY id',
        [
          [5, 1],
          [9, 'three'],
        ],
      ],
      [
        "SELECT name FROM sqlite_schema WHERE tbl_name = 'wide' ORDER BY name",
        [['i'], ['tr'], ['wide']],
      ],
    ],
  ),
  file(
    'a view of 6 SELECTs',
    of(`${SOUND} CREATE VIEW v AS ${union(6)}`),
    /view "v" exceeds a limit of objects.*compound SELECT.*5 SELECTs/,
  ),
  file(
    'a trigger of 6 SELECTs',
    of(`${SOUND} CREATE TRIGGER tr AFTER INSERT ON t BEGIN ${union(6)}; END`),
    /trigger "tr" exceeds a limit of objects.*compound SELECT.*5 SELECTs/,
  ),
  file(
    'a view that nests deeply',
    of(`${SOUND} CREATE VIEW v AS SELECT ${nested(200)} FROM t`),
    /view "v" exceeds.*Expression tree/,
  ),
  file(
    'a CHECK that nests deeply',
    of(
      `CREATE TABLE t(id INTEGER PRIMARY KEY, x CHECK (${nested(200)} IS NOT 1)); INSERT INTO t VALUES (7, 'seven')`,
    ),
    /table "t" exceeds.*Expression tree/,
  ),
  file(
    'an index that nests deeply',
    of(`${SOUND} CREATE INDEX i ON t(${nested(200)})`),
    /index "i" exceeds.*Expression tree/,
  ),
  file(
    'a view with 128 arguments',
    of(`${SOUND} CREATE VIEW v AS SELECT max(${list(128, () => 'x')}) FROM t`),
    /view "v" exceeds.*too many arguments.*127/,
    [T],
    { by: 'wasm' },
  ),
  file(
    'a view of a long text',
    of(`${SOUND} CREATE VIEW v AS SELECT '${'a'.repeat(120_000)}'`),
    /view "v" exceeds.*100000 bytes/,
  ),
  file(
    'a view of a text that SQLite cannot load under an object’s limits',
    of(`${SOUND} CREATE VIEW v AS SELECT '${'a'.repeat(500_000)}'`),
    /view "v" exceeds.*100000 bytes/,
  ),
  file(
    'a forbidden function in a view',
    of(`${SOUND} CREATE VIEW v AS SELECT sqlite_version()`),
    /view "v" uses.*sqlite_version/,
  ),
  file(
    'a forbidden function in a trigger',
    of(`${SOUND} CREATE TRIGGER tr AFTER UPDATE ON t BEGIN SELECT unistr(new.x); END`),
    /trigger "tr" uses.*unistr/,
  ),
  file(
    'a forbidden function in a CHECK',
    of(
      `CREATE TABLE p(id INTEGER PRIMARY KEY); CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT NOT NULL DEFAULT 'none' CHECK (sqlite_version() <> x));
       CREATE TABLE child(t REFERENCES t(id) ON DELETE CASCADE); INSERT INTO child VALUES (7);
       CREATE INDEX i ON t(x); CREATE TRIGGER tr AFTER INSERT ON t BEGIN SELECT 1; END; INSERT INTO t VALUES (7, 'seven')`,
    ),
    /table "t" cannot be created here.*sqlite_version/,
    [
      T,
      ['SELECT * FROM child', [[7]]],
      ["SELECT name FROM sqlite_schema WHERE tbl_name = 't' ORDER BY name", [['i'], ['t'], ['tr']]],
      [
        'SELECT type, "notnull", dflt_value, pk FROM pragma_table_info(\'t\')',
        [
          ['INTEGER', 0, null, 1],
          ['TEXT', 1, "'none'", 0],
        ],
      ],
    ],
  ),
  file(
    'a forbidden function in a generated column, with an index on it',
    of(
      `CREATE TABLE t(id INTEGER PRIMARY KEY, y AS (unistr(x)), x); CREATE INDEX i ON t(y); CREATE INDEX j ON t(x); INSERT INTO t VALUES (7, 'seven')`,
    ),
    /table "t".*unistr/,
    [T, ["SELECT name FROM sqlite_schema WHERE type = 'index'", [['j']]]],
  ),
  file(
    'a forbidden function in an index',
    of(`${SOUND} CREATE INDEX i ON t(unistr(x))`),
    /index "i".*unistr/,
  ),
  file(
    'a forbidden function in a partial index',
    of(`${SOUND} CREATE INDEX i ON t(x) WHERE unistr(x) > 'a'`),
    /index "i".*unistr/,
  ),
  file(
    'a program’s function in a CHECK, generated columns and indexes',
    withOwnCode(
      `CREATE TABLE t(id INTEGER PRIMARY KEY, x CHECK (own(x) IS NOT NULL), y AS (own(x)), z AS (own(x)) STORED);
       INSERT INTO t VALUES (7, 'seven'); CREATE INDEX i ON t(own(x)); CREATE INDEX p ON t(x) WHERE own(x) > 'a'`,
    ),
    /table "t" cannot be created here.*no such function: own/,
  ),
  file(
    'a program’s function in an index alone',
    withOwnCode(`${SOUND} CREATE INDEX i ON t(own(x));`),
    /index "i" cannot be created here.*no such function: own/,
  ),
  file(
    'a program’s collation of a column',
    withOwnCode(
      "CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT COLLATE own UNIQUE); CREATE INDEX i ON t(x); INSERT INTO t VALUES (7, 'seven')",
    ),
    /table "t" cannot be created here.*no such collation sequence: own/,
  ),
  file(
    'a program’s collation of an index',
    withOwnCode(`${SOUND} CREATE INDEX i ON t(x COLLATE own);`),
    /index "i" cannot be created here.*no such collation/,
  ),
  file(
    'a program’s collation of a key without rowid, by that program',
    withOwnCode(
      "CREATE TABLE t(id TEXT COLLATE own PRIMARY KEY, x) WITHOUT ROWID; INSERT INTO t VALUES ('a', 1), ('b', 2)",
    ),
    /table "t" cannot be created here.*no such collation.*with the program that made the file/,
    [
      [
        'SELECT * FROM t',
        [
          ['a', 1],
          ['b', 2],
        ],
      ],
    ],
    { by: 'wasm', setUp: ownCode },
  ),
  file(
    'an fts4 table',
    async () =>
      fileInShell(
        `${SOUND} CREATE VIRTUAL TABLE f USING fts4(x, y); INSERT INTO f VALUES ('hello', 5);`,
      ),
    /table "f" cannot be created here.*make it a plain table with its rows/,
    [
      T,
      ['SELECT x, y FROM f', [['hello', 5]]],
      ["SELECT count(*) FROM sqlite_schema WHERE name GLOB 'f_*'", [[0]]],
    ],
    SHELL,
  ),
  file(
    'a module that SQLite lacks',
    withSchema(
      `${SOUND} CREATE TABLE v_data(x)`,
      schemaRow('table', 'v', 'v', 'CREATE VIRTUAL TABLE v USING vec0(x)').replace(', 2,', ', 0,'),
    ),
    /table "v" cannot be created.*virtual tables: fts5/,
  ),
  file(
    'an fts5 table with a program’s tokenizer',
    withSchema(
      `${SOUND} CREATE VIRTUAL TABLE f USING fts5(x); INSERT INTO f VALUES ('hello')`,
      "UPDATE sqlite_schema SET sql = 'CREATE VIRTUAL TABLE f USING fts5(x, tokenize=''own'')' WHERE name = 'f'",
    ),
    /table "f" cannot be created here.*tokenizer/,
    [T, ['SELECT c0 FROM f_content', [['hello']]]],
  ),
  file(
    'a stale table of statistics',
    withSchema(
      `${SOUND} CREATE TABLE stale(tbl, idx, sampleno, sample)`,
      "UPDATE sqlite_schema SET name = 'sqlite_stat2', tbl_name = 'sqlite_stat2', sql = 'CREATE TABLE sqlite_stat2(tbl, idx, sampleno, sample)' WHERE name = 'stale'",
    ),
    /sqlite_stat2/,
  ),
  file(
    'a WITHOUT ROWID table, a STRICT one and values that look like numbers',
    of(
      `CREATE TABLE t(k TEXT PRIMARY KEY CHECK (unistr(k) <> ''), v ANY) STRICT, WITHOUT ROWID; INSERT INTO t VALUES ('a', '007'), ('b', x'00')`,
    ),
    /table "t".*unistr/,
    [
      [
        'SELECT k, typeof(v), CAST(v AS TEXT) FROM t',
        [
          ['a', 'text', '007'],
          ['b', 'blob', '\0'],
        ],
      ],
      ["SELECT wr, strict FROM pragma_table_list('t')", [[1, 1]]],
    ],
  ),
  file(
    'names that need quotes',
    of(
      `CREATE TABLE "odd ""na'me" ("x ""y" CHECK (unistr("x ""y") <> ''), "order" DEFAULT "word"); INSERT INTO "odd ""na'me" VALUES ('1', 2);
       CREATE VIEW "select" AS SELECT unistr('a'); CREATE TABLE "größe; --"(x); CREATE TRIGGER "a
b" AFTER INSERT ON "größe; --" BEGIN SELECT unistr('a'); END; INSERT INTO "größe; --" VALUES ('ä')`,
    ),
    /3 faults/,
    [
      ['SELECT * FROM "odd ""na\'me"', [['1', 2]]],
      ['SELECT * FROM "größe; --"', [['ä']]],
    ],
  ),
];

const HIDDEN: readonly Refused[] = [
  file(
    'an unknown hidden table',
    of(
      `${SOUND} CREATE TABLE _cf_secret(x UNIQUE); CREATE INDEX i ON _cf_secret(x); INSERT INTO _cf_secret VALUES (5)`,
    ),
    /"_cf_secret".*begins with _cf_/,
    [T, ['SELECT x FROM cf_secret', [[5]]]],
  ),
  file(
    'a hidden table whose new name is taken',
    of(
      'CREATE TABLE CF_secret(x); CREATE TABLE _cf_secret(x); INSERT INTO _cf_secret VALUES (5); CREATE VIEW broken AS SELECT * FROM missing',
    ),
    /"_cf_secret"/,
    [['SELECT x FROM cf_secret_2', [[5]]]],
  ),
  file(
    'a hidden table of another shape',
    of("CREATE TABLE _cf_KV(key TEXT PRIMARY KEY, value); INSERT INTO _cf_KV VALUES ('a', 'b')"),
    /"_cf_KV"/,
    [['SELECT * FROM cf_KV', [['a', 'b']]]],
  ),
  file('a table called _cf', of(`${SOUND} CREATE TABLE _cf(x)`), /table "_cf"/),
  file(
    'a full text table called _CF',
    of("CREATE VIRTUAL TABLE _CF USING fts5(x); INSERT INTO _CF VALUES ('hello')"),
    /table "_CF"/,
    [["SELECT x FROM cf('hello')", [['hello']]]],
  ),
  file(
    'a view with a hidden name',
    of(
      `${SOUND} CREATE VIEW _cf_v AS SELECT 1; CREATE TRIGGER tr INSTEAD OF DELETE ON _cf_v BEGIN SELECT 1; END`,
    ),
    /view "_cf_v"/,
  ),
  file('an index on a hidden table', of(`${SOUND} CREATE INDEX i ON _cf_KV(value)`), /index "i"/),
  file('an index with a hidden name', of(`${SOUND} CREATE INDEX _cf_i ON t(x)`), /index "_cf_i"/),
  file(
    'a trigger on a hidden table',
    of(`${SOUND} CREATE TRIGGER tr AFTER INSERT ON _cf_KV BEGIN SELECT 1; END`),
    /trigger "tr"/,
  ),
  file(
    'triggers that write hidden tables, by way of others',
    of(
      `${SOUND} CREATE TABLE u(x REFERENCES t(id) ON DELETE CASCADE); CREATE VIEW v AS SELECT * FROM t;
       CREATE TRIGGER bad AFTER DELETE ON u BEGIN INSERT INTO _cf_KV VALUES ('a', x'30'); END;
       CREATE TRIGGER good AFTER DELETE ON u BEGIN SELECT 1; END;
       CREATE TRIGGER outer INSTEAD OF DELETE ON V BEGIN DELETE FROM u; END`,
    ),
    /^importDatabase: the trigger "bad" uses a name/,
    [
      T,
      [
        "SELECT name FROM sqlite_schema WHERE type = 'trigger' ORDER BY name",
        [['good'], ['outer']],
      ],
    ],
  ),
  file(
    'a view of a hidden table, and views of it',
    of(
      `${SOUND} CREATE VIEW outer AS SELECT * FROM inner; CREATE VIEW inner AS SELECT * FROM _cf_KV`,
    ),
    /^importDatabase: the view "inner" uses/,
    [T, ["SELECT name FROM sqlite_schema WHERE type = 'view'", [['outer']]]],
  ),
  file(
    'a trigger on a view in other letters',
    of(
      `${SOUND} CREATE VIEW v AS SELECT 1 AS x; CREATE TRIGGER tr INSTEAD OF DELETE ON V BEGIN DELETE FROM _cf_KV; END`,
    ),
    /trigger "tr" uses/,
  ),
  file(
    'a foreign key to a hidden table',
    of(
      `${KV} CREATE TABLE t(id INTEGER PRIMARY KEY, x REFERENCES _cf_KV(key) ON DELETE CASCADE); INSERT INTO t VALUES (7, 'seven')`,
    ),
    /"t" has a foreign key to "_cf_KV"/,
  ),
  file(
    'a forbidden trigger on a table with a foreign key to a hidden one',
    of(
      `${KV} CREATE TABLE t(id INTEGER PRIMARY KEY, x REFERENCES _cf_KV(key)); CREATE TRIGGER tr AFTER INSERT ON t BEGIN DELETE FROM _cf_KV; END; INSERT INTO t VALUES (7, 'seven')`,
    ),
    /2 faults.*table "t" has a foreign key.*trigger "tr" uses/,
  ),
  file(
    'a key that is a blob',
    of(`${SOUND} INSERT INTO _cf_KV VALUES (x'00', x'30')`),
    /key that is not text/,
    [T, ['SELECT hex(key), hex(value) FROM cf_KV', [['00', '30']]]],
  ),
  file(
    'a value that is a text',
    of(`${SOUND} INSERT INTO _cf_KV VALUES ('a', '0')`),
    /value that is not a blob/,
  ),
  file(
    'an alarm that is a text',
    of(`${SOUND} ${METADATA} INSERT INTO _cf_METADATA VALUES (1, 'soon')`),
    /alarm that is not a time/,
  ),
  file(
    'an alarm before time',
    of(`${SOUND} ${METADATA} INSERT INTO _cf_METADATA VALUES (1, -1)`),
    /alarm that is not a time/,
  ),
];

const DAMAGE: readonly Refused[] = [
  file(
    'an index that lacks a row',
    withSchema(
      `${SOUND} CREATE INDEX i ON t(x)`,
      "UPDATE sqlite_schema SET sql = 'CREATE INDEX i ON t(x) WHERE x IS NULL' WHERE name = 'i'; PRAGMA writable_schema=RESET; INSERT INTO t VALUES (8, 'eight'); PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = 'CREATE INDEX i ON t(x)' WHERE name = 'i'",
    ),
    /damaged: (row|wrong).*index/,
    [['SELECT x FROM t ORDER BY x', [['eight'], ['seven']]]],
  ),
  file(
    'a full text index of other rows',
    of(
      `${SOUND} CREATE VIRTUAL TABLE f USING fts5(x); INSERT INTO f VALUES ('hello'); UPDATE f_content SET c0 = 'bye'`,
    ),
    /damaged: (fts5: .* for table "f"|.*FTS5 table main.f).*make its index again/,
    [T, ["SELECT x FROM f('bye')", [['bye']]]],
  ),
  file(
    'pages that nothing uses',
    withSchema(
      `${SOUND} CREATE TABLE u(x); INSERT INTO u VALUES (zeroblob(80000))`,
      "DELETE FROM sqlite_schema WHERE name = 'u'",
    ),
    /never used/,
    [T],
    SHELL,
  ),
  file(
    'a wrong number of free pages',
    byteOf(`${SOUND} CREATE TABLE u(x); INSERT INTO u VALUES (zeroblob(80000)); DROP TABLE u`, {
      39: 3,
    }),
    /freelist/i,
    [T],
    SHELL,
  ),
  file(
    'a page in use that is listed as free',
    async () => {
      const made = await of(
        `${SOUND} CREATE TABLE u(x); INSERT INTO u VALUES (zeroblob(80000)); DROP TABLE u`,
      )();
      const view = new DataView(made.buffer, made.byteOffset);
      view.setUint32((view.getUint32(32) - 1) * 4096 + 8, 3); // the root of t
      return made;
    },
    /2nd reference to page 3/,
    [T],
    SHELL,
  ),
];

const ALL = [...HEADERS, ...SCHEMAS, ...HIDDEN, ...DAMAGE];

describe.each([
  ['plain SQLite', 'wasm'],
  ['the sqlite3 program', 'shell'],
] as const)('the program of a refused import, run by %s', (_, runner) => {
  for (const { name, make, message, kept, by = runner, setUp } of ALL) {
    if (by !== runner) continue;
    test.skipIf(runner === 'shell' && !hasShell)(`[MOVE16] mends ${name}`, async () => {
      const refused = await make();
      const error = await importFile(refused).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({
        code: 'IMPORT_INVALID',
        message: expect.stringMatching(message),
      });
      const program = programIn((error as Error).message);
      expect(program).not.toEqual([]);
      await importFile(await mended(refused, program, runner === 'shell', setUp));
      for (const [sql, expected] of kept) expect(await rows(sql)).toEqual(expected);
    });
  }
});
