// SQLite's WebAssembly, loaded by the page while the script of its worker is, which would ask for it only once
// it runs.
//
// Invariant: nothing depends on it. A worker that is told that it failed, or that wants another address, loads
// the file itself, and tells what is wrong with it.

import type { WorkerLike } from './client/environment.ts';
import type { WasmMessage } from './contract/wasm-message.ts';

/** Loads the file for the worker, which is told now that it comes. */
export async function sendWasm(worker: WorkerLike, url: string): Promise<void> {
  const tell = (message: WasmMessage) => worker.postMessage(message);
  tell({ type: 'wasm', url });
  tell({ type: 'wasm', url, module: await compiled(url) });
}

// Compiled here as well, so that it is loaded once, whatever the server says of caches.
async function compiled(url: string): Promise<WebAssembly.Module | null> {
  try {
    return await WebAssembly.compileStreaming(fetch(url));
  } catch {
    return null;
  }
}
