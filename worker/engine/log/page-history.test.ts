// History without SQLite: restores, times and openings of an object whose pages the test writes.

import { expect, test } from 'vitest';
import {
  bytesOf,
  copyOf,
  noise,
  overwrite,
  START_MS,
  TestEnvironment,
  WatchedDirectory,
} from '../../../packages/testing/worker/test-log.ts';
import type { FileDirectory } from '../file/file.ts';
import { ObjectFiles } from './object-files.ts';
import { PAGE_BYTES } from './pages.ts';

type Options = Parameters<typeof ObjectFiles.open>[2];

const DAY_MS = 86_400_000;
const page = (seed: number) => noise(seed, PAGE_BYTES);
const isSame = (some: Uint8Array, others: Uint8Array) => Buffer.from(some).equals(others);

/** Segments of four whole pages each, without checkpoints between. */
const SMALL: Options = { segmentBytes: 4096 + 4 * 4176, checkpointLogBytes: 1 << 30 };

function commit(files: ObjectFiles, pages: Readonly<Record<number, Uint8Array>>): void {
  for (const [index, bytes] of Object.entries(pages)) {
    files.file.write(bytes, Number(index) * PAGE_BYTES);
  }
  files.file.commit();
}

interface Moment {
  readonly timeMs: number;
  readonly bookmark: string;
  readonly image: Uint8Array;
}

/** An object that changes, grows and shrinks, a commit a second, over several segments. */
async function lived(directory: FileDirectory, environment: TestEnvironment, options = SMALL) {
  const files = await ObjectFiles.open(directory, environment, options);
  const moments: Moment[] = [];
  for (let i = 0; i < 24; i++) {
    environment.nowMs += 1000;
    if (i % 7 === 5) files.file.truncate(2 * PAGE_BYTES);
    // A whole new page, a page changed in a few bytes, and an unchanged page.
    const changed = page(3);
    changed[(i * 37) % PAGE_BYTES]! ^= 0xff;
    commit(files, { [i % 5]: page(i), 1: changed });
    await files.flush();
    if (files.needsMaintenance) await files.maintain();
    moments.push({
      timeMs: environment.nowMs,
      bookmark: files.currentBookmark(),
      image: files.databaseBytes(),
    });
  }
  return { files, moments };
}

const segmentsOf = async (directory: FileDirectory) =>
  (await directory.names()).filter((name) => name.startsWith('log-')).sort();

/** The object after a restore to the bookmark, and the bookmark that undoes it. */
async function restored(
  directory: FileDirectory,
  environment: TestEnvironment,
  bookmark: string,
  options = SMALL,
) {
  const before = await ObjectFiles.open(directory, environment, options);
  const undo = before.scheduleRestore(bookmark);
  expect(before.needsFlush).toBe(true);
  await before.flush();
  expect(before.needsFlush).toBe(false);
  await before.close();
  return { files: await ObjectFiles.open(directory, environment, options), undo };
}

test.each([
  ['several segments', SMALL],
  ['one segment', {}],
] as const)(
  '[LOG11] a restore to any commit in %s gives its image, and can be undone',
  async (_, options) => {
    const directory = new WatchedDirectory();
    const environment = new TestEnvironment();
    const { files, moments } = await lived(directory, environment, options);
    await files.close();
    expect((await segmentsOf(directory)).length > 3).toBe(options === SMALL);
    const last = moments.at(-1)!;
    for (const moment of moments.filter((__, i) => i % 5 === 1)) {
      const past = await restored(directory, environment, moment.bookmark, options);
      expect(isSame(past.files.databaseBytes(), moment.image)).toBe(true);
      expect(past.files.needsFlush).toBe(false);
      expect(past.files.durableSequence).toBe(past.files.committedSequence);
      expect(past.undo < past.files.currentBookmark()).toBe(true);
      await past.files.close();
      const undone = await restored(directory, environment, past.undo, options);
      expect(isSame(undone.files.databaseBytes(), last.image)).toBe(true);
      await undone.files.close();
      // Once only: the next opening restores nothing.
      const again = await ObjectFiles.open(directory, environment, options);
      expect(again.currentBookmark()).toBe(undone.files.currentBookmark());
      await again.close();
    }
  },
);

test('[LOG11] a restore that is requested again replaces the one before; the main file has it', async () => {
  const directory = new WatchedDirectory();
  const environment = new TestEnvironment();
  const { files, moments } = await lived(directory, environment);
  files.scheduleRestore(moments[2]!.bookmark);
  await files.flush();
  files.scheduleRestore(moments[20]!.bookmark);
  files.scheduleRestore(moments[21]!.bookmark);
  await files.flush();
  await files.close();
  const again = await ObjectFiles.open(directory, environment, SMALL);
  expect(isSame(again.databaseBytes(), moments[21]!.image)).toBe(true);
  await again.close();
  expect(isSame(await bytesOf(directory.inner, 'main'), moments[21]!.image)).toBe(true);
});

test('[LOG11] a pending restore survives a checkpoint, and openings that fail', async () => {
  const directory = new WatchedDirectory();
  const environment = new TestEnvironment();
  const { files, moments } = await lived(directory, environment);
  files.scheduleRestore(moments[3]!.bookmark);
  commit(files, { 0: page(99) });
  await files.flush();
  await files.checkpoint();
  await files.close();
  directory.fails = (call) => call === 'flush';
  await expect(ObjectFiles.open(directory, environment, SMALL)).rejects.toMatchObject({
    code: 'IO',
  });
  directory.fails = () => false;
  const again = await ObjectFiles.open(directory, environment, SMALL);
  expect(isSame(again.databaseBytes(), moments[3]!.image)).toBe(true);
  await again.close();
});

test('[LOG12] the bookmark of any time names the last commit at or before it', async () => {
  const environment = new TestEnvironment();
  const directory = new WatchedDirectory();
  const { files, moments } = await lived(directory, environment);
  const bookmarkAt = async (timeMs: number) => (await files.bookmarkForTime(timeMs)).slice(0, 17);
  for (const { timeMs, bookmark } of moments) {
    const name = bookmark.slice(0, 17);
    expect(await bookmarkAt(timeMs)).toBe(name);
    if (timeMs + 999 <= environment.nowMs) expect(await bookmarkAt(timeMs + 999)).toBe(name);
  }
  expect(await bookmarkAt(environment.nowMs)).toBe(moments.at(-1)!.bookmark.slice(0, 17));
  await files.close();
});

test('[LOG12] before its first commit the object was empty, and a restore goes back to that', async () => {
  const directory = new WatchedDirectory();
  const environment = new TestEnvironment();
  const { files } = await lived(directory, environment);
  for (const timeMs of [START_MS, START_MS + 999, START_MS - DAY_MS]) {
    expect(await files.bookmarkForTime(timeMs)).toMatch(/^00000000-00000000-/);
  }
  const empty = await files.bookmarkForTime(START_MS);
  await files.close();
  const { files: again } = await restored(directory, environment, empty);
  expect(again.databaseBytes()).toHaveLength(0);
  await again.close();
});

test('[LOG12] a time outside the window, or in the future, is refused with the window and the time', async () => {
  const environment = new TestEnvironment();
  const { files } = await lived(new WatchedDirectory(), environment);
  const now = environment.nowMs;
  for (const timeMs of [now + 1, now - 30 * DAY_MS - 1, Number.NaN]) {
    expect(() => files.bookmarkForTime(timeMs)).toThrow(
      expect.objectContaining({
        code: 'BOOKMARK_UNAVAILABLE',
        message: `bookmark for ${timeMs}: not within the last 30 days (now is ${now}).`,
      }),
    );
  }
  expect(await files.bookmarkForTime(now - 30 * DAY_MS)).toMatch(/^00000000-00000000-/);
  await files.close();
  await expect((async () => files.bookmarkForTime(now - 20_000))()).rejects.toMatchObject({
    code: 'OBJECT_RESET',
    message: expect.stringMatching(/^bookmark: .*is closed/),
  });
});

test('[LOG14] history beyond the window is removed; its times and bookmarks are unavailable', async () => {
  const directory = new WatchedDirectory();
  const environment = new TestEnvironment();
  const { files, moments } = await lived(directory, environment);
  environment.nowMs = moments[12]!.timeMs + 30 * DAY_MS;
  for (const mark of [1, 2]) {
    commit(files, { 0: page(mark) });
    await files.flush();
    environment.nowMs += DAY_MS;
  }
  await files.maintain();
  const names = await segmentsOf(directory);
  expect(names).not.toContain('log-00000001');
  const isUnavailable = (message: RegExp) =>
    expect.objectContaining({
      code: 'BOOKMARK_UNAVAILABLE',
      message: expect.stringMatching(message),
    });
  expect(() => files.scheduleRestore(moments[0]!.bookmark)).toThrow(
    isUnavailable(/the history of that moment was pruned/),
  );
  environment.nowMs = moments.at(-1)!.timeMs;
  await expect((async () => files.bookmarkForTime(moments[0]!.timeMs))()).rejects.toEqual(
    isUnavailable(/the history of that time was pruned/),
  );
  // Everything within the window is there.
  expect((await files.bookmarkForTime(moments[13]!.timeMs)).slice(0, 17)).toBe(
    moments[13]!.bookmark.slice(0, 17),
  );
  await files.close();
  const { files: again } = await restored(directory, environment, moments[13]!.bookmark);
  expect(isSame(again.databaseBytes(), moments[13]!.image)).toBe(true);
  await again.close();
});

test('[LOG13] on a full disk the oldest history makes room for commits', async () => {
  const directory = new WatchedDirectory();
  const environment = new TestEnvironment();
  const { files, moments } = await lived(directory, environment);
  await files.maintain();
  directory.inner.capacityBytes = directory.inner.usedBytes();
  for (let i = 0; i < 30; i++) {
    commit(files, { [i % 4]: page(100 + i) });
    await files.flush();
    if (files.needsMaintenance) await files.maintain();
  }
  expect(() => files.scheduleRestore(moments[0]!.bookmark)).toThrow(
    expect.objectContaining({ code: 'BOOKMARK_UNAVAILABLE' }),
  );
  const image = files.databaseBytes();
  await files.close();
  const again = await ObjectFiles.open(directory, environment, SMALL);
  expect(isSame(again.databaseBytes(), image)).toBe(true);
  await again.close();
});

test('[LOG10] a bookmark of a commit that does not exist yet is refused; the end of the session is not', async () => {
  const directory = new WatchedDirectory();
  const environment = new TestEnvironment();
  const { files, moments } = await lived(directory, environment);
  await files.close();
  const early = await ObjectFiles.open(await copyOf(directory), environment, SMALL);
  const late = await ObjectFiles.open(directory, environment, SMALL);
  commit(late, { 0: page(60) });
  const next = late.currentBookmark();
  expect(() => early.scheduleRestore(next)).toThrow(
    expect.objectContaining({
      code: 'BOOKMARK_INVALID',
      message: `"${next}" names a commit that does not exist.`,
    }),
  );
  const end = early.scheduleRestore(moments[1]!.bookmark);
  expect(early.scheduleRestore(end)).toBe(end);
  early.discardUnflushed();
  await early.close();
  await late.close();
});

test('[LOG10] a bookmark of a commit that was discarded is refused, at once or by the next opening', async () => {
  const directory = new WatchedDirectory();
  const environment = new TestEnvironment();
  const { files, moments } = await lived(directory, environment);
  commit(files, { 0: page(50) });
  const lost = files.currentBookmark();
  files.discardUnflushed();
  await files.close();
  let again = await ObjectFiles.open(directory, environment, SMALL);
  expect(isSame(again.databaseBytes(), moments.at(-1)!.image)).toBe(true);
  expect(() => again.scheduleRestore(lost)).toThrow(
    expect.objectContaining({
      code: 'BOOKMARK_INVALID',
      message: `"${lost}" names a commit that does not exist.`,
    }),
  );
  commit(again, { 0: page(51) });
  again.scheduleRestore(lost);
  await again.flush();
  const image = again.databaseBytes();
  await again.close();
  await expect(ObjectFiles.open(directory, environment, SMALL)).rejects.toMatchObject({
    code: 'BOOKMARK_INVALID',
    message: expect.stringMatching(/never flushed and is not part of the history/),
  });
  again = await ObjectFiles.open(directory, environment, SMALL);
  expect(isSame(again.databaseBytes(), image)).toBe(true);
  await again.close();
});

test('[LOG11] after an impossible restore the object opens as it was, and the reason was said', async () => {
  const directory = new WatchedDirectory();
  const environment = new TestEnvironment();
  const { files, moments } = await lived(directory, environment);
  files.scheduleRestore(moments[1]!.bookmark);
  await files.flush();
  await files.close();
  await overwrite(directory.inner, 'log-00000001', new Uint8Array());
  await expect(ObjectFiles.open(directory, environment, SMALL)).rejects.toMatchObject({
    code: 'BOOKMARK_UNAVAILABLE',
    message: 'The history of that moment was pruned.',
  });
  const again = await ObjectFiles.open(directory, environment, SMALL);
  expect(isSame(again.databaseBytes(), moments.at(-1)!.image)).toBe(true);
  await again.close();
});

test('[LOG1] an object equals its commits, after any number of openings, with a log of any kind', async () => {
  const directory = new WatchedDirectory();
  const environment = new TestEnvironment();
  const { files, moments } = await lived(directory, environment, {
    ...SMALL,
    spillBytes: PAGE_BYTES,
  });
  await files.close();
  for (let opening = 0; opening < 3; opening++) {
    const again = await ObjectFiles.open(directory, environment, SMALL);
    expect(isSame(again.databaseBytes(), moments.at(-1)!.image)).toBe(true);
    expect(again.currentBookmark()).toBe(moments.at(-1)!.bookmark);
    expect([again.needsFlush, again.durableSequence]).toEqual([false, again.committedSequence]);
    await again.close();
    await again.close();
  }
  expect(directory.afterClose).toEqual([]);
});

test.each([
  ['main', /main file has 4095 bytes; at least \d+ are expected/],
  ['checkpoint', /checkpoint file has no intact slot/],
  ['log-00000001', /header of segment 1 of the log is damaged|was cut short/],
] as const)(
  '[LOG7] an object whose %s was cut off is CORRUPT, and says so',
  async (name, message) => {
    const directory = new WatchedDirectory();
    const environment = new TestEnvironment();
    const files = await ObjectFiles.open(directory, environment);
    commit(files, { 0: page(1), 1: page(2) });
    await files.flush();
    await files.checkpoint();
    await files.close();
    const size = name === 'checkpoint' ? 0 : 4095;
    await overwrite(
      directory.inner,
      name,
      (await bytesOf(directory.inner, name)).subarray(0, size),
    );
    await expect(ObjectFiles.open(directory, environment)).rejects.toMatchObject({
      code: 'CORRUPT',
      message: expect.stringMatching(message),
    });
    // Every file was closed.
    for (const each of await directory.names()) (await directory.inner.open(each)).close();
  },
);

test('[LOG7] a missing segment is CORRUPT and named', async () => {
  const directory = new WatchedDirectory();
  const environment = new TestEnvironment();
  const { files } = await lived(directory, environment);
  await files.close();
  for (const name of await segmentsOf(directory)) await directory.remove(name);
  await expect(ObjectFiles.open(directory, environment, SMALL)).rejects.toMatchObject({
    code: 'CORRUPT',
    message: expect.stringMatching(/^open: segment \d+ of the log is missing\.$/),
  });
});

test('[LOG2] a database becomes a copy of another one, as one commit', async () => {
  const environment = new TestEnvironment();
  const directory = new WatchedDirectory();
  const { files, moments } = await lived(directory, environment);
  const source = await ObjectFiles.open(new WatchedDirectory(), environment);
  commit(source, { 0: page(70), 1: page(71), 2: page(72) });
  const sequence = files.committedSequence;
  files.atomically(() => files.overwrite(source.file));
  expect(files.committedSequence).toBe(sequence + 1);
  expect(isSame(files.databaseBytes(), source.databaseBytes())).toBe(true);
  expect(moments.at(-1)!.image.length).not.toBe(source.databaseBytes().length);
  await files.flush();
  await files.close();
  await source.close();
});
