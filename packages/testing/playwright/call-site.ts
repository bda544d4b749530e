// Where a test called the harness: errors begin their stack there, and reports show it.
//
// Invariant: no frame of this package is on top of an error that a test sees.

import { dirname, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A place in a test, as Playwright's steps take it. */
export interface TestLine {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

export interface CallSite {
  /** The first line outside of this package; undefined if there is none. */
  readonly place: TestLine | undefined;
  /** The lines of the stack from there on. */
  readonly frames: readonly string[];
}

/** The package's: with source maps, frames name the sources beside `dist`. */
const OWN_FOLDER = dirname(dirname(fileURLToPath(import.meta.url)));
const FRAMES_MAX = 50;

/** Who called the function of this package that calls this. */
export function callSite(): CallSite {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = FRAMES_MAX;
  const { stack = '' } = new Error();
  Error.stackTraceLimit = limit;
  const lines = stack.split('\n').slice(1);
  const first = lines.findIndex((line) => {
    const place = placeIn(line);
    return place !== undefined && !isOwn(place.file);
  });
  if (first === -1) return { place: undefined, frames: [] };
  return { place: placeIn(lines[first]!), frames: lines.slice(first) };
}

/** The error, as if it had been thrown there. */
export function thrownAt(error: unknown, { frames }: CallSite): unknown {
  if (!(error instanceof Error) || frames.length === 0) return error;
  const stack = [`${error.name}: ${error.message}`, ...frames].join('\n');
  Object.defineProperty(error, 'stack', { value: stack, writable: true, configurable: true });
  return error;
}

function isOwn(file: string): boolean {
  return file.startsWith(OWN_FOLDER + sep);
}

function placeIn(line: string): TestLine | undefined {
  const [, at, row, column] =
    /\(?((?:file:\/\/|\/|[A-Za-z]:\\)[^()]*):(\d+):(\d+)\)?$/.exec(line) ?? [];
  if (at === undefined) return undefined;
  const file = at.startsWith('file:') ? fileURLToPath(at) : at;
  return { file, line: Number(row), column: Number(column) };
}
