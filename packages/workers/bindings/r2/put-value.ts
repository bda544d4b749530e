// Reads the value of a put, or of a part of an upload, in chunks that each fill one row of storage.
//
// Invariant: every chunk except the last has 1 MiB. A stream is read only as fast as its bytes are stored.

import { notedLength } from '@ctx-storage/core/contract';
import { wrongParameter } from './r2-arguments.ts';
import { r2Error } from './r2-error.ts';

/** The size of a row of storage, and of one message between the bucket and its object. */
export const ROW_BYTES = 1024 * 1024;

/** The types of a value, as workerd names them in its errors. */
export const VALUE_TYPE = 'JsReadableStream or ArrayBuffer or ArrayBufferView or string or Blob';

/** The size of the largest object that a bucket accepts. */
const VALUE_BYTES_MAX = 5_363_466_240;

export interface PutValue {
  readonly size: number;
  /** The bytes themselves if they fit into one chunk, else a stream of chunks. */
  readonly content: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>>;
}

/** Converts the value of a put. @throws TypeError if its type or length is unknown; Error if it is too large */
export function checkedValue(
  operation: 'put' | 'uploadPart',
  method: string,
  given: unknown,
): PutValue {
  const value = putValueOf(given);
  if (value === undefined) throw wrongParameter(method, 2, VALUE_TYPE);
  if (value.size > VALUE_BYTES_MAX) throw r2Error(operation, 100100);
  return value;
}

/** Returns undefined if a bucket does not take this type. @throws TypeError for a stream whose length is not known */
function putValueOf(value: unknown): PutValue | undefined {
  if (typeof value === 'string') return fromBytes(new TextEncoder().encode(value));
  // The bytes are copied, because the caller may write to its buffer while the call waits.
  if (value instanceof ArrayBuffer) return fromBytes(new Uint8Array(value.slice(0)));
  if (ArrayBuffer.isView(value)) {
    return fromBytes(new Uint8Array(value.buffer, value.byteOffset, value.byteLength).slice());
  }
  if (value instanceof Blob) return { size: value.size, content: inRowChunks(value.stream()) };
  if (!(value instanceof ReadableStream)) return undefined;
  const size = notedLength(value);
  if (size !== undefined) return { size, content: inRowChunks(value) };
  throw new TypeError(
    'Provided readable stream must have a known length (request/response body or readable half of FixedLengthStream)',
  );
}

/** Cancels the stream of a put that failed, so that its source stops. */
export function cancelValue(value: unknown): void {
  if (!(value instanceof ReadableStream) || value.locked) return;
  const reason = 'Stream cancelled because the associated put operation encountered an error.';
  value.cancel(new Error(reason)).catch(() => {}); // the caller gets the error of the put instead
}

function fromBytes(bytes: Uint8Array<ArrayBuffer>): PutValue {
  const size = bytes.length;
  if (size <= ROW_BYTES) return { size, content: bytes };
  let at = 0;
  const content = new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      pull(controller) {
        controller.enqueue(bytes.slice(at, at + ROW_BYTES));
        at += ROW_BYTES;
        if (at >= size) controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  return { size, content };
}

function inRowChunks(stream: ReadableStream): ReadableStream<Uint8Array<ArrayBuffer>> {
  const reader: ReadableStreamDefaultReader<unknown> = stream.getReader();
  /** The bytes that were read from the stream and are not yet in a chunk. */
  let unusedBytes = new Uint8Array(0);
  return new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(controller) {
        const chunk = new Uint8Array(ROW_BYTES);
        let filled = 0;
        while (filled < ROW_BYTES) {
          if (unusedBytes.length === 0) {
            const { done, value } = await reader.read();
            if (done) break;
            unusedBytes = bytesIn(value);
          }
          const taken = unusedBytes.subarray(0, ROW_BYTES - filled);
          chunk.set(taken, filled);
          filled += taken.length;
          unusedBytes = unusedBytes.subarray(taken.length);
        }
        if (filled > 0) controller.enqueue(chunk.slice(0, filled));
        if (filled < ROW_BYTES) controller.close();
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

/** Returns a chunk of the caller's stream. @throws TypeError if it is not bytes */
function bytesIn(chunk: unknown): Uint8Array<ArrayBuffer> {
  if (chunk instanceof Uint8Array) return chunk as Uint8Array<ArrayBuffer>;
  throw new TypeError('This ReadableStream did not return bytes.');
}
