// Opens and checks a foreign database file, before it replaces an object's database.
//
// Invariant: no object is touched here. A file that passes is sound page by page, has a schema that an
// object could have made, and holds keys and an alarm that the storage can read. Whether a value can be
// decoded shows when it is read, as with any value.

import { isStorageError } from '../../../src/shared/contract/errors.ts';
import type { DatabaseFile } from '../file/file.ts';
import type { Database } from '../sql/database.ts';
import type { OwnLimits } from '../sql/query-limits.ts';
import { type CheckHost, CheckTime } from './check-time.ts';
import { ANOTHER_COPY, findDamage, hasRow } from './damage.ts';
import {
  DATABASE_PAGE_BYTES,
  headerFaults,
  isAllInWal,
  pageBytesOf,
  settleImage,
} from './database-header.ts';
import { ImageFile } from './image-file.ts';
import { type Fault, ImportFaults, importInvalid, STEP } from './import-faults.ts';
import { freeName, inQuotes } from './remedies.ts';
import { SchemaCheck } from './schema-check.ts';
import { mergeWal } from './wal.ts';

export interface OpenedDatabase {
  readonly database: Database;
  close(): void;
}

/** A checked file that SQLite has open, and its pages. */
export interface ForeignDatabase extends OpenedDatabase {
  readonly file: DatabaseFile;
}

/** Opens SQLite on a file outside of every object; limits that are not given are the host's. */
export type OpenApart = (file: DatabaseFile, limits?: OwnLimits) => OpenedDatabase;

/**
 * Memory for the schema that is created again. SQLite expands views that name others twice without looking at a
 * deadline, so memory ends it: after half a second instead of minutes.
 */
const SCHEMA_HEAP_BYTES = 64 * 1024 * 1024;

const WRONG_ENTRIES = "typeof(key) <> 'text' OR typeof(value) <> 'blob'";
const WRONG_ALARM = "key = 1 AND (typeof(value) NOT IN ('integer', 'null') OR value < 0)";

const FAULTS_OF_FILE: ReadonlySet<string> = new Set([
  'SQL',
  'SQL_FORBIDDEN',
  'SQL_TIMEOUT',
  'SQL_MEMORY',
  'SQL_TOO_LARGE',
  'CORRUPT',
  'IO',
]);

/**
 * Opens a foreign file, with its WAL if it has one. The caller closes it.
 *
 * @throws IMPORT_INVALID
 */
export async function openForeign(
  file: Uint8Array,
  wal: Uint8Array | null,
  host: CheckHost,
  openApart: OpenApart,
): Promise<ForeignDatabase> {
  // While its first page is still in the WAL, a database is an empty file.
  const inFile = new ImportFaults(...(file.length > 0 || wal === null ? headerFaults(file) : []));
  inFile.hasWal = wal !== null;
  if (wal === null && isAllInWal(file)) {
    throw importInvalid(
      'the file is empty and in WAL mode: its data is in the -wal file beside it',
      'pass both files; to empty an object, call deleteAll()',
    );
  }
  // SQLite applies a WAL to pages of other sizes.
  if (wal !== null && file.length > 0 && pageBytesOf(file) !== DATABASE_PAGE_BYTES) {
    throw inFile.error();
  }
  const image = wal === null ? file.slice() : mergeWal(file, wal);
  const faults = new ImportFaults(...headerFaults(image));
  faults.hasWal = wal !== null;
  const time = new CheckTime(host);
  let opened: OpenedDatabase | undefined;
  try {
    const pages = new ImageFile(settleImage(image));
    const { database, close } = (opened = openApart(pages, { anyText: true }));
    await check(database, time, openApart, faults);
    faults.mustBeNone();
    time.lift();
    return { file: pages, database, close: () => close() };
  } catch (error) {
    opened?.close();
    const fault = faultOf(error, time);
    if (fault === null) throw error;
    faults.endWith(fault);
    throw faults.error(error);
  }
}

async function check(
  database: Database,
  time: CheckTime,
  openApart: OpenApart,
  faults: ImportFaults,
): Promise<void> {
  time.bounds(database);
  // Rows need not meet the file's constraints, whose texts are not trusted yet.
  database.run('PRAGMA ignore_check_constraints=ON');
  // SQLite trusts the sizes of cells within a page, unless it is told otherwise.
  database.run('PRAGMA cell_size_check=ON');
  const empty = openApart(new ImageFile(), { heapBytes: SCHEMA_HEAP_BYTES });
  try {
    time.bounds(empty.database);
    const schema = new SchemaCheck(database, empty.database, time, faults);
    await schema.run();
    try {
      await findDamage(database, faults, () => time.betweenSteps('its pages'));
    } catch (error) {
      // SQLite lacks a function or a collation of a fault that is found.
      if (faults.count === 0 || !isStorageError(error) || error.code !== 'SQL') throw error;
    }
    schema.complete();
    checkRows(database, schema, faults);
  } finally {
    empty.close();
  }
}

/** Keys and alarm. */
function checkRows(database: Database, schema: SchemaCheck, faults: ImportFaults): void {
  const holds = (table: string, wrong: string) =>
    schema.has(table) && hasRow(database, `SELECT 1 FROM ${table} WHERE ${wrong}`);
  if (holds('_cf_KV', WRONG_ENTRIES)) {
    const table = inQuotes(freeName('cf_KV', schema.isTaken));
    faults.add({
      fact: '_cf_KV holds a key that is not text, or a value that is not a blob',
      wayOut: `move these rows to the table ${table}`,
      sql: [
        `CREATE TABLE ${table} AS SELECT * FROM _cf_KV WHERE ${WRONG_ENTRIES};`,
        `DELETE FROM _cf_KV WHERE ${WRONG_ENTRIES};`,
      ],
      step: STEP.row,
    });
  }
  if (holds('_cf_METADATA', WRONG_ALARM)) {
    faults.add({
      fact: '_cf_METADATA holds an alarm that is not a time in nanoseconds',
      wayOut: 'delete it',
      sql: [`DELETE FROM _cf_METADATA WHERE ${WRONG_ALARM};`],
      step: STEP.row,
    });
  }
}

/** An error of SQLite as a fault of the file; null: a fault of something else. */
function faultOf(error: unknown, time: CheckTime): Fault | null {
  if (!isStorageError(error) || !FAULTS_OF_FILE.has(error.code)) return null;
  if (error.code === 'SQL_TIMEOUT') return time.fault();
  if (error.code === 'SQL_MEMORY') {
    return {
      fact: `checking the file takes more memory than allowed (${error.message})`,
      wayOut: 'raise limits.heapBytes',
    };
  }
  const part = /^malformed database schema \(([^)]*)\)/.exec(error.message)?.[1];
  return {
    fact: `SQLite cannot read the file: ${error.message}`,
    wayOut:
      part === undefined
        ? ANOTHER_COPY
        : `drop "${part}" with the program that made the file, or use another copy`,
  };
}
