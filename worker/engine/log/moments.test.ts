// Every moment of a history of several segments, by its time and by its bookmark.

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
import { ObjectFiles } from './object-files.ts';
import { PAGE_BYTES } from './pages.ts';

const OPTIONS = { segmentBytes: 8 * PAGE_BYTES, checkpointLogBytes: 4 * PAGE_BYTES };
const STEP_MS = 1000;
const COMMITS = 40;

interface Moment {
  readonly timeMs: number;
  readonly bookmark: string;
  readonly seed: number;
  /** The segment that was written last. */
  readonly segment: string;
}

/** A commit a second, of a page that changes everywhere or, every third time, hardly. */
async function withMoments() {
  const directory = new WatchedDirectory();
  const environment = new TestEnvironment();
  const files = await ObjectFiles.open(directory, environment, OPTIONS);
  const moments: Moment[] = [];
  const emptyBookmark = files.currentBookmark();
  for (let seed = 1; seed <= COMMITS; seed++) {
    environment.nowMs += STEP_MS;
    files.file.write(contentOf(seed), 0);
    files.file.commit();
    await files.flush();
    await files.maintain();
    const segments = [...directory.written].filter((name) => name.startsWith('log-')).sort();
    const bookmark = files.currentBookmark();
    moments.push({ timeMs: environment.nowMs, bookmark, seed, segment: segments.at(-1)! });
  }
  environment.nowMs += STEP_MS;
  expect(new Set(moments.map(({ segment }) => segment)).size).toBeGreaterThan(3);
  return { directory, environment, files, moments, emptyBookmark };
}

function contentOf(seed: number): Uint8Array {
  if (seed % 3 !== 0) return noise(seed, PAGE_BYTES);
  const bytes = noise(seed - 1, PAGE_BYTES);
  bytes[100]! ^= 0xff;
  return bytes;
}

/** The part of a bookmark that names the commit. */
const sequenceOf = (bookmark: string) => bookmark.slice(0, 17);

/** The content of the page after a restore, in a copy of the directory; null: there is no page. */
async function restored(
  original: WatchedDirectory,
  environment: TestEnvironment,
  bookmark: string,
): Promise<Uint8Array | null> {
  const directory = new WatchedDirectory(await copyOf(original.inner));
  const first = await ObjectFiles.open(directory, environment, OPTIONS);
  first.scheduleRestore(bookmark);
  await first.flush();
  await first.close();
  const files = await ObjectFiles.open(directory, environment, OPTIONS);
  const page = new Uint8Array(PAGE_BYTES);
  const isThere = files.file.read(page, 0);
  // The restore is over: it is not made again.
  expect(files.file.sizeBytes()).toBe(isThere ? PAGE_BYTES : 0);
  const after = files.currentBookmark();
  await files.close();
  const again = await ObjectFiles.open(directory, environment, OPTIONS);
  expect(sequenceOf(again.currentBookmark())).toBe(sequenceOf(after));
  await again.close();
  return isThere ? page : null;
}

test('[LOG12] a time names the last commit at or before it, whichever segment holds that', async () => {
  const { files, moments } = await withMoments();
  const found: string[] = [];
  const expected: string[] = [];
  for (const { timeMs, bookmark } of moments) {
    for (const afterMs of [0, 1, STEP_MS - 1]) {
      found.push(sequenceOf(await files.bookmarkForTime(timeMs + afterMs)));
      expected.push(sequenceOf(bookmark));
    }
  }
  expect(found).toEqual(expected);
  await files.close();
});

test('[LOG11] every commit can be restored by its bookmark, whichever segment holds it', async () => {
  const { directory, environment, files, moments } = await withMoments();
  await files.close();
  for (const { bookmark, seed } of moments) {
    const page = await restored(directory, environment, bookmark);
    expect(page !== null && Buffer.from(page).equals(contentOf(seed))).toBe(true);
  }
});

test('[LOG12] the time before the first commit is the empty object', async () => {
  const { directory, environment, files, emptyBookmark } = await withMoments();
  const byTime = await files.bookmarkForTime(START_MS + 1);
  const before = await files.bookmarkForTime(START_MS - 1);
  await files.close();
  for (const bookmark of [byTime, before, emptyBookmark]) {
    expect(await restored(directory, environment, bookmark)).toBe(null);
  }
});

test('[LOG12] [LOG7] a segment of the history that was cut short is damage, for times and for bookmarks', async () => {
  const { directory, environment, files, moments } = await withMoments();
  await files.close();
  const end = moments.findIndex((moment) => moment.segment === 'log-00000003');
  const [inside, last] = [moments[end - 4]!, moments[end - 1]!];
  const bytes = await bytesOf(directory.inner, 'log-00000002');
  const used = bytes.findLastIndex((byte) => byte !== 0) + 1;
  bytes.fill(0, used - 200);
  await overwrite(directory.inner, 'log-00000002', bytes);
  const again = await ObjectFiles.open(directory, environment, OPTIONS);
  expect(sequenceOf(await again.bookmarkForTime(inside.timeMs))).toBe(sequenceOf(inside.bookmark));
  await expect((async () => await again.bookmarkForTime(last.timeMs))()).rejects.toMatchObject({
    code: 'CORRUPT',
  });
  await again.close();
  await expect(restored(directory, environment, last.bookmark)).rejects.toMatchObject({
    code: 'CORRUPT',
  });
});
