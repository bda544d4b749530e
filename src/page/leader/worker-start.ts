// Starts a worker whose script a browser would refuse as it is written: a script of another origin, such as a CDN's, and any
// script in a page whose policy asks for Trusted Types (`require-trusted-types-for 'script'`).
//
// Bundlers find a worker only as `new Worker(new URL(…, import.meta.url))`, so its address cannot be changed where it is
// written. While the worker is started, `Worker` replaces it instead: a blob imports a script of another origin, and the
// policy `ctx-storage` makes an address trusted.
//
// Invariant: only addresses of the page's origin are trusted, and of the origin that this code came from; nobody else gets
// the policy. Outside of a start, `Worker` is the browser's. No assertion keeps this: addresses are the app's, and the
// browser refuses the others.

import { ownWasmUrl } from '../../shared/contract/wasm-url.ts';

/** The part of Trusted Types that this file uses; TypeScript does not declare them. */
interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): TrustedPolicy;
  isScriptURL(value: unknown): boolean;
}

interface TrustedPolicy {
  createScriptURL(url: string): string;
}

const NAME = 'ctx-storage';

const MODULE: WorkerOptions = { type: 'module' };

// A page may create only one policy of a name, so it is kept.
let policy: TrustedPolicy | undefined;

/** The address of each worker's script. */
const scripts = new WeakMap<object, string>();

/** Returns the address of the script with which this worker was started; undefined if other code started it. */
export function scriptOf(worker: object): string | undefined {
  return scripts.get(worker);
}

/** Records the address of the script of a worker; undefined if the address is unknown. */
export function noteScript(worker: object, address: string | undefined): void {
  if (address !== undefined) scripts.set(worker, address);
}

/** Starts the script that the app names. Its address is trusted because the app names it. */
export function workerAt(address: string): Worker {
  const url = new URL(address);
  const worker = new Worker(isReachable(url) ? address : importing(url, MODULE), MODULE);
  noteScript(worker, address);
  return worker;
}

/**
 * Calls the function, in which `new Worker(address)` also starts scripts that the browser would refuse.
 *
 * @throws the function's error
 */
export function startWorker<T>(start: () => T): T {
  const { Worker } = globalThis;
  if (typeof Worker !== 'function') return start();
  globalThis.Worker = new Proxy(Worker, {
    construct(target, [url, ...options], newTarget) {
      const address = addressOf(url);
      const isNear = address === null || isReachable(address);
      const script = isNear ? url : importing(address, options[0]);
      const construct = (trusted: unknown) =>
        Reflect.construct(target, [trusted, ...options], newTarget) as object;
      const worker = constructTrusted(url, address, script, construct);
      noteScript(worker, address?.href);
      return worker;
    },
  });
  try {
    return start();
  } finally {
    globalThis.Worker = Worker;
  }
}

/**
 * Constructs a worker. `address` is the address of the `url` that was passed; `script` is the address with which the
 * worker is started.
 */
function constructTrusted(
  url: unknown,
  address: URL | null,
  script: unknown,
  construct: (script: unknown) => object,
): object {
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
  if (trustedTypes === undefined) return construct(script);
  const isTrusted = trustedTypes.isScriptURL(url);
  if (isTrusted ? script === url : address === null || !isOwn(address)) return construct(script);
  const own = policyOf(trustedTypes);
  return own === null
    ? withHint(() => construct(script))
    : construct(own.createScriptURL(String(script)));
}

/** Returns the policy for addresses of scripts; null if the page allows no policy of this name. */
function policyOf(trustedTypes: TrustedTypes): TrustedPolicy | null {
  try {
    policy ??= trustedTypes.createPolicy(NAME, { createScriptURL: (own) => own });
    return policy;
  } catch {
    return null;
  }
}

/**
 * Adds a hint to the error: without the policy, a worker starts only in a page that does not require trusted addresses.
 */
function withHint<T>(construct: () => T): T {
  try {
    return construct();
  } catch (cause) {
    const fact = cause instanceof Error ? cause.message : String(cause);
    const wayOut = `The Content-Security-Policy must allow this package's policy: trusted-types ${NAME}.`;
    throw new TypeError(`${fact} ${wayOut}`, { cause });
  }
}

function addressOf(url: unknown): URL | null {
  try {
    return new URL(String(url), document.baseURI);
  } catch {
    return null;
  }
}

/**
 * True if the page may start a worker at this address. Other addresses are not tried first, because Chromium throws,
 * and Firefox reports the failure much later. Bundlers also write addresses that are not of the web.
 */
function isReachable({ origin, protocol }: URL): boolean {
  return origin === location.origin || !/^https?:$/.test(protocol);
}

/** True if the address has the origin of the page, or of the files beside this code. */
function isOwn({ origin }: URL): boolean {
  return origin === location.origin || origin === ownWasmUrl()?.origin;
}

/**
 * Returns a script of the page's origin that runs another script. The address of a worker must be of the page's origin,
 * but its imports need not be. A classic script with a fragment reads the fragment, and its own origin, from
 * `location`: in Turbopack's scripts, the fragment names the files to load.
 */
function importing({ href, hash }: URL, options?: WorkerOptions): string {
  const url = JSON.stringify(href);
  const place = `Object.defineProperty(self,"location",{value:new URL(${url})});`;
  const text =
    options?.type === 'module'
      ? `import ${url};`
      : `${hash && place}importScripts(${JSON.stringify(href.replace(hash, ''))});`;
  return URL.createObjectURL(new Blob([text], { type: 'text/javascript' }));
}
