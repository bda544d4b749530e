// Paths of operations: every spelling brought to one form, and concrete paths matched to a shape.
//
// The one form is `/zones/:zone_id/filters`: a leading slash, none at the end, parameters as `:name`,
// no base path, no query. A segment in angle brackets stands for a word that is not told; its name
// is taken as the word.

export const DEFAULT_BASE_PATH = '/client/v4';

/**
 * The one form of a path.
 *
 * Takes `:id` and `{id}`, a whole URL, leading, doubled and trailing slashes, query and fragment, and
 * drops `basePath` where the path begins with it.
 */
export function normalPath(path: string, basePath: string = DEFAULT_BASE_PATH): string {
  const bare = path.trim().replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '');
  const segments = bare
    .replace(/[?#].*$/s, '')
    .split('/')
    .filter(Boolean)
    .map(normalSegment);
  const base = basePath.split('/').filter(Boolean);
  const isBelow = base.every((segment, index) => segments[index] === segment);
  return `/${segments.slice(isBelow ? base.length : 0).join('/')}`;
}

function normalSegment(segment: string): string {
  return segment.replace(/^\{(.+)\}$/, ':$1').replace(/^<(.+)>$/, '$1');
}

/** A shape of paths, ready to be matched. Both sides are in the one form. */
export interface PathMatch {
  /** Values of the parameters by name; the rest under `*`. */
  readonly params: Readonly<Record<string, string>>;
  /** How many segments were fixed words: of two shapes that match, the more exact one has more. */
  readonly exactness: number;
}

/** The match of a concrete path, or of another spelling of the shape; undefined when it has none. */
export function matchPath(shape: string, path: string): PathMatch | undefined {
  const words = shape.split('/').slice(1);
  const segments = path.split('/').slice(1);
  const hasRest = words.at(-1) === '*';
  if (hasRest) words.pop();
  if (hasRest ? segments.length < words.length : segments.length !== words.length) return undefined;
  const params: Record<string, string> = {};
  let exactness = 0;
  for (const [index, word] of words.entries()) {
    const segment = segments[index]!;
    if (word.startsWith(':')) params[word.slice(1)] = segment;
    else if (word === segment) exactness += 1;
    else return undefined;
  }
  if (hasRest) params['*'] = segments.slice(words.length).join('/');
  return { params, exactness };
}

/** The shape with the values in place of its parameters; undefined when one is missing. */
export function fillPath(
  shape: string,
  params: Readonly<Record<string, string>>,
): string | undefined {
  const segments = shape.split('/').map((word) => {
    if (word === '*') return params['*'];
    return word.startsWith(':') ? params[word.slice(1)] : word;
  });
  return segments.includes(undefined) ? undefined : segments.join('/').replace(/\/$/, '');
}
