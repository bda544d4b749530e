// Opens and checks a foreign database file, before it replaces an object's database.
//
// Invariant: no object is touched here. A file that passes is sound page by page, has a schema that an
// object could have made, and holds keys and an alarm that the storage can read. Whether a value can be
// decoded shows when it is read, as with any value.

import { isStorageError } from '../../../src/shared/contract/errors.ts';
import type { DatabaseFile } from '../file/file.ts';
import type { Database } from '../sql/database.ts';
import type { QueryLimits } from '../sql/query-limits.ts';
import { type CheckHost, CheckTime } from './check-time.ts';
import {
  checkHeader,
  DATABASE_PAGE_BYTES,
  importInvalid,
  isAllInWal,
  settleImage,
} from './database-header.ts';
import { ImageFile } from './image-file.ts';
import { checkSchema } from './schema-check.ts';
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
export type OpenApart = (
  file: DatabaseFile,
  limits?: Pick<QueryLimits, 'heapBytes'>,
) => OpenedDatabase;

const REPAIR = 'repair it with the sqlite3 shell (.recover), or use another copy';

/**
 * Memory for the schema that is created again. SQLite expands views that name others twice without looking at a
 * deadline, so memory ends it: after half a second instead of minutes.
 */
const SCHEMA_HEAP_BYTES = 64 * 1024 * 1024;

const WRONG_ENTRIES = "SELECT 1 FROM _cf_KV WHERE typeof(key) <> 'text' OR typeof(value) <> 'blob'";
const WRONG_ALARM =
  'SELECT 1 FROM _cf_METADATA WHERE key = 1' +
  " AND (typeof(value) NOT IN ('integer', 'null') OR value < 0)";

const ROOTLESS = 'SELECT 1 FROM sqlite_schema WHERE coalesce(rootpage, 0) = 0';

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
  if (file.length > 0 || wal === null) checkHeader(file);
  if (wal === null && file.length >= DATABASE_PAGE_BYTES && isAllInWal(file)) {
    throw importInvalid(
      'the file is empty and in WAL mode: its data is in the -wal file beside it',
      'pass both files; to empty an object, call deleteAll()',
    );
  }
  const image = wal === null ? file.slice() : mergeWal(file, wal);
  checkHeader(image);
  const time = new CheckTime(host);
  let opened: OpenedDatabase | undefined;
  try {
    const pages = new ImageFile(settleImage(image));
    const { database, close } = (opened = openApart(pages));
    await check(database, time, openApart);
    time.lift();
    return { file: pages, database, close: () => close() };
  } catch (error) {
    opened?.close();
    throw translated(error, time);
  }
}

async function check(database: Database, time: CheckTime, openApart: OpenApart): Promise<void> {
  time.bounds(database);
  // Rows need not meet the file's constraints, whose texts are not trusted yet.
  database.run('PRAGMA ignore_check_constraints=ON');
  // SQLite trusts the sizes of cells within a page, unless it is told otherwise.
  database.run('PRAGMA cell_size_check=ON');
  const empty = openApart(new ImageFile(), { heapBytes: SCHEMA_HEAP_BYTES });
  try {
    time.bounds(empty.database);
    await checkSchema(database, empty.database, time);
  } finally {
    empty.close();
  }
  await time.betweenSteps();
  let damage = database.damage();
  if (damage === undefined && holds(database, ROOTLESS)) {
    await time.betweenSteps();
    damage = database.damageOfAllPages();
  }
  if (damage !== undefined) throw importInvalid(`the file is damaged: ${damage}`, REPAIR);
  if (has(database, '_cf_KV') && holds(database, WRONG_ENTRIES)) {
    throw importInvalid(
      '_cf_KV holds a key that is not text, or a value that is not a blob',
      REPAIR,
    );
  }
  if (has(database, '_cf_METADATA') && holds(database, WRONG_ALARM)) {
    throw importInvalid('_cf_METADATA holds an alarm that is not a time in nanoseconds', REPAIR);
  }
}

function has(database: Database, table: string): boolean {
  return holds(database, `SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = '${table}'`);
}

function holds(database: Database, sql: string): boolean {
  const statement = database.statement(sql);
  const found = statement.step();
  statement.reset();
  return found;
}

/** An error of SQLite as a fault of the file; any other error as it is. */
function translated(error: unknown, time: CheckTime): unknown {
  if (!isStorageError(error) || !FAULTS_OF_FILE.has(error.code)) return error;
  if (error.code === 'SQL_TIMEOUT') return time.exceeded(error);
  return importInvalid(`SQLite cannot read the file: ${error.message}`, REPAIR, error);
}
