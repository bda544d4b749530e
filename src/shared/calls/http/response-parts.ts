// Responses in parts, and back. A response carries headers that a browser would drop, and the socket of
// an upgrade.

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
}

/** @throws TypeError if the body was read already */
export function responseParts(response: Response): ResponseParts {
  const { status, statusText, webSocket } = response as Response & { webSocket?: object | null };
  return {
    status,
    statusText,
    headers: new Headers(response.headers),
    body: bodyOfResponse(response),
    webSocket: webSocket === undefined || webSocket === null ? null : new UpgradeSocket(webSocket),
  };
}

/** The response of these parts; `gate`: the gate through which its body is read. */
export function makeResponse(parts: ResponseParts, gate: Gate | undefined): Response {
  const { status, statusText, headers, body, webSocket } = parts;
  if (status === 0) return Response.error();
  const content = body?.content ?? null;
  // The constructor refuses 101.
  const isUpgrade = status < 200;
  const response = new Response(content, { status: isUpgrade ? 200 : status, statusText, headers });
  if (isUpgrade) {
    define(response, 'status', status);
    define(response, 'ok', false);
  }
  if (webSocket !== null) define(response, 'webSocket', webSocket.socket);
  const isHere = content instanceof Uint8Array;
  if (isHere) noteContent(response, content);
  return overlaid(response, {
    headers: droppedFrom(response, headers),
    gate: content === null ? undefined : gate,
    isHere,
  });
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
