// The page's browser: the only file of src/page/storage that uses globals, apart from spawn-worker, which
// bundlers must find, and which is loaded earlier.
//
// Invariant: a missing browser feature raises an error with a code. Which medium there is, the worker finds out.
// No assertion keeps this: the browser's lack is no defect.

import { storageError } from '../../shared/contract/errors.ts';
import { ownWasmUrl } from '../../shared/contract/wasm-url.ts';
import type { Abandoned, PageEnvironment } from './environment.ts';
import { Flags } from './flags.ts';
import { deniedFunctionError } from './leader-search.ts';
import { afterPassed, passedMs } from './passed-time.ts';
import { scriptFault } from './script-fault.ts';
import { Persistence } from './status.ts';
import { scriptOf } from './worker-start.ts';

/** The environment of this page. @throws INSECURE_CONTEXT, BROWSER_TOO_OLD, OPFS_UNAVAILABLE */
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
  // Types say that these are always there; older browsers and some embedders differ.
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

/** How long a page stays for its writes: many times as long as one takes. */
const STAY_MS = 50;

// `pagehide` is for earlier calls; `visibilitychange`, which comes next, for those that listeners of the app make at
// either: it reaches the window after the document, where the app listens. Chromium ends a page at once that listens to
// neither. Firefox aborts the script that runs as it ends a process with its last page, once: another listener waits on (153).
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
    if (endMs > 0) while (passedMs() < endMs); // The worker continues meanwhile.
  };
  const watch = new AbortController();
  const { signal } = watch;
  for (const type of ['pagehide', 'pageshow', 'visibilitychange']) {
    addEventListener(type, (event) => stay(event), { signal });
    addEventListener(type, (event) => stay(event), { signal });
  }
  return () => watch.abort();
}

// A timer would wait for 4 ms, and for a second in a tab in the background.
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

/** The address resolved against the page's; the worker would resolve it against its own. */
export function absoluteUrl(url: string | URL): string {
  return new URL(url, document.baseURI).href;
}

/** SHA-256, in hexadecimal digits. */
export async function digest(text: string): Promise<string> {
  const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
