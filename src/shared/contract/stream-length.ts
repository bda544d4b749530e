// Records the number of bytes that a stream will give, if it promises one. A body made of such a stream is sent with its
// length.
//
// The number is a property of the stream, because bindings are bundled separately from the host.

const LENGTH: unique symbol = Symbol.for('ctx-storage.stream-length') as never;

/** Records the number of bytes that the stream gives before it ends. */
export function noteLength(stream: ReadableStream, byteCount: number): void {
  Object.defineProperty(stream, LENGTH, { value: byteCount, configurable: true });
}

/** Returns the recorded number of bytes; undefined for a stream of unknown length. */
export function notedLength(stream: ReadableStream): number | undefined {
  return (stream as { readonly [LENGTH]?: number })[LENGTH];
}
