// The rules in a folder of assets: its files `_redirects` and `_headers`, as Cloudflare reads them
// (developers.cloudflare.com/workers/static-assets/redirects and …/headers).
//
// Invariant: rules apply in the order of their lines. A line that is not a rule is reported, with its number.
//
// Does not know where the files are.

/** The rules of a file, and the faults of its other lines. */
export interface Rules<Rule> {
  readonly rules: readonly Rule[];
  /** In words, each with the number of its line. */
  readonly problems: readonly string[];
}

export interface RedirectRule {
  readonly matches: Matcher;
  /** A path, or an address of another host. */
  readonly to: string;
  /** 200: the asset at `to` is the answer. */
  readonly status: number;
}

export interface HeaderRule {
  readonly matches: Matcher;
  /** By name, in lower case. */
  readonly set: ReadonlyMap<string, string>;
  readonly unset: readonly string[];
}

/** The texts that `*` and names stand for, by name; undefined: it does not match. */
type Matcher = (url: URL) => Values | undefined;
type Values = Readonly<Record<string, string>>;

/** Cloudflare's limits. */
const LINE_CHARS_MAX = 2000;
const HEADER_RULES_MAX = 100;
const DYNAMIC_REDIRECTS_MAX = 100;
const STATIC_REDIRECTS_MAX = 2000;

const STATUSES: ReadonlySet<number> = new Set([200, 301, 302, 303, 307, 308]);
const PATTERN_PARTS = /\*|:[A-Za-z]\w*/g;

/** Lines of `from to status?`. `leadsToFolders`: the address of an index is that of its folder. */
export function parseRedirects(text: string, leadsToFolders: boolean): Rules<RedirectRule> {
  const rules: RedirectRule[] = [];
  const known = new Set<string>();
  const counts = { static: 0, dynamic: 0 };
  const problems = readLines(text, (line) => {
    const words = line.split(/\s#/)[0]!.trim().split(/\s+/);
    const [from, to, status = '302', ...more] = words;
    if (from === undefined || to === undefined || more.length > 0) return 'takes: from to status?';
    const path = pathIn(from.startsWith('/') ? from : `/${from}`);
    if (from.startsWith('https://') || path === undefined) return `${from} is no path`;
    if (known.has(path)) return `${path} has a rule already`;
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
    const isLoop = path.endsWith('/*') || (path.endsWith('/') && leadsToFolders);
    if (isPath && isLoop && /\/index(?:.html)?$/.test(target)) return 'it leads to itself';
    const matches = matcherOf(path);
    if (typeof matches === 'string') return matches;
    known.add(path);
    rules.push({ matches, to: target, status: Number(status) });
    return undefined;
  });
  return { rules, problems };
}

/** Lines of a path, or an https address, with the lines of its headers below it: `name: value` or `! name`. */
export function parseHeaders(text: string): Rules<HeaderRule> {
  const rules: NumberedHeaderRule[] = [];
  let present: NumberedHeaderRule | 'wrong' | null = null;
  const problems = readLines(text, (line, number) => {
    if (line.startsWith('/') || /^\S+:\/\//.test(line)) {
      present = 'wrong';
      if (rules.length === HEADER_RULES_MAX) {
        return `there are ${HEADER_RULES_MAX} rules before, the most there may be`;
      }
      const pattern = addressIn(line, false);
      if (pattern === undefined) return `${line} is neither a path nor an https address`;
      const matches = matcherOf(pattern);
      if (typeof matches === 'string') return matches;
      present = { matches, set: new Map(), unset: [], line: number };
      rules.push(present);
      return undefined;
    }
    if (present === 'wrong') return undefined; // its path was reported
    return present === null ? 'a path comes before its headers' : addHeader(present, line);
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

/** Adds the header of a line below a path. The problem, if it is not one. */
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

/** The redirect of an address, or the path of the asset that answers it; undefined: no rule concerns it. */
export function redirected(
  rules: readonly RedirectRule[],
  url: URL,
): { readonly status: number; readonly location: string } | { readonly path: string } | undefined {
  for (const { matches, to, status } of rules) {
    const values = matches(url);
    if (values === undefined) continue;
    const filled = fill(to, values).trim();
    const isPath = !/^\w+:\/\//.test(filled);
    const target = new URL(isPath ? filled.replaceAll(/\/+/g, '/') : filled, url);
    if (status === 200) return { path: target.pathname };
    target.search ||= url.search;
    const { pathname, search, hash, origin, href } = target;
    return { status, location: origin === url.origin ? pathname + search + hash : href };
  }
  return undefined;
}

/** Puts the headers of every rule of the address on the response. Of a name that several rules set, the values add up. */
export function addHeaders(rules: readonly HeaderRule[], url: URL, { headers }: Response): void {
  const isSet = new Set<string>();
  for (const { matches, set, unset } of rules) {
    const values = matches(url);
    if (values === undefined) continue;
    for (const name of unset) headers.delete(name);
    for (const [name, value] of set) {
      if (isSet.has(name)) headers.append(name, fill(value, values));
      else headers.set(name, fill(value, values));
      isSet.add(name);
    }
  }
}

/** The problems of the lines that have one. Empty lines and comments, which begin with `#`, have none. */
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

/** The reason, in words, if the text is not a pattern. */
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
    source += `${escaped(pattern.slice(end, index))}(${part === '*' ? '.*' : isOfHost ? '[^/.]+' : '[^/]+'})`;
    end = index + part.length;
  }
  const expression = new RegExp(`^${source}${escaped(pattern.slice(end))}$`);
  return ({ hostname, pathname }) => {
    const found = expression.exec(hostEnd > 0 ? `https://${hostname}${pathname}` : pathname);
    return found === null
      ? undefined
      : Object.fromEntries(names.map((name, i) => [name, found[i + 1]!]));
  };
}

function escaped(text: string): string {
  return text.replaceAll(/[-/\\^$*+?.()|[\]{}]/g, '\\$&');
}

/** `:name` becomes its value. */
function fill(text: string, values: Values): string {
  return Object.entries(values).reduce((done, [n, value]) => done.replaceAll(`:${n}`, value), text);
}

/** A path, or an address of https without a port, as a URL writes it. */
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
