// The files that the user chooses to import: a database with its log, or a file of rows.

import { FileFault } from './file-fault.ts';

export type GivenFiles =
  | { readonly kind: 'database'; readonly database: File; readonly wal: File | null }
  | { readonly kind: 'rows'; readonly file: File; readonly table: string };

const MAGIC = 'SQLite format 3\0';
const DATABASE_NAME = /\.(sqlite3?|db3?|s3db)$/i;
const WAL_NAME = /-wal$/i;
const INDEX_NAME = /-shm$/i;

/**
 * Finds the kind of the files, by their content and names.
 *
 * @throws FileFault
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
  const head = await file.slice(0, MAGIC.length).text();
  if (head === MAGIC || DATABASE_NAME.test(file.name)) {
    return { kind: 'database', database: file, wal };
  }
  if (wal !== null) {
    throw new FileFault(file.name, null, `${wal.name} belongs to a database, and this is not one`);
  }
  return { kind: 'rows', file, table: tableName(file.name) };
}

/** The name of a table for a file: "My people.csv" is `My_people`. */
export function tableName(fileName: string): string {
  const base = fileName.replace(/\.[^.]*$/, '').replaceAll(/[^\p{L}\p{N}_]+/gu, '_');
  const name = base.replaceAll(/^_+|(?<!_)_+$/g, '');
  // Names that begin so are the storage's, or SQLite's own.
  return name === '' || /^(cf_|sqlite_)/i.test(name) ? `table_${name}` : name;
}
