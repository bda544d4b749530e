// The database file without SQLite: the results of reads and writes, the state after a failure, and the
// file after its closing.

import { expect, test } from 'vitest';
import { WatchedDirectory } from '../../../packages/testing/worker/test-log.ts';
import {
  commitPages,
  expectPages,
  expectStored,
  hasSameBytes,
  ONE_PAGE_RECORD_BYTES,
  openFiles,
  pageOf,
  readPage,
  writePages,
} from '../../../packages/testing/worker/written-pages.ts';
import { PAGE_BYTES } from './pages.ts';

const ZEROS = new Uint8Array(PAGE_BYTES);

test('[LOG15] the database reads in parts of pages; beyond its end are zeros, and the read says so', async () => {
  const files = await openFiles(new WatchedDirectory());
  commitPages(files, { 0: pageOf(1), 1: pageOf(2) });
  const part = new Uint8Array(100);
  expect(files.file.read(part, PAGE_BYTES + 24)).toBe(true);
  expect(part).toEqual(pageOf(2).subarray(24, 124));
  expect(files.file.read(part, 2 * PAGE_BYTES - 100)).toBe(true);
  expect(part).toEqual(pageOf(2).subarray(PAGE_BYTES - 100));
  expect(files.file.read(part, 2 * PAGE_BYTES)).toBe(false);
  expect(part).toEqual(new Uint8Array(100));
  await files.close();
});

test('[LOG18] a call that SQLite never makes is INTERNAL, with its place', async () => {
  const files = await openFiles(new WatchedDirectory());
  commitPages(files, { 0: pageOf(1), 1: pageOf(2) });
  const internal = (message: RegExp) =>
    expect.objectContaining({ code: 'INTERNAL', message: expect.stringMatching(message) });
  const { file } = files;
  expect(() => file.read(new Uint8Array(100), 4000)).toThrow(
    internal(/100 bytes at 4000 span two/),
  );
  expect(() => file.write(new Uint8Array(100), 0)).toThrow(
    internal(/100 bytes at 0; pages of 4096/),
  );
  expect(() => file.write(pageOf(3), 100)).toThrow(internal(/4096 bytes at 100; pages of 4096/));
  await files.close();
});

test('[LOG15] a page that was skipped is zeros, also if it was cut off before', async () => {
  const directory = new WatchedDirectory();
  const files = await openFiles(directory);
  commitPages(files, { 0: pageOf(1), 1: pageOf(2), 2: pageOf(3), 3: pageOf(4) });
  files.file.truncate(PAGE_BYTES + 1);
  expect(files.file.sizeBytes()).toBe(2 * PAGE_BYTES);
  files.file.truncate(PAGE_BYTES);
  commitPages(files, { 0: pageOf(5) });
  expect(files.file.sizeBytes()).toBe(PAGE_BYTES);
  commitPages(files, { 3: pageOf(6) });
  await expectPages(directory, files, [pageOf(5), ZEROS, ZEROS, pageOf(6)]);
});

test('[LOG19] a page cut off and skipped in a transaction is zeros there, and back after its rollback', async () => {
  const directory = new WatchedDirectory();
  const files = await openFiles(directory);
  commitPages(files, { 0: pageOf(1), 1: pageOf(2), 2: pageOf(3) });
  files.file.truncate(PAGE_BYTES);
  writePages(files, { 2: pageOf(9) });
  expect([readPage(files, 1), readPage(files, 2)]).toEqual([ZEROS, pageOf(9)]);
  files.file.endRollback();
  // SQLite cuts the file to its old size after a rollback; ours has it already.
  await expectPages(directory, files, [pageOf(1), pageOf(2), pageOf(3)]);
});

test('[LOG13] once a write has failed, everything fails until the sync, and then the transaction is gone', async () => {
  const directory = new WatchedDirectory();
  const files = await openFiles(directory, { spillBytes: 2 * PAGE_BYTES });
  commitPages(files, { 0: pageOf(1), 1: pageOf(2), 2: pageOf(3), 3: pageOf(4) });
  await files.flush();
  directory.fails = (call) => call === 'write';
  const isFailed = expect.objectContaining({ code: 'IO' });
  writePages(files, { 0: pageOf(10), 1: pageOf(11) });
  expect(() => writePages(files, { 2: pageOf(12) })).toThrow(isFailed);
  directory.fails = () => false;
  expect(() => readPage(files, 0)).toThrow(isFailed);
  writePages(files, { 3: pageOf(13) });
  files.file.truncate(PAGE_BYTES);
  expect(() => files.file.commit()).toThrow(isFailed);
  // SQLite writes back the stored bytes, and its sync commits nothing.
  const sequence = files.committedSequence;
  writePages(files, { 0: pageOf(14) });
  files.file.truncate(PAGE_BYTES);
  files.file.commit();
  expect(files.committedSequence).toBe(sequence);
  await expectPages(directory, files, [pageOf(1), pageOf(2), pageOf(3), pageOf(4)]);
});

test('[LOG13] after a commit that failed, the next transaction is stored', async () => {
  const directory = new WatchedDirectory();
  const files = await openFiles(directory);
  commitPages(files, { 0: pageOf(1) });
  directory.fails = (call) => call === 'write';
  writePages(files, { 0: pageOf(2), 1: pageOf(3) });
  expect(() => files.file.commit()).toThrow(expect.objectContaining({ code: 'IO' }));
  directory.fails = () => false;
  // Its rollback writes nothing and does not sync: the next read begins a transaction.
  expect(hasSameBytes(readPage(files, 0), pageOf(1))).toBe(true);
  commitPages(files, { 0: pageOf(4) });
  await expectPages(directory, files, [pageOf(4)]);
});

test('[LOG4] commits that are made together are one, and appear with the last', async () => {
  const directory = new WatchedDirectory();
  const files = await openFiles(directory);
  commitPages(files, { 0: pageOf(1) });
  const sequence = files.committedSequence;
  files.atomically(() => {
    commitPages(files, { 0: pageOf(2) });
    commitPages(files, { 1: pageOf(3) });
    files.file.endRollback();
    expect(files.committedSequence).toBe(sequence);
  });
  expect(files.committedSequence).toBe(sequence + 1);
  await expectPages(directory, files, [pageOf(2), pageOf(3)]);
});

test('[LOG4] a transaction that writes equal bytes commits nothing, also if it was spilled', async () => {
  const directory = new WatchedDirectory();
  const files = await openFiles(directory, { spillBytes: 2 * PAGE_BYTES });
  const pages = Object.fromEntries([0, 1, 2, 3, 4].map((index) => [index, pageOf(index)]));
  commitPages(files, pages);
  await files.flush();
  const sequence = files.committedSequence;
  commitPages(files, { 0: pageOf(9), 1: pageOf(9), ...pages });
  writePages(files, pages);
  writePages(files, { 0: pageOf(8) });
  writePages(files, pages);
  files.file.commit();
  expect(files.committedSequence).toBe(sequence);
  expect(files.needsFlush).toBe(false);
  // The same, except for one of the spilled pages.
  commitPages(files, { ...pages, 1: pageOf(7) });
  expect(files.committedSequence).toBe(sequence + 1);
  await expectPages(directory, files, [pageOf(0), pageOf(7), pageOf(2), pageOf(3), pageOf(4)]);
});

test('[LOG4] a file that only became shorter is recorded by the next commit', async () => {
  const directory = new WatchedDirectory();
  const files = await openFiles(directory);
  commitPages(files, { 0: pageOf(1), 1: pageOf(2), 2: pageOf(3) });
  files.file.truncate(PAGE_BYTES);
  const sequence = files.committedSequence;
  files.file.commit();
  expect([files.committedSequence, files.file.sizeBytes()]).toEqual([sequence, PAGE_BYTES]);
  commitPages(files, { 0: pageOf(4) });
  expect(files.committedSequence).toBe(sequence + 1);
  await expectPages(directory, files, [pageOf(4)]);
});

test('[LOG20] a closed object opens, cuts and flushes nothing more', async () => {
  const directory = new WatchedDirectory();
  const files = await openFiles(directory, { segmentBytes: 4096 + ONE_PAGE_RECORD_BYTES });
  commitPages(files, { 0: pageOf(0) });
  await files.flush();
  commitPages(files, { 0: pageOf(1) });
  expect(files.needsMaintenance).toBe(true);
  await files.close();
  directory.isOver = true;
  files.discardUnflushed();
  await files.maintain();
  expect(files.needsMaintenance).toBe(false);
  expect(() => files.flush()).toThrow(/flush: the storage of the object is closed/);
  expect(directory.afterClose).toEqual([]);
});

test('[LOG20] an ended file reaches no disk, whatever is called', async () => {
  const directory = new WatchedDirectory();
  const files = await openFiles(directory, { spillBytes: 2 * PAGE_BYTES });
  commitPages(files, { 0: pageOf(1), 1: pageOf(2), 2: pageOf(3) });
  await files.flush();
  writePages(files, { 0: pageOf(4), 1: pageOf(5), 2: pageOf(6) });
  await files.close();
  const isClosed = (operation: string) =>
    expect.objectContaining({
      code: 'IO',
      message: `${operation}: the storage of the object is closed.`,
    });
  writePages(files, { 3: pageOf(7) });
  files.file.truncate(0);
  files.file.endRollback();
  expect(() => readPage(files, 0)).toThrow(isClosed('read'));
  expect(() => files.file.commit()).toThrow(isClosed('commit'));
  expect(() => files.flush()).not.toThrow();
  expect(() => files.checkpoint()).toThrow(isClosed('checkpoint'));
  expect(directory.afterClose).toEqual([]);
  await expectStored(directory.inner, [1, 2, 3].map(pageOf));
});
