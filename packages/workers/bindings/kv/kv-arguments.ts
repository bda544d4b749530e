// The arguments of a KV namespace: conversions, limits and messages, as Workers KV has them. Of numbers, only undefined
// counts as absent: null is 0, which most of them may not be.

import { integer } from '../arguments.ts';

const KEY_BYTES_MAX = 512;
const VALUE_BYTES_MAX = 25 * 1024 * 1024;
const METADATA_BYTES_MAX = 1024;
const LISTED_MAX = 1000;
const CACHE_SECONDS_MIN = 30;
const EXPIRATION_SECONDS_MIN = 60;

const TYPES: ReadonlySet<string> = new Set(['text', 'arrayBuffer', 'json', 'stream']);

type Operation = 'GET' | 'GET_BULK' | 'PUT' | 'DELETE';

/** A type, or options. */
export type KvReadOptions =
  | string
  | { readonly type?: string | null; readonly cacheTtl?: number | null }
  | null
  | undefined;

export type KvPutOptions =
  | {
      /** In seconds since the epoch. */
      readonly expiration?: number | string | null;
      /** In seconds from now. */
      readonly expirationTtl?: number | string | null;
      readonly metadata?: unknown;
    }
  | null
  | undefined;

export function kvError(operation: Operation, status: number, fact: string): Error {
  return new Error(`KV ${operation} failed: ${status} ${fact}`);
}

/** The key as text. @throws TypeError, Error */
export function checkKey(operation: Operation, key: unknown): string {
  const text = String(key);
  if (text === '') throw new TypeError('Key name cannot be empty.');
  if (text === '.' || text === '..') throw new TypeError(`"${text}" is not allowed as a key name.`);
  return checkKeys(operation, text);
}

/** The beginning of keys. @throws Error */
export function checkKeys(operation: Operation, text: string): string {
  const { length } = new TextEncoder().encode(text);
  if (length <= KEY_BYTES_MAX) return text;
  throw kvError(
    operation,
    414,
    `UTF-8 encoded length of ${length} exceeds key length limit of ${KEY_BYTES_MAX}.`,
  );
}

/** @throws TypeError */
export function convertType(options: KvReadOptions): string {
  const type = (typeof options === 'string' ? options : options?.type) ?? 'text';
  if (TYPES.has(type)) return type;
  throw new TypeError(
    'Unknown response type. Possible types are "text", "arrayBuffer", "json", and "stream".',
  );
}

/** Nothing is cached here, so the time has no effect. @throws Error */
export function checkCacheTtl(operation: Operation, options: KvReadOptions): void {
  const given = typeof options === 'string' ? undefined : options?.cacheTtl;
  if (given === undefined) return;
  const seconds = integer(given);
  if (seconds >= CACHE_SECONDS_MIN) return;
  throw kvError(
    operation,
    400,
    `Invalid cache_ttl of ${seconds}. Cache TTL must be at least ${CACHE_SECONDS_MIN}.`,
  );
}

/** How many keys a list has. @throws Error */
export function convertLimit(given: unknown): number {
  const limit = given === undefined || given === null ? 0 : integer(given);
  if (limit <= 0) return LISTED_MAX;
  if (limit <= LISTED_MAX) return limit;
  throw kvError(
    'GET',
    400,
    `Invalid key_count_limit of ${limit}. Please specify an integer less than ${LISTED_MAX}.`,
  );
}

/** When the key expires, in seconds since the epoch; null: never. @throws Error */
export function expirationOf(options: KvPutOptions, nowSeconds: number): number | null {
  const { expiration, expirationTtl } = options ?? {};
  const now = Math.floor(nowSeconds);
  if (expirationTtl !== undefined) {
    const seconds = integer(expirationTtl);
    const said = `Invalid expiration_ttl of ${seconds}.`;
    if (seconds <= 0) {
      throw kvError('PUT', 400, `${said} Please specify integer greater than 0.`);
    }
    if (seconds < EXPIRATION_SECONDS_MIN) {
      const bound = `Expiration TTL must be at least ${EXPIRATION_SECONDS_MIN}.`;
      throw kvError('PUT', 400, `${said} ${bound}`);
    }
    return now + seconds;
  }
  if (expiration === undefined) return null;
  const time = integer(expiration);
  const said = `Invalid expiration of ${time}.`;
  if (time <= now) {
    const bound =
      'Please specify integer greater than the current number of seconds since the UNIX epoch.';
    throw kvError('PUT', 400, `${said} ${bound}`);
  }
  if (time < now + EXPIRATION_SECONDS_MIN) {
    const bound = `Expiration times must be at least ${EXPIRATION_SECONDS_MIN} seconds in the future.`;
    throw kvError('PUT', 400, `${said} ${bound}`);
  }
  return time;
}

/** As JSON; null: there is none. @throws Error, and errors of a `toJSON` */
export function metadataOf(options: KvPutOptions): string | null {
  const metadata = options?.metadata;
  const json = metadata === null ? undefined : JSON.stringify(metadata);
  if (json === undefined) return null;
  const { length } = new TextEncoder().encode(json);
  if (length <= METADATA_BYTES_MAX) return json;
  throw kvError('PUT', 413, `Metadata length of ${length} exceeds limit of ${METADATA_BYTES_MAX}.`);
}

/** The bytes of a value. @throws TypeError, Error */
export async function convertValue(value: unknown): Promise<Uint8Array> {
  const bytes = await bytesOf(value);
  if (bytes.length <= VALUE_BYTES_MAX) return bytes;
  throw kvError('PUT', 413, `Value length of ${bytes.length} exceeds limit of ${VALUE_BYTES_MAX}.`);
}

async function bytesOf(value: unknown): Promise<Uint8Array> {
  if (value === undefined) {
    throw new TypeError(
      "Failed to execute 'put' on 'KvNamespace': parameter 2 is not of type 'string or Object'.",
    );
  }
  if (typeof value !== 'object' || value === null) return new TextEncoder().encode(String(value));
  // Copies, because the caller may write to its buffer while the call waits.
  if (value instanceof ArrayBuffer) return new Uint8Array(value.slice(0));
  if (ArrayBuffer.isView(value)) {
    return new Uint8Array(value.buffer, value.byteOffset, value.byteLength).slice();
  }
  if (value instanceof ReadableStream)
    return new Uint8Array(await new Response(value).arrayBuffer());
  throw new TypeError(
    'KV put() accepts only strings, ArrayBuffers, ArrayBufferViews, and ReadableStreams as values.',
  );
}
