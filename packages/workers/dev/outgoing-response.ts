// The answer of a worker, as it is sent: with the content encoding that its headers name, and a length that fits its body.

import type { ServerResponse } from 'node:http';
import { type Duplex, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream as NodeStream } from 'node:stream/web';
import { constants, createBrotliCompress, createGzip } from 'node:zlib';
import { bodyOfResponse, isEncoded } from '@ctx-storage/core/calls';
import { notedLength } from '@ctx-storage/core/contract';

/** The encodings that workerd decodes and encodes. Each chunk is sent at once. */
const ENCODERS = {
  gzip: () => createGzip({ flush: constants.Z_SYNC_FLUSH }),
  br: () => createBrotliCompress({ flush: constants.BROTLI_OPERATION_FLUSH }),
} as const;

type Encoding = keyof typeof ENCODERS;

/** Headers of the connection, which are Node's, and of the body. */
const OWN: ReadonlySet<string> = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'keep-alive',
  'set-cookie',
  'transfer-encoding',
]);

/** The caller has gone. */
const GONE: ReadonlySet<unknown> = new Set([
  'ECONNRESET',
  'EPIPE',
  'ERR_STREAM_PREMATURE_CLOSE',
  'ERR_STREAM_DESTROYED',
]);

/** @throws the error of the body, after which the connection is broken if anything was sent */
export async function write(response: Response, outgoing: ServerResponse): Promise<void> {
  if (response.status === 0) {
    throw new TypeError('The worker answered with an error response, such as Response.error().');
  }
  const { method, headers } = outgoing.req;
  const content = response.body === null ? null : bodyOfResponse(response)!.content;
  const told = response.headers.get('content-encoding');
  const isPlain = content !== null && isEncoding(told) && !isEncoded(response);
  const encoding = isPlain ? accepted(told, headers['accept-encoding']) : undefined;
  writeHead(response, outgoing, encoding === undefined ? told : encoding);
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
      if (!GONE.has(error.code)) throw error;
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
  for (const [name, value] of headers) if (!OWN.has(name)) outgoing.setHeader(name, value);
  const cookies = headers.getSetCookie();
  if (cookies.length > 0) outgoing.setHeader('set-cookie', cookies);
  if (encoding !== null) outgoing.setHeader('content-encoding', encoding);
  const told = headers.get('content-length');
  const isOfOther = outgoing.req.method === 'HEAD' || status === 304; // the length of a body that is not sent
  if (isOfOther && told !== null) outgoing.setHeader('content-length', told);
}

/** Undefined: nothing tells for sure. */
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

/** The encoding that the caller accepts: the worker's, else another; null: none. */
function accepted(told: Encoding, header: string | string[] | undefined): Encoding | null {
  if (header === undefined) return told;
  const names = String(header)
    .toLowerCase()
    .split(',')
    .filter((part) => !/;\s*q=0(\.0*)?\s*$/.test(part))
    .map((part) => part.replace(/;.*/s, '').trim());
  const isAccepted = (name: Encoding) => names.includes(name) || names.includes('*');
  if (isAccepted(told)) return told;
  return (Object.keys(ENCODERS) as Encoding[]).find(isAccepted) ?? null;
}
