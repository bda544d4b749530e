// Which requests an HTTP server lets in: a page of a web site must not reach a server on its reader's
// machine merely because the browser can.
//
// Three ways lead from a page to such a server, and each is closed by what browsers always send: a name
// of the site that resolves to this machine (DNS rebinding) shows in Host, another origin shows in
// Origin, and a body that needs no preflight shows in its type. It knows requests by their headers only.

import { storageError } from '../../contract/errors.ts';
import { apiError, METHODS } from '../call/call.ts';

export interface AdmissionOptions {
  /** Hosts beside the loopback ones, without ports. */
  readonly allowedHosts: readonly string[];
  /** Origins beside the server's own. */
  readonly cors: readonly string[];
}

export interface Asked {
  readonly method: string;
  /** Host names and ports that the request names: of its header, and of an absolute target. */
  readonly authorities: readonly string[];
  readonly origin: string | undefined;
  /** Absent when there is no body. */
  readonly contentType?: string;
}

/** Headers that let pages of a named origin read the answer. */
export type CorsHeaders = Readonly<Record<string, string>>;

const AUTHORITY = /^(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{0,5})?$/i;
const LOOPBACK = /^(?:localhost|\[::1\]|127\.\d+\.\d+\.\d+)$/;
const READABLE = 'Allow, Deprecation, Link, Sunset';
const PREFLIGHT_SECONDS = '600';

export class Admission {
  readonly #hosts: ReadonlySet<string>;
  readonly #origins: ReadonlySet<string>;

  /** @throws StorageError `INVALID_ARGUMENT` for a name that is no host or no origin */
  constructor({ allowedHosts, cors }: AdmissionOptions) {
    this.#hosts = new Set(allowedHosts.map(checkedHost));
    this.#origins = new Set(cors.map(checkedOrigin));
  }

  /**
   * Lets the request in, with the headers its answer needs.
   *
   * @throws ApiError 400, 403 or 415
   */
  admit({ authorities, origin, contentType }: Asked): CorsHeaders {
    for (const authority of authorities) this.#checkHost(authority);
    const headers = this.#corsFor(origin, authorities[0]!);
    if (contentType !== undefined) checkMedia(contentType);
    return headers;
  }

  #checkHost(authority: string): void {
    const host = hostOf(authority);
    if (host === undefined) {
      throw apiError('REQUEST_INVALID', 'The request must name one host, with or without a port.');
    }
    if (LOOPBACK.test(host) || this.#hosts.has(host)) return;
    const wayOut = 'start it with this host among the allowed ones (--allowed-host)';
    throw apiError('HOST_REFUSED', `The server does not answer to this host; ${wayOut}.`);
  }

  #corsFor(origin: string | undefined, authority: string): CorsHeaders {
    if (origin === undefined || isSameOrigin(origin, authority)) return {};
    if (!this.#origins.has(origin)) {
      const wayOut = 'start the server with it among the origins that may call (--cors)';
      throw apiError('ORIGIN_REFUSED', `Pages of this origin may not call; ${wayOut}.`);
    }
    return {
      'access-control-allow-origin': origin,
      'access-control-expose-headers': READABLE,
      vary: 'Origin',
    };
  }
}

/** What a preflight is answered with beside the headers of the answer itself. */
export function preflightHeaders(requestHeaders: string | undefined): CorsHeaders {
  return {
    'access-control-allow-methods': METHODS.join(', '),
    ...(requestHeaders && { 'access-control-allow-headers': requestHeaders }),
    'access-control-max-age': PREFLIGHT_SECONDS,
  };
}

function checkMedia(contentType: string): void {
  const [type] = contentType.split(';');
  if (/^(?:application\/(?:[^\s/]+\+)?json|multipart\/form-data)\s*$/i.test(type!)) return;
  throw apiError(
    'MEDIA_REFUSED',
    'The body must be of the type application/json or multipart/form-data.',
  );
}

/** The host in the one spelling of URLs, `127.1` as `127.0.0.1`; undefined when there is none. */
function hostOf(authority: string): string | undefined {
  return AUTHORITY.test(authority) ? parsed(`http://${authority}`)?.hostname : undefined;
}

function isSameOrigin(origin: string, authority: string): boolean {
  return parsed(`http://${authority}`)?.origin === origin;
}

function parsed(url: string): URL | undefined {
  return URL.canParse(url) ? new URL(url) : undefined;
}

function checkedHost(name: string): string {
  const bare = name.includes(':') && !name.startsWith('[') ? `[${name}]` : name;
  const host = hostOf(bare);
  if (host !== undefined) return host;
  throw storageError('INVALID_ARGUMENT', `allowedHosts: "${name}" must be a host without a port.`);
}

function checkedOrigin(origin: string): string {
  if (/^https?:/.test(origin) && parsed(origin)?.origin === origin) return origin;
  throw storageError(
    'INVALID_ARGUMENT',
    `cors: "${origin}" must be an origin, such as http://localhost:5173.`,
  );
}
