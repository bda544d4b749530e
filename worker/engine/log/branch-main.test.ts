// The main file of a branch: which pages it has itself, their places in the file, and what a power failure leaves.

import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { bytesOf, noise, overwrite } from '../../../packages/testing/worker/test-log.ts';
import type { SyncFile } from '../file/file.ts';
import { MemoryDirectory } from '../file/memory-file.ts';
import { type BranchBase, BranchMain } from './branch-main.ts';
import { Checksum, wordsOf } from './checksum.ts';
import { PAGE_BYTES } from './pages.ts';
import type { PastState } from './past-state.ts';

const NAME = 'main';
/** As the document says: a head of 24 bytes, then the page. */
const PLACE_BYTES = 24 + PAGE_BYTES;
const BELOW_PAGES = 4;

const below = noise(99, BELOW_PAGES * PAGE_BYTES);
const page = (seed: number) => noise(seed, PAGE_BYTES);

function baseOf(): BranchBase {
  return {
    state: {} as PastState,
    pageCount: BELOW_PAGES,
    read(target, offset) {
      target.set(below.subarray(offset, offset + target.length));
      return true;
    },
    release: vi.fn(),
  };
}

/** The file of a branch whose last checkpoint had this generation. */
async function opened(generation: number, directory = new MemoryDirectory()) {
  const generations = { checksum: new Checksum(7), generation };
  const base = baseOf();
  const file = await directory.open(NAME);
  const main = new BranchMain(file, base, generations);
  /** Power fails: another process opens the file, after the checkpoint of that generation. */
  const crash = async (last: number) => {
    const bytes = await whenClosed(file, directory);
    const after = new MemoryDirectory();
    await overwrite(after, NAME, bytes);
    return opened(last, after);
  };
  const content = () => whenClosed(file, directory);
  return { main, base, file, directory, generations, crash, content };
}

/** What is in the file, which is closed. */
function whenClosed(file: SyncFile, directory: MemoryDirectory): Promise<Uint8Array> {
  file.close();
  return bytesOf(directory, NAME);
}

/** Of each page: the seed that it was written with, or null if it is that of the state below. */
function shown(main: BranchMain, seeds: readonly number[]): (number | null | undefined)[] {
  return Array.from({ length: main.sizeBytes() / PAGE_BYTES }, (_, index) => {
    const found = new Uint8Array(PAGE_BYTES);
    main.read(found, index * PAGE_BYTES);
    const isSame = (other: Uint8Array) => Buffer.from(found).equals(other);
    const start = index * PAGE_BYTES;
    if (isSame(below.subarray(start, start + PAGE_BYTES))) return null;
    return seeds.find((seed) => isSame(page(seed)));
  });
}

test('[BRANCH2] a branch reads its own pages, those of the state below for all others, and nothing beyond its end', async () => {
  const { main } = await opened(0);
  const image = Buffer.concat([below, Buffer.alloc(2 * PAGE_BYTES)]);
  expect(main.sizeBytes()).toBe(below.length);
  // Two adjacent pages in one write, of which one is beyond the end; and one more.
  const written = Buffer.concat([page(3), page(4)]);
  main.write(written, 3 * PAGE_BYTES);
  image.set(written, 3 * PAGE_BYTES);
  for (const index of [1, 5]) {
    main.write(page(index), index * PAGE_BYTES);
    image.set(page(index), index * PAGE_BYTES);
  }
  expect(main.sizeBytes()).toBe(image.length);
  expect([0, 1, 2, 3, 4, 5, 6].map((index) => main.has(index))).toEqual([
    ...[false, true, false, true, true, true, false],
  ]);
  expect([...main.ownPages()].sort()).toEqual([1, 3, 4, 5]);
  fc.assert(
    fc.property(
      fc.nat(image.length + PAGE_BYTES),
      fc.integer({ min: 1, max: 3 * PAGE_BYTES }),
      (offset, length) => {
        const target = Buffer.alloc(length, 0xee);
        const count = main.read(target, offset);
        const expected = image.subarray(offset, offset + length);
        expect(count).toBe(expected.length);
        expect(target.subarray(0, count).equals(expected)).toBe(true);
        expect(target.subarray(count).every((byte) => byte === 0xee)).toBe(true);
      },
    ),
  );
});

test('[LOG17] each place has the generation, the checksum and the page that the document says', async () => {
  const { main, content } = await opened(5);
  for (const index of [2, 300]) main.write(page(index), index * PAGE_BYTES);
  const bytes = await content();
  expect(bytes).toHaveLength(2 * PLACE_BYTES);
  for (const [place, index] of [2, 300].entries()) {
    const own = bytes.slice(place * PLACE_BYTES, (place + 1) * PLACE_BYTES);
    const view = new DataView(own.buffer);
    expect([view.getFloat64(0, true), view.getUint32(16, true)]).toEqual([6, index]);
    const summed = wordsOf(Uint8Array.of(...own.subarray(0, 8), ...own.subarray(16, 20)));
    expect(view.getFloat64(8, true)).toBe(new Checksum(7).ofRecord(summed, 0, summed.length));
    expect(Buffer.from(own.subarray(24)).equals(page(index))).toBe(true);
  }
});

test('[LOG1] the pages of a checkpoint that did not end are forgotten, and those of the ones before it stay', async () => {
  const first = await opened(0);
  for (const index of [1, 2]) first.main.write(page(index), index * PAGE_BYTES);
  first.generations.generation = 1;
  // Page 1 has its place already; page 3 gets one, and is written again.
  first.main.write(page(11), PAGE_BYTES);
  for (const seed of [3, 13]) first.main.write(page(seed), 3 * PAGE_BYTES);
  expect(shown(first.main, [2, 11, 13])).toEqual([null, 11, 2, 13]);

  const second = await first.crash(1);
  expect(shown(second.main, [2, 11])).toEqual([null, 11, 2, null]);
  expect([...second.main.ownPages()].sort()).toEqual([1, 2]);
  expect(second.file.sizeBytes()).toBe(2 * PLACE_BYTES);
  // Page 3 is written once more, as the first change after an opening.
  second.main.write(page(12), 2 * PAGE_BYTES);
  second.main.write(page(14), 4 * PAGE_BYTES);

  const third = await second.crash(1);
  expect(shown(third.main, [11, 12])).toEqual([null, 11, 12, null]);
  third.main.write(page(15), 5 * PAGE_BYTES);

  const fourth = await third.crash(2);
  expect(shown(fourth.main, [11, 12, 15])).toEqual([null, 11, 12, null, undefined, 15]);
  expect([...fourth.main.ownPages()].sort()).toEqual([1, 2, 5]);
});

test('[LOG1] [LOG25] a page whose first write the disk has dropped has its place once a later checkpoint has ended', async () => {
  const { main, file, directory, generations, crash } = await opened(0);
  main.write(page(1), PAGE_BYTES);
  generations.generation = 1;
  const before = new Uint8Array(file.sizeBytes());
  file.read(before, 0);
  main.write(page(2), 2 * PAGE_BYTES);
  // Its flush fails, and what it had to store is gone. The checkpoint is tried again.
  file.truncate(before.length);
  main.write(page(3), 2 * PAGE_BYTES);
  expect(directory.usedBytes()).toBe(2 * PLACE_BYTES);
  const after = await crash(2);
  expect(shown(after.main, [1, 3])).toEqual([null, 1, 3, null]);
});

test.for([
  ['generation', 0],
  ['checksum', 8],
  ['page', 16],
] as const)(
  '[LOG7] from a place whose %s is damaged on, the places are cut off',
  async ([, at]) => {
    const { main, content } = await opened(9);
    for (const index of [1, 2, 3]) main.write(page(index), index * PAGE_BYTES);
    const bytes = await content();
    bytes[PLACE_BYTES + at]! ^= 1;
    const directory = new MemoryDirectory();
    await overwrite(directory, NAME, bytes);
    const after = await opened(99, directory);
    expect(shown(after.main, [1])).toEqual([null, 1, null, null]);
    expect(after.file.sizeBytes()).toBe(PLACE_BYTES);
  },
);

test('[LOG7] a place whose head is cut off does not count', async () => {
  const { main, content } = await opened(0);
  for (const index of [1, 2]) main.write(page(index), index * PAGE_BYTES);
  const bytes = await content();
  for (const rest of [1, 8, 23]) {
    const directory = new MemoryDirectory();
    await overwrite(directory, NAME, bytes.subarray(0, PLACE_BYTES + rest));
    const after = await opened(1, directory);
    expect([...after.main.ownPages()]).toEqual([1]);
    expect(after.file.sizeBytes()).toBe(PLACE_BYTES);
  }
});

test('[BRANCH2] a flush is that of the file; closing releases the file and the state below', async () => {
  const { base, file, directory } = await opened(0);
  const flushed = Promise.resolve();
  const main = new BranchMain({ ...bound(file), flush: () => flushed }, base, {
    checksum: new Checksum(7),
    generation: 0,
  });
  expect(main.flush()).toBe(flushed);
  expect(main.base).toBe(base.state);
  main.close();
  expect(base.release).toHaveBeenCalledOnce();
  expect(await bytesOf(directory, NAME)).toHaveLength(0); // it would be locked
});

function bound(file: SyncFile): SyncFile {
  return {
    read: file.read.bind(file),
    write: file.write.bind(file),
    truncate: file.truncate.bind(file),
    sizeBytes: file.sizeBytes.bind(file),
    flush: file.flush.bind(file),
    close: file.close.bind(file),
  };
}
