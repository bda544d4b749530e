// Merges the write-ahead log that SQLite keeps beside a database (`<file>-wal`) into the database.
//
// https://sqlite.org/fileformat2.html#the_write_ahead_log: a header, then frames of one page each. A
// frame is valid when its salts are the header's and its checksum, which covers everything before it,
// is right; frames count up to the last valid one that ends a transaction. Later frames are left over
// from an earlier use of the log.

import {
  changeCounter,
  DATABASE_PAGE_BYTES,
  isJournal,
  pageCountOf,
  pageSizeFault,
  WAL_MAGIC,
} from './database-header.ts';
import { ImportFaults, importInvalid, STEP } from './import-faults.ts';

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const FRAME_BYTES = FRAME_HEADER_BYTES + DATABASE_PAGE_BYTES;
const VERSION = 3_007_000;
const COPY_AGAIN = 'pass the -wal file copied together with this database, or none';

/** The database pages after the last committed transaction of a WAL. */
interface Committed {
  readonly pageCount: number;
  /** The newest bytes of each page, by page number from 1. */
  readonly frames: ReadonlyMap<number, Uint8Array>;
}

/**
 * Returns a copy of the database with the log's committed transactions in it.
 *
 * @throws IMPORT_INVALID when the log's header is damaged, or the log belongs to another database
 */
export function mergeWal(database: Uint8Array, wal: Uint8Array): Uint8Array {
  const committed = wal.length === 0 ? null : readWal(wal);
  if (committed === null) return database.slice();
  const { pageCount, frames } = committed;
  const first = frames.get(1);
  if (
    first !== undefined &&
    database.length > 0 &&
    changeCounter(first) < changeCounter(database)
  ) {
    throw importInvalid(
      'the WAL is older than the database, or belongs to another one',
      COPY_AGAIN,
    );
  }
  for (let number = 1; number <= pageCount; number++) {
    if (frames.has(number) || number * DATABASE_PAGE_BYTES <= database.length) continue;
    throw importInvalid(
      `page ${number} of ${pageCount} is neither in the database nor in the WAL`,
      COPY_AGAIN,
    );
  }
  const merged = new Uint8Array(pageCount * DATABASE_PAGE_BYTES);
  merged.set(database.subarray(0, merged.length));
  for (const [number, page] of frames) {
    if (number <= pageCount) merged.set(page, (number - 1) * DATABASE_PAGE_BYTES);
  }
  // Every transaction that changes the size writes it to the first page as well.
  const counted = pageCountOf(merged);
  if (counted !== null && counted !== pageCount) {
    throw importInvalid(
      `the WAL ends with ${pageCount} pages, but the header of the database counts ${counted}`,
      COPY_AGAIN,
    );
  }
  return merged;
}

function readWal(wal: Uint8Array): Committed | null {
  if (isJournal(wal)) throw hotJournal();
  const view = new DataView(wal.buffer, wal.byteOffset, wal.byteLength);
  const isHeader =
    wal.length >= HEADER_BYTES &&
    (view.getUint32(0) & ~1) === WAL_MAGIC &&
    view.getUint32(4) === VERSION;
  if (!isHeader) {
    throw importInvalid(`the file given as WAL (${wal.length} bytes) is not a WAL`, COPY_AGAIN);
  }
  const pageBytes = view.getUint32(8);
  if (pageBytes !== DATABASE_PAGE_BYTES) {
    const faults = new ImportFaults(pageSizeFault('the page size of the WAL', pageBytes));
    faults.hasWal = true;
    throw faults.error();
  }
  const checksum = new Checksum(view, { isLittleEndian: (view.getUint32(0) & 1) === 0 });
  checksum.add(0, 24);
  if (!checksum.isStoredAt(24)) throw importInvalid('the header of the WAL is damaged', COPY_AGAIN);

  let pageCount = 0;
  const frames = new Map<number, Uint8Array>();
  let open = new Map<number, Uint8Array>();
  for (let at = HEADER_BYTES; at + FRAME_BYTES <= wal.length; at += FRAME_BYTES) {
    const hasSalts =
      view.getUint32(at + 8) === view.getUint32(16) &&
      view.getUint32(at + 12) === view.getUint32(20);
    checksum.add(at, 8);
    checksum.add(at + FRAME_HEADER_BYTES, DATABASE_PAGE_BYTES);
    const number = view.getUint32(at);
    if (!hasSalts || number === 0 || !checksum.isStoredAt(at + 16)) break;
    open.set(number, wal.subarray(at + FRAME_HEADER_BYTES, at + FRAME_BYTES));
    const pageCountAfter = view.getUint32(at + 4);
    if (pageCountAfter === 0) continue;
    pageCount = pageCountAfter;
    for (const [page, bytes] of open) frames.set(page, bytes);
    open = new Map();
  }
  return pageCount === 0 ? null : { pageCount, frames };
}

/** Makes the error of a database that was copied in the middle of a transaction. */
function hotJournal(): Error {
  return new ImportFaults({
    fact: 'the file given as WAL is a rollback journal: a transaction was under way when the database was copied',
    wayOut:
      'copy both files, under their names; SQLite takes the transaction back when it reads the database',
    sql: ['SELECT count(*) FROM sqlite_master;'],
    step: STEP.row,
  }).error();
}

/** Computes the running checksum of a WAL, over pairs of words. */
class Checksum {
  readonly #view: DataView;
  readonly #isLittleEndian: boolean;
  #a = 0;
  #b = 0;

  constructor(view: DataView, options: { isLittleEndian: boolean }) {
    this.#view = view;
    this.#isLittleEndian = options.isLittleEndian;
  }

  add(start: number, sizeBytes: number): void {
    let a = this.#a;
    let b = this.#b;
    for (let at = start; at < start + sizeBytes; at += 8) {
      a = (a + this.#view.getUint32(at, this.#isLittleEndian) + b) >>> 0;
      b = (b + this.#view.getUint32(at + 4, this.#isLittleEndian) + a) >>> 0;
    }
    this.#a = a;
    this.#b = b;
  }

  isStoredAt(offset: number): boolean {
    return this.#view.getUint32(offset) === this.#a && this.#view.getUint32(offset + 4) === this.#b;
  }
}
