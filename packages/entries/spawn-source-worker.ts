// Starts the worker that runs source. Its address is spelled out here because bundlers recognise exactly
// this form; the package build rewrites the address.

import { folderLeftBehind, noAddress, ownWasmUrl } from '@ctx-storage/core/contract';

export function spawnSourceWorker(): Worker {
  if (ownWasmUrl() === null) throw noAddress('worker, wasmUrl, lateUrl');
  const folder = folderLeftBehind();
  if (folder !== null) return new Worker(new URL('source-worker.js', folder), { type: 'module' });
  return new Worker(new URL('./source-worker.ts', import.meta.url), {
    type: 'module',
  });
}
