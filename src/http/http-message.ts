// Requests and responses in parts, and back. Bodies stay streams.
//
// Keeps true: every header arrives. Browsers strip some from the messages they make (Upgrade, Cookie,
// Set-Cookie); the two sides of a call are not the network, so headers travel beside the message and
// are put on it by hand. Firefox has no stream as a request's body, nor `request.body`: there a body
// is read through a Response that holds it.

import type { IoContext } from '../io/io-context.ts';
import type { Party } from '../stubs/party.ts';

/** A body on its way: marks a stream that is read by the message around it, not by code. */
export class MessageBody {
  readonly stream: ReadableStream;

  constructor(stream: ReadableStream) {
    this.stream = stream;
  }
}

export interface RequestParts {
  readonly url: string;
  readonly method: string;
  readonly headers: Headers;
  readonly redirect: RequestRedirect;
  readonly body: MessageBody | null;
  readonly signal: AbortSignal | null;
  /** What a network knows of the request, as JSON; undefined when it came from none. */
  readonly cf: unknown;
}

export interface ResponseParts {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Headers;
  readonly body: MessageBody | null;
  /** Of an upgrade. */
  readonly webSocket: object | null;
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** A request, or the options of one, with what a network knows. */
interface WithCf extends RequestInit {
  readonly cf?: unknown;
}

function asJson(value: unknown): unknown {
  return value === undefined || value === null ? undefined : JSON.parse(JSON.stringify(value));
}

/** How many bytes a body has; undefined when that shows only as it is read. */
function lengthOf(body: BodyInit): number | undefined {
  if (body instanceof ArrayBuffer || ArrayBuffer.isView(body)) return body.byteLength;
  if (body instanceof Blob) return body.size;
  if (body instanceof FormData || body instanceof ReadableStream) return undefined;
  return new TextEncoder().encode(String(body)).byteLength;
}

/** What `fetch` was given. */
export class OutgoingRequest {
  /** Whoever gets the request leaves redirects to whoever sent it. */
  readonly parts: RequestParts;
  readonly #redirect: RequestRedirect;
  /** What a body that can be sent again is made of. */
  readonly #body: BodyInit | undefined;

  /** @throws TypeError as `new Request` does */
  constructor(input: Request | string | URL, init: RequestInit = {}) {
    // As in `fetch`, a request may also stand in place of the options.
    const isInit = init instanceof Request;
    const source = isInit ? init : input instanceof Request ? input : null;
    const { body, signal, cf, ...rest }: WithCf = isInit ? {} : init;
    const isStream = body instanceof ReadableStream;
    const isMade = body !== undefined && body !== null && !isStream;
    // Made anew, for its checks and the type of its body; a stream goes beside it.
    const inherited = source === null ? {} : { method: source.method, redirect: source.redirect };
    const request = new Request(input instanceof Request ? input.url : input, {
      ...inherited,
      ...rest,
      ...(isMade && { body }),
    });
    const headers = new Headers(rest.headers ?? source?.headers);
    for (const [name, value] of request.headers) if (!headers.has(name)) headers.set(name, value);
    const length = isMade ? lengthOf(body) : undefined;
    if (length !== undefined && !headers.has('content-length')) {
      headers.set('content-length', String(length));
    }
    this.parts = {
      url: request.url,
      method: request.method,
      headers,
      redirect: 'manual',
      body: isStream ? new MessageBody(body) : bodyOf(isMade ? request : source, body),
      signal: (signal === undefined ? source?.signal : signal) ?? null,
      cf: asJson(cf ?? (source as WithCf | null)?.cf),
    };
    this.#redirect = request.redirect;
    this.#body = isMade ? body : undefined;
  }

  /**
   * The request to make because of this response; null when it is the answer.
   *
   * @throws TypeError when redirects are to be errors, or the body cannot be sent again
   */
  redirected({ status, headers }: Response): OutgoingRequest | null {
    const location = headers.get('location');
    if (!REDIRECTS.has(status) || location === null || this.#redirect === 'manual') return null;
    if (this.#redirect === 'error') {
      throw new TypeError(`fetch: a redirect to ${location}, which the request makes an error.`);
    }
    const { url, method, body, signal, cf } = this.parts;
    const becomesGet = status === 303 ? method !== 'HEAD' : status < 303 && method === 'POST';
    const isBodyKept = body !== null && !becomesGet;
    if (isBodyKept && this.#body === undefined) {
      throw new TypeError(
        `fetch: a redirect (${status}) to ${location} wants the body again, which was a stream; ` +
          "pass bytes, or redirect: 'manual'.",
      );
    }
    const kept = new Headers(this.parts.headers); // all of them, as in workerd
    if (!isBodyKept) kept.delete('content-length');
    const init: WithCf = {
      method: becomesGet ? 'GET' : method,
      headers: kept,
      signal,
      cf,
      ...(isBodyKept && { body: this.#body! }),
    };
    return new OutgoingRequest(new URL(location, url), init);
  }
}

export function requestParts(request: Request): RequestParts {
  const { url, method, redirect, signal } = request;
  const headers = new Headers(request.headers);
  const { cf } = request as WithCf;
  return { url, method, headers, redirect, body: bodyOf(request), signal, cf: asJson(cf) };
}

/** @throws TypeError when the body was read already */
export function responseParts(response: Response): ResponseParts {
  const { status, statusText, body } = response;
  if (response.bodyUsed || body?.locked) {
    throw new TypeError('The body of the response was read already; return response.clone().');
  }
  const headers = new Headers(response.headers);
  const { webSocket = null } = response as { webSocket?: object | null };
  return {
    status,
    statusText,
    headers,
    body: body === null ? null : new MessageBody(body),
    webSocket,
  };
}

export function makeRequest(parts: RequestParts, party: Party): Request {
  const { url, method, headers, redirect, body, signal, cf } = parts;
  const stream = body?.stream ?? null;
  const streamed = stream !== null && takesStreams();
  const request = new Request(url, {
    method,
    headers,
    redirect,
    ...(streamed && { body: stream, duplex: 'half' }),
  } as RequestInit);
  keepHeaders(request, headers);
  if (signal !== null) define(request, 'signal', signal);
  if (cf !== undefined) define(request, 'cf', cf);
  if (stream !== null && !streamed) {
    readThrough(request, new Response(stream, { headers: typeOf(headers) }), party.io);
  } else if (party.isGated && stream !== null) {
    readThrough(request, null, party.io);
  }
  return request;
}

export function makeResponse(parts: ResponseParts, party: Party): Response {
  const { status, statusText, headers, body, webSocket } = parts;
  if (status === 0) return Response.error();
  const stream = body?.stream ?? null;
  // The constructor has no place for 101.
  const response = new Response(stream, {
    status: status < 200 ? 200 : status,
    statusText,
    headers,
  });
  if (status < 200) define(response, 'status', status);
  if (status < 200) define(response, 'ok', false);
  if (webSocket !== null) define(response, 'webSocket', webSocket);
  keepHeaders(response, headers);
  if (party.isGated && stream !== null) readThrough(response, null, party.io);
  return response;
}

/** The response, which tells where it came from. */
export function located(response: Response, url: string, isRedirected: boolean): Response {
  define(response, 'url', url);
  define(response, 'redirected', isRedirected);
  return response;
}

/** The response, whose body fails when the signal is aborted. */
export function withSignal(response: Response, signal: AbortSignal, party: Party): Response {
  const { body, ...parts } = responseParts(response);
  if (body === null) return response;
  const stream = body.stream.pipeThrough(new TransformStream(), { signal });
  return makeResponse({ ...parts, body: new MessageBody(stream) }, party);
}

/** @throws TypeError when the body was read already */
export function bodyOf(request: Request | null, given?: unknown): MessageBody | null {
  if (request === null || given === null) return null;
  const { body, method } = request as { body?: ReadableStream | null; method: string };
  if (request.bodyUsed || body?.locked) {
    throw new TypeError('The body of the request was read already; pass request.clone().');
  }
  if (body !== undefined) return body === null ? null : new MessageBody(body);
  if (method === 'GET' || method === 'HEAD') return null;
  const stream = new ReadableStream({
    async pull(controller) {
      const bytes = new Uint8Array(await request.arrayBuffer());
      if (bytes.length > 0) controller.enqueue(bytes);
      controller.close();
    },
  });
  return new MessageBody(stream);
}

/** How a body is read: as input of the context that reads. */
type BodyReads = Pick<IoContext, 'receive'>;

const READERS = ['text', 'json', 'arrayBuffer', 'bytes', 'blob', 'formData'] as const;

/**
 * Makes the message's body be read as input of a context: as if the message were the holder, when
 * there is one, and through the gate.
 */
export function readThrough<M extends Request | Response>(
  message: M,
  holder: Response | null,
  io: BodyReads,
): M {
  const natively = Object.getPrototypeOf(message) as object;
  const native = (name: string): unknown => {
    const source = holder ?? message;
    const member = Reflect.get(holder === null ? natively : source, name, source);
    return typeof member === 'function' ? member.bind(source) : member;
  };
  for (const name of READERS) {
    if (native(name) === undefined) continue;
    define(message, name, () => io.receive(native(name) as () => Promise<unknown>));
  }
  let body: ReadableStream | undefined;
  Object.defineProperty(message, 'body', {
    get: () => (body ??= inputStream(native('body') as ReadableStream, io)),
    configurable: true,
  });
  Object.defineProperty(message, 'bodyUsed', {
    get: () => native('bodyUsed'),
    configurable: true,
  });
  define(message, 'clone', () => {
    const clone = Reflect.apply(Reflect.get(natively, 'clone'), message, []) as M;
    define(clone, 'headers', new Headers(message.headers));
    return readThrough(clone, holder?.clone() ?? null, io);
  });
  return message;
}

function inputStream(stream: ReadableStream, io: BodyReads): ReadableStream {
  let reader: ReadableStreamDefaultReader | undefined;
  const read = () => (reader ??= stream.getReader());
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await io.receive(() => read().read());
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => read().cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

function keepHeaders(message: Request | Response, headers: Headers): void {
  const count = [...message.headers].length;
  if (count !== [...headers].length) define(message, 'headers', headers);
}

function typeOf(headers: Headers): Record<string, string> {
  const type = headers.get('content-type');
  return type === null ? {} : { 'content-type': type };
}

// The scope's class may be replaced, by one that asks this.
const NativeRequest = Request;
let streamsTaken: boolean | undefined;

/** Whether a stream can be a request's body; an engine without takes it for a string. */
export function takesStreams(): boolean {
  if (streamsTaken === undefined) {
    let isAsked = false;
    const init = {
      method: 'POST',
      body: new ReadableStream(),
      get duplex() {
        isAsked = true;
        return 'half';
      },
    };
    const { headers } = new NativeRequest('http://localhost', init as RequestInit);
    streamsTaken = isAsked && !headers.has('content-type');
  }
  return streamsTaken;
}

function define(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, writable: true, configurable: true });
}
