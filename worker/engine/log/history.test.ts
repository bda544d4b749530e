// Bookmarks, restores and times, and the segments that they lie in.

import { beforeAll, expect, test, vi } from 'vitest';
import {
  allRows,
  type OpenedLog,
  openLog,
  put,
  START_MS,
  sqlite3,
  TestEnvironment,
  vfs,
} from '../../../packages/testing/worker/test-log.ts';
import type { FileDirectory } from '../file/file.ts';
import { MemoryDirectory } from '../file/memory-file.ts';
import { ObjectFiles } from './object-files.ts';

const DAY_MS = 86_400_000;

beforeAll(() => {
  // sqlite-wasm reports every failed step on the console; the failures here are intended.
  vi.spyOn(console, 'error').mockImplementation(() => {});
  vi.spyOn(console, 'warn').mockImplementation(() => {});
});

test('[LOG9] bookmarks grow with every commit, flushed or not, and across openings', async () => {
  const directory = new MemoryDirectory();
  const environment = new TestEnvironment();
  const bookmarks: string[] = [];
  for (let opening = 0; opening < 3; opening++) {
    const { files, db, close } = await openLog(directory, environment);
    for (let i = 0; i < 5; i++) {
      put(db, i, `${opening}`);
      bookmarks.push(files.currentBookmark());
    }
    await files.flush();
    await close();
    // A clock that goes back changes nothing.
    environment.nowMs -= 1000;
  }
  expect(new Set(bookmarks).size).toBe(bookmarks.length);
  expect([...bookmarks].sort()).toEqual(bookmarks);
});

test('[LOG11] a restore brings everything back, and its bookmark undoes it', async () => {
  const directory = new MemoryDirectory();
  const environment = new TestEnvironment();
  const first = await openLog(directory, environment);
  put(first.db, 1, 'one');
  const past = first.files.currentBookmark();
  const before = allRows(first.db);
  put(first.db, 2, 'two');
  first.db.exec('CREATE TABLE other(x)');
  const undo = first.files.scheduleRestore(past);
  put(first.db, 3, 'after it was asked for');
  await first.files.flush();
  expect(undo > first.files.currentBookmark()).toBe(true);
  const end = allRows(first.db);
  await first.close();

  const second = await ObjectFiles.open(directory, environment);
  expect(second.currentBookmark() > undo).toBe(true);
  await second.close();
  const third = await openLog(directory, environment);
  expect(allRows(third.db)).toEqual(before);
  expect(third.db.selectValue("SELECT count(*) FROM sqlite_schema WHERE name = 'other'")).toBe(0);
  third.files.scheduleRestore(undo);
  await third.files.flush();
  await third.close();
  const fourth = await openLog(directory, environment);
  expect(allRows(fourth.db)).toEqual(end);
  await fourth.close();
});

test('[LOG11] a requested restore that was not flushed does not happen', async () => {
  const directory = new MemoryDirectory();
  const { files, db, close } = await openLog(directory, new TestEnvironment());
  const past = files.currentBookmark();
  put(db, 1, 'one');
  await files.flush();
  const expected = allRows(db);
  files.scheduleRestore(past);
  expect(files.needsFlush).toBe(true);
  await close();
  const again = await openLog(directory, new TestEnvironment());
  expect(allRows(again.db)).toEqual(expected);
  await again.close();
});

test('[LOG10] a bookmark of a lost commit, or of no commit, is refused', async () => {
  const directory = new MemoryDirectory();
  const first = await openLog(directory, new TestEnvironment());
  await first.files.flush();
  put(first.db, 1, 'lost');
  const lost = first.files.currentBookmark();
  first.files.discardUnflushed();
  await first.close();
  const { files, db, close } = await openLog(directory, new TestEnvironment());
  const isInvalid = expect.objectContaining({ code: 'BOOKMARK_INVALID' });
  expect(() => files.scheduleRestore('nonsense')).toThrow(isInvalid);
  expect(() => files.scheduleRestore(lost)).toThrow(isInvalid);
  put(db, 1, 'another');
  files.scheduleRestore(lost);
  await files.flush();
  const expected = allRows(db);
  await close();
  const opening = ObjectFiles.open(directory, new TestEnvironment());
  await expect(opening).rejects.toMatchObject({ code: 'BOOKMARK_INVALID' });
  const again = await openLog(directory, new TestEnvironment());
  expect(allRows(again.db)).toEqual(expected);
  await again.close();
});

test('[LOG12] the bookmark of a time is the last commit at or before it', async () => {
  const environment = new TestEnvironment();
  const { files, db, close } = await openLog(new MemoryDirectory(), environment);
  const marks: string[] = [];
  for (let i = 0; i < 10; i++) {
    environment.nowMs = START_MS + 1000 * (i + 1);
    put(db, i, 'v');
    marks.push(files.currentBookmark());
  }
  expect(await files.bookmarkForTime(START_MS + 4000)).toBe(marks[3]);
  expect(await files.bookmarkForTime(START_MS + 4999)).toBe(marks[3]);
  environment.nowMs += 60_000;
  expect(await files.bookmarkForTime(START_MS + 60_000)).toBe(marks[9]);
  await close();
});

const SMALL = { segmentBytes: 1 << 16, checkpointLogBytes: 1 << 14 };

async function fillSegments(opened: OpenedLog, environment: TestEnvironment, stepMs: number) {
  const marks: { readonly timeMs: number; readonly bookmark: string }[] = [];
  for (let i = 0; i < 400; i++) {
    environment.nowMs += stepMs;
    put(opened.db, i % 20, String(i).repeat(200));
    marks.push({ timeMs: environment.nowMs, bookmark: opened.files.currentBookmark() });
    await opened.files.flush();
    if (opened.files.needsMaintenance) await opened.files.maintain();
  }
  return marks;
}

test('[LOG14] the log rotates, and a time or a bookmark in an old segment is found', async () => {
  const directory = new MemoryDirectory();
  const environment = new TestEnvironment();
  const opened = await openLog(directory, environment, SMALL);
  const marks = await fillSegments(opened, environment, 1000);
  expect(
    (await directory.names()).filter((name) => name.startsWith('log-')).length,
  ).toBeGreaterThan(4);
  for (const { timeMs, bookmark } of marks.filter((_, i) => i % 37 === 0)) {
    expect((await opened.files.bookmarkForTime(timeMs + 500)).slice(0, 17)).toBe(
      bookmark.slice(0, 17),
    );
  }
  opened.files.scheduleRestore(marks[30]!.bookmark);
  await opened.files.flush();
  await opened.close();
  const again = await openLog(directory, environment, SMALL);
  expect(again.db.selectValue('SELECT v FROM t WHERE k = 10')).toBe('30'.repeat(200));
  await again.close();
});

test('[LOG14] segments older than the window are removed with their history', async () => {
  const directory = new MemoryDirectory();
  const environment = new TestEnvironment();
  const opened = await openLog(directory, environment, SMALL);
  const marks = await fillSegments(opened, environment, DAY_MS / 4);
  const numbers = (await directory.names()).filter((name) => name.startsWith('log-')).sort();
  expect(numbers[0]).not.toBe('log-00000001');
  expect(() => opened.files.scheduleRestore(marks[0]!.bookmark)).toThrow(
    expect.objectContaining({ code: 'BOOKMARK_UNAVAILABLE' }),
  );
  // Everything within the window still exists.
  const within = marks.filter(({ timeMs }) => timeMs >= environment.nowMs - 30 * DAY_MS);
  expect(within).toHaveLength(121);
  for (const { timeMs, bookmark } of within.filter((_, i) => i % 8 === 0)) {
    const found = await opened.files.bookmarkForTime(timeMs);
    expect(found.slice(0, 17)).toBe(bookmark.slice(0, 17));
  }
  await opened.close();
});

test('[LOG14] opening reads the same few files however long the history is', async () => {
  const directory = new MemoryDirectory();
  const environment = new TestEnvironment();
  const opened = await openLog(directory, environment, SMALL);
  await fillSegments(opened, environment, 1000);
  await opened.close();
  let fileCount = 0;
  const counting: FileDirectory = {
    open: (name) => {
      fileCount++;
      return directory.open(name);
    },
    names: () => directory.names(),
    remove: (name) => directory.remove(name),
  };
  const files = await ObjectFiles.open(counting, environment, SMALL);
  expect(fileCount).toBeLessThanOrEqual(5);
  await files.close();
});

test('[LOG13] on a full disk history is pruned, oldest first, before a commit is refused', async () => {
  const directory = new MemoryDirectory();
  const environment = new TestEnvironment();
  const opened = await openLog(directory, environment, SMALL);
  const marks = await fillSegments(opened, environment, 1000);
  directory.capacityBytes = directory.usedBytes();
  for (let i = 0; i < 60; i++) {
    put(opened.db, i % 20, 'full'.repeat(200));
    await opened.files.flush();
  }
  const isThere = marks.map(({ bookmark }) => {
    try {
      opened.files.scheduleRestore(bookmark);
      return true;
    } catch (error) {
      expect(error).toMatchObject({ code: 'BOOKMARK_UNAVAILABLE' });
      return false;
    }
  });
  // Two segments of 16 commits make room for 60 that replace the same text, not the whole history.
  const pruned = isThere.indexOf(true);
  expect(isThere.slice(pruned)).not.toContain(false);
  expect(pruned).toBeGreaterThan(0);
  expect(pruned).toBeLessThan(200);
  await opened.close();
});

test('[LOG13] on a full disk the whole transaction is refused, and the object continues', async () => {
  const directory = new MemoryDirectory();
  const opened = await openLog(directory, new TestEnvironment(), { spillBytes: 1 << 16 });
  for (let i = 0; i < 50; i++) put(opened.db, i, 'a'.repeat(1000));
  await opened.files.flush();
  const before = allRows(opened.db);
  directory.capacityBytes = directory.usedBytes() + 50_000;
  opened.db.exec('PRAGMA cache_size=10');
  for (const sql of ['BEGIN', "UPDATE t SET v = v || 'b'"]) opened.db.exec(sql);
  expect(() => {
    for (let i = 100; i < 400; i++) put(opened.db, i, 'c'.repeat(1000));
    opened.db.exec('COMMIT');
  }).toThrow(/SQLITE_FULL/);
  expect(vfs.takeError(opened.name)).toMatchObject({ code: 'DISK_FULL' });
  if (!sqlite3.capi.sqlite3_get_autocommit(opened.db.pointer!)) {
    expect(() => opened.db.exec('ROLLBACK')).not.toThrow(/CORRUPT/);
  }
  expect(allRows(opened.db)).toEqual(before);
  directory.capacityBytes = Number.POSITIVE_INFINITY;
  put(opened.db, 1, 'again');
  await opened.files.flush();
  expect(opened.db.selectValue('PRAGMA integrity_check')).toBe('ok');
  await opened.close();
});
