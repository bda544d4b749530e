// The pages that a checkpoint writes to the main file, and the flush that makes it.

import { expect, test } from 'vitest';
import {
  bytesOf,
  TestEnvironment,
  WatchedDirectory,
} from '../../../packages/testing/worker/test-log.ts';
import {
  commitPages,
  expectPages,
  expectRead,
  hasSameBytes,
  ONE_PAGE_RECORD_BYTES,
  openFiles,
  pageOf,
  readPage,
  releaseAll,
  writePages,
} from '../../../packages/testing/worker/written-pages.ts';
import { storageError } from '../../../src/shared/contract/errors.ts';
import { MemoryDirectory } from '../file/memory-file.ts';
import { ObjectFiles } from './object-files.ts';
import { PAGE_BYTES } from './pages.ts';

/** Writes to the main file: the index of the first page and how many, of each. */
function noteMainWrites(directory: WatchedDirectory): [number, number][] {
  const writes: [number, number][] = [];
  const { open } = directory.inner;
  directory.inner.open = async (name) => {
    const file = await open.call(directory.inner, name);
    if (name !== 'main') return file;
    return {
      read: (target, offset) => file.read(target, offset),
      write: (bytes, offset) => {
        writes.push([offset / PAGE_BYTES, bytes.length / PAGE_BYTES]);
        file.write(bytes, offset);
      },
      truncate: (sizeBytes) => file.truncate(sizeBytes),
      sizeBytes: () => file.sizeBytes(),
      flush: () => file.flush(),
      close: () => file.close(),
    };
  };
  return writes;
}

/** Commits and flushes as often as `count`, and returns the numbers of the flushes, from 1, that made a checkpoint. */
async function checkpointsAmong(
  count: number,
  directory: WatchedDirectory,
  files: ObjectFiles,
  commitOnce: (number: number) => void,
): Promise<number[]> {
  const found: number[] = [];
  for (let number = 1; number <= count; number++) {
    directory.written.clear();
    commitOnce(number);
    await files.flush();
    if (directory.written.has('main')) found.push(number);
  }
  return found;
}

test('[LOG5] a checkpoint writes adjacent pages together, and each committed page once', async () => {
  const directory = new WatchedDirectory();
  const writes = noteMainWrites(directory);
  const files = await openFiles(directory);
  commitPages(files, Object.fromEntries(Array.from({ length: 70 }, (_, i) => [i, pageOf(i)])));
  await files.flush();
  expect(await files.checkpoint()).toBe(true);
  expect(writes.splice(0)).toEqual([
    [0, 64],
    [64, 6],
  ]);
  commitPages(files, { 10: pageOf(100), 4: pageOf(102) });
  commitPages(files, { 3: pageOf(101) });
  commitPages(files, { 3: pageOf(103) });
  await files.flush();
  expect(await files.checkpoint()).toBe(true);
  expect(writes.splice(0)).toEqual([
    [3, 2],
    [10, 1],
  ]);
  expect(await files.checkpoint()).toBe(true);
  expect(writes).toEqual([]);
  const image = files.databaseBytes();
  await files.close();
  expect(hasSameBytes(await bytesOf(directory.inner, 'main'), image)).toBe(true);
});

test('[LOG5] a checkpoint does not write pages that the database has lost since', async () => {
  const directory = new WatchedDirectory();
  const writes = noteMainWrites(directory);
  const files = await openFiles(directory);
  commitPages(files, { 0: pageOf(1), 1: pageOf(2), 2: pageOf(3), 3: pageOf(4) });
  files.file.truncate(PAGE_BYTES);
  commitPages(files, { 0: pageOf(5) });
  await files.flush();
  await files.checkpoint();
  expect(writes).toEqual([[0, 1]]);
  await expectPages(directory, files, [pageOf(5)]);
});

test('[LOG5] a checkpoint makes the main file as short as the database', async () => {
  const directory = new WatchedDirectory();
  const files = await openFiles(directory);
  commitPages(files, { 0: pageOf(1), 1: pageOf(2), 2: pageOf(3) });
  await files.flush();
  await files.checkpoint();
  files.file.truncate(PAGE_BYTES);
  commitPages(files, { 0: pageOf(4) });
  await files.flush();
  await files.checkpoint();
  await files.close();
  expect(hasSameBytes(await bytesOf(directory.inner, 'main'), pageOf(4))).toBe(true);
});

test.each([
  ['pages', { checkpointOverlayBytes: 3 * PAGE_BYTES }, 3],
  ['log', { checkpointLogBytes: 3 * ONE_PAGE_RECORD_BYTES }, 3],
] as const)(
  '[LOG5] a checkpoint is made by the flush that reaches the limit of %s, and then by every third',
  async (_, options, count) => {
    const directory = new WatchedDirectory();
    const files = await openFiles(directory, options);
    const commitOne = (i: number) => commitPages(files, { [i - 1]: pageOf(i) });
    expect(await checkpointsAmong(10, directory, files, commitOne)).toEqual([
      count,
      2 * count,
      3 * count,
    ]);
    await files.close();
  },
);

test('[LOG5] a checkpoint follows 256 KB of log', async () => {
  const directory = new WatchedDirectory();
  const files = await ObjectFiles.open(directory, new TestEnvironment());
  directory.written.clear();
  let count = 0; // Each record has ONE_PAGE_RECORD_BYTES, 4,176.
  for (; !directory.written.has('main'); count++) {
    commitPages(files, { [count]: pageOf(count) });
    await files.flush();
  }
  expect(count).toBe(63);
  await files.close();
});

test('[LOG5] [LOG6] 4 MB of changed pages are in memory: more of a transaction go to the log, and a checkpoint follows that many', async () => {
  const inner = new MemoryDirectory();
  const written: string[] = [];
  let isBroken = false;
  const open = inner.open.bind(inner);
  inner.open = async (name) => {
    const file = await open(name);
    const write = file.write.bind(file);
    file.write = (bytes, offset) => {
      written.push(name);
      if (isBroken) throw storageError('IO', 'enough was seen');
      write(bytes, offset);
    };
    return file;
  };
  const files = await ObjectFiles.open(inner, new TestEnvironment());
  const filled = (byte: number) => new Uint8Array(PAGE_BYTES).fill(byte);
  const writeAll = (count: number, bytes: Uint8Array) => {
    for (let i = 0; i < count; i++) files.file.write(bytes, i * PAGE_BYTES);
  };
  writeAll(1025, filled(1));
  files.file.commit();
  await files.flush();
  expect(await files.checkpoint()).toBe(true);
  written.length = 0;
  const changed = filled(1); // a page of equal bytes, whose record is short
  changed[0] = 2;
  writeAll(1023, changed);
  expect(written).toEqual([]);
  files.file.commit();
  await files.flush();
  expect(written).not.toContain('main');
  commitPages(files, { 1023: changed });
  await files.flush();
  expect(written).toContain('main');
  written.length = 0;
  writeAll(1024, filled(3));
  expect(written).toEqual([]);
  isBroken = true;
  expect(() => writePages(files, { 1024: filled(3) })).toThrow('enough was seen');
  expect(written).toEqual(['log-00000001']);
  await files.close();
});

test('[LOG5] commits of large records add eight times as much log before a checkpoint, as long as they are alone', async () => {
  const directory = new WatchedDirectory();
  const checkpointLogBytes = 2 << 16;
  const files = await openFiles(directory, { checkpointLogBytes });
  // 16 new pages with their entries: a little more than 64 KB.
  const commitLarge = (seed: number) =>
    commitPages(
      files,
      Object.fromEntries(Array.from({ length: 16 }, (_, i) => [i, pageOf(seed + i)])),
    );
  const among = (count: number, commitOnce: (i: number) => void) =>
    checkpointsAmong(count, directory, files, commitOnce);
  // A checkpoint comes after 128 KB of log; if the records have 64 KB and more on average, after 1 MB.
  // The first has no old pages, the others have as many bytes again: 64 KB and eight times 128 KB.
  expect(await among(9, (i) => commitLarge(16 * i))).toEqual([9]);
  expect(await among(4, (i) => commitLarge(1000 + 16 * i))).toEqual([]);
  // Records of 8 KB. With the fifth, nine records have 64 KB or less on average; then 16 of them have 128 KB.
  expect(await among(40, (i) => commitPages(files, { 0: pageOf(5000 + i) }))).toEqual([5, 21, 37]);
  await files.close();
});

test('[LOG5] one checkpoint runs at a time, and a page that is committed meanwhile waits for the next', async () => {
  const directory = new WatchedDirectory();
  const files = await openFiles(directory);
  commitPages(files, { 0: pageOf(1), 1: pageOf(2) });
  await files.flush();
  directory.isLate = true;
  const running = files.checkpoint();
  expect(files.checkpoint()).toBe(false);
  commitPages(files, { 1: pageOf(3) });
  await releaseAll(directory);
  expect(await running).toBe(true);
  expect(hasSameBytes(readPage(files, 1), pageOf(3))).toBe(true);
  await files.flush();
  expect(await files.checkpoint()).toBe(true);
  await expectPages(directory, files, [pageOf(1), pageOf(3)]);
});

test('[LOG5] a page that is replaced while a checkpoint runs is written by it as it was', async () => {
  const directory = new WatchedDirectory();
  const files = await openFiles(directory);
  commitPages(files, { 0: pageOf(1), 1: pageOf(2) });
  await files.flush();
  directory.isLate = true;
  const running = files.checkpoint();
  commitPages(files, { 1: pageOf(3) });
  // The memory of the replaced page is not used for these.
  commitPages(files, { 2: pageOf(4), 3: pageOf(5) });
  await releaseAll(directory);
  expect(await running).toBe(true);
  const pages = [pageOf(1), pageOf(3), pageOf(4), pageOf(5)];
  expectRead(files, pages);
  await files.close();
  const main = await bytesOf(directory.inner, 'main');
  expect(hasSameBytes(main, Buffer.concat([pageOf(1), pageOf(2)]))).toBe(true);
});

test('[LOG5] pages in memory that are used again change no other page', async () => {
  const directory = new WatchedDirectory();
  const files = await openFiles(directory);
  for (let i = 0; i < 5; i++) {
    commitPages(files, { 0: pageOf(10 * i), 1: pageOf(10 * i + 1) });
    commitPages(files, { [2 + i]: pageOf(10 * i + 2) });
  }
  const pages = [40, 41, 2, 12, 22, 32, 42].map(pageOf);
  expectRead(files, pages);
  await expectPages(directory, files, pages);
});

test('[LOG5] a commit that is not durable is not checkpointed', async () => {
  const directory = new WatchedDirectory();
  const files = await openFiles(directory);
  commitPages(files, { 0: pageOf(0) });
  expect(files.checkpoint()).toBe(false);
  expect(directory.written.has('main')).toBe(false);
  await files.flush();
  expect(await files.checkpoint()).toBe(true);
  await files.close();
});

test('[LOG13] pages wait in memory for a main file without room, up to four times the limit of a checkpoint', async () => {
  const directory = new WatchedDirectory();
  const files = await openFiles(directory, { checkpointOverlayBytes: 2 * PAGE_BYTES });
  directory.full.add('main');
  for (let i = 0; i < 9; i++) {
    commitPages(files, { [i]: pageOf(i) });
    await files.flush();
  }
  expect(await files.checkpoint()).toBe(false);
  const isFull = expect.objectContaining({
    code: 'DISK_FULL',
    message: expect.stringMatching(/^commit: the disk is full, .*memory allowed for them\. Free/),
  });
  expect(() => commitPages(files, { 9: pageOf(9) })).toThrow(isFull);
  files.file.endRollback();
  expect(() => commitPages(files, { 9: pageOf(9) })).toThrow(isFull);
  // The sync at the end of SQLite's rollback needs no room.
  files.file.commit();
  directory.full.clear();
  commitPages(files, { 9: pageOf(9) });
  expect(directory.written.has('main')).toBe(true);
  await expectPages(
    directory,
    files,
    Array.from({ length: 10 }, (_, i) => pageOf(i)),
  );
});
