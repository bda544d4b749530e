// Makes the `Request` that the worker gets from the HTTP request of a client.

import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';

/** The value of `request.cf`, which programs read without a check. It equals that of miniflare without a network. */
const CF = {
  asn: 395_747,
  asOrganization: '',
  colo: 'DFW',
  city: 'Austin',
  region: 'Texas',
  regionCode: 'TX',
  metroCode: '635',
  postalCode: '78701',
  country: 'US',
  continent: 'NA',
  timezone: 'America/Chicago',
  latitude: '30.27130',
  longitude: '-97.74260',
  clientTcpRtt: 0,
  httpProtocol: 'HTTP/1.1',
  tlsCipher: 'AEAD-AES128-GCM-SHA256',
  tlsVersion: 'TLSv1.3',
};

/**
 * Converts a request whose address is valid.
 *
 * @throws TypeError if Node cannot make it, as for an address with a password
 */
export function requestOf(incoming: IncomingMessage): Request {
  const { method = 'GET', headers } = incoming;
  const pairs = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((text): [string, string] => [name, text]),
  );
  const request = new Request(urlOf(incoming)!, {
    method,
    headers: pairs,
    redirect: 'manual', // the client follows redirects itself
    ...(hasBody(incoming) && { body: Readable.toWeb(incoming) as ReadableStream, duplex: 'half' }),
  });
  return Object.defineProperty(request, 'cf', { value: CF, enumerable: true });
}

/** Returns the whole address of a request, whose path may begin with two slashes, or null if it is not valid. */
export function urlOf({ url = '/', headers }: IncomingMessage): URL | null {
  const origin = `http://${headers.host ?? 'localhost'}`;
  const address = url.startsWith('/') ? origin + url : url;
  return URL.canParse(address, origin) ? new URL(address, origin) : null;
}

/** Returns whether the request has a body. In Node, a `Request` with the method GET or HEAD cannot have one. */
function hasBody({ method, headers }: IncomingMessage): boolean {
  if (method === 'GET' || method === 'HEAD') return false;
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
}
