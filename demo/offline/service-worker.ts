// The service worker of the built site: the files of the build are kept, so that the site opens without a network.
// Visitors' data needs no cache: it lives in the browser.

import { cleanupOutdatedCaches, type PrecacheEntry, precacheAndRoute } from 'workbox-precaching';

/** The files of the build, except the benchmark's own; the build inserts them. */
declare const FILES: PrecacheEntry[];

cleanupOutdatedCaches();
precacheAndRoute(FILES);
