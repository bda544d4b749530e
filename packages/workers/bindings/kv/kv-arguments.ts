// Converts and checks the arguments of a KV namespace, with the limits and error messages of Workers KV. A number
// counts as absent only if it is undefined: null becomes 0, which is out of range for most numbers.

import { convertToInt32 } from '../arguments.ts';

const KEY_BYTES_MAX = 512;
const VALUE_BYTES_MAX = 25 * 1024 * 1024;
const METADATA_BYTES_MAX = 1024;
const LISTED_MAX = 1000;
const CACHE_SECONDS_MIN = 30;
const EXPIRATION_SECONDS_MIN = 60;

const TYPES: ReadonlySet<string> = new Set(['text', 'arrayBuffer', 'json', 'stream']);

type Operation = 'GET' | 'GET_BULK' | 'PUT' | 'DELETE';

/** The second argument of `get`: the type of the value, or an object with options. */
export type KvReadOptions =
  | string
  | { readonly type?: string | null; readonly cacheTtl?: number | null }
  | null
  | undefined;

export type KvPutOptions =
  | {
      /** The time at which the key expires, in seconds since the epoch. */
      readonly expiration?: number | string | null;
      /** How long the key lives from now, in seconds. */
      readonly expirationTtl?: number | string | null;
      readonly metadata?: unknown;
    }
  | null
  | undefined;

export function kvError(operation: Operation, status: number, fact: string): Error {
  return new Error(`KV ${operation} failed: ${status} ${fact}`);
}

/** Returns a key as text. @throws TypeError if it is empty, `.` or `..`; Error if it is longer than 512 bytes */
export function checkKey(operation: Operation, key: unknown): string {
  const text = String(key);
  if (text === '') throw new TypeError('Key name cannot be empty.');
  if (text === '.' || text === '..') throw new TypeError(`"${text}" is not allowed as a key name.`);
  return checkPrefix(operation, text);
}

/** Returns a prefix of keys, which may be empty. @throws Error if it is longer than 512 bytes, or has a lone surrogate */
export function checkPrefix(operation: Operation, text: string): string {
  // A key with a lone surrogate would be stored, but would not be listed as it was given. The error message is
  // workerd's.
  if (!text.isWellFormed()) throw kvError(operation, 400, 'Could not URL-decode key name');
  const { length } = new TextEncoder().encode(text);
  if (length <= KEY_BYTES_MAX) return text;
  throw kvError(
    operation,
    414,
    `UTF-8 encoded length of ${length} exceeds key length limit of ${KEY_BYTES_MAX}.`,
  );
}

/** Returns the type in which `get` gives the value. @throws TypeError if there is no such type */
export function convertType(options: KvReadOptions): string {
  const type = (typeof options === 'string' ? options : options?.type) ?? 'text';
  if (TYPES.has(type)) return type;
  throw new TypeError(
    'Unknown response type. Possible types are "text", "arrayBuffer", "json", and "stream".',
  );
}

/**
 * Checks `cacheTtl`, which has no effect because nothing is cached here.
 *
 * @throws Error if it is less than 30 seconds
 */
export function checkCacheTtl(operation: Operation, options: KvReadOptions): void {
  const given = typeof options === 'string' ? undefined : options?.cacheTtl;
  if (given === undefined) return;
  const seconds = convertToInt32(given);
  if (seconds >= CACHE_SECONDS_MIN) return;
  throw kvError(
    operation,
    400,
    `Invalid cache_ttl of ${seconds}. Cache TTL must be at least ${CACHE_SECONDS_MIN}.`,
  );
}

/** Returns how many keys a list has at most. @throws Error if the caller asks for more than 1,000 */
export function convertLimit(given: unknown): number {
  const limit = given === undefined || given === null ? 0 : convertToInt32(given);
  if (limit <= 0) return LISTED_MAX;
  if (limit <= LISTED_MAX) return limit;
  throw kvError(
    'GET',
    400,
    `Invalid key_count_limit of ${limit}. Please specify an integer less than ${LISTED_MAX}.`,
  );
}

/**
 * Returns when the key expires, in seconds since the epoch, or null for never.
 *
 * @throws Error if that is less than 60 s away
 */
export function expirationOf(options: KvPutOptions, nowSeconds: number): number | null {
  const { expiration, expirationTtl } = options ?? {};
  const now = Math.floor(nowSeconds);
  if (expirationTtl !== undefined) {
    const seconds = convertToInt32(expirationTtl);
    const messageStart = `Invalid expiration_ttl of ${seconds}.`;
    if (seconds <= 0) {
      throw kvError('PUT', 400, `${messageStart} Please specify integer greater than 0.`);
    }
    if (seconds < EXPIRATION_SECONDS_MIN) {
      const bound = `Expiration TTL must be at least ${EXPIRATION_SECONDS_MIN}.`;
      throw kvError('PUT', 400, `${messageStart} ${bound}`);
    }
    return now + seconds;
  }
  if (expiration === undefined) return null;
  const time = convertToInt32(expiration);
  const messageStart = `Invalid expiration of ${time}.`;
  if (time <= now) {
    const bound =
      'Please specify integer greater than the current number of seconds since the UNIX epoch.';
    throw kvError('PUT', 400, `${messageStart} ${bound}`);
  }
  if (time < now + EXPIRATION_SECONDS_MIN) {
    const bound = `Expiration times must be at least ${EXPIRATION_SECONDS_MIN} seconds in the future.`;
    throw kvError('PUT', 400, `${messageStart} ${bound}`);
  }
  return time;
}

/** Returns the metadata as JSON, or null if there is none. @throws Error if it is too long, and errors of a `toJSON` */
export function metadataOf(options: KvPutOptions): string | null {
  const metadata = options?.metadata;
  const json = metadata === null ? undefined : JSON.stringify(metadata);
  if (json === undefined) return null;
  const { length } = new TextEncoder().encode(json);
  if (length <= METADATA_BYTES_MAX) return json;
  throw kvError('PUT', 413, `Metadata length of ${length} exceeds limit of ${METADATA_BYTES_MAX}.`);
}

/** Returns the bytes of a value. @throws TypeError if it has another type; Error if it is larger than 25 MiB */
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
  // The bytes are copied, because the caller may write to its buffer while the call waits.
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
