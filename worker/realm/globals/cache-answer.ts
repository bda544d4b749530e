// Answers a request from a stored response: with the whole response, a range of its bytes, or status 304 (RFC 9110).

/** A response as a cache stores it. */
export interface StoredResponse {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Headers;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Applies the request's conditions (`if-none-match`, `if-modified-since`) and its range to the stored response. */
export function answerFromCache(
  requestHeaders: Headers,
  stored: StoredResponse,
  ageSeconds: number,
): Response {
  const headers = new Headers(stored.headers);
  headers.set('age', String(ageSeconds));
  headers.set('cf-cache-status', 'HIT');
  if (isNotModified(requestHeaders, headers))
    return withImmutableHeaders(new Response(null, { status: 304, headers }));
  const { status, statusText, bytes } = stored;
  const range = status === 200 ? rangeOf(requestHeaders.get('range'), bytes.length) : undefined;
  if (range === undefined) {
    headers.set('content-length', String(bytes.length));
    return withImmutableHeaders(new Response(bytes, { status, statusText, headers }));
  }
  if (range === 'unsatisfiable') {
    headers.set('content-range', `bytes */${bytes.length}`);
    headers.delete('content-length');
    return withImmutableHeaders(new Response(null, { status: 416, headers }));
  }
  const [start, end] = range;
  headers.set('content-range', `bytes ${start}-${end - 1}/${bytes.length}`);
  headers.set('content-length', String(end - start));
  return withImmutableHeaders(new Response(bytes.subarray(start, end), { status: 206, headers }));
}

function isNotModified(requestHeaders: Headers, stored: Headers): boolean {
  const etags = requestHeaders.get('if-none-match');
  const etag = stored.get('etag');
  if (etags !== null) {
    const withoutWeakPrefix = (tag: string) => tag.trim().replace(/^W\//, '');
    return (
      etags.trim() === '*' ||
      (etag !== null && etags.split(',').map(withoutWeakPrefix).includes(withoutWeakPrefix(etag)))
    );
  }
  const since = Date.parse(requestHeaders.get('if-modified-since') ?? '');
  return Date.parse(stored.get('last-modified') ?? '') <= since;
}

type Range = readonly [start: number, end: number] | 'unsatisfiable';

/** Parses the header `range`. Undefined if there is no single range of bytes: then the whole response is the answer. */
function rangeOf(header: string | null, byteCount: number): Range | undefined {
  const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(header?.trim() ?? '') ?? [];
  if (first === undefined || last === undefined || first + last === '') return undefined;
  if (first === '') {
    const count = Number(last);
    if (count === 0) return 'unsatisfiable';
    return count < byteCount ? [byteCount - count, byteCount] : undefined;
  }
  const start = Number(first);
  const end = last === '' ? byteCount : Math.min(Number(last) + 1, byteCount);
  if (last !== '' && Number(last) < start) return undefined;
  return start < byteCount ? [start, end] : 'unsatisfiable';
}

/** Makes the headers read-only, as in workerd: a program must copy the response to change them. */
function withImmutableHeaders(response: Response): Response {
  const refuse = () => {
    throw new TypeError("Can't modify immutable headers.");
  };
  for (const name of ['append', 'delete', 'set']) {
    Object.defineProperty(response.headers, name, { value: refuse });
  }
  return response;
}
