// Which pages a record may copy bytes from: those that an opening knows without the main file.

import { expect, test } from 'vitest';
import { imageOf, noise, TestEnvironment } from '../../../packages/testing/worker/test-log.ts';
import { MemoryDirectory } from '../file/memory-file.ts';
import { ObjectFiles } from './object-files.ts';
import { PAGE_BYTES } from './pages.ts';

/** A transaction of more than three pages spills. */
const OPTIONS = { isChecked: true, spillBytes: 3 * PAGE_BYTES };

/** The bytes of a page whose content is shifted by some bytes. */
const shifted = (seed: number, byBytes: number) =>
  noise(seed, PAGE_BYTES + byBytes).subarray(byBytes);

async function opened() {
  const directory = new MemoryDirectory();
  const files = await ObjectFiles.open(directory, new TestEnvironment(), OPTIONS);
  const commit = async (...pages: readonly (readonly [pageIndex: number, bytes: Uint8Array])[]) => {
    for (const [pageIndex, bytes] of pages) files.file.write(bytes, pageIndex * PAGE_BYTES);
    files.file.commit();
    await files.flush();
  };
  /** Closes the files, which makes no checkpoint, and opens them again: the records are redone, and give the same image. */
  const expectRedone = async () => {
    const image = imageOf(files.file);
    await files.close();
    const again = await ObjectFiles.open(directory, new TestEnvironment(), OPTIONS);
    expect(imageOf(again.file).equals(image)).toBe(true);
    await again.close();
  };
  return { files, commit, expectRedone };
}

test('[LOG34] a page that was removed, and is written to the main file alone when it comes back, is not copied from', async () => {
  const { files, commit, expectRedone } = await opened();
  await commit([0, noise(1, PAGE_BYTES)]);
  await files.checkpoint();
  await commit([1, noise(2, PAGE_BYTES)], [2, noise(3, PAGE_BYTES)]);
  files.file.truncate(PAGE_BYTES);
  await commit([0, noise(4, PAGE_BYTES)]);
  // The pages from the second one on are beyond the main file, so they are not logged.
  await commit(...[1, 2, 3, 4, 5, 6].map((page) => [page, noise(10 + page, PAGE_BYTES)] as const));
  for (let i = 1; i <= 3; i++) await commit([2, shifted(12, 7 * i)]);
  await expectRedone();
});

test('[LOG34] after a checkpoint, a page is held whole before bytes are copied from it', async () => {
  const { files, commit, expectRedone } = await opened();
  await commit([0, noise(1, PAGE_BYTES)], [1, noise(2, PAGE_BYTES)]);
  const bytes: number[] = [];
  for (let i = 1; i <= 6; i++) {
    if (i === 4) await files.checkpoint();
    await commit([1, shifted(2, 7 * i)]);
    const range = { fromMs: 0, toMs: Number.POSITIVE_INFINITY, before: null, limit: 1 };
    bytes.push((await files.listCommits(range))[0]!.bytes);
  }
  expect(bytes.map((each) => each > PAGE_BYTES)).toEqual([false, false, false, true, false, false]);
  await expectRedone();
});
