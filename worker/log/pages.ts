// Database pages, the unit in which SQLite reads and writes: their words, and their images in the log.

import { storageError } from '../../src/contract/errors.ts';
import type { SyncFile } from '../file/file.ts';
import type { Checksum } from './checksum.ts';

/** SQLite's page size in bytes; the same as workerd's, so that sizes agree. */
export const PAGE_BYTES = 4096;
export const PAGE_WORDS = PAGE_BYTES / 4;

/** A page that is all zeros; never written. */
export const ZERO_PAGE = new Uint8Array(PAGE_BYTES);

/** The 32-bit words of bytes whose offset is a multiple of four. */
export function wordsOf(bytes: Uint8Array): Uint32Array {
  return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >>> 2);
}

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
