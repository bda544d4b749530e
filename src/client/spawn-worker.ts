// Starts the worker that comes with this package. The second expression is spelled out here because
// bundlers recognise exactly this form; the package build rewrites the address.

import { FOLDER_LEFT, WASM_URL } from '../contract/wasm-url.ts';

export function spawnWorker(): Worker {
  if (FOLDER_LEFT !== null) {
    return new Worker(new URL('worker.js', FOLDER_LEFT), { type: 'module' });
  }
  try {
    return new Worker(new URL('../../worker/entries/storage-worker.ts', import.meta.url), {
      type: 'module',
    });
  } catch (error) {
    // The package is on another origin than the page, such as a CDN's.
    if ((error as Error).name !== 'SecurityError') throw error;
    return workerAt(new URL('worker.js', WASM_URL).href);
  }
}

/**
 * Starts a script of any origin as the page's worker. A worker's address must be of the page's origin, what
 * it imports need not be.
 */
export function workerAt(url: string): Worker {
  const { origin, protocol } = new URL(url);
  const isOwn = origin === location.origin || protocol === 'blob:' || protocol === 'data:';
  const script = new Blob([`import ${JSON.stringify(url)};`], { type: 'text/javascript' });
  return new Worker(isOwn ? url : URL.createObjectURL(script), { type: 'module' });
}
