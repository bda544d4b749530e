// Loads the page's client, which is ten times as large as what an app needs of this package to begin.
//
// Until it is there, the worker of the first call is started ahead, and what that worker loads, so that all are loaded
// at the same time.

import type { PageClient } from './client/page-client.ts';
import { storageError } from './contract/errors.ts';
import { WASM_URL } from './contract/wasm-url.ts';
import { sendWasm } from './first-wasm.ts';
import { FirstWorkers } from './first-workers.ts';

type Start = Parameters<FirstWorkers['start']>[1];

interface First {
  /** What tells this worker from others. */
  readonly key: unknown;
  readonly start: Start;
  /** Where `sqlite3.wasm` lies, as the caller says. */
  readonly wasmUrl: unknown;
}

const workers = new FirstWorkers();
let client: PageClient | undefined;
let loading: Promise<PageClient> | undefined;

/**
 * Uses the page's client. `first` is the worker that it will probably ask for; null: none is started.
 *
 * @throws OPFS_UNAVAILABLE outside of browsers; WORKER_FAILED if the client cannot be loaded
 */
export async function withClient<T>(
  operation: string,
  first: First | null,
  use: (client: PageClient) => Promise<T>,
): Promise<T> {
  const { isSecureContext } = globalThis as { isSecureContext?: boolean };
  if (isSecureContext === undefined || typeof document === 'undefined') {
    throw notBrowser(operation);
  }
  if (client !== undefined) return use(client);
  if (first !== null && isSecureContext) startFirst(first);
  try {
    return await use(await loadClient(operation));
  } finally {
    if (first !== null) workers.end(first.key);
  }
}

function startFirst({ key, start, wasmUrl }: First): void {
  workers.start(key, () => {
    const worker = start();
    const url = wasmUrl === undefined ? WASM_URL.href : addressOf(wasmUrl);
    // What is no worker, or no address, is the client's to refuse.
    if (url !== null && typeof worker?.postMessage === 'function') void sendWasm(worker, url);
    return worker;
  });
}

function addressOf(url: unknown): string | null {
  try {
    return new URL(url as string, document.baseURI).href;
  } catch {
    return null;
  }
}

async function loadClient(operation: string): Promise<PageClient> {
  loading ??= import('./client/page-client.ts').then((code) => new code.PageClient(workers));
  try {
    client = await loading;
    return client;
  } catch (cause) {
    loading = undefined; // another call may find the network again
    throw storageError(
      'WORKER_FAILED',
      `${operation}: the rest of ctx-storage could not be loaded: ${String(cause)} Serve all files of its dist ` +
        'folder beside each other, or let a bundler do so; after a new deployment, reload the page.',
      { cause },
    );
  }
}

function notBrowser(operation: string): Error {
  return storageError(
    'OPFS_UNAVAILABLE',
    `${operation}: this is not a page of a browser. Call ${operation}() in a browser: in an effect or an event ` +
      'handler, and not while a server renders. In Node, use createObjects() of ctx-storage/node; in ' +
      'a worker or another runtime, that of ctx-storage/in-process.',
  );
}
