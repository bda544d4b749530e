// Decides which requests the HTTP server accepts, so that a web page cannot call the server on its visitor's machine
// merely because the browser can reach it.
//
// A web page has three ways to reach such a server. For each, browsers always send a header that reveals it: `Host`
// contains a name of the site that resolves to this machine (DNS rebinding), `Origin` contains another origin, and
// `Content-Type` contains a type that needs no preflight. This module sees only headers.

import { storageError } from '@ctx-storage/core/errors';
import { apiError, METHODS } from '../call/call.ts';

export interface AdmissionOptions {
  /** Hosts, without ports, that are accepted in addition to the loopback hosts. */
  readonly allowedHosts: readonly string[];
  /** Origins whose pages are accepted in addition to the server's own. */
  readonly cors: readonly string[];
}

export interface RequestHead {
  readonly method: string;
  /**
   * Every host, with its port, that the request names: in its Host header, and in its target if that is a whole URL.
   */
  readonly authorities: readonly string[];
  readonly origin: string | undefined;
  /** The header Content-Type; absent if the request has no body. */
  readonly contentType?: string;
}

/** Response headers that let pages of an allowed origin read the answer. */
export type CorsHeaders = Readonly<Record<string, string>>;

const AUTHORITY = /^(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{0,5})?$/i;
const LOOPBACK = /^(?:localhost|\[::1\]|127\.\d+\.\d+\.\d+)$/;
const EXPOSED_HEADERS = 'Allow, Deprecation, Link, Sunset';
const PREFLIGHT_SECONDS = '600';

export class Admission {
  readonly #hosts: ReadonlySet<string>;
  readonly #origins: ReadonlySet<string>;

  /** Checks the options. @throws StorageError `INVALID_ARGUMENT` for an invalid host or origin */
  constructor({ allowedHosts, cors }: AdmissionOptions) {
    this.#hosts = new Set(allowedHosts.map(checkedHost));
    this.#origins = new Set(cors.map(checkedOrigin));
  }

  /**
   * Accepts the request, and returns the CORS headers for its answer.
   *
   * @throws ApiError 400, 403 or 415
   */
  admit({ authorities, origin, contentType }: RequestHead): CorsHeaders {
    for (const authority of authorities) this.#checkHost(authority);
    const headers = this.#corsFor(origin, authorities[0]!);
    if (contentType !== undefined) this.admitContentType(contentType);
    return headers;
  }

  /** Accepts a body of this type. @throws ApiError 415 if it is neither JSON nor a multipart form */
  admitContentType(contentType: string): void {
    const [type] = contentType.split(';');
    if (/^(?:application\/(?:[^\s/]+\+)?json|multipart\/form-data)\s*$/i.test(type!)) return;
    throw apiError(
      'MEDIA_REFUSED',
      'Content-Type must be application/json or multipart/form-data.',
    );
  }

  #checkHost(authority: string): void {
    const host = hostOf(authority);
    if (host === undefined) {
      throw apiError(
        'REQUEST_INVALID',
        'The request must have one valid host, with or without a port.',
      );
    }
    if (LOOPBACK.test(host) || this.#hosts.has(host)) return;
    const wayOut = 'add it to `allowedHosts` (--allowed-host)';
    throw apiError('HOST_REFUSED', `The server does not answer to this host; ${wayOut}.`);
  }

  #corsFor(origin: string | undefined, authority: string): CorsHeaders {
    if (origin === undefined || isSameOrigin(origin, authority)) return {};
    if (!this.#origins.has(origin)) {
      const wayOut = 'add it to `cors` (--cors)';
      throw apiError(
        'ORIGIN_REFUSED',
        `The server does not answer web pages of this origin; ${wayOut}.`,
      );
    }
    return {
      'access-control-allow-origin': origin,
      'access-control-expose-headers': EXPOSED_HEADERS,
      vary: 'Origin',
    };
  }
}

/** Returns the headers that only the answer to a preflight has. */
export function preflightHeaders(requestHeaders: string | undefined): CorsHeaders {
  return {
    'access-control-allow-methods': METHODS.join(', '),
    ...(requestHeaders && { 'access-control-allow-headers': requestHeaders }),
    'access-control-max-age': PREFLIGHT_SECONDS,
  };
}

/** Returns the host in the spelling of URLs (`127.1` becomes `127.0.0.1`), or undefined if it is invalid. */
function hostOf(authority: string): string | undefined {
  return AUTHORITY.test(authority) ? parseUrl(`http://${authority}`)?.hostname : undefined;
}

function isSameOrigin(origin: string, authority: string): boolean {
  return parseUrl(`http://${authority}`)?.origin === origin;
}

function parseUrl(url: string): URL | undefined {
  return URL.canParse(url) ? new URL(url) : undefined;
}

function checkedHost(name: string): string {
  const bare = name.includes(':') && !name.startsWith('[') ? `[${name}]` : name;
  const host = hostOf(bare);
  if (host !== undefined) return host;
  throw storageError('INVALID_ARGUMENT', `allowedHosts: "${name}" must be a host without a port.`);
}

function checkedOrigin(origin: string): string {
  if (/^https?:/.test(origin) && parseUrl(origin)?.origin === origin) return origin;
  throw storageError(
    'INVALID_ARGUMENT',
    `cors: "${origin}" must be an origin, such as http://localhost:5173.`,
  );
}
