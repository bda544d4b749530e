// Sends the answer of a worker, in the content encoding that its headers name, and with the length that its body has.

import type { ServerResponse } from 'node:http';
import { type Duplex, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream as NodeStream } from 'node:stream/web';
import { constants, createBrotliCompress, createGzip } from 'node:zlib';
import { bodyOfResponse, isEncoded } from '@ctx-storage/core/calls';
import { notedLength } from '@ctx-storage/core/contract';

/** Makes the compressors of the encodings that workerd knows. They send each chunk at once. */
const ENCODERS = {
  gzip: () => createGzip({ flush: constants.Z_SYNC_FLUSH }),
  br: () => createBrotliCompress({ flush: constants.BROTLI_OPERATION_FLUSH }),
} as const;

type Encoding = keyof typeof ENCODERS;

/** Headers of the worker that are not copied: Node sets those of the connection, and this module those of the body. */
const NOT_COPIED_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'keep-alive',
  'set-cookie',
  'transfer-encoding',
]);

/** Codes of errors which mean that the client is gone. */
const CLIENT_GONE_CODES: ReadonlySet<unknown> = new Set([
  'ECONNRESET',
  'EPIPE',
  'ERR_STREAM_PREMATURE_CLOSE',
  'ERR_STREAM_DESTROYED',
]);

/** Sends the answer. @throws the error of the body; if a part was sent already, the caller must break the connection */
export async function writeWorkerResponse(
  response: Response,
  outgoing: ServerResponse,
): Promise<void> {
  if (response.status === 0) {
    throw new TypeError('The worker answered with an error response, such as Response.error().');
  }
  const { method, headers } = outgoing.req;
  const content = response.body === null ? null : bodyOfResponse(response)!.content;
  const workerValue = response.headers.get('content-encoding');
  const isPlain = content !== null && isEncoding(workerValue) && !isEncoded(response);
  const encoding = isPlain ? acceptedEncoding(workerValue, headers['accept-encoding']) : undefined;
  writeHead(response, outgoing, encoding === undefined ? workerValue : encoding);
  if (method === 'HEAD') {
    if (content instanceof ReadableStream) await content.cancel();
    outgoing.end();
    return;
  }
  const bytes = encoding ? undefined : bytesIn(response, content);
  if (bytes !== undefined) outgoing.setHeader('content-length', bytes);
  await send(content, encoding ? ENCODERS[encoding]() : undefined, outgoing);
}

async function send(
  content: ReadableStream | Uint8Array | null,
  encoder: Duplex | undefined,
  outgoing: ServerResponse,
): Promise<void> {
  if (content instanceof ReadableStream || encoder !== undefined) {
    const source =
      content instanceof ReadableStream
        ? Readable.fromWeb(content as NodeStream)
        : Readable.from([content]);
    const stages = encoder === undefined ? [source, outgoing] : [source, encoder, outgoing];
    await pipeline(stages).catch((error: NodeJS.ErrnoException) => {
      if (!CLIENT_GONE_CODES.has(error.code)) throw error;
    });
  } else {
    outgoing.end(content ?? undefined);
  }
}

function writeHead(
  { status, statusText, headers }: Response,
  outgoing: ServerResponse,
  encoding: string | null,
): void {
  outgoing.statusCode = status;
  if (statusText) outgoing.statusMessage = statusText;
  for (const [name, value] of headers)
    if (!NOT_COPIED_HEADERS.has(name)) outgoing.setHeader(name, value);
  const cookies = headers.getSetCookie();
  if (cookies.length > 0) outgoing.setHeader('set-cookie', cookies);
  if (encoding !== null) outgoing.setHeader('content-encoding', encoding);
  const workerValue = headers.get('content-length');
  // The worker gives the length of a body that these answers do not send.
  const isWithoutBody = outgoing.req.method === 'HEAD' || status === 304;
  if (isWithoutBody && workerValue !== null) outgoing.setHeader('content-length', workerValue);
}

/** Returns the length of the body, or undefined if it is not known for certain. */
function bytesIn(
  { headers }: Response,
  content: ReadableStream | Uint8Array | null,
): number | undefined {
  if (content instanceof Uint8Array) return content.byteLength;
  return content === null || headers.has('content-length') ? undefined : notedLength(content);
}

function isEncoding(name: string | null): name is Encoding {
  return name !== null && Object.hasOwn(ENCODERS, name);
}

/**
 * Returns the encoding to send: the worker's if the client accepts it, else another one, or null if it accepts none.
 */
function acceptedEncoding(
  workerValue: Encoding,
  header: string | string[] | undefined,
): Encoding | null {
  if (header === undefined) return workerValue;
  const names = String(header)
    .toLowerCase()
    .split(',')
    .filter((part) => !/;\s*q=0(\.0*)?\s*$/.test(part))
    .map((part) => part.replace(/;.*/s, '').trim());
  const isAccepted = (name: Encoding) => names.includes(name) || names.includes('*');
  if (isAccepted(workerValue)) return workerValue;
  return (Object.keys(ENCODERS) as Encoding[]).find(isAccepted) ?? null;
}
