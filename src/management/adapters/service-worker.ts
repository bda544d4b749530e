// The provider in a service worker, which answers requests of its web pages below the address.

import type { ManagementApi } from '../edge/api.ts';
import { isBelow } from './install-fetch.ts';

/** The part of a service worker's fetch event used here. */
export interface FetchEventLike {
  readonly request: Request;
  respondWith(response: Promise<Response>): void;
}

/** Answers the event if its URL is the provider's; returns false otherwise. */
export function handleFetchEvent(
  event: FetchEventLike,
  api: Pick<ManagementApi, 'fetch'>,
  baseUrl: string | URL,
): boolean {
  if (!isBelow(event.request.url, baseUrl)) return false;
  event.respondWith(api.fetch(event.request));
  return true;
}
