// Reads the body of a request up to a limit, then decodes it as JSON or as the text fields of a form.
//
// Invariant: no more than `BODY_BYTES_MAX` bytes of a body are ever held in memory.

import { apiError } from '../call/call.ts';
import { parsedJson } from '../call/json.ts';

export const BODY_BYTES_MAX = 1_048_576;

/**
 * Returns the decoded JSON, or the text fields of a multipart form; undefined if there is no body.
 *
 * @throws ApiError 413 if the body is too long, 400 if it cannot be decoded
 */
export async function bodyOf(request: Request): Promise<unknown> {
  if (request.method === 'GET' || request.body === null) return undefined;
  const bytes = await bytesWithin(chunksOf(request));
  const type = request.headers.get('content-type') ?? '';
  if (/^multipart\/form-data\b/i.test(type)) return formFields(bytes, type);
  const text = new TextDecoder().decode(bytes);
  return text.trim() === '' ? undefined : parsedJson(text);
}

/**
 * Returns all bytes of the chunks. It stops reading once they exceed the limit.
 *
 * @throws ApiError 413 if they exceed the limit
 */
export async function bytesWithin(
  chunks: AsyncIterable<Uint8Array>,
): Promise<Uint8Array<ArrayBuffer>> {
  const kept: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of chunks) {
    sizeBytes += chunk.length;
    if (sizeBytes > BODY_BYTES_MAX) throw tooLong();
    kept.push(chunk);
  }
  const bytes = new Uint8Array(sizeBytes);
  let offset = 0;
  for (const chunk of kept) {
    bytes.set(chunk, offset);
    offset += chunk.length;
  }
  return bytes;
}

/** Makes the error for a body over the limit. */
export function tooLong(): Error {
  return apiError('BODY_TOO_LONG', `The body is longer than ${BODY_BYTES_MAX} bytes.`);
}

async function formFields(bytes: Uint8Array<ArrayBuffer>, type: string): Promise<unknown> {
  const headers = { 'content-type': type };
  const form = await new Response(bytes, { headers }).formData().catch((error: unknown) => {
    throw apiError('BODY_INVALID', `The form cannot be decoded: ${String(error)}.`);
  });
  return Object.fromEntries([...form].filter(([, value]) => typeof value === 'string'));
}

/**
 * Reads the body through its reader, because not every browser can iterate a stream, and in Firefox 153 `Request.body`
 * is undefined.
 */
async function* chunksOf(request: Request): AsyncGenerator<Uint8Array> {
  const stream = request.body as ReadableStream<Uint8Array> | null | undefined;
  if (!stream) {
    yield new Uint8Array(await request.arrayBuffer());
    return;
  }
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel();
  }
}
