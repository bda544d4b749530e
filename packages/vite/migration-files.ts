// The files of a D1 database's migrations: wrangler finds the same files in a folder by `migrations_pattern`.
//
// Invariant: hidden files and folders, and links, are no migrations. Names are paths in the folder, with `/`.

import { type Dirent, readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { compareMigrations } from '@ctx-storage/core/contract';

/** Where a database's migrations are, as the wrangler file says. */
export interface MigrationPlace {
  /** `migrations_dir`, relative to the file or absolute. */
  readonly folder: string;
  /** Of files in the folder. */
  readonly pattern: string;
}

/** The folder, if the file names none. */
const FOLDER = 'migrations';

/** @throws Error for a pattern of another folder, or without one */
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
  pathsOf(inFolder); // it is known here
  return { folder: normal(folder), pattern: inFolder };
}

function normal(path: string): string {
  return posix.normalize(path.replaceAll('\\', '/')).replace(/(?<=.)\/$/, '');
}

/** The texts of the files in their order, by their names; none if the folder is missing. */
export function readMigrations(folder: string, pattern: string): Record<string, string> {
  const found = new Set(pathsOf(pattern).flatMap((segments) => filesIn(folder, segments)));
  const names = [...found].sort(compareMigrations);
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
}

/** A hint, if no file matches the pattern, and drizzle-kit 1 has made the migrations. */
export function migrationHint(folder: string, pattern: string): string | undefined {
  const ofDrizzle = '*/migration.sql';
  const isEmpty = Object.keys(readMigrations(folder, pattern)).length === 0;
  if (!isEmpty || Object.keys(readMigrations(folder, ofDrizzle)).length === 0) return undefined;
  return `no file of ${folder} matches ${pattern}, but folders of drizzle-kit do; add ${ofDrizzle} as migrations_pattern.`;
}

/** The names of one level, or `**`: folders of any depth. */
type Segment = RegExp | '**';

function filesIn(folder: string, [first, ...rest]: readonly Segment[], path = ''): string[] {
  if (first === undefined) return [];
  const entries = entriesOf(join(folder, path));
  const below = (name: string, segments: readonly Segment[]) =>
    filesIn(folder, segments, path === '' ? name : `${path}/${name}`);
  if (first === '**') {
    const folders = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'));
    const here = rest.length === 0 ? [ANY_NAME] : rest;
    return [
      ...filesIn(folder, here, path),
      ...folders.flatMap(({ name }) => below(name, [first, ...rest])),
    ];
  }
  const matching = entries.filter(({ name }) => first.test(name));
  if (rest.length > 0) {
    return matching.flatMap((entry) => (entry.isDirectory() ? below(entry.name, rest) : []));
  }
  const files = matching.filter((entry) => entry.isFile());
  return files.map(({ name }) => (path === '' ? name : `${path}/${name}`));
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

/** A pattern without its alternatives in braces. @throws Error that names a form that is not known */
function pathsOf(pattern: string): Segment[][] {
  const unknown = /^[!#]|[?*+@!]\(|\{[^{},]*\.\.[^{},]*\}|\[\[?[:.=]/.exec(pattern);
  if (unknown !== null) {
    throw new Error(
      `${JSON.stringify(pattern)} has ${JSON.stringify(unknown[0])}; only *, **, ?, [a-z] and {a,b} are known here.`,
    );
  }
  return withoutBraces(pattern).map((path) => path.split('/').map(segmentOf));
}

function withoutBraces(pattern: string): string[] {
  for (let start = pattern.indexOf('{'); start !== -1; start = pattern.indexOf('{', start + 1)) {
    const parts = alternativesAt(pattern, start);
    if (parts === undefined) continue;
    const { alternatives, end } = parts;
    const [before, after] = [pattern.slice(0, start), pattern.slice(end)];
    return alternatives.flatMap((each) => withoutBraces(before + each + after));
  }
  return [pattern];
}

/** Of the brace at `start`. Undefined: the brace is a plain character, because it is not closed or has no comma. */
function alternativesAt(pattern: string, start: number) {
  const alternatives: string[] = [];
  let depth = 0;
  let from = start + 1;
  for (let at = start; at < pattern.length; at++) {
    const char = pattern[at];
    if (char === '{') depth += 1;
    if (char === '}') depth -= 1;
    if (depth > 1 || (depth === 1 && char !== ',')) continue;
    alternatives.push(pattern.slice(from, at));
    from = at + 1;
    if (depth === 0) return alternatives.length > 1 ? { alternatives, end: from } : undefined;
  }
  return undefined;
}

function segmentOf(text: string): Segment {
  if (text === '**') return '**';
  const source = text.replace(/\*+|\?|\[[!^]?\]?[^\]]*\]|[.+^$()|[\]\\{}]/g, (token) => {
    if (token.startsWith('*')) return '.*';
    if (token === '?') return '.';
    if (token.length === 1) return `\\${token}`;
    // A bracket that comes first stands for itself.
    return token.replace(/^\[([!^]?)(\]?)/, (_, not, first) => `[${not && '^'}${first && '\\]'}`);
  });
  return new RegExp(`^(?=.)${text.startsWith('.') ? '' : '(?!\\.)'}${source}$`, 's');
}

const ANY_NAME = segmentOf('*') as RegExp;
