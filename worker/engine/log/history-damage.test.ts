import { beforeAll, expect, test, vi } from 'vitest';
import {
  bytesOf,
  openLog,
  overwrite,
  put,
  START_MS,
  TestEnvironment,
} from '../../../packages/testing/worker/test-log.ts';
import { MemoryDirectory } from '../file/memory-file.ts';
import { ObjectFiles } from './object-files.ts';

beforeAll(() => {
  vi.spyOn(console, 'error').mockImplementation(() => {});
  vi.spyOn(console, 'warn').mockImplementation(() => {});
});

const SMALL = { segmentBytes: 1 << 13, checkpointLogBytes: 1 << 12 };
/** Every commit is one second after the previous one. */
const STEP_MS = 1000;

/** An object with several segments, and the bookmark and the state of each commit. */
async function history(options = SMALL, valueLength = 150) {
  const directory = new MemoryDirectory();
  const environment = new TestEnvironment();
  const { files, db, close } = await openLog(directory, environment, options);
  const bookmarks: string[] = [];
  const images: Uint8Array[] = [];
  for (let i = 0; i < 60; i++) {
    environment.nowMs = START_MS + (i + 1) * STEP_MS;
    put(db, i % 10, String(i).repeat(valueLength));
    await files.flush();
    bookmarks.push(files.currentBookmark());
    images.push(files.databaseBytes());
    if (files.needsMaintenance) await files.maintain();
  }
  await close();
  return { directory, environment, bookmarks, images };
}

/** The same with one byte changed. */
async function damagedHistory(damaged: string, offset: number) {
  const result = await history();
  const bytes = await bytesOf(result.directory, damaged);
  bytes[offset]! ^= 0x10;
  await overwrite(result.directory, damaged, bytes);
  return result;
}

const DAMAGED_PLACES: Readonly<Record<string, readonly [string, number]>> = {
  'a record of the oldest segment': ['log-00000001', 4096 + 3000],
  'a record of a later segment': ['log-00000003', 4096 + 500],
  'the header of the oldest segment': ['log-00000001', 24],
  'the header of a later segment': ['log-00000003', 24],
};

test.each(Object.keys(DAMAGED_PLACES))(
  '[LOG7] a restore that meets damage in %s is CORRUPT, and any other gives its state',
  async (place) => {
    const [name, offset] = DAMAGED_PLACES[place]!;
    const { directory, environment, bookmarks, images } = await damagedHistory(name, offset);
    const outcomes = new Set<string>();
    for (let i = 0; i < bookmarks.length; i += 3) {
      const first = await ObjectFiles.open(directory, environment, SMALL);
      first.scheduleRestore(bookmarks[i]!);
      await first.flush();
      await first.close();
      const second = await ObjectFiles.open(directory, environment, SMALL).catch((error) => error);
      if (!(second instanceof ObjectFiles)) {
        outcomes.add(second.code);
        continue;
      }
      const isRestored = Buffer.from(second.databaseBytes()).equals(images[i]!);
      outcomes.add(isRestored ? 'its state' : 'another state');
      await second.close();
    }
    expect(outcomes).toEqual(new Set(['CORRUPT', 'its state']));
  },
);

/**
 * The first and the last of the 60 commits whose time cannot be looked up: those in the damaged records or in the
 * oldest segment, whose header is damaged, or those whose search reads the damaged header of a later one.
 */
const HIDDEN_TIMES: Readonly<Record<string, readonly [number, number]>> = {
  'a record of the oldest segment': [5, 6],
  'a record of a later segment': [14, 18],
  'the header of the oldest segment': [0, 6],
  'the header of a later segment': [0, 30],
};

test.each(Object.keys(DAMAGED_PLACES))(
  '[LOG7] damage in %s makes the times that need it CORRUPT, and every other one gives its bookmark',
  async (place) => {
    const [name, offset] = DAMAGED_PLACES[place]!;
    const { directory, environment, bookmarks } = await damagedHistory(name, offset);
    const files = await ObjectFiles.open(directory, environment, SMALL);
    const refused: number[] = [];
    for (const [i, bookmark] of bookmarks.entries()) {
      try {
        const found = await files.bookmarkForTime(START_MS + (i + 1) * STEP_MS);
        expect(found.slice(0, 17)).toBe(bookmark.slice(0, 17));
      } catch (error) {
        expect(error).toMatchObject({ code: 'CORRUPT' });
        refused.push(i);
      }
    }
    const [from, to] = HIDDEN_TIMES[place]!;
    expect(refused).toEqual(Array.from({ length: to - from + 1 }, (_, i) => from + i));
    await files.close();
  },
);

test('[LOG7] history behind a segment that was cut off anywhere is CORRUPT, also before places that its index knows', async () => {
  const options = { segmentBytes: 1 << 18, checkpointLogBytes: 1 << 16 };
  const { directory, environment, bookmarks } = await history(options, 6000);
  const name = 'log-00000002';
  const whole = await bytesOf(directory, name);
  const end = whole.findLastIndex((byte) => byte !== 0); // zeros behind it are no history
  const outcomes = new Set<string>();
  for (let length = end; length > 0; length -= 9000) {
    await overwrite(directory, name, whole.subarray(0, length));
    const files = await ObjectFiles.open(directory, environment, options);
    const outcome = files.openPast(bookmarks[0]!).then(
      () => 'a state',
      (error) => error.code ?? String(error),
    );
    outcomes.add(await outcome);
    await files.close();
  }
  expect([...outcomes]).toEqual(['CORRUPT']);
});

test('[LOG13] a pruned segment that a power failure left with zeros is history that was pruned, not damage', async () => {
  const { directory, environment, bookmarks } = await damagedHistory('log-00000001', 4096 + 3000);
  await overwrite(directory, 'log-00000001', new Uint8Array(4096));
  let files = await ObjectFiles.open(directory, environment, SMALL);
  const earlyMs = START_MS + STEP_MS;
  const unavailable = expect.objectContaining({ code: 'BOOKMARK_UNAVAILABLE' });
  await expect((async () => files.bookmarkForTime(earlyMs))()).rejects.toEqual(unavailable);
  await expect((async () => files.scheduleRestore(bookmarks[0]!))()).rejects.toEqual(unavailable);
  await files.close();
  files = await ObjectFiles.open(directory, environment, SMALL);
  expect(await directory.names()).not.toContain('log-00000001');
  await files.close();
});

test('[LOG12] the state where history begins can be restored, also when power brought older segments back', async () => {
  const { directory, environment } = await damagedHistory('log-00000002', 4096 + 500);
  const third = await directory.open('log-00000003');
  const header = new DataView(new ArrayBuffer(4096));
  third.read(new Uint8Array(header.buffer), 0);
  third.close();
  // `baseTimeMs`: the time of the last commit in the segment that was pruned.
  const baseTimeMs = header.getFloat64(32, true);
  await overwrite(directory, 'log-00000002', new Uint8Array());
  let opened = await openLog(directory, environment, SMALL);
  const bookmark = await opened.files.bookmarkForTime(baseTimeMs);
  opened.files.scheduleRestore(bookmark);
  await opened.files.flush();
  await opened.close();
  opened = await openLog(directory, environment, SMALL);
  // Commit i has the key i % 10.
  const last = Math.round((baseTimeMs - START_MS) / STEP_MS) - 1;
  expect(opened.db.selectValue('SELECT v FROM t WHERE k = ?', [last % 10])).toBe(
    String(last).repeat(150),
  );
  expect(opened.db.selectValue('SELECT v FROM t WHERE k = ?', [(last + 1) % 10])).toBe(
    String(last - 9).repeat(150),
  );
  await opened.close();
});
