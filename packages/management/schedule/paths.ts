// Paths of operations: brings every spelling to one form, and matches concrete paths with shapes. The
// routes, the changes and the schedule all match paths here.
//
// The one form is `/zones/:zone_id/filters`: a leading slash, no slash at the end, parameters as `:name`,
// no base path, no query. Where the description gives a segment in angle brackets, the name in the
// brackets is the word.

export const DEFAULT_BASE_PATH = '/client/v4';

/** In the description, the word for a path segment with the name of a product: it matches each. */
const STAND_IN = 'legacy_connector';

/**
 * The one form of a path.
 *
 * Accepts `:id` and `{id}`, a whole URL, leading, doubled and trailing slashes, a query and a fragment.
 * Removes `basePath` if the path begins with it.
 */
export function normalPath(path: string, basePath: string = DEFAULT_BASE_PATH): string {
  const segments = segmentsIn(path).map(normalSegment);
  const base = segmentsIn(basePath);
  return `/${segments.slice(isBelow(segments, base) ? base.length : 0).join('/')}`;
}

/** Whether it is a whole URL whose path is not below the base path: an address of another API. */
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

/** How a path matches a shape. */
export interface PathMatch {
  /** Values of the parameters by name; the rest under `*`. */
  readonly params: Readonly<Record<string, string>>;
  /** The number of fixed words in the shape. Of two shapes that match, the one with more is more exact. */
  readonly exactness: number;
}

/** Matches a concrete path, or another spelling of a shape, with a shape. Both are in the one form. */
export function matchPath(shape: string, path: string): PathMatch | undefined {
  return matchSegments(segmentsOf(shape), segmentsOf(path));
}

/** The first of the shapes that match most exactly; `shapeOf` gives the segments of each. */
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

/** `*` as the last word matches any rest, even an empty one. */
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
    else if (word !== STAND_IN) return undefined;
  }
  if (hasRest) params['*'] = segments.slice(length).join('/');
  return { params, exactness };
}

/** The shape with the values in place of its parameters; undefined if a value is missing. */
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
