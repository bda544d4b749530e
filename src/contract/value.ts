// A value on its way into storage and out of it: serialized, and not larger than a value may be.
//
// Invariant: a value takes about a second to read at worst, whoever wrote it. V8 hashes bigints and
// small integers without a seed, so the keys of a Map can be chosen to collide, and the Map then costs
// the square of its size: 0.7 s for the largest value that is written here, an hour at 8 MB. Of larger
// values, which only a database from elsewhere has, the number of such keys is bounded.

import { corrupt } from '../serializer/byte-reader.ts';
import { deserialize } from '../serializer/decode.ts';
import { serialize } from '../serializer/encode.ts';
import { storageError } from './errors.ts';
import {
  READ_ELEMENTS_MAX,
  READ_VALUE_BYTES_MAX,
  VALUE_BYTES_MAX,
  VALUE_FRAME_BYTES_MAX,
} from './limits.ts';

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
  const { byteLength } = bytes;
  if (byteLength <= VALUE_BYTES_MAX + VALUE_FRAME_BYTES_MAX) return deserialize(bytes);
  if (byteLength <= READ_VALUE_BYTES_MAX) return deserialize(bytes, READ_ELEMENTS_MAX);
  throw corrupt(`it has ${byteLength} bytes, at most ${READ_VALUE_BYTES_MAX}`);
}
