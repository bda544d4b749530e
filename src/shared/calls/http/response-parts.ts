// Responses in parts, and back. A response carries headers that a browser would drop, and the socket of
// an upgrade.

import { notedLength, noteLength } from '../../contract/stream-length.ts';
import { bodyOfResponse, MessageBody, noteContent } from './body.ts';
import { define, droppedFrom, type Gate, overlaid } from './overlay.ts';

/** Marks a socket as the one of an upgrade: by itself, a socket cannot be passed. */
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
  /** How many bytes its stream gives; undefined if it is not known for sure. */
  readonly bodyBytes?: number;
  /** Its body has the content encoding of its headers already. */
  readonly isEncoded?: true;
}

/** Of a response whose body code has encoded itself. */
const ENCODED: unique symbol = Symbol.for('ctx-storage.encoded-body') as never;

/** The response, whose body is sent as it is, whatever content encoding its headers tell. */
export function noteEncoded(response: Response): Response {
  return Object.defineProperty(response, ENCODED, { value: true, configurable: true });
}

export function isEncoded(response: Response): boolean {
  return (response as { readonly [ENCODED]?: true })[ENCODED] === true;
}

/** @throws TypeError if the body was read already */
export function responseParts(response: Response): ResponseParts {
  const { status, statusText, webSocket } = response as Response & { webSocket?: object | null };
  const headers = new Headers(response.headers);
  const body = bodyOfResponse(response);
  // A length that a header tells may be wrong.
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

/** The response of these parts; `gate`: the gate through which its body is read. */
export function makeResponse(parts: ResponseParts, gate: Gate | undefined): Response {
  const { status, statusText, headers, body, webSocket, bodyBytes } = parts;
  if (status === 0) return Response.error();
  const content = body?.content ?? null;
  if (content instanceof ReadableStream && bodyBytes !== undefined) noteLength(content, bodyBytes);
  // The constructor refuses 101.
  const isUpgrade = status < 200;
  const response = new Response(content, { status: isUpgrade ? 200 : status, statusText, headers });
  if (isUpgrade) {
    define(response, 'status', status);
    define(response, 'ok', false);
  }
  if (webSocket !== null) define(response, 'webSocket', webSocket.socket);
  if (parts.isEncoded) noteEncoded(response);
  const isHere = content instanceof Uint8Array;
  if (isHere) noteContent(response, content);
  return overlaid(response, {
    headers: droppedFrom(response, headers),
    gate: content === null ? undefined : gate,
    isHere,
  });
}

/** The answer to HEAD: the response without its body, which ends. */
export function withoutBody(response: Response): Response {
  const parts = responseParts(response);
  parts.body?.stream?.cancel().catch(() => {});
  return parts.body === null ? response : makeResponse({ ...parts, body: null }, undefined);
}

/** Statuses without a body (Fetch standard). */
const BODILESS: ReadonlySet<unknown> = new Set([101, 204, 205, 304]);

/** The answer to a request: on workerd, it has an empty body if the object gave none. */
export function withBody(response: Response, gate: Gate | undefined): Response {
  if (response.body !== null || BODILESS.has(response.status)) return response;
  const body = new MessageBody(new Uint8Array());
  return makeResponse({ ...responseParts(response), body }, gate);
}

/** The response, which now tells where it came from. */
export function located(response: Response, url: string, isRedirected: boolean): Response {
  define(response, 'url', url);
  define(response, 'redirected', isRedirected);
  return response;
}

/** The response, whose body fails when the signal is aborted. */
export function abortedBy(
  response: Response,
  signal: AbortSignal,
  gate: Gate | undefined,
): Response {
  const parts = responseParts(response);
  if (parts.body === null) return response;
  const own = parts.body.stream;
  if (own === undefined) return makeResponse(parts, gate); // all of it is here
  const stream = own.pipeThrough(new TransformStream(), { signal });
  return makeResponse({ ...parts, body: new MessageBody(stream) }, gate);
}
