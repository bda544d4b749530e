// Answers from the files of this build; the build puts FILES and CACHE before this text.
//
// The data needs no cache: it lives in the browser.

/* global FILES, CACHE */

self.addEventListener('install', (event) => {
  // Asked of the server: the browser's own cache may still have the page of an earlier build, whose files are gone.
  const requests = FILES.map((file) => new Request(file, { cache: 'no-cache' }));
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(requests)));
});

self.addEventListener('activate', (event) => {
  const removeOthers = async () => {
    const names = await caches.keys();
    const others = names.filter((name) => name.startsWith('todo-') && name !== CACHE);
    await Promise.all(others.map((name) => caches.delete(name)));
  };
  event.waitUntil(removeOthers());
});

self.addEventListener('fetch', (event) => {
  const answer = async () => {
    const cache = await caches.open(CACHE);
    return (await cache.match(event.request, { ignoreSearch: true })) ?? fetch(event.request);
  };
  event.respondWith(answer());
});
