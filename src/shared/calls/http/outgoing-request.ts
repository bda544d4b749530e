// The request that `stub.fetch(input, init)` makes, and the requests of its redirects.

import { notedLength } from '../../contract/stream-length.ts';
import { bodyOfRequest, byteLengthOf, MessageBody, shortBytes } from './body.ts';
import { cfOf, type RequestParts } from './request-parts.ts';

/** The options of `stub.fetch`. */
interface Options extends RequestInit {
  readonly cf?: unknown;
}

/** Statuses that redirect (Fetch standard). */
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

export class OutgoingRequest {
  /** Its redirect mode is `manual`: the sender follows redirects, not the object. */
  readonly parts: RequestParts;
  readonly #redirect: RequestRedirect;
  /** The source of the body; undefined if it has none, or cannot be sent again. */
  readonly #content: BodyInit | undefined;

  /** `further`: a second signal. @throws TypeError like `new Request` */
  constructor(input: Request | string | URL, init: RequestInit = {}, further?: AbortSignal) {
    const { source, options } = sourceOf(input, init);
    const { body, signal, cf: _, ...rest } = options;
    const content = body instanceof ReadableStream ? undefined : (body ?? undefined);
    // Checks everything, and finds the type of the body. A stream would be refused by some engines.
    const checked = new Request(input instanceof Request ? input.url : input, {
      ...(source !== null && { method: source.method, redirect: source.redirect }),
      ...rest,
      ...(content !== undefined && { body: content }),
    });
    const sent = bodyOf(body, checked, source);
    const stream = sent?.stream;
    const bytes = content === undefined ? stream && notedLength(stream) : byteLengthOf(content);
    this.parts = {
      url: checked.url.split('#', 1)[0]!, // a fragment is never sent
      method: checked.method,
      headers: headersOf(rest.headers ?? source?.headers, checked, bytes ?? undefined),
      redirect: 'manual',
      body: sent,
      signal: either((signal === undefined ? source?.signal : signal) ?? null, further),
      cf: cfOf(options) ?? cfOf(source),
    };
    this.#redirect = checked.redirect;
    this.#content = content;
  }

  /**
   * The request to make because of this response; null if the response is the answer.
   *
   * @throws TypeError if the redirect mode is `error`, or the body cannot be sent again
   */
  redirected({ status, headers }: Response): OutgoingRequest | null {
    const location = headers.get('location');
    if (!REDIRECTS.has(status) || location === null || this.#redirect === 'manual') return null;
    if (this.#redirect === 'error') {
      throw new TypeError(`fetch: redirected to ${location}, but the redirect mode is 'error'.`);
    }
    const { url, method, body, signal, cf } = this.parts;
    const becomesGet = status === 303 ? method !== 'HEAD' : status < 303 && method === 'POST';
    const keepsBody = body !== null && !becomesGet;
    if (keepsBody && this.#content === undefined) {
      throw new TypeError(
        `fetch: the redirect (${status}) to ${location} needs the body again, which was a stream; ` +
          "pass bytes, or redirect: 'manual'.",
      );
    }
    const kept = new Headers(this.parts.headers); // workerd keeps all of them
    if (!keepsBody) kept.delete('content-length');
    const options: Options = {
      method: becomesGet ? 'GET' : method,
      headers: kept,
      signal,
      cf,
      ...(keepsBody && { body: this.#content! }),
    };
    return new OutgoingRequest(new URL(location, url), options);
  }
}

function either(one: AbortSignal | null, other: AbortSignal | undefined): AbortSignal | null {
  if (other === undefined) return one;
  return one === null ? other : AbortSignal.any([one, other]);
}

/** The request whose members are the defaults, and the options. `fetch` takes a request for either. */
function sourceOf(
  input: Request | string | URL,
  init: RequestInit,
): { readonly source: Request | null; readonly options: Options } {
  if (init instanceof Request) return { source: init, options: {} };
  return { source: input instanceof Request ? input : null, options: init };
}

/** The given headers, and the headers that the engine adds for the body. */
function headersOf(
  given: HeadersInit | undefined,
  checked: Request,
  bodyBytes: number | undefined,
): Headers {
  const headers = new Headers(given);
  for (const [name, value] of checked.headers) if (!headers.has(name)) headers.set(name, value);
  if (bodyBytes !== undefined && !headers.has('content-length')) {
    headers.set('content-length', String(bodyBytes));
  }
  return headers;
}

function bodyOf(
  given: BodyInit | null | undefined,
  checked: Request,
  source: Request | null,
): MessageBody | null {
  if (given === null) return null;
  if (given instanceof ReadableStream) return new MessageBody(given);
  const short = shortBytes(given);
  if (short !== undefined) return new MessageBody(short);
  if (given !== undefined) return bodyOfRequest(checked);
  return source === null ? null : bodyOfRequest(source);
}
