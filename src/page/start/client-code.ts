// Loads the page's client, which is ten times as large as the code that an app needs of this package to begin.
//
// Until it is there, the worker of the first call is started ahead, with its own files, so that all are loaded at the
// same time: SQLite's WebAssembly is loaded by the page while the script of its worker is, which would ask for it only
// once it runs.
//
// Invariant: nothing depends on that file. If the page's load fails, or the worker needs another address, the worker
// loads the file itself and reports the error.

import { leaderLockOf } from '../../shared/contract/directory.ts';
import { storageError } from '../../shared/contract/errors.ts';
import type { WasmMessage } from '../../shared/contract/wasm-message.ts';
import { ownWasmUrl } from '../../shared/contract/wasm-url.ts';
import type { WorkerLike } from '../leader/environment.ts';
import type { PageClient } from '../storage/page-client.ts';
import { FirstWorkers } from './first-workers.ts';

/** How long the page loads SQLite for its worker. */
const WASM_WAIT_MS = 20_000;

type Start = Parameters<FirstWorkers['start']>[1];

interface First {
  /** The key that distinguishes this worker. */
  readonly key: unknown;
  readonly start: Start;
  /** Where `sqlite3.wasm` lies, and the directory, as the caller says. */
  readonly wasmUrl: unknown;
  readonly directory: string;
}

/** The worker that was started ahead waits for this work, too. */
export type Hold = (work: Promise<unknown>) => void;

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
    // The client refuses arguments that are not workers or addresses. A script without an address leaves the file to the worker.
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

/**
 * Loads the file for the worker, which is told now that it comes; unless it will wait behind one that leads: it loads
 * the file itself once it is the next, and until then the file would only take memory.
 */
export async function sendWasm(
  worker: WorkerLike,
  url: string,
  isLed: Promise<boolean>,
): Promise<void> {
  const tell = (message: WasmMessage) => worker.postMessage(message);
  tell({ type: 'wasm', url });
  tell({ type: 'wasm', url, module: (await isLed) ? null : await compiled(url) });
}

/** True if a worker leads in the directory; false also if the browser does not tell. */
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

// Compiled here as well, so that it is loaded once, whatever the server says of caches. If it does not arrive, the worker
// asks again, while its page still searches for a leader.
async function compiled(url: string): Promise<WebAssembly.Module | null> {
  try {
    return await WebAssembly.compileStreaming(
      fetch(url, { signal: AbortSignal.timeout(WASM_WAIT_MS) }),
    );
  } catch {
    return null;
  }
}
