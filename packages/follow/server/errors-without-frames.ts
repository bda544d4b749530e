// Takes from errors what shows the server's code and files: frames of stacks, paths of files, and errors behind them.
//
// An error keeps its class, its message, and own properties that are strings, numbers or booleans. Its message is the
// app's, and is kept, too, except for frames, and for paths that the runtime has put into it.

/**
 * The names of properties that are dropped: those that every error may have, and those in which Node stores the path of
 * a file.
 */
const DROPPED: ReadonlySet<string> = new Set(['stack', 'cause', 'path', 'dest', 'url', 'filename']);
const KEPT_APART: ReadonlySet<string> = new Set(['name', 'message']);
const SIMPLE: ReadonlySet<string> = new Set(['string', 'number', 'boolean']);
/** Matches a line of a stack: `    at method (file:///srv/server.js:3:14)`. */
const FRAME = /\n[ \t]+at [^\n]*/g;
/**
 * Matches a place in a file: an address with the scheme `file:`, or an absolute path with a line and a column. A path
 * begins only after a character that no path has, so that matching takes linear time.
 */
const PLACE = /file:\/\/[^\s'")]+|(?<![^\s'"()])(?:[A-Za-z]:)?[\\/][^\s'":()]+:\d+:\d+/g;
const NO_PLACE = '(a file)';

/** Returns a copy of an error that shows nothing of the server. @throws errors of its getters */
export function withoutFrames(error: Error): Error {
  const copy = new Error(textWithoutFrames(String(error.message), error));
  const define = (name: string, value: unknown) => Object.defineProperty(copy, name, { value });
  define('name', String(error.name));
  define('stack', `${copy.name}: ${copy.message}`);
  for (const name of Object.getOwnPropertyNames(error)) {
    if (DROPPED.has(name) || KEPT_APART.has(name)) continue;
    const value: unknown = Reflect.get(error, name);
    if (SIMPLE.has(typeof value)) {
      define(name, typeof value === 'string' ? textWithoutFrames(value, error) : value);
    }
  }
  return copy;
}

/** Removes frames in place from all errors in a value. The value was deserialized, so no other code has it. */
export function stripErrorsIn(value: unknown): void {
  const found = new Set<object>();
  const visit = (next: unknown) => {
    if (typeof next === 'object' && next !== null && !ArrayBuffer.isView(next)) found.add(next);
  };
  visit(value);
  // The loop also visits the elements that are added to the Set while it runs.
  for (const next of found) {
    if (next instanceof Error) {
      stripError(next);
    } else if (next instanceof Map) {
      for (const entry of next) for (const part of entry) visit(part);
    } else if (next instanceof Set) {
      for (const part of next) visit(part);
    } else {
      for (const part of Object.values(next)) visit(part);
    }
  }
}

function stripError(error: Error): void {
  const clean = withoutFrames(error);
  for (const name of Object.getOwnPropertyNames(error)) {
    const { enumerable = false } = Object.getOwnPropertyDescriptor(error, name)!;
    if (!Object.hasOwn(clean, name)) Reflect.deleteProperty(error, name);
    else Object.defineProperty(error, name, { value: Reflect.get(clean, name), enumerable });
  }
}

function textWithoutFrames(text: string, error: Error): string {
  const { path, dest } = error as { path?: unknown; dest?: unknown };
  const paths = [path, dest].filter((one) => typeof one === 'string' && one.length > 1);
  const withoutPaths = paths.reduce<string>(
    (rest, one) => rest.replaceAll(one as string, NO_PLACE),
    text,
  );
  return withoutPaths.replaceAll(FRAME, '').replaceAll(PLACE, NO_PLACE);
}
