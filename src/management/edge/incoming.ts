// The parts of a request's address: its path below the base path, and its query.

/** The path below the base path, without a slash at the end. */
export function pathBelow(pathname: string, basePath: string): string {
  const base = basePath.replace(/\/+$/, '');
  const below =
    pathname === base || pathname.startsWith(`${base}/`) ? pathname.slice(base.length) : pathname;
  return `/${below.replace(/^\/+|\/+$/g, '')}`;
}

/** Each parameter once; the values of a repeated parameter are joined by commas. */
export function queryOf(parameters: URLSearchParams): Record<string, string> {
  const query: Record<string, string> = {};
  for (const name of new Set(parameters.keys())) query[name] = parameters.getAll(name).join(',');
  return query;
}
