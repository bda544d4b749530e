// Puts the provider behind the `fetch` of a web page or any other realm. The emulator answers requests
// below its address; all others go to the network as before.

import type { ManagementApi } from '../edge/api.ts';

type Fetch = typeof globalThis.fetch;

/**
 * Puts the provider at `baseUrl` in this realm. The returned function removes it.
 *
 * @param realm whose `fetch` is replaced. @default the global object
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
    // Keeps a `fetch` that other code has installed since.
    if (realm.fetch === installed) realm.fetch = before;
  };
}

/** Whether the address is `baseUrl` or below it. */
export function isBelow(url: string, baseUrl: string | URL): boolean {
  const base = String(baseUrl).replace(/\/+$/, '');
  return url === base || ['/', '?', '#'].some((next) => url.startsWith(base + next));
}
