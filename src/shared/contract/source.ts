// Defines and checks the arguments of `connectSource`, which runs classes given as source code, and the console entries that
// this code sends to the page.

import { storageError } from './errors.ts';

/**
 * Modules by path, such as `{ 'main.js': '…', 'lib/words.js': '…' }`. Each is the text of an ES module in
 * JavaScript; a path may end in `.ts` if its text is compiled already, so that errors name the file as it was written.
 */
export type SourceFiles = Readonly<Record<string, string>>;

/** The source to load: the modules, and the main one, whose classes are served. */
export interface CheckedSource {
  readonly files: SourceFiles;
  readonly main: string;
}

export type ConsoleLevel = 'debug' | 'log' | 'info' | 'warn' | 'error';

/** A line that object code wrote to its console. */
export interface ConsoleEntry {
  readonly level: ConsoleLevel;
  /** The values as text, joined by spaces; at most 4,000 characters. */
  readonly text: string;
  /** The time of the line, in milliseconds since the epoch. */
  readonly timeMs: number;
}

const MAIN_NAMES = ['main', 'index', 'worker'];
const ENDINGS = ['.js', '.ts', '.mjs', '.mts'];

/** Checks the arguments of `connectSource`. @throws INVALID_ARGUMENT */
export function checkSource(operation: string, files: unknown, main: unknown): CheckedSource {
  if (typeof files !== 'object' || files === null || Array.isArray(files)) {
    throw invalidSource(
      operation,
      "files are an object of texts by path, such as { 'main.js': '…' }.",
    );
  }
  const entries = Object.entries(files);
  if (entries.length === 0)
    throw invalidSource(operation, 'files has no module; give at least one.');
  for (const [path, text] of entries) {
    if (!isModulePath(path)) {
      throw invalidSource(
        operation,
        `"${path}" is not the path of a module: it is relative, such as 'lib/words.js', without spaces, ` +
          "quotation marks, '.' and '..'.",
      );
    }
    if (typeof text !== 'string') {
      throw invalidSource(operation, `the text of "${path}" is a string, not ${typeof text}.`);
    }
  }
  return { files: Object.fromEntries(entries), main: mainOf(operation, Object.keys(files), main) };
}

function mainOf(operation: string, paths: readonly string[], main: unknown): string {
  if (main !== undefined) {
    const found = paths.find((path) => path === main);
    if (found !== undefined) return found;
    throw invalidSource(
      operation,
      `main names "${String(main)}", which is not among files: ${paths.join(', ')}.`,
    );
  }
  if (paths.length === 1) return paths[0]!;
  const names = MAIN_NAMES.flatMap((name) => ENDINGS.map((ending) => name + ending));
  const found = names.find((name) => paths.includes(name));
  if (found !== undefined) return found;
  throw invalidSource(
    operation,
    `which of ${paths.join(', ')} exports the classes? Name it: { main: '${paths[0]}' }.`,
  );
}

function isModulePath(path: string): boolean {
  if (/[\s'"`\\?#:]/.test(path)) return false;
  return path.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
}

/** Returns the path of the file that a relative specifier in a module refers to; undefined if there is none. */
export function resolveModule(
  files: SourceFiles,
  from: string,
  specifier: string,
): string | undefined {
  const parts = from.split('/').slice(0, -1);
  for (const part of specifier.split('/')) {
    if (part === '..' && parts.length === 0) return undefined;
    if (part === '..') parts.pop();
    else if (part !== '.') parts.push(part);
  }
  const path = parts.join('/');
  const stem = path.replace(/\.[mc]?js$/, '');
  const candidates = [
    path,
    ...ENDINGS.map((ending) => stem + ending),
    ...ENDINGS.map((ending) => path + ending),
    ...ENDINGS.map((ending) => `${path}/index${ending}`),
  ];
  return candidates.find((candidate) => Object.hasOwn(files, candidate));
}

function invalidSource(operation: string, fact: string): Error {
  return storageError('INVALID_ARGUMENT', `${operation}: ${fact}`);
}
