// Serializes values for storage and deserializes them, within the size limit of a value.
//
// Invariant: reading a value takes about a second at most, even if an attacker made it. V8 hashes bigints and small
// integers without a seed, so the keys of a Map can be chosen to collide, and reading takes time proportional to the
// square of its size: 0.7 s for the largest value that can be written here, an hour for 8 MB. In larger values, which
// only an imported database contains, the number of keys is limited.

import { storageError } from '../contract/errors.ts';
import { READ_VALUE_BYTES_MAX, VALUE_BYTES_MAX } from '../contract/limits.ts';
import { corruptValueError } from './byte-reader.ts';
import { deserialize, deserializeWith, elementsMaxOf } from './decode.ts';
import { isArray, serialize } from './encode.ts';
import { isNode, isNodeBuffer } from './node-buffer.ts';

/** Matches a character that is not Latin-1. */
const WIDE = /[^\0-\xff]/;

/**
 * Serializes a value for storage, into a new buffer.
 *
 * The size limit applies to the content: a string's characters (one byte each if all are Latin-1,
 * else two), the bytes of a buffer, of the whole buffer behind a view or of a Buffer of Node, and the serialized form of
 * any other value. Exceptions of getters propagate.
 *
 * @throws VALUE_TOO_LARGE, and DataCloneError for a value that cannot be cloned
 */
export function encodeValue(operation: string, key: string, value: unknown): Uint8Array {
  const contentBytes = contentSize(value);
  // The size is checked first, because serializing would copy a value that is too large.
  if (contentBytes !== undefined) checkSize(operation, key, contentBytes);
  const bytes = serialize(value);
  if (contentBytes === undefined) checkSize(operation, key, bytes.byteLength);
  return bytes;
}

/**
 * Makes a structured clone. In Node this package's serializer does it, because Node's `structuredClone` copies the whole
 * pool behind a Buffer, and turns platform objects into `{}`.
 *
 * @throws DataCloneError
 */
export function structuredCopy(value: unknown): unknown {
  // It is read as a message, in which `stack` of errors is not enumerable. There are no references to resolve.
  return isNode ? deserializeWith(serialize(value), Object) : structuredClone(value);
}

function contentSize(value: unknown): number | undefined {
  if (typeof value === 'string') return isWide(value) ? value.length * 2 : value.length;
  if (typeof value !== 'object' || value === null || isArray(value)) return undefined;
  if (value instanceof ArrayBuffer) return value.byteLength;
  if (ArrayBuffer.isView(value)) {
    return isNodeBuffer(value) ? value.byteLength : value.buffer.byteLength;
  }
  return undefined;
}

/**
 * Returns true if a character is not Latin-1. A string whose size is within the limit in either case is not examined,
 * and the result is false.
 */
function isWide(text: string): boolean {
  return text.length * 2 > VALUE_BYTES_MAX && WIDE.test(text);
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
 * Deserializes stored bytes into a new value.
 *
 * @throws CORRUPT for bytes that no program could have stored, which includes bytes over the size limit
 */
export function decodeValue(bytes: Uint8Array): unknown {
  const { byteLength } = bytes;
  if (byteLength <= READ_VALUE_BYTES_MAX) return deserialize(bytes, elementsMaxOf(bytes));
  throw corruptValueError(`it has ${byteLength} bytes, at most ${READ_VALUE_BYTES_MAX}`);
}
