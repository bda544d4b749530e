// Replaces `Request` and `Response` in browsers, so that messages keep every header and body that code gives them.
//
// Browsers drop headers that only the network may set (Cookie and Upgrade of a request, Set-Cookie of a response), and
// Firefox accepts no stream as the body of a request. Messages between objects do not cross the network. In engines that
// keep everything, such as Node, nothing is replaced.

import { replaceGlobal, undoAll } from '../io/replace-global.ts';
import { bodyOfRequest, holderOf, takesStreams } from './body.ts';
import { overlayMessage } from './overlay.ts';

type Scope = Pick<typeof globalThis, 'Request' | 'Response'>;
type Init = RequestInit | Request | undefined;

/** Headers to test the engine with: every browser drops `cookie` from a request and `set-cookie` from a response. */
const PROBE_HEADERS = { cookie: 'a=b', 'set-cookie': 'a=b' };

/** Replaces the classes of the scope that drop headers; the result restores them. */
export function installMessages(scope: Scope): () => void {
  const { Request, Response } = scope;
  const drops = ({ headers }: Request | Response) => [...headers].length < 2;
  const undo: (() => void)[] = [];
  if (drops(new Request('http://object/', { headers: PROBE_HEADERS }))) {
    undo.push(replaceGlobal(scope, 'Request', wrapRequest(Request)));
  }
  if (drops(new Response(null, { headers: PROBE_HEADERS }))) {
    undo.push(replaceGlobal(scope, 'Response', wrapResponse(Response)));
  }
  return () => undoAll(undo);
}

function wrapRequest(Native: typeof Request): typeof Request {
  const Wrapped: typeof Request = new Proxy(Native, {
    construct(target, [input, init]: [unknown, Init], newTarget) {
      const make = (url: unknown, options: unknown): Request =>
        Reflect.construct(target, [url, options], newTarget === Wrapped ? target : newTarget);
      const source = [init, input].find((one) => one instanceof Native) as Request | undefined;
      const given = init?.headers ?? source?.headers;
      const stream = takesStreams() ? null : refusedStream(input, init, Native);
      if (stream === null) return withHeaders(make(input, init), given);
      const url = input instanceof Native ? input.url : input;
      const request = make(url, { ...membersOf(source), ...membersOf(init), headers: given });
      return withHeaders(request, given, holderOf(stream, new Headers(given)));
    },
  });
  return Wrapped;
}

function wrapResponse(Native: typeof Response): typeof Response {
  const Wrapped: typeof Response = new Proxy(Native, {
    construct(target, [body, init], newTarget) {
      const maker = newTarget === Wrapped ? target : newTarget;
      return withHeaders(Reflect.construct(target, [body, init], maker), init?.headers);
    },
    get(target, name, receiver) {
      if (name !== 'json') return Reflect.get(target, name, receiver);
      return (data: unknown, init?: ResponseInit) =>
        withHeaders(Native.json(data, init), init?.headers);
    },
  });
  return Wrapped;
}

/** Returns the body that the engine would refuse: a stream, or the overlaid body of another request. Null if there is none. */
function refusedStream(input: unknown, init: Init, Native: typeof Request): ReadableStream | null {
  if (init instanceof Native) return bodyOfRequest(init)?.toStream() ?? null;
  const body = init?.body;
  if (body !== undefined) return body instanceof ReadableStream ? body : null;
  const isOverlaid = input instanceof Native && Object.hasOwn(input, 'body');
  return isOverlaid ? (bodyOfRequest(input)?.toStream() ?? null) : null;
}

/** Returns the members that a request copies from `init` when its body is set separately. */
function membersOf(init: Init): RequestInit {
  const { method, redirect, signal } = init ?? {};
  return {
    ...(method !== undefined && { method }),
    ...(redirect !== undefined && { redirect }),
    ...(signal !== undefined && { signal }),
  };
}

/** Overlays the message with all given headers, and with those that the engine adds. */
function withHeaders<M extends Request | Response>(
  message: M,
  given: HeadersInit | undefined,
  holder?: Response,
): M {
  const kept = new Headers(given); // Copy the headers, because the caller may change them later.
  const headers = () => {
    const added = Reflect.get(Object.getPrototypeOf(message), 'headers', message) as Headers;
    for (const [name, value] of added) if (!kept.has(name)) kept.set(name, value);
    return kept;
  };
  return overlayMessage(message, { headers, holder });
}
