// `caches` of object code: `caches.default` and named caches, as workerd has them, in memory.
//
// A cache may forget at any time, so nothing is written to the browser's own CacheStorage, which pages
// and service workers of the origin share. Time is the host's. The caches of a host end with it.

import type { CurrentContext, IoHost } from '../../../src/shared/calls/io/io-context.ts';
import { replaceRead, undoAll } from '../../../src/shared/calls/io/replace-global.ts';
import { refuseToClone } from '../../../src/shared/values/object-kind.ts';
import { answer } from './cache-answer.ts';
import { CacheEntries, type CacheEntry } from './cache-entries.ts';

interface MatchOptions {
  readonly ignoreMethod?: boolean;
}

/** The cache's view of its host. */
interface CacheHost {
  readonly entries: CacheEntries;
  now(): number;
  /** Runs work that leaves the running object, and its result comes back to it. */
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
    const read = this.#read(request, response); // now: code that makes the body runs as its object
    read.catch(() => {}); // reported below
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
      if (!isAsked(request, options)) return undefined;
      const nowMs = this.#host.now();
      const entry = this.#host.entries.get(this.#key(request), nowMs);
      if (entry === undefined) return undefined;
      const age = ageSeconds(entry.headers) + Math.floor((nowMs - entry.storedMs) / 1000);
      return answer(request.headers, entry, age);
    });
  }

  async delete(...[input, options]: [input?: unknown, options?: MatchOptions]): Promise<boolean> {
    const request = requestOf('delete', input);
    return this.#host.send(async () => {
      const key = this.#key(request);
      const { entries } = this.#host;
      if (!isAsked(request, options) || !entries.get(key, this.#host.now())) return false;
      entries.delete(key);
      return true;
    });
  }

  get [Symbol.toStringTag](): string {
    return 'Cache';
  }

  /** Uses the body up; undefined when the response is not to be kept. */
  async #read(request: Request, response: Response): Promise<CacheEntry | undefined> {
    const nowMs = this.#host.now();
    const freshMs = freshForMs(request, response, nowMs);
    const { status, statusText } = response;
    const headers = new Headers(response.headers);
    if (isCookiePrivate(headers)) headers.delete('set-cookie');
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

/** workerd has these names too, and refuses them. */
const REFUSED = [
  [Cache, ['add', 'addAll', 'matchAll', 'keys']],
  [CacheStorage, ['match', 'has', 'delete', 'keys']],
] as const;
for (const [type, names] of REFUSED) {
  for (const name of names) {
    const value = () => {
      throw new Error(
        `Failed to execute '${name}' on '${type.name}': the method is not implemented.`,
      );
    };
    Object.defineProperty(type.prototype, name, { value, configurable: true, writable: true });
  }
}

/** Shows `caches` to object code, of the host that `ownHost` gives; the result undoes it. */
export function installCaches(
  scope: object,
  current: CurrentContext,
  ownHost: () => IoHost | undefined,
): () => void {
  const storages = new WeakMap<IoHost, CacheStorage>();
  const storageOf = (host: IoHost) => {
    const known = storages.get(host);
    const storage = known ?? new CacheStorage(INTERNAL, cacheHost(host, current));
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

/** @throws TypeError */
function requestOf(method: string, input: unknown): Request {
  if (input instanceof Request) return input;
  if (input === undefined) {
    throw new TypeError(
      `Failed to execute '${method}' on 'Cache': parameter 1 is not of type 'Request or string'.`,
    );
  }
  return new Request(absoluteUrl(String(input)));
}

/** An address on its own, not one relative to the page's. */
function absoluteUrl(address: string): URL {
  try {
    return new URL(address);
  } catch (cause) {
    throw new TypeError(`Invalid URL: ${address}`, { cause });
  }
}

/** @throws TypeError */
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

function isAsked({ method }: Request, options: MatchOptions | undefined): boolean {
  return method === 'GET' || options?.ignoreMethod === true;
}

/** The whole body; undefined when it is longer. */
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

// Which responses are kept, and for how long: as a shared cache may by RFC 9111, without guesses. A response
// that does not say how long it is fresh is not kept.

/** Cacheable by RFC 9110, as far as a whole response is. */
const KEPT_STATUSES: ReadonlySet<number> = new Set([
  ...[200, 203, 300, 301, 302, 303, 307, 308],
  ...[404, 405, 410, 414, 501],
]);

/** How long the response may be kept from now on, in milliseconds; 0: not at all. */
export function freshForMs(request: Request, { status, headers }: Response, nowMs: number): number {
  const control = directivesOf(headers);
  if (!KEPT_STATUSES.has(status) || control.has('no-store') || control.has('no-cache')) return 0;
  if (control.has('private') && !isCookiePrivate(headers)) return 0;
  if (headers.has('set-cookie') && !isCookiePrivate(headers)) return 0;
  const isShared = ['public', 's-maxage', 'must-revalidate'].some((name) => control.has(name));
  if (request.headers.has('authorization') && !isShared) return 0;
  const lifetime = control.get('s-maxage') ?? control.get('max-age');
  const expires = headers.get('expires');
  if (lifetime === undefined && expires === null) return 0;
  const totalMs =
    lifetime === undefined ? Date.parse(expires!) - nowMs : Number.parseInt(lifetime, 10) * 1000;
  return Math.max(totalMs - ageSeconds(headers) * 1000, 0) || 0;
}

/** True when the response is kept for everybody, except for its cookies. */
export function isCookiePrivate(headers: Headers): boolean {
  return directivesOf(headers).get('private')?.toLowerCase() === 'set-cookie';
}

/** How old the response was when it arrived. */
export function ageSeconds(headers: Headers): number {
  return Number.parseInt(headers.get('age') ?? '0', 10) || 0;
}

/** The directives of Cache-Control by their names in lower case; the argument is '' for none. */
function directivesOf(headers: Headers): ReadonlyMap<string, string> {
  const found = (headers.get('cache-control') ?? '').matchAll(
    /([^\s,=]+)(?:\s*=\s*(?:"([^"]*)"|([^\s,]*)))?/g,
  );
  return new Map(
    [...found].map(([, name, quoted, plain]) => [name!.toLowerCase(), quoted ?? plain ?? '']),
  );
}
