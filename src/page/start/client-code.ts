// Loads the page's client on the first call. The client is ten times as large as the rest of this package's code in a page.
//
// While the client loads, the worker of the first call is already started, and the page loads SQLite's WebAssembly for it,
// so that all files load at the same time. The worker itself would request the file only once its script runs.
//
// Invariant: the page's load of the WebAssembly may fail. If it does, or if the worker needs another address, the worker
// loads the file itself and reports errors. No assertion keeps this: a failed load is no defect.

import { leaderLockOf } from '../../shared/contract/directory.ts';
import { storageError } from '../../shared/contract/errors.ts';
import type { WasmMessage } from '../../shared/contract/wasm-message.ts';
import { ownWasmUrl } from '../../shared/contract/wasm-url.ts';
import type { WorkerLike } from '../leader/environment.ts';
import type { PageClient } from '../storage/page-client.ts';
import { FirstWorkers } from './first-workers.ts';

/** The longest time that the page spends loading SQLite for its worker. */
const WASM_WAIT_MS = 20_000;

type Start = Parameters<FirstWorkers['start']>[1];

interface First {
  /** The key that distinguishes this worker. */
  readonly key: unknown;
  readonly start: Start;
  /** The options `wasmUrl` and `directory` of the caller. */
  readonly wasmUrl: unknown;
  readonly directory: string;
}

/** Makes the worker that was started early wait for this work, too. */
export type Hold = (work: Promise<unknown>) => void;

const workers = new FirstWorkers();
let client: PageClient | undefined;
let loading: Promise<PageClient> | undefined;

/**
 * Loads and uses the page's client. `first` is the worker that the client will probably need; null to start none early.
 *
 * @throws OPFS_UNAVAILABLE outside of browsers; WORKER_FAILED if the client cannot be loaded
 */
export async function withClient<T>(
  operation: string,
  first: First | null,
  use: (client: PageClient, hold: Hold) => Promise<T>,
): Promise<T> {
  const { isSecureContext } = globalThis as { isSecureContext?: boolean };
  if (isSecureContext === undefined || typeof document === 'undefined') {
    throw notBrowser(operation);
  }
  if (client !== undefined) return use(client, () => {});
  if (first !== null && isSecureContext) startFirst(first);
  let held: Promise<unknown> | undefined;
  const end = () => {
    if (first !== null) workers.end(first.key);
  };
  try {
    return await use(await loadClient(operation), (work) => {
      held = work;
    });
  } finally {
    if (held === undefined) end();
    else held.then(end, end);
  }
}

function startFirst({ key, start, wasmUrl, directory }: First): void {
  workers.start(key, () => {
    const worker = start();
    const url = wasmUrl === undefined ? ownWasmUrl()?.href : addressOf(wasmUrl);
    // Wrong arguments are left to the client, which refuses them. If this script has no address, the worker loads the file.
    if (url && typeof worker?.postMessage === 'function') {
      void sendWasm(worker, url, isLed(directory, navigator.locks));
    }
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
  loading ??= import('../storage/page-client.ts').then((code) => new code.PageClient(workers));
  try {
    client = await loading;
    return client;
  } catch (cause) {
    loading = undefined; // The next call tries again, in case the network has returned.
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

/**
 * Loads the file for the worker, and tells the worker at once that it will come. Does nothing if another worker leads: a
 * waiting worker loads the file itself when its turn comes, and until then the file would only take memory.
 */
export async function sendWasm(
  worker: WorkerLike,
  url: string,
  isLed: Promise<boolean>,
): Promise<void> {
  const tell = (message: WasmMessage) => worker.postMessage(message);
  tell({ type: 'wasm', url });
  tell({ type: 'wasm', url, module: (await isLed) ? null : await loadAndCompile(url) });
}

/** Returns true if a worker leads in the directory; false if none does, or if the browser does not answer. */
export async function isLed(
  directory: string,
  locks: Pick<LockManager, 'query'> | undefined,
): Promise<boolean> {
  try {
    const { held = [] } = (await locks?.query()) ?? {};
    const lock = leaderLockOf(directory);
    return held.some(({ name }) => name === lock);
  } catch {
    return false;
  }
}

// Loads and compiles the file. It is compiled here, so that it is loaded only once, even if the server forbids caching. If
// it does not arrive in time, the worker loads it, while the page still searches for a leader.
async function loadAndCompile(url: string): Promise<WebAssembly.Module | null> {
  try {
    return await WebAssembly.compileStreaming(
      fetch(url, { signal: AbortSignal.timeout(WASM_WAIT_MS) }),
    );
  } catch {
    return null;
  }
}
