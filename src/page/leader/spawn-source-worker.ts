// Starts the worker that runs source. Its address is spelled out here because bundlers recognise exactly
// this form; the package build rewrites the address.

import { FOLDER_LEFT, WASM_URL } from '../../shared/contract/wasm-url.ts';
import { isElsewhere, workerAt } from './spawn-worker.ts';

export function spawnSourceWorker(): Worker {
  if (FOLDER_LEFT !== null) {
    return new Worker(new URL('source-worker.js', FOLDER_LEFT), { type: 'module' });
  }
  if (isElsewhere(import.meta.url)) return workerAt(new URL('source-worker.js', WASM_URL).href);
  return new Worker(new URL('../../../worker/start/entries/source-worker.ts', import.meta.url), {
    type: 'module',
  });
}
