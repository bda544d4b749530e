// Recognises the files that the user chooses to import: a database with its write-ahead log, or a file of rows.

import { FileFault } from './file-fault.ts';

export type GivenFiles =
  | { readonly kind: 'database'; readonly database: File; readonly wal: File | null }
  | { readonly kind: 'rows'; readonly file: File; readonly table: string };

const SQLITE_HEADER = 'SQLite format 3\0';
const DATABASE_NAME = /\.(sqlite3?|db3?|s3db)$/i;
const WAL_NAME = /-wal$/i;
const INDEX_NAME = /-shm$/i;

/**
 * Finds the kind of the files by their content and names.
 *
 * @throws FileFault if they are not one database or one file of rows
 */
export async function givenFiles(files: readonly File[]): Promise<GivenFiles> {
  const [wal = null, ...otherWals] = files.filter(({ name }) => WAL_NAME.test(name));
  const others = files.filter(({ name }) => !WAL_NAME.test(name) && !INDEX_NAME.test(name));
  const [file, ...more] = others;
  if (file === undefined) {
    throw new FileFault(
      files[0]?.name ?? 'Nothing',
      null,
      'a -wal file is a part of a database; open both together',
    );
  }
  if (more.length > 0 || otherWals.length > 0) {
    throw new FileFault(more[0]?.name ?? file.name, null, 'open one file at a time');
  }
  const head = await file.slice(0, SQLITE_HEADER.length).text();
  if (head === SQLITE_HEADER || DATABASE_NAME.test(file.name)) {
    return { kind: 'database', database: file, wal };
  }
  if (wal !== null) {
    throw new FileFault(file.name, null, `${wal.name} belongs to a database, and this is not one`);
  }
  return { kind: 'rows', file, table: tableName(file.name) };
}

/** Makes the name of a table from that of a file: "My people.csv" becomes `My_people`. */
export function tableName(fileName: string): string {
  const base = fileName.replace(/\.[^.]*$/, '').replaceAll(/[^\p{L}\p{N}_]+/gu, '_');
  const name = base.replaceAll(/^_+|(?<!_)_+$/g, '');
  // Names with these beginnings belong to the storage or to SQLite.
  return name === '' || /^(cf_|sqlite_)/i.test(name) ? `table_${name}` : name;
}
