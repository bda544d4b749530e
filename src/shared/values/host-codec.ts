// Reads and writes platform objects in workerd's form: Headers, Request and Response without a body, Blob and
// DOMException. Bodies are streams, which cannot be stored; workerd refuses them, too.
//
// The form was established by storing such objects in workerd and reading the bytes back. Members
// that only one engine has (`cf` in workerd; `mode`, `credentials` and `referrer` here) are not stored.

import { blobBytes } from './blob-bytes.ts';
import { corruptValueError } from './byte-reader.ts';
import { dataCloneError } from './object-kind.ts';
import * as slots from './slots.ts';
import type { ValueReader, ValueWriter } from './value-streams.ts';
import { HOST_TAG, TAG } from './wire.ts';

/** workerd's number for headers that may all be changed. ("immutable", "request" and "response" are 0 to 2.) */
const HEADERS_GUARD_NONE = 3;

export function writeHeaders(headers: Headers, { out }: ValueWriter): void {
  const entries = [...Headers.prototype.entries.call(headers)];
  out.byte(TAG.host);
  out.varint(HOST_TAG.headers);
  out.varint(HEADERS_GUARD_NONE);
  out.varint(entries.length);
  for (const [name, value] of entries) {
    const number = COMMON_HEADERS.indexOf(name) + 1;
    out.varint(number);
    if (number === 0) out.utf8(name);
    out.utf8(value);
  }
}

/** Writes a request. @throws DataCloneError for a request with a body or an aborted signal, which cannot be stored */
export function writeRequest(request: Request, writer: ValueWriter): void {
  const { method } = request;
  // Some browsers have no `body`. There, only the method tells whether the request can have one.
  const hasBody =
    request.body === undefined ? method !== 'GET' && method !== 'HEAD' : request.body !== null;
  if (hasBody) throw dataCloneError(request, 'has a body, a stream, which cannot be stored.');
  if (request.signal.aborted) throw dataCloneError(request, 'is aborted, which cannot be stored.');
  writer.out.byte(TAG.host);
  writer.out.varint(HOST_TAG.request);
  writer.out.utf8(request.url);
  writer.writeProperties([
    ['method', unless(method, 'GET')],
    ['headers', request.headers],
    ['body', null],
    ['redirect', unless(request.redirect, 'follow')],
    ['fetcher', undefined],
    ['cf', undefined],
    ['cache', unless(request.cache, 'default')],
    ['integrity', unless(request.integrity, '')],
    ['signal', undefined],
    ['encodeResponseBody', undefined],
  ]);
}

/** Writes a response. @throws DataCloneError for a response with a body */
export function writeResponse(response: Response, writer: ValueWriter): void {
  if (response.body !== null) {
    throw dataCloneError(response, 'has a body, a stream, which cannot be stored.');
  }
  writer.out.byte(TAG.host);
  writer.out.varint(HOST_TAG.response);
  writer.writeValue(null);
  writer.writeProperties([
    ['status', unless(response.status, 200)],
    ['statusText', unless(response.statusText, '')],
    ['headers', response.headers],
    ['cf', undefined],
    ['webSocket', undefined],
    ['encodeBody', undefined],
  ]);
}

/** Writes a Blob. @throws DataCloneError on a page, and for a Blob that is a file */
export function writeBlob(blob: Blob, { out }: ValueWriter): void {
  const bytes = blobBytes(blob);
  if (bytes === null) {
    throw dataCloneError(
      blob,
      'cannot be read here without waiting; store `await blob.arrayBuffer()`.',
    );
  }
  out.byte(TAG.host);
  out.varint(HOST_TAG.blob);
  out.utf8(blob.type);
  out.rawWithLength(bytes);
}

export function writeDomException(exception: DOMException, { out }: ValueWriter): void {
  const { stack }: { stack?: unknown } = exception;
  out.byte(TAG.host);
  out.varint(HOST_TAG.domException);
  out.utf8(slots.domExceptionName(exception));
  out.utf8(slots.domExceptionMessage(exception));
  out.utf8(typeof stack === 'string' ? stack : '');
}

/** Reads the host object with this class number, except errors. @throws CORRUPT */
export function readHostObject(number: number, reader: ValueReader): object {
  switch (number) {
    case HOST_TAG.headers:
      return readHeaders(reader);
    case HOST_TAG.request:
      return readRequest(reader);
    case HOST_TAG.response:
      return readResponse(reader);
    case HOST_TAG.domException:
      return readDomException(reader);
    case HOST_TAG.blob: {
      const type = reader.input.utf8();
      return new Blob([reader.input.copy(reader.input.varint())], { type });
    }
    default:
      throw corruptValueError(`an object of workerd (number ${number}) that only workerd can read`);
  }
}

function readHeaders({ input }: ValueReader): Headers {
  const guard = input.varint();
  if (guard > HEADERS_GUARD_NONE) throw corruptValueError(`headers with guard ${guard}`);
  const headers = new Headers();
  for (let count = input.varint(); count > 0; count--) {
    const number = input.varint();
    const name = number === 0 ? input.utf8() : COMMON_HEADERS[number - 1];
    if (name === undefined) throw corruptValueError(`a header with number ${number}`);
    headers.append(name, input.utf8());
  }
  return headers;
}

function readRequest(reader: ValueReader): Request {
  const url = reader.input.utf8();
  const { method, headers, redirect, cache, integrity } = readMembers(reader);
  return new Request(url, { method, headers, redirect, cache, integrity } as RequestInit);
}

function readResponse(reader: ValueReader): Response {
  if (reader.readValue() !== null) throw corruptValueError('a response with a body');
  const { status, statusText, headers } = readMembers(reader);
  if (status === 0) return Response.error();
  return new Response(null, { status, statusText, headers } as ResponseInit);
}

function readDomException({ input }: ValueReader): DOMException {
  const name = input.utf8();
  const exception = new DOMException(input.utf8(), name);
  const stack = input.utf8();
  Object.defineProperty(exception, 'stack', { value: stack, writable: true, configurable: true });
  return exception;
}

function readMembers(reader: ValueReader): Record<string, unknown> {
  const members = reader.readValue();
  if (typeof members === 'object' && members !== null) return members as Record<string, unknown>;
  throw corruptValueError('the members of a host object are not an object');
}

function unless<Value>(value: Value, usual: Value): Value | undefined {
  return value === usual ? undefined : value;
}

/**
 * The names of headers that workerd writes as a number, counted from 1; workerd writes other names in full. The list
 * was established by storing one header of each name in workerd, which refuses numbers above 47.
 */
const COMMON_HEADERS: readonly string[] = [
  'accept-charset',
  'accept-encoding',
  'accept-language',
  'accept-ranges',
  'accept',
  'access-control-allow-origin',
  'age',
  'allow',
  'authorization',
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-length',
  'content-location',
  'content-range',
  'content-type',
  'cookie',
  'date',
  'etag',
  'expect',
  'expires',
  'from',
  'host',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'last-modified',
  'link',
  'location',
  'max-forwards',
  'proxy-authenticate',
  'proxy-authorization',
  'range',
  'referer',
  'refresh',
  'retry-after',
  'server',
  'set-cookie',
  'strict-transport-security',
  'transfer-encoding',
  'user-agent',
  'vary',
  'via',
  'www-authenticate',
];
