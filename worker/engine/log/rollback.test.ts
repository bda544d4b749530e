import type { Database } from '@sqlite.org/sqlite-wasm';
import { beforeAll, expect, test, vi } from 'vitest';
import {
  allRows,
  type FilesOptions,
  noise,
  type OpenedLog,
  openLog,
  put,
  WatchedDirectory,
} from '../../../packages/testing/worker/test-log.ts';
import type { FileDirectory } from '../file/file.ts';
import { MemoryDirectory } from '../file/memory-file.ts';

beforeAll(() => {
  vi.spyOn(console, 'error').mockImplementation(() => {});
  vi.spyOn(console, 'warn').mockImplementation(() => {});
});

/** An object with free pages that contain old content, and a cache of a few pages. */
async function withFreePages(directory: FileDirectory, options?: FilesOptions): Promise<OpenedLog> {
  const opened = await openLog(directory, undefined, options);
  const { db, files } = opened;
  for (let i = 0; i < 60; i++) put(db, i, noise(i, 20_000));
  db.exec('DELETE FROM t WHERE k > 5');
  await files.flush();
  db.exec('PRAGMA cache_size=10');
  return opened;
}

/** Fills the free pages and writes more than fits in the cache, so that SQLite writes to the file. */
function spill(db: Database): void {
  db.exec('BEGIN');
  for (let i = 100; i < 140; i++) put(db, i, noise(i, 20_000));
}

const WAYS: Readonly<Record<string, (db: Database) => void>> = {
  ROLLBACK: (db) => db.exec('ROLLBACK'),
  'a conflict that rolls back': (db) =>
    expect(() => db.exec('INSERT OR ROLLBACK INTO t VALUES(1, 1)')).toThrow(/UNIQUE/),
};

test.each(Object.keys(WAYS))(
  '[LOG19] %s of a transaction that was written commits nothing',
  async (way) => {
    const directory = new MemoryDirectory();
    const { db, files, close } = await withFreePages(directory);
    const bookmark = files.currentBookmark();
    const expected = allRows(db);
    spill(db);
    WAYS[way]!(db);
    expect(files.needsFlush).toBe(false);
    expect(files.currentBookmark()).toBe(bookmark);
    expect(allRows(db)).toEqual(expected);
    put(db, 1000, 'the next transaction');
    expect(db.selectValue('PRAGMA integrity_check')).toBe('ok');
    const after = allRows(db);
    await files.flush();
    await close();
    const again = await openLog(directory);
    expect(allRows(again.db)).toEqual(after);
    expect(again.db.selectValue('PRAGMA integrity_check')).toBe('ok');
    await again.close();
  },
);

test('[LOG19] closing SQLite during a transaction commits nothing', async () => {
  const directory = new MemoryDirectory();
  const { db, files } = await withFreePages(directory);
  const expected = allRows(db);
  const sequence = files.committedSequence;
  spill(db);
  db.close();
  expect(files.committedSequence).toBe(sequence);
  expect(files.needsFlush).toBe(false);
  await files.close();
  const again = await openLog(directory);
  expect(allRows(again.db)).toEqual(expected);
  await again.close();
});

test('[LOG19] VACUUM, which commits inside a transaction of its own, is a commit', async () => {
  const directory = new MemoryDirectory();
  const { db, files, close } = await withFreePages(directory);
  const sequence = files.committedSequence;
  const sizeBytes = files.file.sizeBytes();
  db.exec('VACUUM');
  expect(files.committedSequence).toBeGreaterThan(sequence);
  expect(files.file.sizeBytes()).toBeLessThan(sizeBytes);
  const expected = allRows(db);
  await files.flush();
  await close();
  const again = await openLog(directory);
  expect(allRows(again.db)).toEqual(expected);
  await again.close();
});

/** The rows, each as one string, for a quick comparison. */
function rows(db: Database): unknown {
  return db.selectValues("SELECT k || ' ' || hex(v) FROM t ORDER BY k");
}

/** An object with a few pages, some of them free, whose transactions spill early. */
async function small(directory: WatchedDirectory): Promise<OpenedLog> {
  const opened = await openLog(directory, undefined, { spillBytes: 1 << 14 });
  for (let i = 0; i < 8; i++) put(opened.db, i, noise(i, 8000));
  opened.db.exec('DELETE FROM t WHERE k > 3');
  await opened.files.flush();
  opened.db.exec('PRAGMA cache_size=10');
  return opened;
}

/** A transaction that changes pages, fills free ones, and adds new ones, which go to the main file. */
function load(db: Database): void {
  db.exec('BEGIN');
  for (let i = 0; i < 14; i++) put(db, i, noise(100 + i, 8000));
}

test('[LOG19] a rollback needs no disk, not even to free the space of new pages', async () => {
  const directory = new WatchedDirectory();
  const { db, close } = await small(directory);
  const expected = rows(db);
  directory.written.clear();
  load(db);
  expect(directory.written).toContain('main');
  directory.fails = (call) => call !== 'read';
  db.exec('ROLLBACK');
  directory.fails = () => false;
  expect(rows(db)).toEqual(expected);
  put(db, 1000, 'the next transaction');
  expect(db.selectValue('PRAGMA integrity_check')).toBe('ok');
  await close();
});

test('[LOG19] a failed call undoes the whole transaction, even if the next call fails too', async () => {
  for (let failing = 0, isOver = false; !isOver; failing++) {
    const directory = new WatchedDirectory();
    const { db, files, close } = await small(directory);
    const before = rows(db);
    let calls = 0;
    directory.fails = (call) => call !== 'read' && Math.floor((calls++ - failing) / 2) === 0;
    try {
      load(db);
      db.exec('COMMIT');
      isOver = calls <= failing;
      expect(isOver).toBe(true);
    } catch (error) {
      expect(error).toMatchObject({ message: expect.stringContaining('SQLITE_IOERR') });
      expect(rows(db)).toEqual(before);
    }
    directory.fails = () => false;
    put(db, 1000, 'the next transaction');
    expect(db.selectValue('PRAGMA integrity_check')).toBe('ok');
    const after = rows(db);
    await files.flush();
    await close();
    const again = await openLog(directory.inner);
    expect(rows(again.db)).toEqual(after);
    await again.close();
  }
});

/** Work that a caller undoes inside a transaction, which then commits. */
const UNDONE: Readonly<Record<string, (db: Database) => void>> = {
  'a statement that fails': (db) =>
    expect(() => db.exec('INSERT INTO t VALUES(1000, 1), (1, 1)')).toThrow(/UNIQUE/),
  'a savepoint that is rolled back': (db) => {
    db.exec('SAVEPOINT s; DELETE FROM t; CREATE TABLE u(a); ROLLBACK TO s; RELEASE s');
  },
};

test.each(Object.keys(UNDONE))(
  '[LOG19] a transaction whose only work is %s commits nothing',
  async (work) => {
    const directory = new MemoryDirectory();
    const { db, files, close } = await withFreePages(directory);
    const bookmark = files.currentBookmark();
    const expected = allRows(db);
    db.exec('BEGIN');
    UNDONE[work]!(db);
    db.exec('COMMIT');
    expect(files.needsFlush).toBe(false);
    expect(files.currentBookmark()).toBe(bookmark);
    put(db, 1000, 'the next transaction');
    expect(db.selectValue('PRAGMA integrity_check')).toBe('ok');
    const after = allRows(db);
    expect(after).not.toEqual(expected);
    await files.flush();
    await close();
    const again = await openLog(directory);
    expect(allRows(again.db)).toEqual(after);
    await again.close();
  },
);

test.each(['PRAGMA user_version = 7', 'CREATE TABLE u(a)', 'INSERT INTO t VALUES(1000, 1)'])(
  '[LOG19] after undone work, a transaction that also runs %s is a commit',
  async (statement) => {
    const directory = new MemoryDirectory();
    const { db, files, close } = await withFreePages(directory);
    const bookmark = files.currentBookmark();
    db.exec('BEGIN');
    UNDONE['a statement that fails']!(db);
    db.exec(statement);
    db.exec('COMMIT');
    expect(files.needsFlush).toBe(true);
    expect(files.currentBookmark()).not.toBe(bookmark);
    const stateOf = (from: Database) => [
      from.selectValue('PRAGMA user_version'),
      from.selectValue('SELECT count(*) FROM sqlite_master'),
      allRows(from),
    ];
    const after = stateOf(db);
    await files.flush();
    await close();
    const again = await openLog(directory);
    expect(stateOf(again.db)).toEqual(after);
    await again.close();
  },
);
