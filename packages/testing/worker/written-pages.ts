// For tests of an object's database file without SQLite: the test writes, commits and reads its pages.

import { expect } from 'vitest';
import type { FileDirectory } from '../../../worker/engine/file/file.ts';
import type { MemoryDirectory } from '../../../worker/engine/file/memory-file.ts';
import { ObjectFiles } from '../../../worker/engine/log/object-files.ts';
import { PAGE_BYTES } from '../../../worker/engine/log/pages.ts';
import { type FilesOptions, noise, TestEnvironment, WatchedDirectory } from './test-log.ts';

/** Pages by their index in the file. */
export type Pages = Readonly<Record<number, Uint8Array>>;

/** A record of one new page has 64 + 12 + 4 + 4096 bytes, and no padding. */
export const ONE_PAGE_RECORD_BYTES = 4176;

/** A page whose bytes differ everywhere from those of another seed. */
export const pageOf = (seed: number): Uint8Array => noise(seed, PAGE_BYTES);

/** Opens an object whose flushes make no checkpoint by themselves. */
export const openFiles = (directory: FileDirectory, options?: FilesOptions): Promise<ObjectFiles> =>
  ObjectFiles.open(directory, new TestEnvironment(), {
    checkpointOverlayBytes: 1 << 30,
    checkpointLogBytes: 1 << 30,
    ...options,
  });

export function writePages(files: ObjectFiles, pages: Pages): void {
  for (const [index, bytes] of Object.entries(pages)) {
    files.file.write(bytes, Number(index) * PAGE_BYTES);
  }
}

export function commitPages(files: ObjectFiles, pages: Pages): void {
  writePages(files, pages);
  files.file.commit();
}

export function readPage(files: ObjectFiles, index: number): Uint8Array {
  const target = new Uint8Array(PAGE_BYTES).fill(0xee);
  files.file.read(target, index * PAGE_BYTES);
  return target;
}

/** Compares as buffers, which is a hundred times faster than an assertion on arrays. */
export const hasSameBytes = (some: Uint8Array, others: Uint8Array): boolean =>
  Buffer.from(some).equals(others);

/** Checks that the file has these pages, and no others. */
export function expectRead(files: ObjectFiles, pages: readonly Uint8Array[]): void {
  expect(files.file.sizeBytes()).toBe(pages.length * PAGE_BYTES);
  expect(pages.map((bytes, index) => hasSameBytes(readPage(files, index), bytes))).not.toContain(
    false,
  );
}

/** Checks that an object opened on the stored files has these pages, and no others. */
export async function expectStored(
  directory: MemoryDirectory,
  pages: readonly Uint8Array[],
): Promise<void> {
  const opened = await openFiles(new WatchedDirectory(directory));
  expect(hasSameBytes(opened.databaseBytes(), Buffer.concat(pages))).toBe(true);
  await opened.close();
}

/** Checks the pages as the file reads them and, after it has been closed, as the next opening reads them. */
export async function expectPages(
  directory: WatchedDirectory,
  files: ObjectFiles,
  pages: readonly Uint8Array[],
): Promise<void> {
  expectRead(files, pages);
  await files.flush();
  await files.close();
  await expectStored(directory.inner, pages);
}

/** Ends the late calls of a directory, and the calls that they start; nothing is late from then on. */
export async function releaseAll(directory: WatchedDirectory): Promise<void> {
  while (directory.lateCount > 0) {
    directory.release();
    await new Promise((resolve) => setImmediate(resolve));
  }
  directory.isLate = false;
}
