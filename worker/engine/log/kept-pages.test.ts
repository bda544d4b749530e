// The pages of a branch's moment in their file: what they read as, and how much room they take.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  bytesOf,
  noise,
  overwrite,
  WatchedDirectory,
} from '../../../packages/testing/worker/test-log.ts';
import { MemoryDirectory } from '../file/memory-file.ts';
import { PagesInFile } from './kept-pages.ts';
import { PAGE_BYTES } from './pages.ts';

const NAME = 'pages';
const page = (seed: number) => noise(seed, PAGE_BYTES);

async function opened(directory = new MemoryDirectory()) {
  const pages = new PagesInFile(await directory.open(NAME));
  const sizePages = () => directory.usedBytes() / PAGE_BYTES;
  return { pages, directory, sizePages };
}

/** Each page that is kept, by its index: of a page that was made by `page`, its seed. */
function seedsOf(pages: PagesInFile, seeds: readonly number[]): Map<number, number | undefined> {
  const seedOf = (bytes: Uint8Array) =>
    seeds.find((seed) => Buffer.from(page(seed)).equals(Buffer.from(bytes)));
  return new Map([...pages.keys()].map((index) => [index, seedOf(pages.get(index)!)]));
}

test('[HIST3] [BRANCH8] each page reads as it was set last, and the file has no more places than there were pages at once', async () => {
  const SEEDS = [1, 2, 3, 4];
  const step = fc.record({
    isDeleted: fc.boolean(),
    index: fc.nat(5),
    seed: fc.constantFrom(...SEEDS),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
      const { pages, sizePages } = await opened();
      const model = new Map<number, number>();
      let most = 0;
      for (const { isDeleted, index, seed } of steps) {
        if (isDeleted) {
          expect(pages.delete(index)).toBe(model.delete(index));
        } else {
          pages.set(index, page(seed));
          model.set(index, seed);
        }
        most = Math.max(most, model.size);
        expect(seedsOf(pages, SEEDS)).toEqual(model);
        expect(pages.size).toBe(model.size);
        expect([pages.has(index), pages.get(index) !== undefined]).toEqual([
          !isDeleted,
          !isDeleted,
        ]);
      }
      expect(sizePages()).toBe(most);
    }),
    { numRuns: 40 },
  );
});

test('[BRANCH8] what an earlier use left in the file takes no room', async () => {
  const directory = new MemoryDirectory();
  await overwrite(directory, NAME, noise(1, 3 * PAGE_BYTES));
  const { pages, sizePages } = await opened(directory);
  expect(sizePages()).toBe(0);
  pages.set(9, page(2));
  expect(sizePages()).toBe(1);
});

test('[HIST3] a page that the disk has refused is not kept, and the others are as they were', async () => {
  const directory = new WatchedDirectory();
  const pages = new PagesInFile(await directory.open(NAME));
  for (const index of [1, 2, 3]) pages.set(index, page(index));
  pages.delete(2);
  directory.full.add(NAME);
  expect(() => pages.set(7, page(7))).toThrow(expect.objectContaining({ code: 'DISK_FULL' }));
  expect([...pages.keys()]).toEqual([1, 3]);
  directory.full.clear();
  for (const index of [7, 8]) pages.set(index, page(index));
  const all = [1, 3, 7, 8];
  expect(seedsOf(pages, all)).toEqual(new Map(all.map((index) => [index, index])));
});

test('[BRANCH4] once they are cleared, there are no pages, and the file is free for another holder', async () => {
  const { pages, directory } = await opened();
  pages.set(4, page(4));
  pages.clear();
  expect([pages.size, pages.has(4), pages.get(4)]).toEqual([0, false, undefined]);
  expect(await bytesOf(directory, NAME)).toHaveLength(PAGE_BYTES);
});
