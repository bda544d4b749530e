// Which pages may differ between two states, of which one is known in full.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { noise, TestEnvironment } from '../../../packages/testing/worker/test-log.ts';
import { MemoryDirectory } from '../file/memory-file.ts';
import { ObjectFiles } from './object-files.ts';
import { differingPages } from './page-layer.ts';
import { PAGE_BYTES } from './pages.ts';
import type { PastState } from './past-state.ts';

/** The page, or nothing beyond the end. */
function pageOf(state: PastState, pageIndex: number): string | null {
  const page = new Uint8Array(PAGE_BYTES);
  return state.read(page, pageIndex * PAGE_BYTES) ? Buffer.from(page).toString('base64') : null;
}

test('[BRANCH1] every page in which two moments differ is named, whatever was committed before and after', async () => {
  const step = fc.record({
    page: fc.nat(5),
    seed: fc.nat(9),
    pages: fc.integer({ min: 1, max: 8 }),
  });
  const runs = fc.array(fc.array(step, { minLength: 1, maxLength: 3 }), {
    minLength: 2,
    maxLength: 6,
  });
  await fc.assert(
    fc.asyncProperty(runs, runs, async (commits, later) => {
      const files = await ObjectFiles.open(new MemoryDirectory(), new TestEnvironment());
      const commit = (steps: (typeof commits)[number]) => {
        for (const { page, seed, pages } of steps) {
          files.file.write(noise(seed, PAGE_BYTES), page * PAGE_BYTES);
          files.file.truncate(pages * PAGE_BYTES);
        }
        files.file.commit();
        void files.flush();
      };
      const bookmarks: string[] = [];
      for (const steps of commits) {
        commit(steps);
        bookmarks.push(files.currentBookmark());
      }
      const one = await files.openPast(bookmarks[0]!);
      const other = await files.openPast(bookmarks.at(-1)!);
      for (const steps of later) commit(steps);
      const named = new Set(differingPages(one, other));
      for (let i = 0; i < 8; i++) {
        if (pageOf(one, i) !== pageOf(other, i)) expect(named).toContain(i);
      }
      await files.close();
    }),
    { numRuns: 60 },
  );
});

test('[BRANCH1] a page that no commit has changed since the earlier moment is not named', async () => {
  const files = await ObjectFiles.open(new MemoryDirectory(), new TestEnvironment());
  const commit = (seed: number, ...pages: number[]) => {
    for (const page of pages) files.file.write(noise(seed + page, PAGE_BYTES), page * PAGE_BYTES);
    files.file.commit();
    void files.flush();
    return files.currentBookmark();
  };
  const bookmarks = [commit(1, 0, 1, 2, 3, 4, 5, 6), commit(10, 3), commit(20, 5, 7)];
  const [one, , other] = await Promise.all(bookmarks.map((each) => files.openPast(each)));
  expect(differingPages(one!, other!)).toEqual([3, 5, 7]);
  expect(differingPages(one!, one!)).toEqual([]);
  await files.close();
});

test('[BRANCH1] states of different objects have no pages in common', async () => {
  const [one, other] = await Promise.all(
    [1, 2].map(async (seed) => {
      const files = await ObjectFiles.open(new MemoryDirectory(), new TestEnvironment());
      files.file.write(noise(seed, PAGE_BYTES), 0);
      files.file.commit();
      void files.flush();
      return files.openPast(files.currentBookmark());
    }),
  );
  expect(differingPages(one!, other!)).toBeNull();
});
