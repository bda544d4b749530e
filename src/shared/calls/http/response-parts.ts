// Takes a response apart for sending, and makes a response from received parts. This keeps headers that a browser would
// drop, and the WebSocket of an upgrade.

import { notedLength, noteLength } from '../../contract/stream-length.ts';
import { bodyOfResponse, MessageBody, noteContent } from './body.ts';
import { define, droppedFrom, type Gate, overlayMessage } from './overlay.ts';

/** Marks the socket of an upgrade response. Only such a socket can be sent to the other side. */
export class UpgradeSocket {
  readonly socket: object;

  constructor(socket: object) {
    this.socket = socket;
  }
}

export interface ResponseParts {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Headers;
  readonly body: MessageBody | null;
  readonly webSocket: UpgradeSocket | null;
  /** The number of bytes in the body's stream; undefined if it is not known for certain. */
  readonly bodyBytes?: number;
  /** True if the body is already compressed as its header `content-encoding` says. */
  readonly isEncoded?: true;
}

/** Marks a response whose program has compressed the body itself (`encodeBody: 'manual'`). */
const ENCODED: unique symbol = Symbol.for('ctx-storage.encoded-body') as never;

/** Marks the response, so that its body is sent without compressing it again. */
export function noteEncoded(response: Response): Response {
  return Object.defineProperty(response, ENCODED, { value: true, configurable: true });
}

export function isEncoded(response: Response): boolean {
  return (response as { readonly [ENCODED]?: true })[ENCODED] === true;
}

/** Returns the parts of a response, and takes its body. @throws TypeError if the body was read already */
export function responseParts(response: Response): ResponseParts {
  const { status, statusText, webSocket } = response as Response & { webSocket?: object | null };
  const headers = new Headers(response.headers);
  const body = bodyOfResponse(response);
  // A length that code gave in a header may be wrong, so it is not used.
  const bodyBytes =
    body?.stream && !headers.has('content-length') ? notedLength(body.stream) : undefined;
  return {
    status,
    statusText,
    headers,
    body,
    webSocket: webSocket === undefined || webSocket === null ? null : new UpgradeSocket(webSocket),
    ...(bodyBytes !== undefined && { bodyBytes }),
    ...(isEncoded(response) && { isEncoded: true }),
  };
}

/** Makes the response of these parts, whose body is read through the gate. */
export function makeResponse(parts: ResponseParts, gate: Gate | undefined): Response {
  const { status, statusText, headers, body, webSocket, bodyBytes } = parts;
  if (status === 0) return Response.error();
  const content = body?.content ?? null;
  if (content instanceof ReadableStream && bodyBytes !== undefined) noteLength(content, bodyBytes);
  // The constructor refuses status 101, so the response gets status 200 first.
  const isUpgrade = status < 200;
  const response = new Response(content, { status: isUpgrade ? 200 : status, statusText, headers });
  if (isUpgrade) {
    define(response, 'status', status);
    define(response, 'ok', false);
  }
  if (webSocket !== null) define(response, 'webSocket', webSocket.socket);
  if (parts.isEncoded) noteEncoded(response);
  const hasArrived = content instanceof Uint8Array;
  if (hasArrived) noteContent(response, content);
  return overlayMessage(response, {
    headers: droppedFrom(response, headers),
    gate: content === null ? undefined : gate,
    hasArrived,
  });
}

/** Answers a HEAD request: returns the response without its body, which is cancelled. */
export function withoutBody(response: Response): Response {
  const parts = responseParts(response);
  parts.body?.stream?.cancel().catch(() => {});
  return parts.body === null ? response : makeResponse({ ...parts, body: null }, undefined);
}

/** The statuses for which the Fetch standard forbids a body. */
const STATUSES_WITHOUT_BODY: ReadonlySet<unknown> = new Set([101, 204, 205, 304]);

/** Adds an empty body if the object gave none, as workerd does. */
export function withBody(response: Response, gate: Gate | undefined): Response {
  if (response.body !== null || STATUSES_WITHOUT_BODY.has(response.status)) return response;
  const body = new MessageBody(new Uint8Array());
  return makeResponse({ ...responseParts(response), body }, gate);
}

/** Sets `url` and `redirected` of the response. */
export function withLocation(response: Response, url: string, isRedirected: boolean): Response {
  define(response, 'url', url);
  define(response, 'redirected', isRedirected);
  return response;
}

/** Makes the body of the response fail when the signal aborts. */
export function abortedBy(
  response: Response,
  signal: AbortSignal,
  gate: Gate | undefined,
): Response {
  const parts = responseParts(response);
  if (parts.body === null) return response;
  const own = parts.body.stream;
  if (own === undefined) return makeResponse(parts, gate); // the whole body has arrived, so nothing is left to abort
  const stream = own.pipeThrough(new TransformStream(), { signal });
  return makeResponse({ ...parts, body: new MessageBody(stream) }, gate);
}
