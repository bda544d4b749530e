// Connects the emulated provider to a realm's `fetch`, to a service worker, to a Playwright context or page, and to
// workerd. The emulator answers requests below its address; all other requests go to the network as before.

import { createManagementApi, type ManagementApi, type ManagementOptions } from '../edge/api.ts';
import type { ManagementNamespace } from '../objects/objects.ts';

type Fetch = typeof globalThis.fetch;

/**
 * Replaces this realm's `fetch`, so that the emulator answers requests below `baseUrl`. The returned function removes
 * it again.
 *
 * @param realm the object whose `fetch` is replaced. @default the global object
 */
export function installFetch(
  api: Pick<ManagementApi, 'fetch'>,
  baseUrl: string | URL,
  realm: { fetch: Fetch } = globalThis,
): () => void {
  const previousFetch = realm.fetch;
  const installed: Fetch = (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    if (!isBelow(url, baseUrl)) return previousFetch.call(realm, input, init);
    return api.fetch(new Request(input, init));
  };
  realm.fetch = installed;
  return () => {
    // If other code has replaced `fetch` since then, its `fetch` stays.
    if (realm.fetch === installed) realm.fetch = previousFetch;
  };
}

/** Returns whether the address is `baseUrl` or below it. */
export function isBelow(url: string, baseUrl: string | URL): boolean {
  const base = String(baseUrl).replace(/(?<!\/)\/+$/, '');
  return url === base || ['/', '?', '#'].some((next) => url.startsWith(base + next));
}

/** The members of a service worker's fetch event that this file uses. */
export interface FetchEventLike {
  readonly request: Request;
  respondWith(response: Promise<Response>): void;
}

/**
 * Answers the fetch event of a service worker if its URL is below `baseUrl`; otherwise does nothing and returns false.
 */
export function handleFetchEvent(
  event: FetchEventLike,
  api: Pick<ManagementApi, 'fetch'>,
  baseUrl: string | URL,
): boolean {
  if (!isBelow(event.request.url, baseUrl)) return false;
  event.respondWith(api.fetch(event.request));
  return true;
}

/** The members of Playwright's `Route` that this file uses. */
export interface RouteLike {
  request(): {
    url(): string;
    method(): string;
    allHeaders(): Promise<Record<string, string>>;
    postDataBuffer(): Uint8Array | null;
  };
  fulfill(answer: { status: number; headers: Record<string, string>; body: string }): Promise<void>;
}

/** The members of Playwright's contexts and pages that this file uses. */
export interface RoutedLike {
  route(pattern: string | RegExp, handler: (route: RouteLike) => Promise<void>): Promise<unknown>;
}

/**
 * Answers every request of a Playwright context or page that matches the pattern. The emulator runs in the test's
 * process.
 */
export async function routeManagement(
  context: RoutedLike,
  pattern: string | RegExp,
  api: Pick<ManagementApi, 'fetch'>,
): Promise<void> {
  await context.route(pattern, async (route) => {
    const request = route.request();
    const headers = await request.allHeaders();
    // Names that begin with a colon are pseudo-headers of HTTP/2.
    const sent = Object.entries(headers).filter(([name]) => !name.startsWith(':'));
    const body = request.postDataBuffer();
    const response = await api.fetch(
      new Request(request.url(), {
        method: request.method(),
        headers: sent,
        ...(body !== null && { body: new Uint8Array(body) }),
      }),
    );
    await route.fulfill({
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: await response.text(),
    });
  });
}

/**
 * Makes the default export of a worker on workerd: `export default managementWorker('MANAGEMENT')`. MANAGEMENT is the
 * binding of the namespace of `ManagementObject`, which the same module exports.
 */
export function managementWorker(
  binding: string,
  options: Omit<ManagementOptions, 'namespace'> = {},
): { fetch(request: Request, env: Readonly<Record<string, unknown>>): Promise<Response> } {
  const apis = new WeakMap<object, ManagementApi>();
  return {
    fetch(request, env) {
      const namespace = env[binding] as ManagementNamespace | undefined;
      if (namespace === undefined)
        throw new TypeError(
          `env has no binding "${binding}" with the namespace of ManagementObject.`,
        );
      const api = apis.get(env) ?? createManagementApi({ ...options, namespace });
      apis.set(env, api);
      return api.fetch(request);
    },
  };
}
