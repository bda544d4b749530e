// When the pages of a restore reach the main file, and what a power failure, or discarded commits, leave before.

import { expect, test } from 'vitest';
import type { FileDirectory } from '../file/file.ts';
import { createTestHost } from '../testing/test-host.ts';
import { bytesOf, noise, TestEnvironment, WatchedDirectory } from '../testing/test-log.ts';
import { ObjectFiles } from './object-files.ts';
import { PAGE_BYTES } from './pages.ts';

const PAGES = 12;
const isSame = (some: Uint8Array, others: Uint8Array) => Buffer.from(some).equals(others);

function write(files: ObjectFiles, seed: number): void {
  for (let i = 0; i < PAGES; i++) {
    files.file.write(noise(seed + i, PAGE_BYTES), i * PAGE_BYTES);
  }
  files.file.commit();
}

/** An object that is opened for a restore of `image`. */
async function restored() {
  const directory = new WatchedDirectory();
  const environment = new TestEnvironment();
  const files = await ObjectFiles.open(directory, environment);
  write(files, 100);
  await files.flush();
  const image = files.databaseBytes();
  const bookmark = files.currentBookmark();
  write(files, 200);
  await files.flush();
  files.scheduleRestore(bookmark);
  await files.flush();
  await files.checkpoint();
  await files.close();
  const later = await bytesOf(directory, 'main');
  directory.written.clear();
  const again = await ObjectFiles.open(directory, environment);
  expect(isSame(again.databaseBytes(), image)).toBe(true);
  return { directory, environment, files: again, image, later };
}

/** What a power failure leaves now: what was flushed. */
async function reopened(directory: WatchedDirectory, environment: TestEnvironment) {
  const survivor = new WatchedDirectory();
  for (const [name, bytes] of directory.flushed) {
    const file = await survivor.open(name);
    file.write(bytes, 0);
    file.close();
  }
  return ObjectFiles.open(survivor, environment);
}

const main = (directory: FileDirectory) => bytesOf(directory, 'main');

test('[LOG24] opening makes a restore durable and leaves the main file as it is; a power failure loses nothing', async () => {
  const { directory, environment, files, image, later } = await restored();
  expect(files.owesCheckpoint).toBe(true);
  expect(files.durableSequence).toBe(files.committedSequence);
  expect(directory.written.has('main')).toBe(false);
  expect(isSame(directory.flushed.get('main')!, later)).toBe(true);
  const survivor = await reopened(directory, environment);
  expect(isSame(survivor.databaseBytes(), image)).toBe(true);
  expect(survivor.currentBookmark()).toBe(files.currentBookmark());
  await survivor.close();
  await files.close();
});

test('[LOG24] a checkpoint, or closing, copies the restored pages into the main file', async () => {
  for (const copies of ['checkpoint', 'close'] as const) {
    const { directory, files, image } = await restored();
    await files[copies]();
    expect(files.owesCheckpoint).toBe(false);
    await files.close();
    expect(isSame(await main(directory), image)).toBe(true);
    expect(directory.afterClose).toEqual([]);
  }
});

test('[LOG24] closing copies nothing if commits were discarded, or the disk fails', async () => {
  const discarded = await restored();
  write(discarded.files, 300);
  discarded.files.discardUnflushed();
  await discarded.files.close();
  expect(isSame(await main(discarded.directory), discarded.later)).toBe(true);
  const failing = await restored();
  failing.directory.fails = (call) => call === 'write';
  await failing.files.close();
  failing.directory.fails = () => false;
  for (const { directory, environment, image } of [discarded, failing]) {
    const files = await ObjectFiles.open(directory, environment);
    expect(isSame(files.databaseBytes(), image)).toBe(true);
    await files.close();
  }
});

test('[LOG24] an object that was restored is answered first; its checkpoint follows while it is open', async () => {
  const host = await createTestHost();
  await host.run(async ({ storage }) => {
    await storage.put('a', 1);
    const bookmark = await storage.getCurrentBookmark();
    await storage.put('a', 2);
    await storage.onNextSessionRestoreBookmark(bookmark);
  });
  await host.host.reset(host.address(), new Error('to be restored'));
  expect(await host.run(({ storage }) => storage.get('a'))).toBe(1);
  expect(host.owesCheckpoint()).toBe(true);
  await host.advance(1000);
  expect(host.owesCheckpoint()).toBe(false);
  expect(await host.run(({ storage }) => storage.get('a'))).toBe(1);
  await host.close();
});
