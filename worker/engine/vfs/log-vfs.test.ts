import type { Sqlite3Static } from '@sqlite.org/sqlite-wasm';
import { beforeAll, expect, test, vi } from 'vitest';
import { logVfsOf, startOfficial } from '../../../packages/testing/worker/official-sqlite.ts';
import { storageError } from '../../../src/shared/contract/errors.ts';
import type { DatabaseFile } from '../file/file.ts';
import { LOG_PRAGMAS, type LogVfs } from './log-vfs.ts';

let sqlite3: Sqlite3Static;
let vfs: LogVfs;

beforeAll(async () => {
  vi.spyOn(console, 'error').mockImplementation(() => {});
  vi.spyOn(console, 'warn').mockImplementation(() => {});
  const official = await startOfficial();
  sqlite3 = official.sqlite3;
  vfs = logVfsOf(official);
});

/** A database file in memory, whose calls can be made to throw. */
class PlainFile implements DatabaseFile {
  #bytes = new Uint8Array(0);
  commits = 0;
  rollbacks = 0;
  failure: { readonly call: 'read' | 'write' | 'commit'; readonly error: Error } | null = null;

  read(target: Uint8Array, offset: number): boolean {
    this.#mayFail('read');
    const found = this.#bytes.subarray(offset, offset + target.length);
    target.fill(0);
    target.set(found);
    return found.length === target.length;
  }

  write(bytes: Uint8Array, offset: number): void {
    this.#mayFail('write');
    if (offset + bytes.length > this.#bytes.length) this.truncate(offset + bytes.length);
    this.#bytes.set(bytes, offset);
  }

  truncate(sizeBytes: number): void {
    const bytes = new Uint8Array(sizeBytes);
    bytes.set(this.#bytes.subarray(0, sizeBytes));
    this.#bytes = bytes;
  }

  sizeBytes(): number {
    return this.#bytes.length;
  }

  commit(): void {
    this.#mayFail('commit');
    this.commits++;
  }

  endRollback(): void {
    this.rollbacks++;
  }

  #mayFail(call: string): void {
    if (this.failure?.call === call) throw this.failure.error;
  }
}

function open(file: DatabaseFile) {
  const name = vfs.attach(file);
  const db = new sqlite3.oo1.DB({ filename: name, vfs: vfs.name, flags: 'c' });
  for (const pragma of LOG_PRAGMAS) db.exec(pragma);
  return { name, db };
}

test('[LOG4] every transaction of SQLite is one sync, whatever its size', () => {
  const file = new PlainFile();
  const { db } = open(file);
  db.exec('CREATE TABLE t(a)');
  file.commits = 0;
  db.exec('INSERT INTO t VALUES(1)');
  db.exec('BEGIN; INSERT INTO t VALUES(2); INSERT INTO t VALUES(zeroblob(100000)); COMMIT');
  expect(file.commits).toBe(2);
  db.close();
});

test('[LOG18] two databases of one VFS hold different things', () => {
  const [one, other] = [open(new PlainFile()), open(new PlainFile())];
  one.db.exec('CREATE TABLE t(a); INSERT INTO t VALUES(1)');
  other.db.exec('CREATE TABLE t(a); INSERT INTO t VALUES(2)');
  for (const { db } of [one, other]) db.exec('PRAGMA shrink_memory');
  expect([one, other].map(({ db }) => db.selectValues('SELECT a FROM t'))).toEqual([[1], [2]]);
  one.db.close();
  other.db.close();
});

test('[LOG18] a name that is not attached, or is no more, cannot be opened', () => {
  const { name, db } = open(new PlainFile());
  db.close();
  vfs.detach(name);
  for (const filename of [name, '/never']) {
    expect(() => new sqlite3.oo1.DB({ filename, vfs: vfs.name, flags: 'c' })).toThrow(/CANTOPEN/);
  }
});

test.each([
  ['commit', 'DISK_FULL', /SQLITE_FULL/],
  ['commit', 'MEMORY_FULL', /SQLITE_FULL/],
  ['commit', 'IO', /SQLITE_IOERR/],
  ['read', 'CORRUPT', /SQLITE_CORRUPT/],
] as const)(
  '[LOG18] a %s that throws %s is a result code, and the error is kept',
  (call, code, text) => {
    const file = new PlainFile();
    const { name, db } = open(file);
    db.exec('CREATE TABLE t(a)');
    db.exec('INSERT INTO t VALUES(zeroblob(20000))');
    const error = storageError(code, 'failed by the test');
    file.failure = { call, error };
    db.exec('PRAGMA shrink_memory');
    const statement = call === 'read' ? 'SELECT sum(length(a)) FROM t' : 'INSERT INTO t VALUES(1)';
    expect(() => db.exec(statement)).toThrow(text);
    expect(vfs.takeError(name)).toBe(error);
    expect(vfs.takeError(name)).toBeUndefined();
    file.failure = null;
    expect(db.selectValue('SELECT count(*) FROM t')).toBe(1);
    db.close();
  },
);

test('[LOG18] temporary tables, sorting and VACUUM need no file', () => {
  const { db } = open(new PlainFile());
  db.exec('PRAGMA cache_size=5; CREATE TABLE t(a); CREATE TEMP TABLE u(b)');
  db.exec(
    'INSERT INTO t SELECT hex(randomblob(100)) FROM (WITH RECURSIVE n(i) AS ' +
      '(SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) SELECT i FROM n)',
  );
  db.exec('INSERT INTO u SELECT a FROM t ORDER BY a; VACUUM');
  expect(db.selectValue('SELECT count(*) FROM u')).toBe(3000);
  expect(db.selectValue('PRAGMA integrity_check')).toBe('ok');
  db.close();
});
