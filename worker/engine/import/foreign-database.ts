// Opens and checks a database file that is to be imported, before it replaces an object's database.
//
// Invariant: no object is touched here. A file that passes has no damaged page, a schema that an object could have
// created, and keys and an alarm that the storage can read. The values of keys are not decoded; that happens when they
// are read.

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

/** A checked file, open in SQLite. */
export interface ForeignDatabase extends OpenedDatabase {
  readonly file: DatabaseFile;
}

/** Opens SQLite on a file that belongs to no object; limits that are not passed are the host's. */
export type OpenApart = (file: DatabaseFile, limits?: OwnLimits) => OpenedDatabase;

/**
 * Memory limit while the file's schema is created again. SQLite checks no deadline while it expands views that use
 * other views twice; this limit stops it after half a second instead of minutes.
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
 * Opens and checks a file, with its WAL if it has one. The caller closes the database.
 *
 * @throws IMPORT_INVALID
 */
export async function openForeign(
  file: Uint8Array,
  wal: Uint8Array | null,
  host: CheckHost,
  openApart: OpenApart,
): Promise<ForeignDatabase> {
  // A database whose first page is still in the WAL may be an empty file.
  const inFile = new ImportFaults(...(file.length > 0 || wal === null ? headerFaults(file) : []));
  inFile.hasWal = wal !== null;
  if (wal === null && isAllInWal(file)) {
    throw importInvalid(
      'the file is empty and in WAL mode: its data is in the -wal file beside it',
      'pass both files; to empty an object, call deleteAll()',
    );
  }
  // WALs for other page sizes are not merged here; SQLite's own shell has to apply them.
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
  // Do not check the file's CHECK constraints, because their texts are not trusted yet.
  database.run('PRAGMA ignore_check_constraints=ON');
  // Make SQLite check the sizes of cells, which it trusts by default.
  database.run('PRAGMA cell_size_check=ON');
  const empty = openApart(new ImageFile(), { heapBytes: SCHEMA_HEAP_BYTES });
  try {
    time.bounds(empty.database);
    const schema = new SchemaCheck(database, empty.database, time, faults);
    await schema.run();
    try {
      await findDamage(database, faults, () => time.betweenSteps('its pages'));
    } catch (error) {
      // Ignore SQL errors if faults were found: SQLite may lack a function or a collation that a fault already names.
      if (faults.count === 0 || !isStorageError(error) || error.code !== 'SQL') throw error;
    }
    schema.complete();
    checkRows(database, schema, faults);
  } finally {
    empty.close();
  }
}

/** Checks the rows of the hidden tables: keys and the alarm. */
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

/** Converts an error of SQLite to a fault of the file; returns null if the file is not the cause. */
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
