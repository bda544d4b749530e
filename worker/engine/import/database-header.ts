// The header of a SQLite file, which is checked before SQLite reads the file.
//
// Offsets are from https://sqlite.org/fileformat2.html#the_database_header. All numbers are big-endian.
// Knows nothing of the pages' contents.

import { type StorageError, storageError } from '../../../src/shared/contract/errors.ts';

export const DATABASE_PAGE_BYTES = 4096;

const HEADER_BYTES = 100;
const MAGIC = 'SQLite format 3\0';
const OFFSET = {
  pageSize: 16,
  writeVersion: 18,
  readVersion: 19,
  reservedBytes: 20,
  payloadFractions: 21,
  changeCounter: 24,
  pageCount: 28,
  schemaFormat: 44,
  largestRoot: 52,
  encoding: 56,
  validFor: 92,
  sqliteVersion: 96,
} as const;
const PAYLOAD_FRACTIONS = [64, 32, 32];
const ROLLBACK_JOURNAL = 1;
const WAL_JOURNAL = 2;
const UTF_8 = 1;
const LEAF_TABLE = 13;

/** The error of a refused file: the fact and the bound, then the way out. */
export function importInvalid(fact: string, wayOut: string, cause?: unknown): StorageError {
  const options = cause === undefined ? undefined : { cause };
  return storageError('IMPORT_INVALID', `importDatabase: ${fact}; ${wayOut}.`, options);
}

/**
 * Checks the first page of a file.
 *
 * @throws IMPORT_INVALID when it is not a SQLite database, or cannot be imported
 */
export function checkHeader(file: Uint8Array): void {
  if (file.length < HEADER_BYTES || text(file, 0, MAGIC.length) !== MAGIC) {
    throw importInvalid(
      `these ${file.length} bytes are not a SQLite database, which begins with "SQLite format 3"`,
      'pass the bytes of the .sqlite file itself',
    );
  }
  const view = viewOf(file);
  const stored = view.getUint16(OFFSET.pageSize);
  const pageBytes = stored === 1 ? 65_536 : stored;
  if (pageBytes !== DATABASE_PAGE_BYTES) {
    throw importInvalid(
      `the page size is ${pageBytes} bytes, and must be ${DATABASE_PAGE_BYTES}`,
      `run PRAGMA journal_mode=DELETE; PRAGMA page_size=${DATABASE_PAGE_BYTES}; VACUUM on the file first`,
    );
  }
  const encoding = view.getUint32(OFFSET.encoding);
  if (encoding > UTF_8) {
    throw importInvalid(
      `the text encoding is ${encoding === 2 || encoding === 3 ? 'UTF-16' : encoding}, and must be UTF-8`,
      'copy the data into a new database with PRAGMA encoding = "UTF-8"',
    );
  }
  if (view.getUint32(OFFSET.largestRoot) !== 0) {
    throw importInvalid(
      'the file is in auto-vacuum mode, and must not be',
      'run PRAGMA auto_vacuum=NONE; VACUUM on the file first',
    );
  }
  if (file[OFFSET.reservedBytes] !== 0) {
    throw importInvalid(
      `the file reserves ${file[OFFSET.reservedBytes]} bytes of each page, and must reserve none`,
      'copy the data into a database without encryption or checksum extensions',
    );
  }
  const versions = [file[OFFSET.writeVersion]!, file[OFFSET.readVersion]!];
  if (versions.some((version) => version < ROLLBACK_JOURNAL || version > WAL_JOURNAL)) {
    throw importInvalid(
      `the file format versions are ${versions.join(' and ')}, and must be 1 or 2`,
      'use a file written by a released version of SQLite',
    );
  }
}

/**
 * Cuts an image to the pages that its header counts, and marks it as a file with a rollback journal,
 * which needs no other file beside it.
 *
 * @throws IMPORT_INVALID when pages are missing
 */
export function settleImage(image: Uint8Array): Uint8Array {
  const actualPages = image.length / DATABASE_PAGE_BYTES;
  const pageCount = pageCountOf(image) ?? Math.floor(actualPages);
  if (pageCount > actualPages || !Number.isInteger(actualPages)) {
    throw importInvalid(
      `the file is cut off: it has ${image.length} bytes and needs ${Math.max(pageCount, Math.ceil(actualPages)) * DATABASE_PAGE_BYTES}`,
      'copy it again, completely, and with its -wal file if there is one',
    );
  }
  image[OFFSET.writeVersion] = ROLLBACK_JOURNAL;
  image[OFFSET.readVersion] = ROLLBACK_JOURNAL;
  return image.subarray(0, pageCount * DATABASE_PAGE_BYTES);
}

/** True for an empty file in WAL mode: its data is in the WAL. */
export function isAllInWal(file: Uint8Array): boolean {
  const cellCount = viewOf(file).getUint16(HEADER_BYTES + 3);
  return (
    file[OFFSET.readVersion] === WAL_JOURNAL &&
    file.length === DATABASE_PAGE_BYTES &&
    cellCount === 0
  );
}

/** Pages by the header; null when a version of SQLite wrote it that did not maintain the number. */
export function pageCountOf(firstPage: Uint8Array): number | null {
  const view = viewOf(firstPage);
  const count = view.getUint32(OFFSET.pageCount);
  const isValid = view.getUint32(OFFSET.validFor) === changeCounter(firstPage);
  return isValid && count > 0 ? count : null;
}

/** Counts the transactions that wrote the first page. */
export function changeCounter(firstPage: Uint8Array): number {
  return viewOf(firstPage).getUint32(OFFSET.changeCounter);
}

/** The image of an empty database. */
export function emptyDatabase(): Uint8Array<ArrayBuffer> {
  const page = new Uint8Array(DATABASE_PAGE_BYTES);
  new TextEncoder().encodeInto(MAGIC, page);
  const view = viewOf(page);
  view.setUint16(OFFSET.pageSize, DATABASE_PAGE_BYTES);
  page[OFFSET.writeVersion] = ROLLBACK_JOURNAL;
  page[OFFSET.readVersion] = ROLLBACK_JOURNAL;
  page.set(PAYLOAD_FRACTIONS, OFFSET.payloadFractions);
  view.setUint32(OFFSET.pageCount, 1);
  view.setUint32(OFFSET.schemaFormat, 4);
  view.setUint32(OFFSET.encoding, UTF_8);
  view.setUint32(OFFSET.changeCounter, 1);
  view.setUint32(OFFSET.validFor, 1);
  view.setUint32(OFFSET.sqliteVersion, 3_054_001);
  page[HEADER_BYTES] = LEAF_TABLE;
  view.setUint16(HEADER_BYTES + 5, DATABASE_PAGE_BYTES); // where the cells begin
  return page;
}

function text(bytes: Uint8Array, start: number, length: number): string {
  return String.fromCharCode(...bytes.subarray(start, start + length));
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
