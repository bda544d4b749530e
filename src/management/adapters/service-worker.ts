// The provider in a service worker: requests of its pages below the address are answered here.

import type { ManagementApi } from '../edge/api.ts';
import { isBelow } from './install-fetch.ts';

/** What is used of a service worker's fetch event. */
export interface FetchEventLike {
  readonly request: Request;
  respondWith(response: Promise<Response>): void;
}

/** Answers the event when it is for the provider; false leaves it to others. */
export function handleFetchEvent(
  event: FetchEventLike,
  api: Pick<ManagementApi, 'fetch'>,
  baseUrl: string | URL,
): boolean {
  if (!isBelow(event.request.url, baseUrl)) return false;
  event.respondWith(api.fetch(event.request));
  return true;
}
