// The value of a put, or of a part of an upload: its bytes, in chunks that are stored as they are.
//
// Invariant: every chunk has 1 MiB, except the last one. A stream is read only as fast as its bytes are stored.

import { notedLength } from '@ctx-storage/core/contract';
import { wrongParameter } from './r2-arguments.ts';
import { r2Error } from './r2-error.ts';

/** Of a row, and of one message. */
export const ROW_BYTES = 1024 * 1024;

/** As workerd names the types of a value. */
export const VALUE_TYPE = 'JsReadableStream or ArrayBuffer or ArrayBufferView or string or Blob';

/** What a bucket accepts. */
const VALUE_BYTES_MAX = 5_363_466_240;

export interface PutValue {
  readonly size: number;
  /** At once if they fit in one chunk. */
  readonly content: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>>;
}

/** @throws TypeError, Error */
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

/** Undefined: the value has another type. @throws TypeError for a stream that tells no length */
function putValueOf(value: unknown): PutValue | undefined {
  if (typeof value === 'string') return ofBytes(new TextEncoder().encode(value));
  // Copies, because the caller may write to its buffer while the call waits.
  if (value instanceof ArrayBuffer) return ofBytes(new Uint8Array(value.slice(0)));
  if (ArrayBuffer.isView(value)) {
    return ofBytes(new Uint8Array(value.buffer, value.byteOffset, value.byteLength).slice());
  }
  if (value instanceof Blob) return { size: value.size, content: inParts(value.stream()) };
  if (!(value instanceof ReadableStream)) return undefined;
  const size = notedLength(value);
  if (size !== undefined) return { size, content: inParts(value) };
  throw new TypeError(
    'Provided readable stream must have a known length (request/response body or readable half of FixedLengthStream)',
  );
}

/** Lets go of a stream that nobody will read. */
export function cancelValue(value: unknown): void {
  if (!(value instanceof ReadableStream) || value.locked) return;
  const reason = 'Stream cancelled because the associated put operation encountered an error.';
  value.cancel(new Error(reason)).catch(() => {}); // the put's own error is what the caller gets
}

function ofBytes(bytes: Uint8Array<ArrayBuffer>): PutValue {
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

function inParts(stream: ReadableStream): ReadableStream<Uint8Array<ArrayBuffer>> {
  const reader: ReadableStreamDefaultReader<unknown> = stream.getReader();
  /** Bytes that were read and do not fill a chunk. */
  let rest = new Uint8Array(0);
  return new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(controller) {
        const chunk = new Uint8Array(ROW_BYTES);
        let filled = 0;
        while (filled < ROW_BYTES) {
          if (rest.length === 0) {
            const { done, value } = await reader.read();
            if (done) break;
            rest = bytesIn(value);
          }
          const taken = rest.subarray(0, ROW_BYTES - filled);
          chunk.set(taken, filled);
          filled += taken.length;
          rest = rest.subarray(taken.length);
        }
        if (filled > 0) controller.enqueue(chunk.slice(0, filled));
        if (filled < ROW_BYTES) controller.close();
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

/** @throws TypeError */
function bytesIn(chunk: unknown): Uint8Array<ArrayBuffer> {
  if (chunk instanceof Uint8Array) return chunk as Uint8Array<ArrayBuffer>;
  throw new TypeError('This ReadableStream did not return bytes.');
}
