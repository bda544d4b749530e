// `fetch` of object code: a request leaves behind the output gate, its answer and the answer's body
// come back through the input gate of the object that asked.
//
// Replaces the global function, because object code calls that. A request from outside an object's task
// goes to the original unchanged. Chunks of a body that is read as a stream do not pass the gate;
// docs/compatibility.md says so.

import type { CurrentContext, IoContext } from '../../../src/shared/calls/io/io-context.ts';
import { replaceGlobal } from '../../../src/shared/calls/io/replace-global.ts';

const BODY_METHODS = ['arrayBuffer', 'blob', 'bytes', 'formData', 'json', 'text'] as const;

/** Headers that the engine sets for its own connection and for the bytes of the body; Node refuses most of them. */
const OF_CONNECTION = [
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

/** Routes the scope's requests through the gates of their object; the result undoes it. */
export function installFetch(
  scope: Pick<typeof globalThis, 'fetch'>,
  current: CurrentContext,
): () => void {
  const original = scope.fetch;
  const gated = (input: RequestInfo | URL, init: RequestInit | undefined) => {
    const context = current();
    return context === undefined ? original(input, init) : send(context, input, init);
  };
  const send = async (
    context: IoContext,
    input: RequestInfo | URL,
    init: RequestInit | undefined,
  ): Promise<Response> => {
    context.checkSends?.('fetch');
    // Wrong arguments are refused at once, and right ones are read before the caller changes them.
    const request = new Request(input, init);
    // They may come from a request that is passed on.
    for (const name of OF_CONNECTION) request.headers.delete(name);
    const start = async () => original(context.host.sendsStreams ? request : await whole(request));
    return gatedBody(await context.send(start), context);
  };
  // Not an arrow: in an object, it refuses to be a method of something else, as on workerd.
  function fetch(this: unknown, input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
    const isDetached = this !== undefined && this !== scope && this !== globalThis;
    if (isDetached && current() !== undefined) {
      throw new TypeError(
        'Illegal invocation: function called with incorrect `this` reference. Call fetch() as a global function.',
      );
    }
    return gated(input, init);
  }
  return replaceGlobal(scope, 'fetch', fetch);
}

/** The request with its body in one piece. */
async function whole(request: Request): Promise<Request> {
  const { body } = request as { body?: ReadableStream | null }; // missing in Firefox
  if (body === null || body === undefined) return request;
  return new Request(request, { body: await request.arrayBuffer() });
}

function gatedBody(response: Response, context: IoContext): Response {
  const replace = (name: string, value: () => unknown) =>
    Object.defineProperty(response, name, { value, configurable: true, writable: true });
  for (const name of BODY_METHODS) {
    const read = response[name] as (() => Promise<unknown>) | undefined;
    if (read === undefined) continue; // `bytes` is missing in older browsers
    replace(name, () => context.receive(() => read.call(response)));
  }
  const { clone } = response;
  replace('clone', () => gatedBody(clone.call(response), context));
  return response;
}
