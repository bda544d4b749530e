// Takes a request apart for sending, and makes a request from received parts. This keeps headers that a browser would
// drop (Cookie, Upgrade), a body that the engine may refuse, and `cf`.

import { bodyOfRequest, holderOf, type MessageBody, noteContent, takesStreams } from './body.ts';
import { define, droppedFrom, type Gate, overlayMessage } from './overlay.ts';

export interface RequestParts {
  readonly url: string;
  readonly method: string;
  readonly headers: Headers;
  readonly redirect: RequestRedirect;
  readonly body: MessageBody | null;
  readonly signal: AbortSignal | null;
  /** Cloudflare's properties of the request, as JSON values; undefined if it has none. */
  readonly cf: unknown;
}

/** Returns the parts of a request, and takes its body. @throws TypeError if the body was read already */
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

/** Copies the `cf` of a request, or of the options of one, as JSON values. */
export function cfOf(source: object | null): unknown {
  const cf = (source as { cf?: unknown } | null)?.cf;
  return cf === undefined || cf === null ? undefined : JSON.parse(JSON.stringify(cf));
}

/** Makes the request of these parts, whose body is read through the gate. */
export function makeRequest(parts: RequestParts, gate: Gate | undefined): Request {
  const { url, method, headers, redirect, body, signal, cf } = parts;
  const { content } = body ?? {};
  const stream = body?.stream;
  const isHeld = stream !== undefined && !takesStreams();
  const streamed = content === undefined || isHeld ? {} : { body: content, duplex: 'half' };
  const request = new Request(url, { method, headers, redirect, ...streamed } as RequestInit);
  if (signal !== null) define(request, 'signal', signal);
  const hasArrived = content instanceof Uint8Array;
  if (hasArrived) noteContent(request, content);
  const overlaidRequest = overlayMessage(request, {
    headers: droppedFrom(request, headers),
    holder: isHeld ? holderOf(stream, headers) : undefined,
    gate: body === null ? undefined : gate,
    hasArrived,
  });
  return withCf(overlaidRequest, cf);
}

/** Adds `cf` to the request and to its future clones. */
export function withCf(request: Request, cf: unknown): Request {
  if (cf === undefined) return request;
  const clone = request.clone.bind(request);
  define(request, 'cf', cf);
  define(request, 'clone', () => withCf(clone(), cf));
  return request;
}
