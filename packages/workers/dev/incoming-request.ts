// The request of a client, as the worker has it.

import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';

/** `request.cf`, which programs read without a check: the place is that of miniflare without a network. */
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

/** Its address is valid. @throws TypeError for what Node has no Request of: an address with a password */
export function requestOf(incoming: IncomingMessage): Request {
  const { method = 'GET', headers } = incoming;
  const pairs = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((text): [string, string] => [name, text]),
  );
  const request = new Request(urlOf(incoming)!, {
    method,
    headers: pairs,
    redirect: 'manual', // the caller follows
    ...(hasBody(incoming) && { body: Readable.toWeb(incoming) as ReadableStream, duplex: 'half' }),
  });
  return Object.defineProperty(request, 'cf', { value: CF, enumerable: true });
}

/** The whole address, or null if it is not valid; a path may begin with two slashes. */
export function urlOf({ url = '/', headers }: IncomingMessage): URL | null {
  const origin = `http://${headers.host ?? 'localhost'}`;
  const address = url.startsWith('/') ? origin + url : url;
  return URL.canParse(address, origin) ? new URL(address, origin) : null;
}

/** GET and HEAD have none in Node. */
function hasBody({ method, headers }: IncomingMessage): boolean {
  if (method === 'GET' || method === 'HEAD') return false;
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
}
