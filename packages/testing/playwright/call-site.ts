// Finds the line of the test that called the harness. Errors begin their stack there, and reports show it.
//
// Invariant: no stack that a test sees begins with a frame of this package.

import { dirname, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A place in a test, in the form that Playwright's steps take. */
export interface TestLine {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

export interface CallSite {
  /** The first line outside of this package; undefined if there is none. */
  readonly place: TestLine | undefined;
  /** The lines of the stack from that place on. */
  readonly frames: readonly string[];
}

/** The folder of this package. With source maps, stack frames name the sources beside `dist`. */
const OWN_FOLDER = dirname(dirname(fileURLToPath(import.meta.url)));
const FRAMES_MAX = 50;

/** Returns the place that called the function of this package which calls this one. */
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

/** Changes the error's stack, as if the error had been thrown at that place. */
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
