// Database pages, the unit in which SQLite reads and writes, and their images in the log.

import { storageError } from '../../../src/shared/contract/errors.ts';
import type { SyncFile } from '../file/file.ts';
import { type Checksum, wordsOf } from './checksum.ts';

/** SQLite's page size in bytes; equal to workerd's, so that database sizes agree. */
export const PAGE_BYTES = 4096;
export const PAGE_WORDS = PAGE_BYTES / 4;

/**
 * The words of the first page in which SQLite counts the commits that were not empty: its change counter, and the copy of
 * it that vouches for the database's size (offsets 24 and 92 of the file format).
 */
export const COUNTER_WORDS = [6, 23] as const;

/**
 * A callback for each of several pages. Their bytes are valid until it returns, unless it says otherwise.
 */
export type EachPage = (page: Uint8Array, pageIndex: number) => void;

/** Makes an error about one page, whose number counts from 1 as in SQLite. */
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
