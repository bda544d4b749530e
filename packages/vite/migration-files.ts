// The files of a D1 database's migrations: wrangler finds the same files in a folder by `migrations_pattern`, with the
// same library.
//
// Invariant: hidden files and folders, and links, are no migrations. Names are paths in the folder, with `/`.

import { type Dirent, readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { compareMigrations } from '@ctx-storage/core/contract';
import { Minimatch } from 'minimatch';

/** Where a database's migrations are, as the wrangler file says. */
export interface MigrationPlace {
  /** `migrations_dir`, relative to the file or absolute. */
  readonly folder: string;
  /** Of files in the folder. */
  readonly pattern: string;
}

/** The folder, if the file names none. */
const FOLDER = 'migrations';

/** @throws Error for a pattern of another folder, without one, or that is invalid */
export function migrationPlace(
  folder: string | undefined,
  pattern: string | undefined,
): MigrationPlace {
  if (pattern === undefined) return { folder: normal(folder ?? FOLDER), pattern: '*.sql' };
  if (folder === undefined) {
    throw new Error(
      `${JSON.stringify(pattern)} needs migrations_dir: name the folder with which it begins.`,
    );
  }
  const prefix = normal(folder) === '.' ? '' : `${normal(folder)}/`;
  if (!normal(pattern).startsWith(prefix)) {
    throw new Error(
      `${JSON.stringify(pattern)} must begin with migrations_dir, ${JSON.stringify(prefix)}.`,
    );
  }
  const inFolder = normal(pattern).slice(prefix.length);
  matcherOf(inFolder); // it is valid
  return { folder: normal(folder), pattern: inFolder };
}

function normal(path: string): string {
  return posix.normalize(path.replaceAll('\\', '/')).replace(/(?<=.)\/$/, '');
}

/** The texts of the files in their order, by their names; none if the folder is missing. */
export function readMigrations(folder: string, pattern: string): Record<string, string> {
  const names = filesIn(folder, matcherOf(pattern)).sort(compareMigrations);
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
}

/** A hint, if no file matches the pattern, and drizzle-kit 1 has made the migrations. */
export function migrationHint(folder: string, pattern: string): string | undefined {
  const ofDrizzle = '*/migration.sql';
  const isEmpty = Object.keys(readMigrations(folder, pattern)).length === 0;
  if (!isEmpty || Object.keys(readMigrations(folder, ofDrizzle)).length === 0) return undefined;
  return `no file of ${folder} matches ${pattern}, but folders of drizzle-kit do; add ${ofDrizzle} as migrations_pattern.`;
}

/**
 * Of a pattern that is the end of one that begins with the folder: `!` and `#` are plain characters at its beginning.
 *
 * @throws Error for a pattern of which the library makes no regular expression
 */
function matcherOf(pattern: string): Minimatch {
  try {
    return new Minimatch(pattern, { nonegate: true, nocomment: true });
  } catch (error) {
    throw new Error(`${JSON.stringify(pattern)} is not a pattern: ${(error as Error).message}.`);
  }
}

/** Paths in the folder. A folder that no longer path of the pattern begins with is not read. */
function filesIn(folder: string, matcher: Minimatch, path = ''): string[] {
  return entriesOf(join(folder, path)).flatMap((entry) => {
    const below = path === '' ? entry.name : `${path}/${entry.name}`;
    if (entry.isFile()) return matcher.match(below) ? [below] : [];
    return entry.isDirectory() && matcher.match(below, true) ? filesIn(folder, matcher, below) : [];
  });
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    throw error;
  }
}
