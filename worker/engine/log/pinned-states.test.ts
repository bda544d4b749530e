// Moments that branches begin with: kept whatever is pruned, and never ended to make room.

import { expect, test } from 'vitest';
import { imageOf, noise, TestEnvironment } from '../../../packages/testing/worker/test-log.ts';
import { MemoryDirectory } from '../file/memory-file.ts';
import { sequenceIn } from './bookmark.ts';
import { PagesInFile } from './kept-pages.ts';
import { ObjectFiles } from './object-files.ts';
import { PAGE_BYTES } from './pages.ts';
import { PAST_STATES_MAX } from './past-states.ts';

const DAY_MS = 86_400_000;
/** Segments of four whole pages each. */
const SMALL = { segmentBytes: 4096 + 4 * 4176, checkpointLogBytes: 1 };

/** An object whose moments from a sequence on are needed; infinite: none is. */
async function opened() {
  const pin = { sequence: Number.POSITIVE_INFINITY };
  const environment = Object.assign(new TestEnvironment(), { pinnedSequence: () => pin.sequence });
  const directory = new MemoryDirectory();
  const files = await ObjectFiles.open(directory, environment, SMALL);
  const commits = async (count: number, everyMs: number) => {
    for (let i = 0; i < count; i++) {
      environment.nowMs += everyMs;
      files.file.write(noise(environment.nowMs, PAGE_BYTES), (i % 6) * PAGE_BYTES);
      files.file.commit();
      await files.flush();
      if (files.needsMaintenance) await files.maintain();
    }
  };
  return { files, pin, directory, commits };
}

async function keptPages() {
  return new PagesInFile(await new MemoryDirectory().open('pages'));
}

test.each([true, false])(
  '[BRANCH6] history is kept as long as a branch needs it: %s',
  async (isPinned) => {
    const { files, pin, commits } = await opened();
    await commits(8, 1000);
    const bookmark = files.currentBookmark();
    const image = imageOf(files.file);
    if (isPinned) pin.sequence = sequenceIn(bookmark);
    await commits(60, DAY_MS);
    const open = async () => imageOf(await files.openPast(bookmark));
    if (isPinned) expect((await open()).equals(image)).toBe(true);
    else await expect(open()).rejects.toMatchObject({ code: 'BOOKMARK_UNAVAILABLE' });
  },
);

test('[BRANCH6] a full disk takes no history that a branch needs', async () => {
  const { files, pin, directory, commits } = await opened();
  await commits(8, 1000);
  const bookmark = files.currentBookmark();
  const image = imageOf(files.file);
  pin.sequence = sequenceIn(bookmark);
  await commits(30, 1000);
  directory.capacityBytes = directory.usedBytes() + 20_000;
  await expect(commits(60, 1000)).rejects.toMatchObject({ code: 'DISK_FULL' });
  expect(imageOf(await files.openPast(bookmark)).equals(image)).toBe(true);
  pin.sequence = Number.POSITIVE_INFINITY;
  await commits(60, 1000);
});

test('[BRANCH6] a moment that a branch begins with is not ended for others, nor others for it', async () => {
  const { files, commits } = await opened();
  await commits(8, 1000);
  const bookmark = files.currentBookmark();
  const image = imageOf(files.file);
  const others = [];
  for (let i = 0; i < PAST_STATES_MAX; i++) others.push(await files.openPast(bookmark));
  const pinned = await files.pinPast(bookmark, await keptPages());
  expect(others.filter(({ ended }) => ended)).toEqual([]);
  for (let i = 0; i < PAST_STATES_MAX; i++) await files.openPast(bookmark);
  await commits(40, 1000);
  expect(imageOf(pinned).equals(image)).toBe(true);
});
