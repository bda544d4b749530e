// The rules in a folder of assets: its files `_redirects` and `_headers`, as Cloudflare reads them
// (developers.cloudflare.com/workers/static-assets/redirects and …/headers).
//
// Invariant: rules apply in the order of their lines. A line that is not a rule is reported with its number. This
// module reads no files.

/** The rules of a file, and the problems of the lines that are not rules. */
export interface Rules<Rule> {
  readonly rules: readonly Rule[];
  /** A sentence for each problem, with the number of its line. */
  readonly problems: readonly string[];
}

export interface RedirectRule {
  readonly matches: Matcher;
  /** The target: a path, or an address of another host. */
  readonly to: string;
  /** The status of the redirect, or 200 if the asset at `to` is the answer itself. */
  readonly status: number;
}

export interface HeaderRule {
  readonly matches: Matcher;
  /** The headers to add, by their names in lower case. */
  readonly set: ReadonlyMap<string, string>;
  readonly unset: readonly string[];
}

/**
 * Matches an address. Returns the text for each `:name`, and for `*` as `splat`; undefined if the address does not
 * match.
 */
type Matcher = (url: URL) => Values | undefined;
type Values = Readonly<Record<string, string>>;

// Cloudflare has these limits.
const LINE_CHARS_MAX = 2000;
const HEADER_RULES_MAX = 100;
const DYNAMIC_REDIRECTS_MAX = 100;
const STATIC_REDIRECTS_MAX = 2000;

const STATUSES: ReadonlySet<number> = new Set([200, 301, 302, 303, 307, 308]);
const PATTERN_PARTS = /\*|:[A-Za-z]\w*/g;

/**
 * Reads lines of `from to status?`. `servesFolderAddresses` is true if `/a/index.html` is served at the address of its
 * folder.
 */
export function parseRedirects(text: string, servesFolderAddresses: boolean): Rules<RedirectRule> {
  const rules: RedirectRule[] = [];
  const seenPaths = new Set<string>();
  const counts = { static: 0, dynamic: 0 };
  const problems = readLines(text, (line) => {
    const words = line.split(/\s#/)[0]!.trim().split(/\s+/);
    const [from, to, status = '302', ...more] = words;
    if (from === undefined || to === undefined || more.length > 0) return 'takes: from to status?';
    const path = pathIn(from.startsWith('/') ? from : `/${from}`);
    if (from.startsWith('https://') || path === undefined) return `${from} is no path`;
    if (seenPaths.has(path)) return `${path} has a rule already`;
    const isDynamic = counts.dynamic > 0 || path.search(PATTERN_PARTS) >= 0;
    const kind = isDynamic ? 'dynamic' : 'static';
    const max = isDynamic ? DYNAMIC_REDIRECTS_MAX : STATIC_REDIRECTS_MAX;
    if (counts[kind] === max) return `there are ${max} ${kind} rules before, the most there may be`;
    counts[kind] += 1;
    const target = addressIn(to);
    if (target === undefined) return `${to} is neither a path nor an https address`;
    if (!STATUSES.has(Number(status))) return `${status} is none of ${[...STATUSES].join(', ')}`;
    const isPath = target.startsWith('/');
    if (status === '200' && !isPath) return 'with 200, it leads to a path';
    const isLoop = path.endsWith('/*') || (path.endsWith('/') && servesFolderAddresses);
    if (isPath && isLoop && /\/index(?:.html)?$/.test(target)) return 'it leads to itself';
    const matches = matcherOf(path);
    if (typeof matches === 'string') return matches;
    seenPaths.add(path);
    rules.push({ matches, to: target, status: Number(status) });
    return undefined;
  });
  return { rules, problems };
}

/** Reads lines with a path or an https address, each followed by its headers, one a line: `name: value` or `! name`. */
export function parseHeaders(text: string): Rules<HeaderRule> {
  const rules: NumberedHeaderRule[] = [];
  let currentRule: NumberedHeaderRule | 'wrong' | null = null;
  const problems = readLines(text, (line, number) => {
    if (line.startsWith('/') || /^\S+:\/\//.test(line)) {
      currentRule = 'wrong';
      if (rules.length === HEADER_RULES_MAX) {
        return `there are ${HEADER_RULES_MAX} rules before, the most there may be`;
      }
      const pattern = addressIn(line, false);
      if (pattern === undefined) return `${line} is neither a path nor an https address`;
      const matches = matcherOf(pattern);
      if (typeof matches === 'string') return matches;
      currentRule = { matches, set: new Map(), unset: [], line: number };
      rules.push(currentRule);
      return undefined;
    }
    if (currentRule === 'wrong') return undefined; // A wrong path above this header was reported already.
    return currentRule === null ? 'a path comes before its headers' : addHeader(currentRule, line);
  });
  const isEmpty = ({ set, unset }: HeaderRule) => set.size + unset.length === 0;
  const empty = rules.filter(isEmpty).map(({ line }) => `line ${line}: no header follows`);
  return { rules, problems: [...problems, ...empty] };
}

interface NumberedHeaderRule extends HeaderRule {
  readonly set: Map<string, string>;
  readonly unset: string[];
  readonly line: number;
}

/** Adds the header of a line to the rule of the path above it. Returns the problem if the line is not a header. */
function addHeader({ set, unset }: NumberedHeaderRule, line: string): string | undefined {
  const colon = line.indexOf(':');
  const isUnset = colon === -1 && line.startsWith('! ');
  const name = (isUnset ? line.slice(2) : line.slice(0, Math.max(colon, 0))).trim().toLowerCase();
  const value = line.slice(colon + 1).trim();
  if (!isUnset && (name === '' || value === '')) return 'takes: name: value, or ! name';
  try {
    new Headers([[name, isUnset ? '' : value]]);
  } catch (error) {
    return (error as Error).message;
  }
  const before = set.get(name);
  if (isUnset) unset.push(name);
  else set.set(name, before === undefined ? value : `${before}, ${value}`);
  return undefined;
}

/**
 * Returns the redirect of an address, or the path of the asset that answers it; undefined if no rule matches the
 * address.
 */
export function findRedirect(
  rules: readonly RedirectRule[],
  url: URL,
): { readonly status: number; readonly location: string } | { readonly path: string } | undefined {
  for (const { matches, to, status } of rules) {
    const values = matches(url);
    if (values === undefined) continue;
    const filled = fillPlaceholders(to, values).trim();
    const isPath = !/^\w+:\/\//.test(filled);
    const target = new URL(isPath ? filled.replaceAll(/\/+/g, '/') : filled, url);
    if (status === 200) return { path: target.pathname };
    target.search ||= url.search;
    const { pathname, search, hash, origin, href } = target;
    return { status, location: origin === url.origin ? pathname + search + hash : href };
  }
  return undefined;
}

/**
 * Adds the headers of all matching rules to the response. If several rules set the same name, it gets all their values.
 */
export function addHeaders(rules: readonly HeaderRule[], url: URL, { headers }: Response): void {
  const alreadySet = new Set<string>();
  for (const { matches, set, unset } of rules) {
    const values = matches(url);
    if (values === undefined) continue;
    for (const name of unset) headers.delete(name);
    for (const [name, value] of set) {
      if (alreadySet.has(name)) headers.append(name, fillPlaceholders(value, values));
      else headers.set(name, fillPlaceholders(value, values));
      alreadySet.add(name);
    }
  }
}

/** Calls `read` for each line that is not empty or a comment, and returns the problems that it finds. */
function readLines(
  text: string,
  read: (line: string, number: number) => string | undefined,
): string[] {
  const problems: string[] = [];
  for (const [i, raw] of text.split('\n').entries()) {
    const line = raw.trim();
    if (line === '' || line.startsWith('#')) continue;
    const isLong = line.length > LINE_CHARS_MAX;
    const problem = isLong ? `it has more than ${LINE_CHARS_MAX} characters` : read(line, i + 1);
    if (problem !== undefined) problems.push(`line ${i + 1}: ${problem}`);
  }
  return problems;
}

/** Returns the matcher of a pattern, or a sentence with the reason why it is not one. */
function matcherOf(pattern: string): Matcher | string {
  const hostEnd = pattern.startsWith('/') ? 0 : pattern.indexOf('/', 'https://'.length);
  const names: string[] = [];
  let source = '';
  let end = 0;
  for (const { 0: part, index } of pattern.matchAll(PATTERN_PARTS)) {
    const name = part === '*' ? 'splat' : part.slice(1);
    if (names.includes(name)) return `${part} is in it twice`;
    names.push(name);
    const isOfHost = index < hostEnd;
    source += `${escapeRegExp(pattern.slice(end, index))}(${part === '*' ? '.*' : isOfHost ? '[^/.]+' : '[^/]+'})`;
    end = index + part.length;
  }
  const expression = new RegExp(`^${source}${escapeRegExp(pattern.slice(end))}$`);
  return ({ hostname, pathname }) => {
    const found = expression.exec(hostEnd > 0 ? `https://${hostname}${pathname}` : pathname);
    return found === null
      ? undefined
      : Object.fromEntries(names.map((name, i) => [name, found[i + 1]!]));
  };
}

function escapeRegExp(text: string): string {
  return text.replaceAll(/[-/\\^$*+?.()|[\]{}]/g, '\\$&');
}

/** Replaces each `:name` in the text by its value. */
function fillPlaceholders(text: string, values: Values): string {
  return Object.entries(values).reduce((done, [n, value]) => done.replaceAll(`:${n}`, value), text);
}

/**
 * Returns a path or https address in the spelling of `URL`, or undefined. Without `withSearch`, a port is not allowed.
 */
function addressIn(text: string, withSearch = true): string | undefined {
  if (text.startsWith('/')) return pathIn(text, withSearch);
  const host = /^https:\/\/+([^/]+)\/?/.exec(text);
  if (host === null || (!withSearch && /:\d+$/.test(host[1]!))) return undefined;
  const path = pathIn(`/${text.slice(host[0].length)}`, withSearch);
  return path === undefined ? undefined : `https://${host[1]}${path}`;
}

function pathIn(text: string, withSearch = false): string | undefined {
  if (!URL.canParse(`http://host${text}`)) return undefined;
  const { pathname, search, hash } = new URL(`http://host${text}`);
  return withSearch ? pathname + search + hash : pathname;
}
