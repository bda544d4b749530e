// Tests from which pages an object may be followed.

import { describe, expect, test } from 'vitest';
import { checkOrigins, isOriginAllowed } from './origins.ts';

/** A request to follow; `host` is what the header says, which a proxy may keep or change. */
function request(url: string, origin: string | null, host: string | null = null): Request {
  const headers = new Headers();
  if (origin !== null) headers.set('Origin', origin);
  if (host !== null) headers.set('Host', host);
  return { url, headers } as Request;
}

describe('[FOLS21] without the option origins', () => {
  test.each([
    ['https://app.org/room', 'https://app.org', null],
    ['http://localhost:8787/room', 'http://localhost:8787', null],
    // Behind a proxy that ends TLS, and in an object whose Worker has changed the address.
    ['http://app.org/room', 'https://app.org', 'app.org'],
    ['http://app.org/room', 'https://app.org', 'app.org:443'],
    ['https://app.org/room', 'http://app.org', 'APP.org:80'],
    ['http://object/', 'https://app.org', 'app.org'],
    ['http://[::1]:8787/', 'http://[::1]:8787', null],
  ])('a request to %s from %s with the host %s is allowed', (url, origin, host) => {
    expect(isOriginAllowed(request(url, origin, host), undefined)).toBe(true);
  });

  test.each([
    ['http://localhost:8787/room', 'http://localhost:5173', null],
    ['https://app.org/room', 'https://evil.app.org', null],
    ['https://app.org/room', 'https://app.org.evil.org', null],
    ['https://app.org/room', 'https://app.org:8443', null],
    ['https://app.org/room', 'https://app.org@evil.org', null],
    ['https://app.org/room', 'null', null],
    ['https://app.org/room', '', null],
    ['https://app.org/room', 'file://', null],
    ['https://app.org/room', 'app.org', null],
    ['https://app.org/room', 'https://app.org', 'other.org'],
    ['https://app.org/room', 'https://app.org', 'app.org/@evil'],
    ['https://app.org/room', 'https://evil.org', ''],
    ['https://app.org/room', 'https://app.org, https://evil.org', null],
  ])('a request to %s from %s with the host %s is refused', (url, origin, host) => {
    expect(isOriginAllowed(request(url, origin, host), undefined)).toBe(false);
  });

  test('a request that no page has sent is allowed, with any option', () => {
    const own = request('https://app.org/', null);
    for (const origins of [undefined, [], () => false]) {
      expect(isOriginAllowed(own, origins)).toBe(true);
    }
  });
});

describe('[FOLS21] the option origins', () => {
  const allows = (origin: string, origins: Parameters<typeof isOriginAllowed>[1]) =>
    isOriginAllowed(request('https://api.org/', origin), origins);

  test('as a list allows what it lists, and nothing else', () => {
    const origins = checkOrigins(['https://app.org', 'http://localhost:5173', 'tauri://localhost']);
    for (const origin of ['https://app.org', 'http://localhost:5173', 'tauri://localhost']) {
      expect(allows(origin, origins)).toBe(true);
    }
    for (const origin of ['https://api.org', 'http://app.org', 'https://app.org:8443', 'null']) {
      expect(allows(origin, origins)).toBe(false);
    }
  });

  test('as a function decides, and gets the request', () => {
    const asked: unknown[] = [];
    const origins = (origin: string, { url }: Request) => {
      asked.push([origin, url]);
      return origin === 'null';
    };
    expect([allows('null', origins), allows('https://api.org', origins)]).toEqual([true, false]);
    expect(asked).toEqual([
      ['null', 'https://api.org/'],
      ['https://api.org', 'https://api.org/'],
    ]);
  });

  test.each([[async () => false], [() => undefined], [() => 'yes']])(
    'as a function that gives no boolean lets nobody follow: %s',
    (origins) => {
      expect(() => allows('https://app.org', origins as never)).toThrow(
        expect.objectContaining({
          code: 'INVALID_ARGUMENT',
          message: expect.stringMatching(/gave neither true nor false/),
        }),
      );
    },
  );

  test.each([
    ['app.org'],
    ['https://app.org/'],
    ['https://App.org'],
    ['https://app.org:443'],
    ['https://*.app.org'],
    ['null'],
    ['*'],
    [''],
    ['https://app.org?'],
  ])('refuses the entry %o, which no browser would send', (entry) => {
    expect(() => checkOrigins(['https://ok.org', entry])).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        message: expect.stringMatching(
          /is not an origin\. Write it as https:\/\/app\.example\.org/,
        ),
      }),
    );
  });
});
