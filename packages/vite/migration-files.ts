// Finds the files of a D1 database's migrations by `migrations_pattern`. Wrangler finds the same files, with the same
// library.
//
// Invariant: hidden files, hidden folders and links are not migrations. The name of a migration is its path in the
// folder, with `/` between folders.

import { type Dirent, readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { compareMigrations } from '@ctx-storage/core/contract';
import { Minimatch } from 'minimatch';

/** The place of a database's migrations, which the wrangler file names. */
export interface MigrationPlace {
  /** `migrations_dir`, relative to the file or absolute. */
  readonly folder: string;
  /** The pattern of the paths in the folder. */
  readonly pattern: string;
}

/** The folder that is used if the wrangler file names none. */
const DEFAULT_FOLDER = 'migrations';

/** Returns the place. @throws Error if the pattern names another folder, has no folder, or is not valid */
export function migrationPlace(
  folder: string | undefined,
  pattern: string | undefined,
): MigrationPlace {
  if (pattern === undefined)
    return { folder: normalizePath(folder ?? DEFAULT_FOLDER), pattern: '*.sql' };
  if (folder === undefined) {
    throw new Error(
      `${JSON.stringify(pattern)} needs migrations_dir: name the folder with which it begins.`,
    );
  }
  const prefix = normalizePath(folder) === '.' ? '' : `${normalizePath(folder)}/`;
  if (!normalizePath(pattern).startsWith(prefix)) {
    throw new Error(
      `${JSON.stringify(pattern)} must begin with migrations_dir, ${JSON.stringify(prefix)}.`,
    );
  }
  const inFolder = normalizePath(pattern).slice(prefix.length);
  matcherOf(inFolder); // throws if the pattern is not valid
  return { folder: normalizePath(folder), pattern: inFolder };
}

function normalizePath(path: string): string {
  return posix.normalize(path.replaceAll('\\', '/')).replace(/(?<=.)\/$/, '');
}

/** Reads the texts of the migrations, by their names and in their order. There are none if the folder is missing. */
export function readMigrations(folder: string, pattern: string): Record<string, string> {
  const names = filesIn(folder, matcherOf(pattern)).sort(compareMigrations);
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
}

/** Returns a hint if no file matches the pattern and the folder has migrations of drizzle-kit 1. */
export function migrationHint(folder: string, pattern: string): string | undefined {
  const drizzlePattern = '*/migration.sql';
  const isEmpty = Object.keys(readMigrations(folder, pattern)).length === 0;
  if (!isEmpty || Object.keys(readMigrations(folder, drizzlePattern)).length === 0)
    return undefined;
  return `no file of ${folder} matches ${pattern}, but folders of drizzle-kit do; add ${drizzlePattern} as migrations_pattern.`;
}

/**
 * Returns the matcher of a pattern without its folder. `!` and `#` at the beginning have no special meaning, because
 * they were not at the beginning of the whole pattern.
 *
 * @throws Error if the library cannot make a regular expression of the pattern
 */
function matcherOf(pattern: string): Minimatch {
  try {
    return new Minimatch(pattern, { nonegate: true, nocomment: true });
  } catch (error) {
    throw new Error(`${JSON.stringify(pattern)} is not a pattern: ${(error as Error).message}.`);
  }
}

/**
 * Returns the matching paths in the folder. A folder is read only if the pattern can match a path that begins with it.
 */
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
