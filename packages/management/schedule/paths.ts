// Brings every spelling of an operation's path to one form, and matches concrete paths with shapes. The routes, the
// changes and the schedule all match paths here.
//
// The one form is `/zones/:zone_id/filters`: a leading slash, no slash at the end, parameters as `:name`, no base path,
// no query. A segment in angle brackets, as in the provider's published description, becomes the word in the brackets.

export const DEFAULT_BASE_PATH = '/client/v4';

/** A word that the published description writes in place of any product's name, so it matches every segment. */
const ANY_PRODUCT_WORD = 'legacy_connector';

/**
 * Returns the one form of a path.
 *
 * It accepts `:id` and `{id}`, a whole URL, leading, doubled and trailing slashes, a query and a fragment. It removes
 * `basePath` if the path begins with it.
 */
export function normalPath(path: string, basePath: string = DEFAULT_BASE_PATH): string {
  const segments = segmentsIn(path).map(normalSegment);
  const base = segmentsIn(basePath);
  return `/${segments.slice(isBelow(segments, base) ? base.length : 0).join('/')}`;
}

/** Returns whether `path` is a whole URL below another base path, and so belongs to another API. */
export function isForeign(path: string, basePath: string = DEFAULT_BASE_PATH): boolean {
  return ORIGIN.test(path.trim()) && !isBelow(segmentsIn(path), segmentsIn(basePath));
}

const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;

function segmentsIn(path: string): readonly string[] {
  const bare = path.trim().replace(ORIGIN, '');
  return bare
    .replace(/[?#].*$/s, '')
    .split('/')
    .filter(Boolean);
}

function isBelow(segments: readonly string[], base: readonly string[]): boolean {
  return base.every((segment, index) => segments[index] === segment);
}

function normalSegment(segment: string): string {
  return segment.replace(/^\{(.+)\}$/, ':$1').replace(/^<(.+)>$/, '$1');
}

/** The result of matching a path with a shape. */
export interface PathMatch {
  /** The values of the parameters by name; the rest of the path is under `*`. */
  readonly params: Readonly<Record<string, string>>;
  /** The number of fixed words in the shape. If two shapes match, the one with more fixed words is more exact. */
  readonly exactness: number;
}

/** Matches a path with a shape. Both must have the form that `normalPath` returns. */
export function matchPath(shape: string, path: string): PathMatch | undefined {
  return matchSegments(segmentsOf(shape), segmentsOf(path));
}

/**
 * Returns the candidate whose shape matches most exactly, the first if there are several. `shapeOf` returns the
 * segments of a candidate's shape.
 */
export function mostExact<T>(
  candidates: Iterable<T>,
  shapeOf: (candidate: T) => readonly string[],
  path: readonly string[],
): { readonly candidate: T; readonly match: PathMatch } | undefined {
  let best: { candidate: T; match: PathMatch } | undefined;
  for (const candidate of candidates) {
    const match = matchSegments(shapeOf(candidate), path);
    if (match === undefined || (best && best.match.exactness >= match.exactness)) continue;
    best = { candidate, match };
  }
  return best;
}

export function segmentsOf(path: string): readonly string[] {
  return path.split('/').slice(1);
}

/** Matches segment by segment; `*` as the last word matches any rest, even an empty one. */
function matchSegments(
  words: readonly string[],
  segments: readonly string[],
): PathMatch | undefined {
  const hasRest = words.at(-1) === '*';
  const length = hasRest ? words.length - 1 : words.length;
  if (hasRest ? segments.length < length : segments.length !== length) return undefined;
  const params: Record<string, string> = {};
  let exactness = 0;
  for (let index = 0; index < length; index++) {
    const word = words[index]!;
    const segment = segments[index]!;
    if (word.startsWith(':')) params[word.slice(1)] = segment;
    else if (word === segment) exactness += 1;
    else if (word !== ANY_PRODUCT_WORD) return undefined;
  }
  if (hasRest) params['*'] = segments.slice(length).join('/');
  return { params, exactness };
}

/** Replaces the parameters of the shape by their values; returns undefined if a value is missing. */
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
