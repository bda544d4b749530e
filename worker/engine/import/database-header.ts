// Reads and checks the header of a SQLite file before SQLite opens the file.
//
// Offsets are from https://sqlite.org/fileformat2.html#the_database_header. All numbers are big-endian.

import { type Fault, ImportFaults, importInvalid } from './import-faults.ts';

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
const UTF_16_BE = 3;
const ROLLBACK_MAGIC = 0xd9d505f9;
/** The magic number of a WAL, whose last bit says in which byte order its checksums read words. */
export const WAL_MAGIC = 0x377f0682;
const INTO_NEW_FILE = 'copy its rows into a new file';
const LEAF_TABLE = 13;

/**
 * Checks the first page of a file. Returns the faults in spite of which SQLite can read the file.
 *
 * @throws IMPORT_INVALID when it is not a SQLite database
 */
export function headerFaults(file: Uint8Array): Fault[] {
  if (file.length < HEADER_BYTES || text(file, 0, MAGIC.length) !== MAGIC) throw notADatabase(file);
  const view = viewOf(file);
  const pageBytes = pageBytesOf(file);
  const encoding = view.getUint32(OFFSET.encoding);
  const isPageSize = pageBytes >= 512 && (pageBytes & (pageBytes - 1)) === 0;
  if (!isPageSize || encoding > UTF_16_BE || view.getUint32(OFFSET.schemaFormat) > 4) {
    throw importInvalid('the header of the file is damaged', 'use another copy');
  }
  const [writeVersion, readVersion] = [file[OFFSET.writeVersion]!, file[OFFSET.readVersion]!];
  const versions = `the file format versions are ${writeVersion} and ${readVersion}, and must be 1 or 2`;
  if (readVersion < ROLLBACK_JOURNAL || readVersion > WAL_JOURNAL) {
    throw importInvalid(versions, 'run PRAGMA journal_mode=DELETE with the program that wrote it');
  }
  const faults: Fault[] = [];
  if (pageBytes !== DATABASE_PAGE_BYTES) faults.push(pageSizeFault('the page size', pageBytes));
  if (encoding > UTF_8) {
    // This build of SQLite does not support it.
    throw new ImportFaults({
      fact: 'the text encoding is UTF-16, and must be UTF-8; nothing else of the file was checked',
      wayOut: INTO_NEW_FILE,
      copy: 'after',
    }).error();
  }
  if (view.getUint32(OFFSET.largestRoot) !== 0) {
    faults.push({
      fact: 'the file is in auto-vacuum mode, and must not be',
      wayOut: 'switch it off',
      pragma: 'PRAGMA auto_vacuum=NONE;',
    });
  }
  if (file[OFFSET.reservedBytes] !== 0) {
    faults.push({
      fact: `the file reserves ${file[OFFSET.reservedBytes]} bytes of each page, and must reserve none`,
      wayOut: `${INTO_NEW_FILE}, by the program that wrote it if it is encrypted`,
      copy: 'after',
    });
  }
  if (writeVersion < ROLLBACK_JOURNAL || writeVersion > WAL_JOURNAL) {
    faults.push({ fact: versions, wayOut: INTO_NEW_FILE, copy: 'after' });
  }
  return faults;
}

export function pageSizeFault(of: string, pageBytes: number): Fault {
  return {
    fact: `${of} is ${pageBytes} bytes, and must be ${DATABASE_PAGE_BYTES}`,
    wayOut: 'change it',
    pragma: `PRAGMA journal_mode=DELETE; PRAGMA page_size=${DATABASE_PAGE_BYTES};`,
  };
}

function notADatabase(file: Uint8Array): Error {
  const fact = `these ${file.length} bytes are not a SQLite database, which begins with "SQLite format 3"`;
  if (file.length === 0) {
    return importInvalid(
      fact,
      'pass its -wal file too if there is one; to empty an object, call deleteAll()',
    );
  }
  const isWal = file.length >= 4 && (viewOf(file).getUint32(0) & ~1) === WAL_MAGIC;
  if (isWal || isJournal(file)) {
    return importInvalid(
      `these bytes are a ${isWal ? '-wal' : '-journal'} file`,
      'pass the database beside it, and a -wal as the second argument',
    );
  }
  return importInvalid(
    fact,
    'pass the bytes of the .sqlite file itself, decrypted and unpacked; a text of SQL becomes one by ' +
      'sqlite3 -safe new.sqlite < dump.sql',
  );
}

/**
 * Cuts an image to the pages that its header counts, and marks it as a file with a rollback journal,
 * which needs no other file beside it.
 *
 * @throws IMPORT_INVALID when pages are missing
 */
export function settleImage(image: Uint8Array): Uint8Array {
  const pageBytes = pageBytesOf(image);
  const actualPages = image.length / pageBytes;
  const counted = pageCountOf(image);
  const pageCount = counted ?? Math.ceil(actualPages);
  if (pageCount > actualPages) {
    const unless =
      counted === null ? ', unless bytes were added to whole pages: then cut those off' : '';
    throw importInvalid(
      `the file is cut off: it has ${image.length} bytes and needs ${pageCount * pageBytes}`,
      `copy it again, completely, and with its -wal file if there is one${unless}`,
    );
  }
  image[OFFSET.writeVersion] = ROLLBACK_JOURNAL;
  image[OFFSET.readVersion] = ROLLBACK_JOURNAL;
  return image.subarray(0, pageCount * pageBytes);
}

/** Returns the page size that the header contains. */
export function pageBytesOf(file: Uint8Array): number {
  const stored = viewOf(file).getUint16(OFFSET.pageSize);
  return stored === 1 ? 65_536 : stored;
}

/** True if the file is a rollback journal. */
export function isJournal(file: Uint8Array): boolean {
  return file.length >= 4 && viewOf(file).getUint32(0) === ROLLBACK_MAGIC;
}

/** True for an empty database in WAL mode, whose data is still in the WAL. */
export function isAllInWal(file: Uint8Array): boolean {
  return (
    file[OFFSET.readVersion] === WAL_JOURNAL &&
    file.length === pageBytesOf(file) &&
    viewOf(file).getUint16(HEADER_BYTES + 3) === 0 // number of cells
  );
}

/** Returns the header's number of pages; null if an old version of SQLite wrote the file without maintaining it. */
export function pageCountOf(firstPage: Uint8Array): number | null {
  const view = viewOf(firstPage);
  const count = view.getUint32(OFFSET.pageCount);
  const isValid = view.getUint32(OFFSET.validFor) === changeCounter(firstPage);
  return isValid && count > 0 ? count : null;
}

/** Returns the header's change counter, which counts the transactions that wrote the first page. */
export function changeCounter(firstPage: Uint8Array): number {
  return viewOf(firstPage).getUint32(OFFSET.changeCounter);
}

/** Makes the file of an empty database. */
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
  view.setUint16(HEADER_BYTES + 5, DATABASE_PAGE_BYTES); // offset of the first cell
  return page;
}

function text(bytes: Uint8Array, start: number, length: number): string {
  return String.fromCharCode(...bytes.subarray(start, start + length));
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
