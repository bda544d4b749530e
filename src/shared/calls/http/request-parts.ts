// Requests in parts, and back. A request carries headers that a browser would drop (Cookie, Upgrade), a
// body of any engine, and `cf`.

import { bodyOfRequest, holderOf, type MessageBody, noteContent, takesStreams } from './body.ts';
import { define, droppedFrom, type Gate, overlaid } from './overlay.ts';

export interface RequestParts {
  readonly url: string;
  readonly method: string;
  readonly headers: Headers;
  readonly redirect: RequestRedirect;
  readonly body: MessageBody | null;
  readonly signal: AbortSignal | null;
  /** The network's facts about the request, as JSON values; undefined if it came from none. */
  readonly cf: unknown;
}

/** @throws TypeError if the body was read already */
export function requestParts(request: Request): RequestParts {
  const { url, method, redirect, signal } = request;
  const headers = new Headers(request.headers);
  return {
    url,
    method,
    headers,
    redirect,
    signal,
    body: bodyOfRequest(request),
    cf: cfOf(request),
  };
}

/** The `cf` of a request or of the options of one, as JSON values. */
export function cfOf(source: object | null): unknown {
  const cf = (source as { cf?: unknown } | null)?.cf;
  return cf === undefined || cf === null ? undefined : JSON.parse(JSON.stringify(cf));
}

/** The request of these parts; `gate`: the gate through which its body is read. */
export function makeRequest(parts: RequestParts, gate: Gate | undefined): Request {
  const { url, method, headers, redirect, body, signal, cf } = parts;
  const { content } = body ?? {};
  const stream = body?.stream;
  const isHeld = stream !== undefined && !takesStreams();
  const streamed = content === undefined || isHeld ? {} : { body: content, duplex: 'half' };
  const request = new Request(url, { method, headers, redirect, ...streamed } as RequestInit);
  if (signal !== null) define(request, 'signal', signal);
  const isHere = content instanceof Uint8Array;
  if (isHere) noteContent(request, content);
  const shown = overlaid(request, {
    headers: droppedFrom(request, headers),
    holder: isHeld ? holderOf(stream, headers) : undefined,
    gate: body === null ? undefined : gate,
    isHere,
  });
  return withCf(shown, cf);
}

/** The request, which shows `cf`, as its clones do. */
export function withCf(request: Request, cf: unknown): Request {
  if (cf === undefined) return request;
  const clone = request.clone.bind(request);
  define(request, 'cf', cf);
  define(request, 'clone', () => withCf(clone(), cf));
  return request;
}
