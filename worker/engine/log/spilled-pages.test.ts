// The new pages of a transaction that is too large for memory: where they wait for its commit, and what a rollback or a
// power failure leaves of them.

import { expect, test } from 'vitest';
import { overwrite, WatchedDirectory } from '../../../packages/testing/worker/test-log.ts';
import {
  commitPages,
  expectPages,
  expectStored,
  openFiles,
  pageOf,
  releaseAll,
  writePages,
} from '../../../packages/testing/worker/written-pages.ts';
import { PAGE_BYTES } from './pages.ts';

test.each(['by a checkpoint', 'by a checkpoint that was running', 'by a large transaction'])(
  '[LOG1] new pages of a large transaction spare those written %s that a lost commit had removed',
  async (way) => {
    const directory = new WatchedDirectory();
    const files = await openFiles(directory, { spillBytes: 2 * PAGE_BYTES });
    const pages = [0, 1, 2, 3, 4, 5].map(pageOf);
    commitPages(files, { ...pages });
    await files.flush();
    if (way === 'by a checkpoint') await files.checkpoint();
    directory.isLate = way === 'by a checkpoint that was running';
    const running = directory.isLate ? files.checkpoint() : true;
    files.file.truncate(2 * PAGE_BYTES);
    commitPages(files, { 0: pageOf(10) });
    await releaseAll(directory);
    expect(await running).toBe(true);
    for (let i = 2; i < 9; i++) writePages(files, { [i]: pageOf(20 + i) });
    // Power fails: the log is as it was flushed, and the writes to the main file are there.
    await files.close();
    await overwrite(directory.inner, 'log-00000001', directory.flushed.get('log-00000001')!);
    await expectStored(directory.inner, pages);
  },
);

test('[LOG6] a checkpoint leaves the new pages of a transaction that still runs', async () => {
  const directory = new WatchedDirectory();
  const files = await openFiles(directory, { spillBytes: 2 * PAGE_BYTES });
  commitPages(files, { 0: pageOf(0) });
  await files.flush();
  const pages = [0, 1, 2, 3, 4, 5].map(pageOf);
  for (const index of [1, 2, 3, 4, 5]) writePages(files, { [index]: pages[index]! });
  expect(await files.checkpoint()).toBe(true);
  files.file.commit();
  await expectPages(directory, files, pages);
});

test('[LOG6] where flushes end later, new pages of a large transaction go to the log, and none to the main file', async () => {
  const directory = new WatchedDirectory();
  const { open: openFile } = directory;
  directory.open = async (name) => {
    const file = await openFile.call(directory, name);
    return { ...file, flush: async () => file.flush() };
  };
  const files = await openFiles(directory, { spillBytes: 2 * PAGE_BYTES });
  const pages = [0, 1, 2, 3, 4, 5].map(pageOf);
  writePages(files, { ...pages });
  expect([...directory.written].filter((name) => name !== 'checkpoint')).toEqual(['log-00000001']);
  files.file.commit();
  await expectPages(directory, files, pages);
});

test('[LOG19] pages that a transaction had spilled to the log end with it, and the next one takes their place', async () => {
  const directory = new WatchedDirectory();
  const files = await openFiles(directory, { spillBytes: 2 * PAGE_BYTES });
  const pages = [0, 1, 2, 3, 4].map(pageOf);
  commitPages(files, { ...pages });
  await files.flush();
  await files.checkpoint();
  writePages(files, { 0: pageOf(10), 1: pageOf(11), 2: pageOf(12), 3: pageOf(13) });
  files.file.endRollback();
  expect(files.needsFlush).toBe(false);
  commitPages(files, { 4: pageOf(14) });
  await expectPages(directory, files, [...pages.slice(0, 4), pageOf(14)]);
});
