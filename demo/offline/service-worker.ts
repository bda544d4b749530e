// Runs as the service worker of the built site and keeps the files of the build, so that the site opens without a
// network. Visitors' data needs no cache, because it is stored in the browser.

import {
  addPlugins,
  cleanupOutdatedCaches,
  getCacheKeyForURL,
  precacheAndRoute,
} from 'workbox-precaching';
import { asBuilt, type KeptFile } from './kept-file.ts';

/** The files of the build, except the benchmark's own; the build inserts them. */
declare const FILES: KeptFile[];

cleanupOutdatedCaches();
precacheAndRoute(FILES.map(({ url, revision, integrity }) => ({ url, revision, integrity })));

const byKey = new Map(FILES.map((file) => [getCacheKeyForURL(file.url), file]));

addPlugins([
  {
    // If this returns no response, the file is loaded and kept again.
    async cachedResponseWillBeUsed({ request, cachedResponse }) {
      const file = byKey.get(request.url);
      return cachedResponse && file ? asBuilt(file, cachedResponse) : null;
    },
  },
]);
