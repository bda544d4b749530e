// The service worker of the built site: the files of the build are kept, so that the site opens without a network.
// What visitors store needs no cache: it lives in the browser.

import { cleanupOutdatedCaches, type PrecacheEntry, precacheAndRoute } from 'workbox-precaching';

/** Put in by the build: its files, but those that only the benchmark needs. */
declare const FILES: PrecacheEntry[];

cleanupOutdatedCaches();
precacheAndRoute(FILES);
