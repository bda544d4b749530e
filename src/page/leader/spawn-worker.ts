// Starts the worker that comes with this package. Its address is spelled out here because
// bundlers recognise exactly this form; the package build rewrites the address.

import { folderLeftBehind, noAddress, ownWasmUrl } from '../../shared/contract/wasm-url.ts';

export function spawnWorker(): Worker {
  if (ownWasmUrl() === null) throw noAddress('workerUrl, wasmUrl, lateUrl');
  const folder = folderLeftBehind();
  if (folder !== null) return new Worker(new URL('worker.js', folder), { type: 'module' });
  return new Worker(new URL('../../../worker/start/entries/storage-worker.ts', import.meta.url), {
    type: 'module',
  });
}
