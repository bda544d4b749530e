// The answers to SQLite about its files: results and errors of each call, time, and calls without a
// file.

import type { Database, Sqlite3Static } from '@sqlite.org/sqlite-wasm';
import { afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { logVfsOf, startOfficial } from '../../../packages/testing/worker/official-sqlite.ts';
import { loadSqliteInNode } from '../../../packages/testing/worker/sqlite.ts';
import { storageError } from '../../../src/shared/contract/errors.ts';
import type { DatabaseFile } from '../file/file.ts';
import { LOG_PRAGMAS, type LogVfs } from './log-vfs.ts';

let sqlite3: Sqlite3Static;
let vfs: LogVfs;

beforeAll(async () => {
  const official = await startOfficial();
  sqlite3 = official.sqlite3;
  vfs = logVfsOf(official);
});

type Call = keyof DatabaseFile;

/** A database file in memory that notes its calls, each of which can be made to throw. */
class NotingFile implements DatabaseFile {
  #bytes = new Uint8Array(0);
  calls: Call[] = [];
  failures: Partial<Record<Call, unknown>> = {};

  read(target: Uint8Array, offset: number): boolean {
    this.#note('read');
    const found = this.#bytes.subarray(offset, offset + target.length);
    target.fill(0);
    target.set(found);
    return found.length === target.length;
  }

  write(bytes: Uint8Array, offset: number): void {
    this.#note('write');
    if (offset + bytes.length > this.#bytes.length) this.#resize(offset + bytes.length);
    this.#bytes.set(bytes, offset);
  }

  truncate(sizeBytes: number): void {
    this.#note('truncate');
    this.#resize(sizeBytes);
  }

  sizeBytes(): number {
    this.#note('sizeBytes');
    return this.#bytes.length;
  }

  commit(): void {
    this.#note('commit');
  }

  endRollback(): void {
    this.#note('endRollback');
  }

  count(call: Call): number {
    return this.calls.filter((each) => each === call).length;
  }

  #resize(sizeBytes: number): void {
    const bytes = new Uint8Array(sizeBytes);
    bytes.set(this.#bytes.subarray(0, sizeBytes));
    this.#bytes = bytes;
  }

  #note(call: Call): void {
    this.calls.push(call);
    if (call in this.failures) throw this.failures[call];
  }
}

let file: NotingFile;
let name: string;
let db: Database;

beforeEach(() => {
  // sqlite-wasm reports every failed step on the console; the failures here are intended.
  vi.spyOn(console, 'error').mockImplementation(() => {});
  vi.spyOn(console, 'warn').mockImplementation(() => {});
  file = new NotingFile();
  name = vfs.attach(file);
  db = new sqlite3.oo1.DB({ filename: name, vfs: vfs.name, flags: 'c' });
  for (const pragma of LOG_PRAGMAS) db.exec(pragma);
  db.exec('CREATE TABLE t(a)');
  file.calls = [];
});

afterEach(() => {
  file.failures = {};
  db.close();
  vfs.detach(name);
  vi.restoreAllMocks();
});

const codeOf = (run: () => unknown): unknown => {
  try {
    run();
  } catch (error) {
    return sqlite3.capi.sqlite3_js_rc_str((error as { resultCode: number }).resultCode);
  }
  return undefined;
};

test('[LOG18] the settings of a connection are those of the log', () => {
  const pragma = (setting: string) => db.selectValue(`PRAGMA ${setting}`);
  expect(pragma('page_size')).toBe(4096);
  expect(pragma('journal_mode')).toBe('memory');
  expect(pragma('locking_mode')).toBe('exclusive');
  expect(pragma('synchronous')).toBe(1);
  expect(pragma('temp_store')).toBe(2);
});

test.each([
  ['write', 'INSERT INTO t VALUES(1)', 'SQLITE_IOERR_WRITE'],
  ['commit', 'INSERT INTO t VALUES(1)', 'SQLITE_IOERR_FSYNC'],
] as const)(
  '[LOG18] a %s that fails with IO is the result code of that call',
  (call, sql, code) => {
    const error = storageError('IO', 'failed by the test');
    file.failures = { [call]: error };
    expect(codeOf(() => db.exec(sql))).toBe(code);
    expect(vfs.takeError(name)).toBe(error);
  },
);

test('[LOG18] reading, truncating and sizes that fail with IO are the result codes of these calls', () => {
  db.exec('INSERT INTO t VALUES(zeroblob(200000)); DELETE FROM t');
  db.exec('PRAGMA shrink_memory');
  const error = storageError('IO', 'failed by the test');
  file.failures = { truncate: error };
  expect(codeOf(() => db.exec('VACUUM'))).toBe('SQLITE_IOERR_TRUNCATE');
  expect(vfs.takeError(name)).toBe(error);
  file.failures = { read: error };
  db.exec('PRAGMA shrink_memory');
  expect(codeOf(() => db.selectValue('SELECT count(*) FROM t'))).toBe('SQLITE_IOERR_READ');
  expect(vfs.takeError(name)).toBe(error);
  file.failures = { sizeBytes: error };
  const other = new sqlite3.oo1.DB({ filename: name, vfs: vfs.name, flags: 'c' });
  expect(codeOf(() => other.selectValue('SELECT count(*) FROM t'))).toBe('SQLITE_IOERR_FSTAT');
  expect(vfs.takeError(name)).toBe(error);
  other.close();
});

test('[LOG18] a defect of a file is INTERNAL, with its cause', () => {
  const cause = new TypeError('a defect');
  file.failures = { commit: cause };
  expect(() => db.exec('INSERT INTO t VALUES(1)')).toThrow();
  expect(vfs.takeError(name)).toMatchObject({
    code: 'INTERNAL',
    message: expect.stringContaining('TypeError: a defect'),
    cause,
  });
});

test('[LOG18] nothing is known of a name that is not attached', () => {
  expect(vfs.takeError('/never')).toBeUndefined();
});

test('[LOG19] a rollback of pages that SQLite has written ends as one, and commits nothing', () => {
  db.exec('PRAGMA cache_size=5');
  db.exec('BEGIN');
  for (let i = 0; i < 40; i++) db.exec(`INSERT INTO t VALUES(zeroblob(4000))`);
  expect(file.count('write')).toBeGreaterThan(0);
  db.exec('ROLLBACK');
  expect([file.count('commit'), file.count('endRollback')]).toEqual([0, 1]);
  db.exec('INSERT INTO t VALUES(1)');
  expect([file.count('commit'), file.count('endRollback')]).toEqual([1, 1]);
  expect(db.selectValue('SELECT count(*) FROM t')).toBe(1);
});

test('[LOG19] the first transaction of a file may be rolled back', () => {
  const fresh = new NotingFile();
  const address = vfs.attach(fresh);
  const other = new sqlite3.oo1.DB({ filename: address, vfs: vfs.name, flags: 'c' });
  for (const pragma of LOG_PRAGMAS) other.exec(pragma);
  other.exec('PRAGMA cache_size=5; BEGIN; CREATE TABLE t(a)');
  for (let i = 0; i < 40; i++) other.exec('INSERT INTO t VALUES(zeroblob(4000))');
  other.exec('ROLLBACK');
  expect([fresh.count('commit'), fresh.count('endRollback')]).toEqual([0, 1]);
  other.close();
  vfs.detach(address);
});

test('[LOG19] VACUUM commits its pages, and makes the file shorter; a rollback after it is one', () => {
  for (let i = 0; i < 40; i++) db.exec('INSERT INTO t VALUES(zeroblob(4000))');
  db.exec('DELETE FROM t');
  const before = file.sizeBytes();
  file.calls = [];
  db.exec('VACUUM');
  expect(file.count('commit')).toBeGreaterThan(0);
  expect(file.count('endRollback')).toBe(0);
  expect(file.sizeBytes()).toBeLessThan(before);
  file.calls = [];
  db.exec('PRAGMA cache_size=5; BEGIN');
  for (let i = 0; i < 40; i++) db.exec('INSERT INTO t VALUES(zeroblob(4000))');
  db.exec('ROLLBACK');
  expect([file.count('commit'), file.count('endRollback')]).toEqual([0, 1]);
});

test('[LOG18] a journal of its own is refused, and nothing is written', () => {
  db.exec('PRAGMA journal_mode=DELETE');
  expect(codeOf(() => db.exec('INSERT INTO t VALUES(1)'))).toBe('SQLITE_CANTOPEN');
  expect([file.count('write'), file.count('commit')]).toEqual([0, 0]);
});

test('[LOG18] the same file is there when it is opened again', () => {
  db.exec("INSERT INTO t VALUES('kept')");
  db.close();
  db = new sqlite3.oo1.DB({ filename: name, vfs: vfs.name, flags: 'c' });
  for (const pragma of LOG_PRAGMAS) db.exec(pragma);
  expect(db.selectValue('SELECT a FROM t')).toBe('kept');
});

test("[LOG18] SQLite's time is the platform's, to the millisecond", () => {
  for (const iso of ['2030-01-02T03:04:05.678', '1970-01-01T00:00:00.000']) {
    vi.spyOn(Date, 'now').mockReturnValue(Date.parse(`${iso}Z`));
    expect(db.selectValue("SELECT strftime('%Y-%m-%dT%H:%M:%f', 'now')")).toBe(iso);
    expect(db.selectValue("SELECT unixepoch('now')")).toBe(Math.floor(Date.now() / 1000));
  }
});

test("[LOG18] SQLite's random numbers have a seed of the platform, another one each time", async () => {
  const { exports, memory } = await loadSqliteInNode();
  // SQLite's own generator gives the same numbers after the same seed.
  const firstNumber = () => {
    exports.sqlite3_randomness(0, 0);
    const at = memory.scratch(8);
    exports.sqlite3_randomness(8, at);
    return memory.u8.slice(at, at + 8).join();
  };
  expect(new Set([firstNumber(), firstNumber(), firstNumber()]).size).toBe(3);
  const seed = vi.spyOn(crypto, 'getRandomValues').mockImplementation((bytes) => bytes);
  const [first, again] = [firstNumber(), firstNumber()];
  expect(again).toBe(first);
  // The whole seed counts: another last byte gives other numbers.
  seed.mockImplementation((bytes) => {
    (bytes as Uint8Array).set([1], bytes!.byteLength - 1);
    return bytes;
  });
  expect(firstNumber()).not.toBe(first);
});

test('[LOG18] from the first call on, every call of a database reaches its file', async () => {
  const official = await startOfficial();
  const fresh = logVfsOf(official);
  const noted = new NotingFile();
  const address = fresh.attach(noted);
  const open = () => {
    const opened = new official.sqlite3.oo1.DB({ filename: address, vfs: fresh.name, flags: 'c' });
    for (const pragma of LOG_PRAGMAS) opened.exec(pragma);
    return opened;
  };
  let other = open();
  other.exec('CREATE TABLE t(a); INSERT INTO t VALUES(zeroblob(200000)), (1)');
  other.exec('DELETE FROM t WHERE length(a) > 1; VACUUM; PRAGMA cache_size=5; BEGIN');
  for (let i = 0; i < 40; i++) other.exec('INSERT INTO t VALUES(zeroblob(4000))');
  other.exec('ROLLBACK');
  other.close();
  other = open();
  expect(other.selectValues('SELECT a FROM t')).toEqual([1]);
  other.close();
  expect(new Set(noted.calls)).toEqual(
    new Set(['read', 'write', 'truncate', 'sizeBytes', 'commit', 'endRollback']),
  );
  expect(noted.sizeBytes()).toBe(2 * 4096);
  fresh.detach(address);
});
