// Undoing in steps of any size, into a transaction and into a past state.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  copyOf,
  imageOf,
  noise,
  TestEnvironment,
} from '../../../packages/testing/worker/test-log.ts';
import { MemoryDirectory } from '../file/memory-file.ts';
import { parseBookmark } from './bookmark.ts';
import { nextTimeline } from './log-position.ts';
import { ObjectFiles } from './object-files.ts';
import { PAGE_BYTES } from './pages.ts';
import { PastState } from './past-state.ts';
import { RESTORE } from './record.ts';
import { recover } from './recovery.ts';
import { findTarget } from './target-search.ts';
import { undoBackTo } from './undo.ts';

/** Small segments, transactions of several parts, and checkpoints now and then. */
const OPTIONS = {
  isChecked: true,
  segmentBytes: 1 << 15,
  spillBytes: 3 * PAGE_BYTES,
  pastBytes: 1 << 20,
  undoBytes: 1 << 20,
  checkpointOverlayBytes: 1 << 20,
  checkpointLogBytes: 1 << 14,
};

/** Each record is undone alone, some are undone together, all are. */
const HELD_BYTES = [0, 10_000, 1 << 20];

const step = fc.record({
  at: fc.nat(9),
  count: fc.constantFrom(1, 1, 2, 8),
  size: fc.option(fc.nat(12), { freq: 3 }),
  isWhole: fc.boolean(),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

function change(files: ObjectFiles, { at, count, size, isWhole }: Step, seed: number): void {
  if (size !== null) files.file.truncate(size * PAGE_BYTES);
  for (let i = at; i < at + count; i++) {
    const page = noise(isWhole ? seed : i, PAGE_BYTES);
    page[(seed * 37) % PAGE_BYTES]! ^= 0xff;
    files.file.write(page, i * PAGE_BYTES);
  }
  files.file.commit();
}

/** The files after these steps, and the image after each commit. */
async function lived(steps: readonly Step[]) {
  const directory = new MemoryDirectory();
  const environment = new TestEnvironment();
  const files = await ObjectFiles.open(directory, environment, OPTIONS);
  const moments = [{ bookmark: files.currentBookmark(), image: files.databaseBytes() }];
  for (const [seed, step] of steps.entries()) {
    change(files, step, seed);
    await files.flush();
    await files.maintain();
    moments.push({ bookmark: files.currentBookmark(), image: files.databaseBytes() });
  }
  await files.close();
  return { directory, environment, moments };
}

test('[LOG11] records undone in steps of any size give the state of the bookmark, and can be undone', {
  tags: 'long',
}, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 20 }),
      fc.nat(),
      fc.constantFrom(...HELD_BYTES),
      async (steps, chosen, heldBytes) => {
        const { directory, environment, moments } = await lived(steps);
        const { bookmark, image } = moments[chosen % moments.length]!;
        const { log, pages, main } = await recover(directory, environment, OPTIONS);
        const place = await findTarget(parseBookmark(bookmark, log.checksum), log);
        const state = new PastState(pages.committed, () => {});
        state.undo(await undoBackTo(place, log, state, heldBytes));
        expect(imageOf(state).equals(image)).toBe(true);
        const earlier = await undoBackTo(place, log, pages, heldBytes);
        pages.show(earlier, () => {});
        expect(imageOf(pages).equals(image)).toBe(true);
        if (earlier.isWhole) expect(Buffer.from(pages.image()).equals(image)).toBe(true);
        pages.commitShown(RESTORE, nextTimeline(log.position.sequence), null);
        expect(imageOf(pages).equals(image)).toBe(true);
        log.close();
        main.close();

        // The record contains that state again, and the state before.
        const files = await ObjectFiles.open(await copyOf(directory), environment, OPTIONS);
        expect(Buffer.from(files.databaseBytes()).equals(image)).toBe(true);
        const last = moments.at(-1)!;
        const before = await files.openPast(last.bookmark);
        expect(imageOf(before).equals(last.image)).toBe(true);
        await files.close();
      },
    ),
    { numRuns: 100 },
  );
});

test('[LOG11] parts of a transaction that was rolled back, at the end of a segment, are not undone', async () => {
  const directory = new MemoryDirectory();
  const environment = new TestEnvironment();
  const files = await ObjectFiles.open(directory, environment, OPTIONS);
  const write = (seed: number, count: number) => {
    for (let i = 0; i < count; i++) files.file.write(noise(seed + i, PAGE_BYTES), i * PAGE_BYTES);
  };
  const segments = async () =>
    (await directory.names()).filter((name) => name.startsWith('log-')).length;
  write(1, 8);
  files.file.commit();
  await files.flush();
  const bookmark = files.currentBookmark();
  const image = files.databaseBytes();
  for (let round = 1; (await segments()) < 5; round++) {
    write(100 * round, 8);
    files.file.commit();
    write(100 * round + 50, 8); // more than is kept in memory
    files.file.write(noise(100 * round, PAGE_BYTES), 0);
    files.file.endRollback();
    await files.flush();
    await files.maintain();
  }
  const past = await files.openPast(bookmark);
  expect(imageOf(past).equals(image)).toBe(true);
  await files.close();
});
