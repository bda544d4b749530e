// Builds the request of `stub.fetch(input, init)`, and the requests that follow its redirects.

import { notedLength } from '../../contract/stream-length.ts';
import { bodyOfRequest, byteLengthOf, MessageBody, shortBytes } from './body.ts';
import { cfOf, type RequestParts } from './request-parts.ts';

/** The options of `stub.fetch`. */
interface Options extends RequestInit {
  readonly cf?: unknown;
}

/** The statuses that redirect, by the Fetch standard. */
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

export class OutgoingRequest {
  /** The parts to send. Their redirect mode is `manual`, because the sender follows redirects, not the object. */
  readonly parts: RequestParts;
  readonly #redirect: RequestRedirect;
  /** The body in a form that can be sent again after a redirect; undefined if there is none, or it is a stream. */
  readonly #content: BodyInit | undefined;

  /** `further` is a second signal that aborts the request. @throws TypeError as `new Request` does */
  constructor(input: Request | string | URL, init: RequestInit = {}, further?: AbortSignal) {
    const { source, options } = sourceOf(input, init);
    const { body, signal, cf: _, ...rest } = options;
    const content = body instanceof ReadableStream ? undefined : (body ?? undefined);
    // This request checks all options and determines the content type. A stream is left out, as some engines refuse it.
    const checked = new Request(input instanceof Request ? input.url : input, {
      ...(source !== null && { method: source.method, redirect: source.redirect }),
      ...rest,
      ...(content !== undefined && { body: content }),
    });
    const sent = bodyOf(body, checked, source);
    const stream = sent?.stream;
    const bytes = content === undefined ? stream && notedLength(stream) : byteLengthOf(content);
    this.parts = {
      url: checked.url.split('#', 1)[0]!, // The fragment is never sent.
      method: checked.method,
      headers: headersOf(rest.headers ?? source?.headers, checked, bytes ?? undefined),
      redirect: 'manual',
      body: sent,
      signal: anySignal((signal === undefined ? source?.signal : signal) ?? null, further),
      cf: cfOf(options) ?? cfOf(source),
    };
    this.#redirect = checked.redirect;
    this.#content = content;
  }

  /**
   * Builds the next request if the response is a redirect to follow; null if the response is the final one.
   *
   * @throws TypeError if the redirect mode is `error`, or the body cannot be sent again
   */
  redirectedBy({ status, headers }: Response): OutgoingRequest | null {
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
    const kept = new Headers(this.parts.headers); // workerd, too, keeps all headers across a redirect
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

function anySignal(one: AbortSignal | null, other: AbortSignal | undefined): AbortSignal | null {
  if (other === undefined) return one;
  return one === null ? other : AbortSignal.any([one, other]);
}

/** Separates the request whose members are the defaults from the options. Either argument of `fetch` may be a request. */
function sourceOf(
  input: Request | string | URL,
  init: RequestInit,
): { readonly source: Request | null; readonly options: Options } {
  if (init instanceof Request) return { source: init, options: {} };
  return { source: input instanceof Request ? input : null, options: init };
}

/** Joins the given headers and those that the engine derives from the body. */
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
