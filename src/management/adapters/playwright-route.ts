// Puts the provider behind a Playwright context or page: the test's process answers their requests.

import type { ManagementApi } from '../edge/api.ts';

/** The part of Playwright's `Route` used here. */
export interface RouteLike {
  request(): {
    url(): string;
    method(): string;
    allHeaders(): Promise<Record<string, string>>;
    postDataBuffer(): Uint8Array | null;
  };
  fulfill(answer: { status: number; headers: Record<string, string>; body: string }): Promise<void>;
}

/** The part of Playwright's contexts and pages used here. */
export interface RoutedLike {
  route(pattern: string | RegExp, handler: (route: RouteLike) => Promise<void>): Promise<unknown>;
}

/** Answers every request that matches the pattern. */
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
