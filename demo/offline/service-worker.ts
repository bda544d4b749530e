// The service worker of the built site: every file of the build is kept, so that the site opens without a network.
// What visitors store needs no cache: it lives in the browser.

import { cleanupOutdatedCaches, type PrecacheEntry, precacheAndRoute } from 'workbox-precaching';

/** Put in by the build: all its files. */
declare const FILES: PrecacheEntry[];

cleanupOutdatedCaches();
precacheAndRoute(FILES);
