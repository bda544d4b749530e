// Which responses a cache keeps, and for how long: what a shared cache may do by RFC 9111, without
// guesses. A response that does not say how long it is fresh is not kept.

/** Cacheable by RFC 9110, as far as a whole response is. */
const KEPT_STATUSES: ReadonlySet<number> = new Set([
  ...[200, 203, 300, 301, 302, 303, 307, 308],
  ...[404, 405, 410, 414, 501],
]);

/** How long the response may be kept from now on, in milliseconds; 0: not at all. */
export function freshForMs(request: Request, { status, headers }: Response, nowMs: number): number {
  const control = directivesOf(headers);
  if (!KEPT_STATUSES.has(status) || control.has('no-store') || control.has('no-cache')) return 0;
  if (control.has('private') && !isCookiePrivate(headers)) return 0;
  if (headers.has('set-cookie') && !isCookiePrivate(headers)) return 0;
  const isShared = ['public', 's-maxage', 'must-revalidate'].some((name) => control.has(name));
  if (request.headers.has('authorization') && !isShared) return 0;
  const lifetime = control.get('s-maxage') ?? control.get('max-age');
  const expires = headers.get('expires');
  if (lifetime === undefined && expires === null) return 0;
  const totalMs =
    lifetime === undefined ? Date.parse(expires!) - nowMs : Number.parseInt(lifetime, 10) * 1000;
  return Math.max(totalMs - ageSeconds(headers) * 1000, 0) || 0;
}

/** True when the response is kept for everybody, except for its cookies. */
export function isCookiePrivate(headers: Headers): boolean {
  return directivesOf(headers).get('private')?.toLowerCase() === 'set-cookie';
}

/** How old the response was when it arrived. */
export function ageSeconds(headers: Headers): number {
  return Number.parseInt(headers.get('age') ?? '0', 10) || 0;
}

/** The directives of Cache-Control by their names in lower case; the argument is '' for none. */
function directivesOf(headers: Headers): ReadonlyMap<string, string> {
  const found = (headers.get('cache-control') ?? '').matchAll(
    /([^\s,=]+)(?:\s*=\s*(?:"([^"]*)"|([^\s,]*)))?/g,
  );
  return new Map(
    [...found].map(([, name, quoted, plain]) => [name!.toLowerCase(), quoted ?? plain ?? '']),
  );
}
