// The provider behind `fetch` of a page or of any other realm: requests below its address are answered
// by the emulator, all others go out as before.

import type { ManagementApi } from '../edge/api.ts';

type Fetch = typeof globalThis.fetch;

/**
 * Puts the provider at `baseUrl` in this realm. The result takes it away again.
 *
 * @param realm whose `fetch` is replaced; the global object, when none is given
 */
export function installFetch(
  api: Pick<ManagementApi, 'fetch'>,
  baseUrl: string | URL,
  realm: { fetch: Fetch } = globalThis,
): () => void {
  const before = realm.fetch;
  const installed: Fetch = (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    if (!isBelow(url, baseUrl)) return before.call(realm, input, init);
    return api.fetch(new Request(input, init));
  };
  realm.fetch = installed;
  return () => {
    // Whoever replaced it meanwhile is left alone.
    if (realm.fetch === installed) realm.fetch = before;
  };
}

/** Whether the address is the base or lies below it. */
export function isBelow(url: string, baseUrl: string | URL): boolean {
  const base = String(baseUrl).replace(/\/+$/, '');
  return url === base || ['/', '?', '#'].some((next) => url.startsWith(base + next));
}
