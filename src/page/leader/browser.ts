// The page's browser: the only file of src/page/storage that uses globals, apart from spawn-worker, which bundlers must
// find, and which is loaded earlier.
//
// Invariant: a missing browser feature raises an error with a code. The worker finds out which medium the browser
// offers. No assertion keeps this: a missing feature is no defect.

import { storageError } from '../../shared/contract/errors.ts';
import { ownWasmUrl } from '../../shared/contract/wasm-url.ts';
import type { Abandoned, PageEnvironment } from './environment.ts';
import { Flags } from './flags.ts';
import { deniedFunctionError } from './leader-search.ts';
import { afterPassed, passedMs } from './passed-time.ts';
import { scriptFault } from './script-fault.ts';
import { Persistence } from './status.ts';
import { scriptOf } from './worker-start.ts';

/** Returns the environment of this page. @throws INSECURE_CONTEXT, BROWSER_TOO_OLD, OPFS_UNAVAILABLE */
export function browserEnvironment(operation: string): PageEnvironment {
  if (!globalThis.isSecureContext) {
    throw storageError(
      'INSECURE_CONTEXT',
      `${operation}: browsers give storage only to secure contexts; serve the page over https, or ` +
        'from localhost.',
    );
  }
  // Of the functions that this package needs, this one came last to browsers; `npm run old-browsers` finds a newer one.
  if (typeof AbortSignal.any !== 'function') {
    throw storageError(
      'BROWSER_TOO_OLD',
      `${operation}: this browser has no AbortSignal.any. Update it: ctx-storage needs Chromium 116, Firefox 124, ` +
        'Safari 17.4, or a later version.',
    );
  }
  // By their types, these are always there, but older browsers and some embedders lack them.
  const { locks, storage } = navigator as Partial<Navigator>;
  if (locks === undefined) {
    throw storageError(
      'OPFS_UNAVAILABLE',
      `${operation}: this browser has no Web Locks, which keep tabs from using the same files at once; see ` +
        'the browser table.',
    );
  }
  return {
    locks,
    openChannel: (name) => new BroadcastChannel(name),
    randomId: () => crypto.randomUUID(),
    ownWasmUrl: ownWasmUrl()?.href ?? null,
    scriptFault: faultOf,
    now: () => Date.now(),
    elapsed: passedMs,
    startedMs: performance.timeOrigin,
    after: afterPassed,
    onPageHide(task) {
      addEventListener('pagehide', task);
      const thaw = onFreeze(task);
      return () => {
        removeEventListener('pagehide', task);
        thaw();
      };
    },
    onFreeze,
    stayFor,
    nextTask,
    flags: new Flags({
      make: makeFlag,
      revoke: (url) => URL.revokeObjectURL(url),
      now: () => Date.now(),
    }),
    whenCollected: (owner, left) => collected.register(owner, left),
    indexedDB: () => globalThis.indexedDB,
    persistence: new Persistence({
      persist: storage?.persist?.bind(storage),
      persisted: storage?.persisted?.bind(storage),
      estimate: storage?.estimate?.bind(storage),
    }),
  };
}

// Chromium freezes a page after it was hidden, and also one in the background.
function onFreeze(task: () => void): () => void {
  document.addEventListener('freeze', task);
  return () => document.removeEventListener('freeze', task);
}

/** How long a leaving page stays for its writes: many times as long as one write takes. */
const STAY_MS = 50;

// `pagehide` covers calls that were made before; `visibilitychange`, which comes next, covers calls that listeners of
// the app make at either event: it reaches the window after the document, where the app listens. Chromium ends a page
// at once if it listens to neither event. Firefox (153) aborts, once, the script that runs as it ends a process with
// its last page; the second listener then waits on.
function stayFor(isUnderWay: () => boolean): () => void {
  let isLeaving = false;
  let last: Event | undefined;
  let endMs = 0;
  const stay = (event: Event) => {
    if (event !== last) {
      last = event;
      if (event.type !== 'visibilitychange') isLeaving = event.type === 'pagehide';
      endMs = isLeaving && isUnderWay() ? passedMs() + STAY_MS : 0;
    }
    if (endMs > 0) while (passedMs() < endMs); // The worker continues during this loop.
  };
  const watch = new AbortController();
  const { signal } = watch;
  for (const type of ['pagehide', 'pageshow', 'visibilitychange']) {
    addEventListener(type, (event) => stay(event), { signal });
    addEventListener(type, (event) => stay(event), { signal });
  }
  return () => watch.abort();
}

// Resolves in the next task. A timer would wait for 4 ms, and for a second in a tab in the background.
function nextTask(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}

function makeFlag(): string {
  try {
    return URL.createObjectURL(new Blob([]));
  } catch (cause) {
    throw deniedFunctionError('withSignal', cause);
  }
}

async function faultOf(worker: object): Promise<string | null> {
  const script = scriptOf(worker);
  if (script === undefined) return null;
  return scriptFault(script, {
    fetch: (address, init) => fetch(address, init),
    timeout: (delayMs) => AbortSignal.timeout(delayMs),
    address: location.href,
    isIsolated: crossOriginIsolated,
  });
}

const collected = new FinalizationRegistry<Abandoned>((left) => left.abandon());

/** Resolves the address against the page's; the worker would resolve it against its own. */
export function absoluteUrl(url: string | URL): string {
  return new URL(url, document.baseURI).href;
}

/** Returns the SHA-256 of a text, in hexadecimal digits. */
export async function digest(text: string): Promise<string> {
  const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
