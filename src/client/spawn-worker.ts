// Starts the worker that comes with this package. The second expression is spelled out here because
// bundlers recognise exactly this form; the package build rewrites the address.

import { FOLDER_LEFT } from '../contract/wasm-url.ts';

export function spawnWorker(): Worker {
  if (FOLDER_LEFT !== null) {
    return new Worker(new URL('worker.js', FOLDER_LEFT), { type: 'module' });
  }
  return new Worker(new URL('../../worker/entries/storage-worker.ts', import.meta.url), {
    type: 'module',
  });
}
