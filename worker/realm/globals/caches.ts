// Implements workerd's `caches` for object code, in memory: `caches.default` and named caches.
//
// Nothing is written to the browser's CacheStorage, because pages and service workers of the origin share it, and
// programs must expect that a cache loses entries. Freshness follows the host's clock. Entries are lost with the host.

import type { CurrentContext, IoHost } from '../../../src/shared/calls/io/io-context.ts';
import { replaceRead, undoAll } from '../../../src/shared/calls/io/replace-global.ts';
import { refuseToClone } from '../../../src/shared/values/object-kind.ts';
import { answerFromCache } from './cache-answer.ts';
import { CacheEntries, type CacheEntry } from './cache-entries.ts';

interface MatchOptions {
  readonly ignoreMethod?: boolean;
}

/** The functions and entries that a cache needs from its host. */
interface CacheHost {
  readonly entries: CacheEntries;
  now(): number;
  /** Runs work outside the running object; its result returns to the object through the input gate. */
  send<T>(work: () => Promise<T>): Promise<T>;
}

const INTERNAL = Symbol();

class Cache {
  readonly #host: CacheHost;
  readonly #name: string;

  constructor(...[token, host, name]: [token?: typeof INTERNAL, host?: CacheHost, name?: string]) {
    if (token !== INTERNAL) throw new TypeError('Illegal constructor');
    this.#host = host!;
    this.#name = name!;
  }

  async put(...[input, response]: [input?: unknown, response?: unknown]): Promise<void> {
    const request = requestOf('put', input);
    if (!(response instanceof Response)) {
      throw new TypeError(
        "Failed to execute 'put' on 'Cache': parameter 2 is not of type 'Response'.",
      );
    }
    checkStorable(request, response);
    // Start the read now, so that code that produces the body runs as part of its object.
    const read = this.#readEntry(request, response);
    read.catch(() => {}); // the error is thrown by `await read` below
    await this.#host.send(async () => {
      const entry = await read;
      if (entry !== undefined) this.#host.entries.set(this.#key(request), entry);
    });
  }

  async match(
    ...[input, options]: [input?: unknown, options?: MatchOptions]
  ): Promise<Response | undefined> {
    const request = requestOf('match', input);
    return this.#host.send(async () => {
      if (!isRequestServed(request, options)) return undefined;
      const nowMs = this.#host.now();
      const entry = this.#host.entries.get(this.#key(request), nowMs);
      if (entry === undefined) return undefined;
      const age = ageSeconds(entry.headers) + Math.floor((nowMs - entry.storedMs) / 1000);
      return answerFromCache(request.headers, entry, age);
    });
  }

  async delete(...[input, options]: [input?: unknown, options?: MatchOptions]): Promise<boolean> {
    const request = requestOf('delete', input);
    return this.#host.send(async () => {
      const key = this.#key(request);
      const { entries } = this.#host;
      if (!isRequestServed(request, options) || !entries.get(key, this.#host.now())) return false;
      entries.delete(key);
      return true;
    });
  }

  get [Symbol.toStringTag](): string {
    return 'Cache';
  }

  /** Reads the body to its end. Undefined if the response must not be cached, or is too large. */
  async #readEntry(request: Request, response: Response): Promise<CacheEntry | undefined> {
    const nowMs = this.#host.now();
    const freshMs = freshForMs(request, response, nowMs);
    const { status, statusText } = response;
    const headers = new Headers(response.headers);
    if (onlyCookiesArePrivate(headers)) headers.delete('set-cookie');
    const bytes = await readAtMost(response.body, freshMs > 0 ? this.#host.entries.bytesMax : 0);
    if (freshMs === 0 || bytes === undefined) return undefined;
    const times = { storedMs: nowMs, freshUntilMs: nowMs + freshMs };
    return { status, statusText, headers, bytes, ...times };
  }

  #key({ url }: Request): string {
    const { href } = new URL(url);
    return `${this.#name} ${href.split('#', 1)[0]}`;
  }
}

class CacheStorage {
  readonly default: Cache;
  readonly #host: CacheHost;

  constructor(...[token, host]: [token?: typeof INTERNAL, host?: CacheHost]) {
    if (token !== INTERNAL) throw new TypeError('Illegal constructor');
    this.#host = host!;
    this.default = new Cache(INTERNAL, host, 'default');
  }

  async open(...[name]: [name?: unknown]): Promise<Cache> {
    if (name === undefined) {
      throw new TypeError(
        "Failed to execute 'open' on 'CacheStorage': parameter 1 is not of type 'string'.",
      );
    }
    return new Cache(INTERNAL, this.#host, `named ${encodeURIComponent(String(name))}`);
  }

  get [Symbol.toStringTag](): string {
    return 'CacheStorage';
  }
}

refuseToClone(Cache, CacheStorage);

/** The methods that exist in workerd only to throw an error. */
const UNSUPPORTED_METHODS = [
  [Cache, ['add', 'addAll', 'matchAll', 'keys']],
  [CacheStorage, ['match', 'has', 'delete', 'keys']],
] as const;
for (const [type, names] of UNSUPPORTED_METHODS) {
  for (const name of names) {
    const value = () => {
      throw new Error(
        `Failed to execute '${name}' on '${type.name}': the method is not implemented.`,
      );
    };
    Object.defineProperty(type.prototype, name, { value, configurable: true, writable: true });
  }
}

/** Gives object code the caches of its host, which `ownHost` returns. Call the result to restore the platform's `caches`. */
export function installCaches(
  scope: object,
  current: CurrentContext,
  ownHost: () => IoHost | undefined,
): () => void {
  const storages = new WeakMap<IoHost, CacheStorage>();
  const storageOf = (host: IoHost) => {
    const existing = storages.get(host);
    const storage = existing ?? new CacheStorage(INTERNAL, cacheHost(host, current));
    storages.set(host, storage);
    return storage;
  };
  const undo = [
    replaceRead(scope, 'caches', (original) => {
      const host = ownHost();
      return host === undefined ? original() : storageOf(host);
    }),
    ...Object.entries({ Cache, CacheStorage }).map(([name, type]) =>
      replaceRead(scope, name, (original) => (ownHost() === undefined ? original() : type)),
    ),
  ];
  return () => undoAll(undo);
}

function cacheHost(host: IoHost, current: CurrentContext): CacheHost {
  return {
    entries: new CacheEntries(),
    now: () => host.now(),
    send: (work) => current()?.send(work) ?? work(),
  };
}

/** Returns the request of an argument. @throws TypeError */
function requestOf(method: string, input: unknown): Request {
  if (input instanceof Request) return input;
  if (input === undefined) {
    throw new TypeError(
      `Failed to execute '${method}' on 'Cache': parameter 1 is not of type 'Request or string'.`,
    );
  }
  return new Request(absoluteUrl(String(input)));
}

/** Parses an absolute URL. A relative URL is refused, because object code has no page. @throws TypeError */
function absoluteUrl(address: string): URL {
  try {
    return new URL(address);
  } catch (cause) {
    throw new TypeError(`Invalid URL: ${address}`, { cause });
  }
}

/** Checks that the response may be stored. @throws TypeError */
function checkStorable({ method }: Request, { status, headers, bodyUsed }: Response): void {
  if (method !== 'GET') throw new TypeError('Cannot cache response to non-GET request.');
  if (status === 206) {
    throw new TypeError('Cannot cache response to a range request (206 Partial Content).');
  }
  if (headers.get('vary')?.includes('*')) {
    throw new TypeError("Cannot cache response with 'Vary: *' header.");
  }
  if (bodyUsed) {
    throw new TypeError(
      'Body has already been used. It can only be used once: put response.clone().',
    );
  }
}

function isRequestServed({ method }: Request, options: MatchOptions | undefined): boolean {
  return method === 'GET' || options?.ignoreMethod === true;
}

/** Reads the whole body. Cancels it and returns undefined if it has more bytes than allowed. */
async function readAtMost(
  body: ReadableStream<Uint8Array> | null,
  byteCountMax: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (body === null) return new Uint8Array();
  const reader = body.getReader();
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let byteCount = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return new Uint8Array(await new Blob(chunks).arrayBuffer());
    byteCount += value.byteLength;
    if (byteCount > byteCountMax) {
      await reader.cancel();
      return undefined;
    }
    chunks.push(value as Uint8Array<ArrayBuffer>);
  }
}

// The functions below decide whether and how long a response is stored, by the rules of RFC 9111 for shared caches. A
// response without an explicit lifetime is not stored, although the RFC would allow a heuristic one.

/** The statuses that RFC 9110 calls cacheable, without 206 (partial content). */
const CACHEABLE_STATUSES: ReadonlySet<number> = new Set([
  ...[200, 203, 300, 301, 302, 303, 307, 308],
  ...[404, 405, 410, 414, 501],
]);

/** Returns for how many milliseconds from now the response may be stored; 0 if it must not be stored. */
export function freshForMs(request: Request, { status, headers }: Response, nowMs: number): number {
  const control = directivesOf(headers);
  if (!CACHEABLE_STATUSES.has(status) || control.has('no-store') || control.has('no-cache'))
    return 0;
  if (control.has('private') && !onlyCookiesArePrivate(headers)) return 0;
  if (headers.has('set-cookie') && !onlyCookiesArePrivate(headers)) return 0;
  const isShared = ['public', 's-maxage', 'must-revalidate'].some((name) => control.has(name));
  if (request.headers.has('authorization') && !isShared) return 0;
  const lifetime = control.get('s-maxage') ?? control.get('max-age');
  const expires = headers.get('expires');
  if (lifetime === undefined && expires === null) return 0;
  const totalMs =
    lifetime === undefined ? Date.parse(expires!) - nowMs : Number.parseInt(lifetime, 10) * 1000;
  return Math.max(totalMs - ageSeconds(headers) * 1000, 0) || 0;
}

/** True for `private=set-cookie`: the response may be stored without its cookies. */
export function onlyCookiesArePrivate(headers: Headers): boolean {
  return directivesOf(headers).get('private')?.toLowerCase() === 'set-cookie';
}

/** Returns the age of the response on arrival, from its header `age`. */
export function ageSeconds(headers: Headers): number {
  return Number.parseInt(headers.get('age') ?? '0', 10) || 0;
}

/** Parses Cache-Control into a map from lower-case directive to its argument, which is '' if there is none. */
function directivesOf(headers: Headers): ReadonlyMap<string, string> {
  const found = (headers.get('cache-control') ?? '').matchAll(
    /([^\s,=]+)(?:\s*=\s*(?:"([^"]*)"|([^\s,]*)))?/g,
  );
  return new Map(
    [...found].map(([, name, quoted, plain]) => [name!.toLowerCase(), quoted ?? plain ?? '']),
  );
}
