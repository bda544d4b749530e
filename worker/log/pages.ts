// Database pages, the unit in which SQLite reads and writes: their words, and their images in the log.

import { storageError } from '../../src/contract/errors.ts';
import type { SyncFile } from '../file/file.ts';
import type { Checksum } from './checksum.ts';

/** SQLite's page size in bytes; the same as workerd's, so that sizes agree. */
export const PAGE_BYTES = 4096;
export const PAGE_WORDS = PAGE_BYTES / 4;

/** The words of a page that is all zeros; never written. */
export const ZERO_WORDS = new Uint32Array(PAGE_WORDS);

/** The 32-bit words of bytes whose offset is a multiple of four. */
export function wordsOf(bytes: Uint8Array): Uint32Array {
  return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >>> 2);
}

/** Index of the first word, from `from` on, in which two pages differ; `PAGE_WORDS` if there is none. */
export function nextDifference(a: Uint32Array, b: Uint32Array, from: number): number {
  let i = from;
  while (i < PAGE_WORDS && i % 8 !== 0) {
    if (a[i] !== b[i]) return i;
    i++;
  }
  // Eight at a time: every commit compares its pages, of which few words differ.
  for (; i < PAGE_WORDS; i += 8) {
    const differs =
      (a[i]! ^ b[i]!) |
      (a[i + 1]! ^ b[i + 1]!) |
      (a[i + 2]! ^ b[i + 2]!) |
      (a[i + 3]! ^ b[i + 3]!) |
      (a[i + 4]! ^ b[i + 4]!) |
      (a[i + 5]! ^ b[i + 5]!) |
      (a[i + 6]! ^ b[i + 6]!) |
      (a[i + 7]! ^ b[i + 7]!);
    if (differs === 0) continue;
    while (a[i] === b[i]) i++;
    return i;
  }
  return PAGE_WORDS;
}

/** What is done with each of several pages. Their bytes are valid until it returns, unless it says otherwise. */
export type EachPage = (page: Uint8Array, pageIndex: number) => void;

/** An error about one page, numbered from 1 as SQLite does. */
export function corruptPage(pageIndex: number, fact: string) {
  return storageError('CORRUPT', `page ${pageIndex + 1}: ${fact}.`);
}

/**
 * A committed or spilled page whose whole image is in the active segment of the log. No image is used
 * after its segment ends, because a segment ends only when the main file contains every page.
 */
export interface LoggedImage {
  readonly offset: number;
  readonly sum: number;
}

/** Committed pages that are not yet in the main file, in memory or in the log. */
export type Overlay = Map<number, Uint8Array | LoggedImage>;

/**
 * Reads a page image from its segment.
 *
 * @throws CORRUPT if it is not the image that was written.
 */
export function readImage(
  segment: SyncFile,
  image: LoggedImage,
  target: Uint8Array,
  pageIndex: number,
  checksum: Checksum,
): void {
  segment.read(target, image.offset);
  if (checksum.ofPage(wordsOf(target), pageIndex) !== image.sum) {
    throw corruptPage(pageIndex, 'its image in the log is damaged');
  }
}
