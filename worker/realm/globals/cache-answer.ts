// The answers of a cache from a stored response: the whole, a range of it, or 304 (RFC 9110).

/** A response that is kept. */
export interface Kept {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Headers;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Makes the response to the request's conditions and range. */
export function answer(asked: Headers, kept: Kept, ageSeconds: number): Response {
  const headers = new Headers(kept.headers);
  headers.set('age', String(ageSeconds));
  headers.set('cf-cache-status', 'HIT');
  if (isUnchanged(asked, headers)) return frozen(new Response(null, { status: 304, headers }));
  const { status, statusText, bytes } = kept;
  const range = status === 200 ? rangeOf(asked.get('range'), bytes.length) : undefined;
  if (range === undefined) {
    headers.set('content-length', String(bytes.length));
    return frozen(new Response(bytes, { status, statusText, headers }));
  }
  if (range === 'unsatisfiable') {
    headers.set('content-range', `bytes */${bytes.length}`);
    headers.delete('content-length');
    return frozen(new Response(null, { status: 416, headers }));
  }
  const [start, end] = range;
  headers.set('content-range', `bytes ${start}-${end - 1}/${bytes.length}`);
  headers.set('content-length', String(end - start));
  return frozen(new Response(bytes.subarray(start, end), { status: 206, headers }));
}

function isUnchanged(asked: Headers, kept: Headers): boolean {
  const etags = asked.get('if-none-match');
  const etag = kept.get('etag');
  if (etags !== null) {
    const strong = (tag: string) => tag.trim().replace(/^W\//, '');
    return (
      etags.trim() === '*' || (etag !== null && etags.split(',').map(strong).includes(strong(etag)))
    );
  }
  const since = Date.parse(asked.get('if-modified-since') ?? '');
  return Date.parse(kept.get('last-modified') ?? '') <= since;
}

type Range = readonly [start: number, end: number] | 'unsatisfiable';

/** Undefined when the whole is the answer: no range, several, or one of another unit. */
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

/** The response, whose headers cannot be changed: a program copies it first, as in workerd. */
function frozen(response: Response): Response {
  const refuse = () => {
    throw new TypeError("Can't modify immutable headers.");
  };
  for (const name of ['append', 'delete', 'set']) {
    Object.defineProperty(response.headers, name, { value: refuse });
  }
  return response;
}
