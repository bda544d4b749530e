// Refusals of files that no program mends as they are, with the way out that each one names; and many faults at once.

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  makeFile,
  makeWal,
  walTransaction,
} from '../../../packages/testing/worker/foreign-files.ts';
import { hasShell, mended, programIn } from '../../../packages/testing/worker/mended-file.ts';
import { createTestHost, type TestHost } from '../../../packages/testing/worker/test-host.ts';

let host: TestHost;
beforeEach(async () => {
  host = await createTestHost();
  await host.run(({ storage }) => storage.put('old', 1));
});
afterEach(() => host.close());

const SOUND = "CREATE TABLE t(x); INSERT INTO t VALUES ('seven');";
const importFile = (file: Uint8Array, wal: Uint8Array | null = null) =>
  host.host.importDatabase(host.address(), file, wal);
const rows = (sql: string) =>
  host.run(({ storage }) => storage.sql.exec(sql).raw().toArray() as unknown[][]);

async function refusal(file: Uint8Array, wal: Uint8Array | null = null): Promise<string> {
  const error = await importFile(file, wal).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'IMPORT_INVALID' });
  return (error as Error).message;
}

function changed(bytes: Uint8Array, changes: Readonly<Record<number, number>>): Uint8Array {
  const copy = bytes.slice();
  for (const [at, byte] of Object.entries(changes)) copy[Number(at)] = byte;
  return copy;
}

function longer(bytes: Uint8Array, by: number): Uint8Array {
  const copy = new Uint8Array(bytes.length + by).fill(7);
  copy.set(bytes);
  return copy;
}

describe('bytes behind the last page', () => {
  test.for([1, 100, 4095, 4096, 10_000])(
    '[MOVE17] %s of them are left away, where the header counts the pages',
    async (bytes) => {
      const sound = await makeFile(SOUND);
      await importFile(longer(sound, bytes));
      expect(await rows('SELECT * FROM t')).toEqual([['seven']]);
      expect((await host.host.exportDatabase(host.address())).length).toBe(sound.length);
    },
  );

  test('[MOVE17] a file of no whole pages that its header does not count is cut off, or has more', async () => {
    const uncounted = changed(await makeFile(SOUND), { 27: 9, 95: 8 });
    expect(await refusal(longer(uncounted, 100))).toMatch(
      /cut off: it has 8292 bytes and needs 12288.*copy it again.*unless bytes were added to whole pages: then cut those off/,
    );
    await importFile(longer(uncounted, 100).subarray(0, 8192));
    expect(await rows('SELECT * FROM t')).toEqual([['seven']]);
  });
});

describe('files that are no database', () => {
  test.for<[string, (sound: Uint8Array) => Uint8Array, RegExp]>([
    [
      'an empty one',
      () => new Uint8Array(),
      /0 bytes are not.*pass its -wal file too.*deleteAll\(\)/,
    ],
    [
      'a text of SQL',
      () => new TextEncoder().encode(SOUND),
      /not a SQLite database.*sqlite3 -safe new\.sqlite < dump\.sql/,
    ],
    ['a few bytes', () => new Uint8Array([1, 2]), /2 bytes are not a SQLite database/],
    [
      'a WAL',
      (sound) => makeWal([walTransaction(new Uint8Array(), sound)]),
      /these bytes are a -wal file; pass the database.*second argument/,
    ],
    [
      'a rollback journal',
      () => changed(new Uint8Array(512), { 0: 0xd9, 1: 0xd5, 2: 5, 3: 0xf9 }),
      /these bytes are a -journal file; pass the database/,
    ],
    [
      'a header with pages of 3 bytes',
      (sound) => changed(sound, { 16: 0, 17: 3 }),
      /header of the file is damaged; use another copy/,
    ],
    [
      'a header with encoding 7',
      (sound) => changed(sound, { 59: 7 }),
      /header of the file is damaged/,
    ],
    [
      'a header of a later schema',
      (sound) => changed(sound, { 47: 5 }),
      /header of the file is damaged/,
    ],
    [
      'a format that cannot be read',
      (sound) => changed(sound, { 18: 3, 19: 3 }),
      /versions are 3 and 3.*journal_mode=DELETE with the program that wrote it/,
    ],
    [
      'a damaged page',
      (sound) => sound.slice().fill(0, 4096),
      /damaged|cannot read.*-journal or -wal file.*another copy/,
    ],
    [
      'a file without its end',
      (sound) => sound.subarray(0, 8000),
      /cut off: it has 8000 bytes and needs 8192; copy it again/,
    ],
  ])('[MOVE17] %s is named, with its way out', async ([, make, message]) => {
    const told = await refusal(make(await makeFile(SOUND)));
    expect(told).toMatch(message);
    expect(programIn(told)).toEqual([]);
  });

  test('[MOVE17] a schema that SQLite cannot read names its part', async () => {
    const file = await makeFile(
      `${SOUND} CREATE VIEW v AS SELECT 1; PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = 'CREATE VIEW v AS SELEC 1' WHERE name = 'v'`,
    );
    expect(await refusal(file)).toMatch(
      /malformed database schema \(v\).*drop "v" with the program that made the file/,
    );
  });
});

test.for<[string, string, string, RegExp]>([
  [
    'equal rows of a unique index',
    'CREATE TABLE t(x); INSERT INTO t VALUES (1), (1); CREATE INDEX i ON t(x);',
    'CREATE UNIQUE INDEX i ON t(x)',
    /damaged: non-unique entry in index i; change or delete these rows/,
  ],
  [
    'a NULL that its column does not allow',
    'CREATE TABLE i(x); INSERT INTO i VALUES (NULL);',
    'CREATE TABLE i(x NOT NULL)',
    /damaged: NULL value in i\.x; change or delete/,
  ],
  [
    'a text in a STRICT column of numbers',
    "CREATE TABLE i(x INT); INSERT INTO i VALUES ('a');",
    'CREATE TABLE i(x INT) STRICT',
    /damaged: non-INT value in i\.x; change or delete/,
  ],
  [
    'a table of SQLite’s own in another shape',
    'CREATE TABLE i(x INTEGER PRIMARY KEY AUTOINCREMENT);',
    '',
    /"sqlite_sequence" cannot be created here.*changed by hand: use another copy/,
  ],
])('[MOVE17] %s: no program could know', async ([, sql, text, message]) => {
  const [name, changedText] =
    text === '' ? ['sqlite_sequence', 'CREATE TABLE sqlite_sequence(name)'] : ['i', text];
  const file = await makeFile(
    `${sql} PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = '${changedText}' WHERE name = '${name}'`,
  );
  const told = await refusal(file);
  expect(told).toMatch(message);
  expect(programIn(told)).toEqual([]);
});

describe('files beside the database', () => {
  /** A copy of a database and of its journal, in the middle of a transaction. */
  function copiedInTransaction(folder: string): [database: Uint8Array, journal: Uint8Array] {
    execFileSync('sqlite3', ['live.sqlite'], {
      cwd: folder,
      input: `CREATE TABLE t(x); INSERT INTO t WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 20000) SELECT 'old' FROM c;
PRAGMA cache_size=5; BEGIN; UPDATE t SET x = 'new';
.system cp live.sqlite file.sqlite; cp live.sqlite-journal file.sqlite-journal
ROLLBACK;`,
      stdio: 'pipe',
    });
    return [
      readFileSync(join(folder, 'file.sqlite')),
      readFileSync(join(folder, 'file.sqlite-journal')),
    ];
  }

  test.skipIf(!hasShell)(
    '[MOVE17] a journal is named, and SQLite takes its transaction back',
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'journal-'));
      try {
        const [database, journal] = copiedInTransaction(folder);
        const told = await refusal(database, journal);
        expect(told).toMatch(/is a rollback journal: a transaction was under way.*copy both files/);
        execFileSync('sqlite3', ['-bail', 'file.sqlite'], {
          cwd: folder,
          input: programIn(told).join('\n'),
          stdio: 'pipe',
        });
        await importFile(readFileSync(join(folder, 'file.sqlite')));
        expect(await rows('SELECT x, count(*) FROM t GROUP BY x')).toEqual([['old', 20_000]]);
      } finally {
        rmSync(folder, { recursive: true });
      }
    },
  );

  test.skipIf(!hasShell)('[MOVE16] a file in WAL mode is mended with its WAL', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'wal-'));
    try {
      for (const bytes of [1024, 4096]) {
        execFileSync('sqlite3', ['live.sqlite'], {
          cwd: folder,
          input: `PRAGMA page_size=${bytes}; PRAGMA journal_mode=WAL; CREATE TABLE t(x); CREATE VIEW v AS SELECT sqlite_version();
INSERT INTO t VALUES ('seven');
.system cp live.sqlite file.sqlite; cp live.sqlite-wal file.sqlite-wal`,
          stdio: 'pipe',
        });
        const files = ['file.sqlite', 'file.sqlite-wal'].map((name) =>
          readFileSync(join(folder, name)),
        );
        let told = await refusal(files[0]!, files[1]!);
        expect(told).toMatch(/on a copy of the file with its -wal beside it/);
        execFileSync('sqlite3', ['-bail', 'file.sqlite'], {
          cwd: folder,
          input: programIn(told).join('\n'),
          stdio: 'pipe',
        });
        let result: Uint8Array = readFileSync(join(folder, 'file.sqlite'));
        if (bytes !== 4096) {
          // Pages of other sizes are not merged with a WAL here: the rest is checked then.
          told = await refusal(result);
          result = await mended(result, programIn(told), true);
        }
        await importFile(result);
        expect(await rows('SELECT * FROM t')).toEqual([['seven']]);
        rmSync(join(folder, 'live.sqlite'));
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test.skipIf(!hasShell)('[MOVE16] a text of SQL becomes a file as its refusal says', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'text-'));
    try {
      writeFileSync(join(folder, 'dump.sql'), SOUND);
      const told = await refusal(readFileSync(join(folder, 'dump.sql')));
      const command = /(sqlite3 -safe new\.sqlite < dump\.sql)/.exec(told)![1]!;
      execFileSync('sh', ['-c', command], { cwd: folder });
      await importFile(readFileSync(join(folder, 'new.sqlite')));
      expect(await rows('SELECT * FROM t')).toEqual([['seven']]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('many faults', () => {
  test('[MOVE16] faults of every kind are named at once, and one program mends them', async () => {
    const columns = Array.from({ length: 130 }, (_, i) => `c${i}`).join(', ');
    const file = await makeFile(
      `PRAGMA page_size=8192; PRAGMA auto_vacuum=FULL;
       CREATE TABLE _cf_KV (key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID; INSERT INTO _cf_KV VALUES ('new', x'ff0f4904'), ('bad', 5);
       CREATE TABLE wide(${columns}); INSERT INTO wide(c0, c129) VALUES (1, 2); CREATE INDEX on_wide ON wide(c0);
       CREATE TABLE checked(x CHECK (unistr(x) <> '')); INSERT INTO checked VALUES ('kept');
       CREATE TABLE _cf_secret(x); INSERT INTO _cf_secret VALUES (3);
       CREATE VIEW many AS ${Array(6).fill('SELECT 1').join(' UNION ALL ')};
       CREATE TRIGGER tr AFTER INSERT ON wide BEGIN DELETE FROM _cf_KV; END;
       CREATE TABLE t(x); INSERT INTO t VALUES ('seven'); CREATE INDEX i ON t(x);
       PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = 'CREATE INDEX i ON t(x) WHERE x IS NULL' WHERE name = 'i'; PRAGMA writable_schema=RESET;
       INSERT INTO t VALUES ('eight'); PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = 'CREATE INDEX i ON t(x)' WHERE name = 'i';`,
    );
    const told = await refusal(file);
    expect(told).toMatch(/^importDatabase: the file has 9 faults\. \(1\)/);
    for (const part of [
      'page size',
      'auto-vacuum',
      '"wide"',
      '"checked"',
      '"_cf_secret"',
      '"many"',
      '"tr"',
      'index i',
      '_cf_KV holds',
    ]) {
      expect(told).toContain(part);
    }
    await importFile(await mended(file, programIn(told)));
    expect(await rows('SELECT c0, c129 FROM wide JOIN wide_2 ON "row" = wide.rowid')).toEqual([
      [1, 2],
    ]);
    expect(await rows('SELECT * FROM checked JOIN cf_secret')).toEqual([['kept', 3]]);
    expect(await rows('SELECT x FROM t ORDER BY x')).toEqual([['eight'], ['seven']]);
    expect(await rows('SELECT * FROM cf_KV')).toEqual([['bad', 5]]);
    expect(await host.run(({ storage }) => storage.get('new'))).toBe(2);
  });

  test('[MOVE17] with damaged pages no program is told, which would write into them', async () => {
    const file = await makeFile(`${SOUND} CREATE VIEW v AS SELECT sqlite_version();`);
    const told = await refusal(changed(file, { 4096: 0 }));
    expect(told).toMatch(/2 faults.*view "v".*(damaged|cannot read).*another copy/);
    expect(programIn(told)).toEqual([]);
  });

  /** It would be run by the sqlite3 program if it were a line of its own. */
  const SHELL_LINE = '\n.shell touch MADE\n';
  test.for<[string, string, string]>([
    ['a type', `view v;${SHELL_LINE}`, 'VIEW v AS SELECT sqlite_version()'],
    ['a second statement', 'table', `TABLE v(x CHECK (unistr(x)));${SHELL_LINE}`],
    [
      'the options of a table',
      'table',
      `TABLE v(x TEXT CHECK (unistr(x))) STRICT; SELECT 1;/*${SHELL_LINE}*/`,
    ],
    ['a type of a column', 'table', `TABLE v(x "INT);${SHELL_LINE}--" CHECK (unistr(x)))`],
    ['a default', 'table', `TABLE v(x DEFAULT ";${SHELL_LINE}" CHECK (unistr(x)))`],
    ['a column', 'table', `TABLE v("x;${SHELL_LINE}" CHECK (unistr(1)))`],
    ['a collation', 'table', `TABLE v(x COLLATE "c${SHELL_LINE}")`],
    ['a function', 'view', `VIEW v AS SELECT "f${SHELL_LINE}"(1) FROM t`],
    [
      'a second statement of an index that is made again',
      'index',
      `INDEX v ON w(x);/*${SHELL_LINE}*/`,
    ],
    ['a comment of an index', 'index', `INDEX v ON w(x) /* ; */ -- ${SHELL_LINE}`.slice(0, -1)],
  ])('[MOVE16] the program runs nothing that is in the file: %s', async ([row, type, text]) => {
    const made =
      type === 'index' ? 'INDEX v ON w(x)' : type === 'table' ? 'TABLE v(x)' : 'VIEW v AS SELECT 1';
    const file = await makeFile(
      `${SOUND} CREATE TABLE w(x CHECK (unistr(x) <> '')); CREATE ${made}; PRAGMA writable_schema=ON;
       UPDATE sqlite_schema SET type = '${type}', sql = '${`CREATE ${text}`.replaceAll("'", "''")}' WHERE name = 'v';`,
    );
    const told = await refusal(file);
    const program = programIn(told);
    // Objects of an unknown type, and a schema that SQLite cannot read, are refused without a program.
    expect(program.length > 0).toBe(!['a type', 'a comment of an index'].includes(row));
    if (!hasShell) return;
    const folder = mkdtempSync(join(tmpdir(), 'hostile-'));
    try {
      writeFileSync(join(folder, 'file.sqlite'), file);
      spawnSync('sqlite3', ['file.sqlite'], { cwd: folder, input: program.join('\n') });
      expect(readdirSync(folder)).toEqual(['file.sqlite']);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test.skipIf(!hasShell)('[MOVE16] the copy of a file runs nothing that is in it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'hostile-'));
    try {
      const sql = `PRAGMA encoding='UTF-16'; CREATE TABLE v(x); PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = 'CREATE TABLE v(x);${SHELL_LINE}'`;
      execFileSync('sqlite3', ['file.sqlite'], { cwd: folder, input: sql });
      const [command] = programIn(await refusal(readFileSync(join(folder, 'file.sqlite'))));
      spawnSync('sh', ['-c', command!], { cwd: folder });
      expect(readdirSync(folder)).not.toContain('MADE');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('[MOVE16] the first 10 are described, the program mends all', async () => {
    const views = Array.from(
      { length: 15 },
      (_, i) => `CREATE VIEW v${i} AS SELECT sqlite_version();`,
    );
    const file = await makeFile(SOUND + views.join(''));
    const told = await refusal(file);
    expect(told).toMatch(/15 faults\..*\(10\) the view "v9".*… and 5 more\./);
    expect(told).not.toContain('(11)');
    await importFile(await mended(file, programIn(told)));
    expect(await rows('SELECT * FROM t')).toEqual([['seven']]);
  });

  test('[MOVE16] a program is bounded, tells how many faults it mends, and ends with the last', async () => {
    const name = 'n'.repeat(990);
    const views = Array.from(
      { length: 40 },
      (_, i) => `CREATE VIEW ${name}${i} AS SELECT sqlite_version();`,
    );
    let file = await makeFile(SOUND + views.join(''));
    const told: string[] = [];
    for (let left = 40; left > 0; ) {
      told.push(await refusal(file));
      expect(told.at(-1)!.length).toBeLessThan(21_000);
      left -= Number(/which mends (\d+) of them/.exec(told.at(-1)!)?.[1] ?? left);
      file = await mended(file, programIn(told.at(-1)!));
    }
    expect(told).toHaveLength(3);
    await importFile(file);
    expect(await rows('SELECT * FROM t')).toEqual([['seven']]);
  });
});
