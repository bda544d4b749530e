// A value on its way into storage and out of it: serialized, and not larger than a value may be.
//
// Invariant: no more bytes are decoded than a program can have stored. Some values cost the square of
// their size to read (V8 hashes bigints and small integers without a seed, so that the keys of a Map
// can be chosen to collide: 0.7 s at this size, an hour at 8 MB), and a database file that somebody
// else wrote can hold them.

import { corrupt } from '../serializer/byte-reader.ts';
import { deserialize } from '../serializer/decode.ts';
import { serialize } from '../serializer/encode.ts';
import { storageError } from './errors.ts';
import { VALUE_BYTES_MAX, VALUE_FRAME_BYTES_MAX } from './limits.ts';

/**
 * The bytes a value is stored as, in a buffer of their own.
 *
 * What counts is the content: a string's characters (one byte each when all are Latin-1, else two),
 * the bytes of a buffer or of the whole buffer behind a view, and the serialized form of anything
 * else. Exceptions of getters propagate.
 *
 * @throws VALUE_TOO_LARGE, and DataCloneError for what cannot be cloned
 */
export function encodeValue(operation: string, key: string, value: unknown): Uint8Array {
  const contentBytes = contentSize(value);
  // Asked first, because serializing copies what is too large anyway.
  if (contentBytes !== undefined) checkSize(operation, key, contentBytes);
  const bytes = serialize(value);
  if (contentBytes === undefined) checkSize(operation, key, bytes.byteLength);
  return bytes;
}

function contentSize(value: unknown): number | undefined {
  if (typeof value === 'string') return isLatin1(value) ? value.length : value.length * 2;
  if (value instanceof ArrayBuffer) return value.byteLength;
  if (ArrayBuffer.isView(value)) return value.buffer.byteLength;
  return undefined;
}

function isLatin1(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    if (text.charCodeAt(i) > 0xff) return false;
  }
  return true;
}

function checkSize(operation: string, key: string, sizeBytes: number): void {
  if (sizeBytes > VALUE_BYTES_MAX) {
    throw storageError(
      'VALUE_TOO_LARGE',
      `${operation}("${key}"): the value is ${sizeBytes} bytes, at most ${VALUE_BYTES_MAX}; split ` +
        'it, or keep it in a table.',
    );
  }
}

/**
 * The value of stored bytes, a fresh copy.
 *
 * @throws CORRUPT for bytes that no program could have stored, also for too many
 */
export function decodeValue(bytes: Uint8Array): unknown {
  if (bytes.byteLength > VALUE_BYTES_MAX + VALUE_FRAME_BYTES_MAX) {
    throw corrupt(`it has ${bytes.byteLength} bytes, at most ${VALUE_BYTES_MAX}`);
  }
  return deserialize(bytes);
}
