// A restore from the opening that shows it until its pages are in the main file: its shown state, the calls that make
// it a commit, and the state after a power failure, a full disk, damage or discarded commits meanwhile.

import { expect, test } from 'vitest';
import { createTestHost } from '../../../packages/testing/worker/test-host.ts';
import {
  bytesOf,
  imageOf,
  noise,
  TestEnvironment,
  WatchedDirectory,
} from '../../../packages/testing/worker/test-log.ts';
import type { FileDirectory } from '../file/file.ts';
import { annotationOf } from './annotation.ts';
import { ObjectFiles } from './object-files.ts';
import { PAGE_BYTES } from './pages.ts';

const PAGES = 12;
const EVERYTHING = { fromMs: 0, toMs: Number.POSITIVE_INFINITY, before: null, limit: 100 };
const isSame = (some: Uint8Array, others: Uint8Array) => Buffer.from(some).equals(others);

function write(files: ObjectFiles, seed: number, pageCount = PAGES): void {
  for (let i = 0; i < pageCount; i++) {
    files.file.write(noise(seed + i, PAGE_BYTES), i * PAGE_BYTES);
  }
  files.file.commit();
}

/** An object that is opened for a restore of `image`; `later` is the content of its main file. */
async function restored(options: Parameters<typeof ObjectFiles.open>[2] = {}) {
  const directory = new WatchedDirectory();
  const environment = new TestEnvironment();
  const files = await ObjectFiles.open(directory, environment, options);
  write(files, 100);
  await files.flush();
  const image = files.databaseBytes();
  const bookmark = files.currentBookmark();
  for (const seed of [200, 300, 400]) {
    environment.nowMs += 1000;
    write(files, seed, seed === 300 ? PAGES + 5 : PAGES - 3);
    files.file.truncate(seed === 300 ? (PAGES + 5) * PAGE_BYTES : (PAGES - 3) * PAGE_BYTES);
    files.file.commit();
    await files.flush();
    await files.maintain();
  }
  environment.nowMs += 1000;
  const undo = files.scheduleRestore(bookmark);
  await files.flush();
  await files.checkpoint();
  const laterImage = files.databaseBytes();
  await files.close();
  const later = await bytesOf(directory, 'main');
  directory.written.clear();
  const again = await ObjectFiles.open(directory, environment, options);
  expect(isSame(imageOf(again.file), image)).toBe(true);
  expect(isSame(again.databaseBytes(), image)).toBe(true);
  return { directory, environment, files: again, image, later, laterImage, bookmark, undo };
}

/** The state after a power failure now: the flushed bytes. */
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

test('[LOG24] opening shows a restore and writes nothing; a power failure loses nothing', async () => {
  const { directory, environment, files, image, later } = await restored();
  expect(files.owesRestore).toBe(true);
  expect(files.showsRestore).toBe(true);
  expect([...directory.written]).toEqual([]);
  expect(isSame(directory.flushed.get('main')!, later)).toBe(true);
  const survivor = await reopened(directory, environment);
  expect(isSame(imageOf(survivor.file), image)).toBe(true);
  expect(survivor.showsRestore).toBe(true);
  await survivor.close();
  await files.close();
});

test('[LOG24] once committed and flushed it is a commit like any other, with the time of the opening', async () => {
  const { directory, environment, files, image } = await restored();
  const openedMs = environment.nowMs;
  environment.nowMs += 5000;
  files.commitRestore();
  expect([files.showsRestore, files.needsFlush]).toEqual([false, true]);
  expect(directory.written.has('main')).toBe(false);
  await files.flush();
  environment.nowMs += 5000;
  const survivor = await reopened(directory, environment);
  expect(survivor.showsRestore).toBe(false);
  expect(isSame(survivor.databaseBytes(), image)).toBe(true);
  expect(survivor.currentBookmark()).toBe(files.currentBookmark());
  const [newest] = await survivor.listCommits(EVERYTHING);
  expect(newest).toMatchObject({ isRestore: true, timeMs: openedMs });
  expect(await survivor.bookmarkForTime(openedMs + 1)).toBe(newest!.bookmark);
  await survivor.close();
  await files.close();
});

test('[LOG24] a full disk keeps the history of a restore until the commit of the restore is durable', async () => {
  const options = { segmentBytes: 1 << 14, checkpointLogBytes: 1 << 13 };
  const { directory, environment, files, image } = await restored(options);
  const writesOnFullDisk = (some: ObjectFiles) => {
    directory.mostBytes = 0;
    expect(() => write(some, 500)).toThrow(expect.objectContaining({ code: 'DISK_FULL' }));
    directory.mostBytes = Number.POSITIVE_INFINITY;
  };
  await files.maintain();
  files.commitRestore();
  writesOnFullDisk(files);
  files.discardUnflushed();
  await files.close();

  const again = await ObjectFiles.open(directory, environment, options);
  expect(isSame(imageOf(again.file), image)).toBe(true);
  again.commitRestore();
  await again.flush();
  await again.checkpoint();
  await again.maintain();
  const before = await directory.names();
  writesOnFullDisk(again);
  await again.maintain();
  expect((await directory.names()).length).toBeLessThan(before.length);
  await again.close();
});

test('[LOG24] [LOG31] the commit of a restore names who requested it; after a checkpoint between both, only its kind', async () => {
  for (const isCheckpointed of [false, true]) {
    const directory = new WatchedDirectory();
    const files = await ObjectFiles.open(directory, new TestEnvironment());
    write(files, 100);
    const bookmark = files.currentBookmark();
    write(files, 200);
    const by = { kind: 'restore', method: 'backTo', connection: 'c0' } as const;
    files.scheduleRestore(bookmark, annotationOf(by));
    await files.flush();
    if (isCheckpointed) expect(await files.checkpoint()).toBe(true);
    await files.close();
    const again = await ObjectFiles.open(directory, new TestEnvironment());
    const [newest] = await again.listCommits(EVERYTHING);
    expect(newest!.by).toEqual(isCheckpointed ? { kind: 'restore' } : by);
    await again.close();
  }
});

type Act = (files: ObjectFiles, known: { nowMs: number; bookmark: string }) => unknown;

/** Each with how many commits it adds after the restore. */
const ACTS: Readonly<Record<string, readonly [act: Act, commits: number]>> = {
  'a commit': [(files) => write(files, 500), 1],
  'a file that becomes shorter': [(files) => files.file.truncate(PAGE_BYTES), 0],
  'a page that is written and rolled back': [
    (files) => {
      files.file.write(noise(1, PAGE_BYTES), 0);
      files.file.endRollback();
    },
    0,
  ],
  'an import': [
    (files) =>
      files.atomically(() =>
        files.overwrite({ sizeBytes: () => PAGE_BYTES, read: () => true } as never),
      ),
    1,
  ],
  'the current bookmark': [(files) => files.currentBookmark(), 0],
  'the bookmark of a time': [(files, { nowMs }) => files.bookmarkForTime(nowMs), 0],
  'a list of commits': [(files) => files.listCommits(EVERYTHING), 0],
  'a moment': [(files, { bookmark }) => files.openPast(bookmark), 0],
  'another restore': [(files, { bookmark }) => files.scheduleRestore(bookmark), 0],
};

test.each(Object.entries(ACTS))(
  '[LOG24] the restore that is shown is committed before: %s',
  async (_, [act, commits]) => {
    const { files, environment, bookmark, image } = await restored();
    await act(files, { nowMs: environment.nowMs, bookmark });
    expect(files.showsRestore).toBe(false);
    const listed = await files.listCommits(EVERYTHING);
    expect(listed.findIndex(({ isRestore }) => isRestore)).toBe(commits);
    const past = await files.openPast(listed[commits]!.bookmark);
    expect(isSame(imageOf(past), image)).toBe(true);
    await files.close();
  },
);

test('[LOG24] reads, and commits that change nothing, leave it shown', async () => {
  const { directory, files, image } = await restored();
  files.file.commit();
  files.file.endRollback();
  files.atomically(() => {});
  await files.flush();
  expect(await files.checkpoint()).toBe(false);
  expect(isSame(imageOf(files.file), image)).toBe(true);
  expect(files.file.read(new Uint8Array(PAGE_BYTES), image.length)).toBe(false);
  expect([files.showsRestore, [...directory.written]]).toEqual([true, []]);
  await files.close();
});

test('[LOG24] a restore that was shown can be undone', async () => {
  const { directory, environment, files, undo, laterImage } = await restored();
  files.scheduleRestore(undo);
  await files.flush();
  await files.close();
  const again = await ObjectFiles.open(directory, environment);
  expect(isSame(again.databaseBytes(), laterImage)).toBe(true);
  await again.close();
});

test('[LOG24] a checkpoint, or closing, copies the restored pages into the main file', async () => {
  for (const copies of ['checkpoint', 'close'] as const) {
    const { directory, files, image } = await restored();
    if (copies === 'checkpoint') {
      files.commitRestore();
      await files.flush();
      expect(files.owesRestore).toBe(true);
    }
    await files[copies]();
    expect(files.owesRestore).toBe(false);
    await files.close();
    expect(isSame(await main(directory), image)).toBe(true);
    expect(directory.afterClose).toEqual([]);
  }
});

test('[LOG24] closing copies nothing if commits were discarded, or the disk fails', async () => {
  const discarded = await restored();
  write(discarded.files, 500);
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

test('[LOG24] a full disk refuses the first commit of the restore, prunes nothing it needs, and accepts it later', async () => {
  const options = { segmentBytes: 1 << 14, checkpointLogBytes: 1 << 13 };
  const { directory, environment, files, image } = await restored(options);
  const names = (await directory.names()).filter((name) => name.startsWith('log-'));
  expect(names.length).toBeGreaterThan(1);
  for (const name of names) directory.full.add(name);
  await files.maintain();
  const isFull = expect.objectContaining({ code: 'DISK_FULL' });
  expect(() => files.file.write(noise(1, PAGE_BYTES), 0)).toThrow(isFull);
  expect(() => files.file.read(new Uint8Array(PAGE_BYTES), 0)).toThrow(isFull);
  expect(() => files.file.commit()).toThrow(isFull);
  expect(() => files.currentBookmark()).toThrow(isFull);
  expect(isSame(imageOf(files.file), image)).toBe(true);
  files.discardUnflushed();
  await files.close();
  const again = await ObjectFiles.open(directory, environment, options);
  expect([again.showsRestore, isSame(again.databaseBytes(), image)]).toEqual([true, true]);
  directory.full.clear();
  again.file.write(noise(1, PAGE_BYTES), 0);
  again.file.commit();
  await again.flush();
  const listed = await again.listCommits(EVERYTHING);
  expect(listed.slice(0, 2).map(({ isRestore }) => isRestore)).toEqual([false, true]);
  await again.close();
});

test('[LOG24] more than is kept in memory is committed before it is shown; a full disk that takes nothing leaves it to a later opening', async () => {
  for (const fails of [false, true]) {
    const { directory, environment, bookmark, image, laterImage, files } = await restored();
    await files.close();
    const options = { undoBytes: 3 * PAGE_BYTES };
    const next = await ObjectFiles.open(directory, environment, options);
    write(next, 700, PAGES + 1);
    write(next, 800);
    await next.flush();
    next.scheduleRestore(bookmark);
    await next.flush();
    await next.close();
    if (fails) {
      const logs = (await directory.names()).filter((name) => name.startsWith('log-'));
      for (const name of logs) directory.full.add(name);
      for (let i = 0; i < 2; i++) {
        const full = await ObjectFiles.open(directory, environment, options);
        expect(isSame(full.databaseBytes(), image)).toBe(false);
        await full.close();
      }
      directory.full.clear();
    }
    const opened = await ObjectFiles.open(directory, environment, options);
    expect([opened.showsRestore, opened.needsFlush]).toEqual([false, false]);
    expect(isSame(opened.databaseBytes(), image)).toBe(true);
    expect(isSame(opened.databaseBytes(), laterImage)).toBe(false);
    await opened.close();
    const again = await ObjectFiles.open(directory, environment, options);
    expect(isSame(again.databaseBytes(), image)).toBe(true);
    await again.close();
  }
});

test('[LOG24] a damaged current page refuses it; intact pages are read, and it is cancelled', async () => {
  const { directory, environment, files, image } = await restored();
  await files.close(); // commits it
  const reset = await ObjectFiles.open(directory, environment);
  const bookmark = reset.currentBookmark();
  write(reset, 600);
  await reset.flush();
  reset.scheduleRestore(bookmark);
  await reset.flush();
  await reset.checkpoint();
  const newest = reset.databaseBytes();
  await reset.close();
  const file = await directory.inner.open('main');
  file.write(new Uint8Array([1, 2, 3]), 5 * PAGE_BYTES + 100);
  file.close();

  const shown = await ObjectFiles.open(directory, environment);
  const page = new Uint8Array(PAGE_BYTES);
  shown.file.read(page, 4 * PAGE_BYTES);
  expect(isSame(page, image.subarray(4 * PAGE_BYTES, 5 * PAGE_BYTES))).toBe(true);
  const isCorrupt = expect.objectContaining({ code: 'CORRUPT' });
  expect(() => shown.file.read(page, 5 * PAGE_BYTES)).toThrow(isCorrupt);
  for (let i = 0; i < 2; i++) {
    expect(() => shown.file.write(page, 0)).toThrow(isCorrupt);
    expect(() => shown.file.commit()).toThrow(isCorrupt);
    expect(() => shown.currentBookmark()).toThrow(isCorrupt);
    shown.file.read(page, 4 * PAGE_BYTES); // SQLite's next read begins another transaction
  }
  expect(isSame(page, image.subarray(4 * PAGE_BYTES, 5 * PAGE_BYTES))).toBe(true);
  await shown.flush();
  await shown.close();
  const without = await ObjectFiles.open(directory, environment);
  expect(without.showsRestore).toBe(false);
  without.file.read(page, 4 * PAGE_BYTES);
  expect(isSame(page, newest.subarray(4 * PAGE_BYTES, 5 * PAGE_BYTES))).toBe(true);
  await without.close();
});

test('[LOG24] the flush of its commit is not followed by a checkpoint, that of the next commit is', async () => {
  const { directory, files } = await restored({ checkpointLogBytes: 1 });
  write(files, 500);
  await files.flush();
  expect([files.needsFlush, directory.written.has('main')]).toEqual([false, false]);
  write(files, 600);
  await files.flush();
  expect(directory.written.has('main')).toBe(true);
  await files.close();
});

/** An object of a host that is reset with a pending restore of `a` to 1. */
async function resetForRestore() {
  const host = await createTestHost();
  await host.run(async ({ storage }) => {
    await storage.put('a', 1);
    const bookmark = await storage.getCurrentBookmark();
    await storage.put('a', 2);
    await storage.onNextSessionRestoreBookmark(bookmark);
  });
  await host.host.reset(host.address(), new Error('to be restored'));
  return host;
}

test('[LOG24] an object that was restored is answered first; its commit and checkpoint follow while it is open', async () => {
  const host = await resetForRestore();
  expect(await host.run(({ storage }) => storage.get('a'))).toBe(1);
  expect(host.owesRestore()).toBe(true);
  await host.advance(1000);
  expect(host.owesRestore()).toBe(false);
  expect(await host.run(({ storage }) => storage.get('a'))).toBe(1);
  await host.close();
});

test('[LOG24] [PITR1] a bookmark that is answered after a restore can be restored, whatever happens next', async () => {
  const host = await resetForRestore();
  const bookmark = await host.run(({ storage }) => storage.getCurrentBookmark());
  await host.run(async ({ storage }) => {
    await storage.put('a', 3);
    await storage.onNextSessionRestoreBookmark(bookmark);
  });
  await host.host.reset(host.address(), new Error('to be restored'));
  expect(await host.run(({ storage }) => storage.get('a'))).toBe(1);
  await host.close();
});

test('[PITR7] a restore of more than memory holds that finds no room is given up, and the error says so', async () => {
  const options = { undoBytes: 2 * PAGE_BYTES };
  const directory = new WatchedDirectory();
  const environment = new TestEnvironment();
  const files = await ObjectFiles.open(directory, environment, options);
  write(files, 100);
  await files.flush();
  const bookmark = files.currentBookmark();
  write(files, 200);
  await files.flush();
  const later = files.databaseBytes();
  files.scheduleRestore(bookmark);
  await files.flush();
  await files.close();

  // No room for a record of several pages, but for a marker.
  directory.mostBytes = 2 * PAGE_BYTES;
  await expect(ObjectFiles.open(directory, environment, options)).rejects.toMatchObject({
    code: 'DISK_FULL',
    message: expect.stringMatching(/given up.*restore again/),
  });
  const again = await ObjectFiles.open(directory, environment, options);
  expect(isSame(imageOf(again.file), later)).toBe(true);
  directory.mostBytes = Number.POSITIVE_INFINITY;
  write(again, 300);
  await again.flush();
  await again.close();
});

test('[PITR7] on a disk that does not even take the cancellation, the object is read, and not changed', async () => {
  const options = { undoBytes: 2 * PAGE_BYTES };
  const directory = new WatchedDirectory();
  const environment = new TestEnvironment();
  const files = await ObjectFiles.open(directory, environment, options);
  write(files, 100);
  await files.flush();
  const image = files.databaseBytes();
  const bookmark = files.currentBookmark();
  write(files, 200);
  await files.flush();
  const later = files.databaseBytes();
  files.scheduleRestore(bookmark);
  await files.flush();
  await files.close();

  directory.mostBytes = 0;
  const full = await ObjectFiles.open(directory, environment, options);
  expect(isSame(imageOf(full.file), later)).toBe(true);
  expect(isSame(full.databaseBytes(), later)).toBe(true);
  directory.mostBytes = Number.POSITIVE_INFINITY;
  expect(() => write(full, 300)).toThrow(expect.objectContaining({ code: 'DISK_FULL' }));
  await full.close();
  const restored = await ObjectFiles.open(directory, environment, options);
  expect(isSame(restored.databaseBytes(), image)).toBe(true);
  await restored.close();
});

test('[PITR9] once there is room, a restore that the disk took neither way is taken back, and the object changes', async () => {
  const options = { undoBytes: 2 * PAGE_BYTES };
  const directory = new WatchedDirectory();
  const environment = new TestEnvironment();
  const files = await ObjectFiles.open(directory, environment, options);
  write(files, 100);
  await files.flush();
  const bookmark = files.currentBookmark();
  write(files, 200);
  await files.flush();
  files.scheduleRestore(bookmark);
  await files.flush();
  await files.close();

  directory.mostBytes = 0;
  const full = await ObjectFiles.open(directory, environment, options);
  expect(() => full.cancelRestore()).toThrow(expect.objectContaining({ code: 'DISK_FULL' }));
  expect(full.isToBeRestored).toBe(true);
  directory.mostBytes = Number.POSITIVE_INFINITY;
  expect([full.cancelRestore(), full.cancelRestore()]).toEqual([true, false]);
  write(full, 300);
  const image = full.databaseBytes();
  await full.flush();
  await full.close();
  const again = await ObjectFiles.open(directory, environment, options);
  expect(again.showsRestore).toBe(false);
  expect(isSame(again.databaseBytes(), image)).toBe(true);
  await again.close();
});

test('[PITR9] a power failure after the flush leaves no cancelled restore; a restore that is shown stays', async () => {
  const { directory, environment, files, undo } = await restored();
  expect(files.cancelRestore()).toBe(false);
  expect(files.showsRestore).toBe(true);
  files.scheduleRestore(undo);
  await files.flush();
  expect(files.cancelRestore()).toBe(true);
  await files.flush();
  const image = files.databaseBytes();
  const survivor = await reopened(directory, environment);
  expect(survivor.showsRestore).toBe(false);
  expect(isSame(survivor.databaseBytes(), image)).toBe(true);
  await survivor.close();
  await files.close();
});
