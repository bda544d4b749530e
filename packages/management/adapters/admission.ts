// Decides which requests an HTTP server accepts: a web page must not be able to reach a server on its
// visitor's machine merely because the browser can.
//
// A web page has three ways to such a server, and a header that browsers always send closes each: `Host`
// shows a name of the site that resolves to this machine (DNS rebinding), `Origin` shows another origin,
// and `Content-Type` shows a body that needs no preflight. This module sees only headers.

import { storageError } from '@ctx-storage/core/errors';
import { apiError, METHODS } from '../call/call.ts';

export interface AdmissionOptions {
  /** Hosts in addition to the loopback hosts, without ports. */
  readonly allowedHosts: readonly string[];
  /** Origins in addition to the server's own. */
  readonly cors: readonly string[];
}

export interface Asked {
  readonly method: string;
  /** Hosts and ports in the request: in its Host header, and in an absolute target. */
  readonly authorities: readonly string[];
  readonly origin: string | undefined;
  /** Absent if there is no body. */
  readonly contentType?: string;
}

/** Headers that let web pages of an allowed origin read the answer. */
export type CorsHeaders = Readonly<Record<string, string>>;

const AUTHORITY = /^(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{0,5})?$/i;
const LOOPBACK = /^(?:localhost|\[::1\]|127\.\d+\.\d+\.\d+)$/;
const READABLE = 'Allow, Deprecation, Link, Sunset';
const PREFLIGHT_SECONDS = '600';

export class Admission {
  readonly #hosts: ReadonlySet<string>;
  readonly #origins: ReadonlySet<string>;

  /** @throws StorageError `INVALID_ARGUMENT` for an invalid host or origin */
  constructor({ allowedHosts, cors }: AdmissionOptions) {
    this.#hosts = new Set(allowedHosts.map(checkedHost));
    this.#origins = new Set(cors.map(checkedOrigin));
  }

  /**
   * Accepts the request. Returns the headers that its answer needs.
   *
   * @throws ApiError 400, 403 or 415
   */
  admit({ authorities, origin, contentType }: Asked): CorsHeaders {
    for (const authority of authorities) this.#checkHost(authority);
    const headers = this.#corsFor(origin, authorities[0]!);
    if (contentType !== undefined) this.admitMedia(contentType);
    return headers;
  }

  /** @throws ApiError 415 */
  admitMedia(contentType: string): void {
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
      'access-control-expose-headers': READABLE,
      vary: 'Origin',
    };
  }
}

/** Headers that only the answer to a preflight has. */
export function preflightHeaders(requestHeaders: string | undefined): CorsHeaders {
  return {
    'access-control-allow-methods': METHODS.join(', '),
    ...(requestHeaders && { 'access-control-allow-headers': requestHeaders }),
    'access-control-max-age': PREFLIGHT_SECONDS,
  };
}

/** The host as URLs spell it (`127.1` becomes `127.0.0.1`); undefined if it is invalid. */
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
