// Connects the global `fetch` to the gates of the object that calls it: the request waits at the output gate until
// earlier writes are durable, and the response and its body return through the input gate.
//
// A request from code outside of objects goes to the native `fetch` unchanged. Chunks of a body that is read as a
// stream do not pass the gate (docs/compatibility.md).

import type { CurrentContext, IoContext } from '../../../src/shared/calls/io/io-context.ts';
import { replaceGlobal } from '../../../src/shared/calls/io/replace-global.ts';

const BODY_METHODS = ['arrayBuffer', 'blob', 'bytes', 'formData', 'json', 'text'] as const;

/** The headers that the engine computes itself. Node's `fetch` throws if a request has one of most of them. */
const CONNECTION_HEADERS = [
  'connection',
  'content-length',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'transfer-encoding',
] as const;

/** Replaces `fetch` of the scope. Call the result to restore it. */
export function installFetch(
  scope: Pick<typeof globalThis, 'fetch'>,
  current: CurrentContext,
): () => void {
  const original = scope.fetch;
  const fetchOfCaller = (input: RequestInfo | URL, init: RequestInit | undefined) => {
    const context = current();
    return context === undefined ? original(input, init) : fetchThroughGates(context, input, init);
  };
  const fetchThroughGates = async (
    context: IoContext,
    input: RequestInfo | URL,
    init: RequestInit | undefined,
  ): Promise<Response> => {
    context.checkSends?.('fetch');
    // The Request is built now: wrong arguments throw at once, and later changes to them have no effect.
    const request = new Request(input, init);
    // A program that forwards an incoming request also forwards these headers.
    for (const name of CONNECTION_HEADERS) request.headers.delete(name);
    const start = async () =>
      original(context.host.sendsStreams ? request : await withBufferedBody(request));
    return gateBody(await context.send(start), context);
  };
  // This is not an arrow function, because object code that calls it with another `this` must get workerd's error.
  function fetch(this: unknown, input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
    const isDetached = this !== undefined && this !== scope && this !== globalThis;
    if (isDetached && current() !== undefined) {
      throw new TypeError(
        'Illegal invocation: function called with incorrect `this` reference. Call fetch() as a global function.',
      );
    }
    return fetchOfCaller(input, init);
  }
  return replaceGlobal(scope, 'fetch', fetch);
}

/** Reads the request's body into memory, for a host that cannot send streams. */
async function withBufferedBody(request: Request): Promise<Request> {
  const { body } = request as { body?: ReadableStream | null }; // Firefox has no `Request.body`.
  if (body === null || body === undefined) return request;
  return new Request(request, { body: await request.arrayBuffer() });
}

function gateBody(response: Response, context: IoContext): Response {
  const replace = (name: string, value: () => unknown) =>
    Object.defineProperty(response, name, { value, configurable: true, writable: true });
  for (const name of BODY_METHODS) {
    const read = response[name] as (() => Promise<unknown>) | undefined;
    if (read === undefined) continue; // `bytes` is missing in older browsers
    replace(name, () => context.receive(() => read.call(response)));
  }
  const { clone } = response;
  replace('clone', () => gateBody(clone.call(response), context));
  return response;
}
