// Decides from which pages an object may be followed. Browsers send the cookies of a user with every WebSocket, whichever
// page opens it, and the origin of that page in the header Origin, which no page can change.
//
// Invariant: without the option `origins`, only pages of the server's own host may follow. The scheme is not compared,
// because a proxy that ends TLS changes it.

import { storageError } from '@ctx-storage/core/errors';

/** The allowed origins, as `https://app.example.org`; or a function that is asked about each origin. */
export type FollowOrigins = readonly string[] | ((origin: string, request: Request) => boolean);

const HOST = /^[^\s/?#@\\]+$/;
/** Matches an origin as browsers write it: a scheme and a host in lower case, and perhaps a port. */
const ORIGIN = /^[a-z][a-z\d+.-]*:\/\/[^\s/?#@*A-Z]+$/;

/** Checks the option `origins`. @throws INVALID_ARGUMENT for an entry that no browser would send */
export function checkOrigins(given: unknown): FollowOrigins | undefined {
  if (given === undefined || typeof given === 'function') return given as FollowOrigins | undefined;
  if (!Array.isArray(given)) throw invalid('the option origins is neither a list nor a function.');
  for (const origin of given) {
    if (isOrigin(origin)) continue;
    throw invalid(
      `${JSON.stringify(origin)} of origins is not an origin. Write it as https://app.example.org: in lower case, ` +
        'without a path, and without the usual port of its scheme.',
    );
  }
  return given as string[];
}

/**
 * Returns true if the request may have come from its page. A request without Origin comes from no page.
 *
 * @throws INVALID_ARGUMENT if the function of the app returns anything but true or false; errors of that function
 */
export function isOriginAllowed(request: Request, origins: FollowOrigins | undefined): boolean {
  const origin = request.headers.get('Origin');
  if (origin === null) return true;
  if (origins === undefined) return isOwnHost(origin, request);
  if (typeof origins !== 'function') return origins.includes(origin);
  const isAllowed: unknown = origins(origin, request);
  // A promise would count as true.
  if (typeof isAllowed === 'boolean') return isAllowed;
  throw invalid('the function origins gave neither true nor false.');
}

/**
 * Returns true if the origin's host is the request's own. The origin `null`, which frames without an origin send, has
 * no host.
 */
function isOwnHost(origin: string, request: Request): boolean {
  const host = request.headers.get('Host') ?? new URL(request.url).host;
  const page = urlFrom(origin);
  if (page === null || page.host === '' || !HOST.test(host)) return false;
  // The usual port of the page's scheme may be written or omitted.
  return page.host === urlFrom(`${page.protocol}//${host}`)?.host;
}

function isOrigin(value: unknown): boolean {
  if (typeof value !== 'string' || !ORIGIN.test(value)) return false;
  // URL knows the usual ports of http and https. For other schemes, such as those of apps, `URL.origin` is `null`.
  const { origin } = urlFrom(value) ?? {};
  return origin === value || origin === 'null';
}

function urlFrom(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

function invalid(fact: string): Error {
  return storageError('INVALID_ARGUMENT', `followable(): ${fact}`);
}
