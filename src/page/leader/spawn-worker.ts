// Starts the worker that comes with this package. Its address is spelled out here because
// bundlers recognise exactly this form; the package build rewrites the address.

import { FOLDER_LEFT, WASM_URL } from '../../shared/contract/wasm-url.ts';

export function spawnWorker(): Worker {
  if (FOLDER_LEFT !== null) {
    return new Worker(new URL('worker.js', FOLDER_LEFT), { type: 'module' });
  }
  // On another origin than the page, such as a CDN's. Not tried first: Chromium throws, Firefox tells it much later.
  if (isElsewhere(import.meta.url)) return workerAt(new URL('worker.js', WASM_URL).href);
  return new Worker(new URL('../../../worker/start/entries/storage-worker.ts', import.meta.url), {
    type: 'module',
  });
}

/**
 * Starts a script of any origin as the page's worker. A worker's address must be of the page's origin, its
 * imports need not be.
 */
export function workerAt(url: string): Worker {
  const script = new Blob([`import ${JSON.stringify(url)};`], { type: 'text/javascript' });
  return new Worker(isOwnOrigin(url) ? url : URL.createObjectURL(script), { type: 'module' });
}

/**
 * False for addresses that some bundlers write for a module: a file's path, or an address without an origin.
 */
export function isElsewhere(url: string): boolean {
  return /^https?:/.test(url) && !isOwnOrigin(url);
}

/** Whether the page may start a worker at this address. */
function isOwnOrigin(url: string): boolean {
  const { origin, protocol } = new URL(url);
  return origin === location.origin || protocol === 'blob:' || protocol === 'data:';
}
